#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What signals.bats does some hundred times, in full.

load ../helpers/common
load ../helpers/signals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

@test "TERM at a random moment, 1000 times: no key, no survivor (S13 P19)" {
	strike TERM 1000 8
}

@test "kill -9 at a random moment, 500 times: no survivor, never a key without expiry (P21 S28)" {
	strike KILL 500 8
}

@test "INT, HUP, QUIT at a random moment, 300 times each (S13)" {
	ulimit -c 0
	strike INT 300 8
	strike HUP 300 8
	strike QUIT 300 8
}

@test "over TCP, with a name to look up: TERM and KILL, 300 times each" {
	strike TERM 300 15 -S "redis://localhost:$REDIS_PORT"
	strike KILL 300 15 -S "redis://localhost:$REDIS_PORT"
}
