#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A TCP proxy in front of the private Redis that fails on demand (tests/tools/flaky_proxy.c).
#
#   start_redis; start_proxy [COMMAND...]   COMMAND, say nsenter, runs the proxy; PROXY_TARGET may
#                                           name another server: a port
#
# sets PROXY_PORT, PROXY_LOG (a line for each request passed on: BOOTTIME in ns, number of the
# connection, bytes, name of the command) and DLOCK_SERVER.
#
#   proxy blackhole                         an order; it is in force when this returns
#
# shellcheck disable=SC2034 # variables are for the caller

start_proxy() {
	PROXY_DIR=$(mktemp -d "${TMPDIR:-/tmp}/dlock-proxy.XXXXXX") || return 1
	at_teardown remove_proxy
	PROXY_LOG=$WORK/proxy.log
	start "$@" "$TOOLS/flaky_proxy" "$PROXY_DIR/control" "$PROXY_LOG" \
		"${PROXY_TARGET:-unix:$REDIS_SOCK}" >"$WORK/proxy.port"
	wait_until 3s test -s "$WORK/proxy.port"
	PROXY_PORT=$(cat "$WORK/proxy.port")
	# The socket can be used as long as the proxy lives, its name only until the teardown.
	export DLOCK_SERVER=redis://127.0.0.1:$PROXY_PORT
}

proxy() {
	"$TOOLS/flaky_proxy" tell "$PROXY_DIR/control" "$*"
}

remove_proxy() {
	rm -rf "$PROXY_DIR"
}

# proxy_requests [COMMAND]: how many pieces of request went through the proxy.
proxy_requests() {
	grep -c " ${1:-[A-Z?]*}\$" "$PROXY_LOG" || true
}
