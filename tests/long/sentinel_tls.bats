#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# rediss+sentinel://: the sentinel and the server in TLS, each verified by the name or address by which it
# was told.

load ../helpers/common
load ../helpers/sentinel
load ../helpers/tls

setup() {
	common_setup
	make_files
	SET_DIR=$(mktemp -d "${TMPDIR:-/tmp}/dlock-set.XXXXXX")
	choose_ports
	SERVER=$((SET_PORT + 1)) SENTINEL=$((SET_PORT + 11))
	at_teardown stop_all
	start_both ca server
}

stop_all() {
	local name
	for name in server sentinel; do
		kill -KILL "$(pid_in_set "$name")" 2>/dev/null || true
	done
	rm -rf "$SET_DIR"
}

# start_both CA CERTIFICATE
start_both() {
	local tls=(--port 0 --tls-cert-file "$PWD/$2.pem" --tls-key-file "$PWD/$2.key"
		--tls-ca-cert-file "$PWD/$1.pem" --tls-auth-clients no --tls-replication yes)
	launch_in_set server redis-server --tls-port "$SERVER" --bind 127.0.0.1 --dir "$SET_DIR" --save "" \
		"${tls[@]}"
	printf '%s\n' "bind 127.0.0.1" "dir $SET_DIR" "sentinel monitor main 127.0.0.1 $SERVER 1" \
		>"$SET_DIR/sentinel.conf"
	launch_in_set sentinel redis-server "$SET_DIR/sentinel.conf" --sentinel --tls-port "$SENTINEL" "${tls[@]}"
	wait_until 5s both_answer
}

both_answer() {
	local port
	for port in "$SERVER" "$SENTINEL"; do
		[ "$(redis-cli -h 127.0.0.1 -p "$port" --tls --cacert ca.pem PING 2>/dev/null)" = PONG ] || return 1
	done
}

@test "sentinel and server are spoken to in TLS, and verified" {
	run dlock -n -S "rediss+sentinel://localhost:$SENTINEL/main?cacert=$PWD/ca.pem" job true
	assert_success
	run dlock -n --tls --cacert ca.pem -S "redis+sentinel://127.0.0.1:$SENTINEL/main" job true
	assert_success
	make_ca other
	run dlock -n --cacert other.pem -S "rediss+sentinel://127.0.0.1:$SENTINEL/main" job touch ran
	assert_failure 77
	# In clear: only time, or the end of the connection, tells.
	run dlock -n --connect-timeout 600ms -S "redis+sentinel://127.0.0.1:$SENTINEL/main" job touch ran
	assert_failure 69
	[ ! -e ran ]
}

@test "a server that has no certificate for the address by which the sentinel calls it: 77" {
	stop_all
	SET_DIR=$(mktemp -d "${TMPDIR:-/tmp}/dlock-set.XXXXXX")
	make_certificate named ca DNS:localhost
	start_both ca named
	run dlock -n --cacert ca.pem -S "rediss+sentinel://localhost:$SENTINEL/main" job touch ran
	assert_failure 77
	assert_output --partial 'certificate'
	[ ! -e ran ]
	run dlock -n --cacert ca.pem --sni localhost -S "rediss+sentinel://localhost:$SENTINEL/main" job true
	assert_success
}
