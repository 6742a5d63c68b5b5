#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What --check is to find.
#
#   checked EXPRESSION     $output is JSON as dlock(1) has it, and EXPRESSION (check_json.py) is true
#   server_field NAME      what the private server's INFO says
#   start_monitor          until stop_monitor, monitor.log is what MONITOR says
#
# shellcheck disable=SC2154 # output is set by run

checked() {
	/usr/bin/python3 "$TESTS_DIR/helpers/check_json.py" "$ROOT_DIR/man/dlock.1" "$1" <<<"$output"
}

server_field() {
	redis INFO server | tr -d '\r' | sed -n "s/^$1://p"
}

# server_version: "valkey 8.1.1"; Valkey says in redis_version whose commands it has.
server_version() {
	local version
	version=$(server_field valkey_version)
	if [ -n "$version" ]; then echo "valkey $version"; else echo "redis $(server_field redis_version)"; fi
}

run_id_of() {
	grep -o '"run_id":"[0-9a-f]*"' <<<"$output" | cut -d '"' -f 4
}

no_keys() {
	[ "$(redis DBSIZE)" = 0 ]
}

# Each key with its value's digest, sorted; not what its waiters and holders renew.
all_keys() {
	redis KEYS '*' | sort
}

in_line() {
	[ "$(redis ZCARD "lock:$1#queue{lock:$1}")" = "$2" ]
}

start_monitor() {
	redis-cli -s "$REDIS_SOCK" MONITOR >monitor.log 2>&1 3>&- &
	MONITOR=$!
	track "$MONITOR"
	wait_until 5s grep -q OK monitor.log
}

stop_monitor() {
	redis ECHO the-end >/dev/null
	wait_until 5s grep -q the-end monitor.log
	kill "$MONITOR"
	# What others did meanwhile is not --check's.
	sed -i -e '/the-end/d' -e '/"lock:busy/d' -e '/"lock:other/d' monitor.log
}
