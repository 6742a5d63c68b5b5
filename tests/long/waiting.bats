#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Waits as long as the reports had them.

load ../helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

@test "a waiter with TTL 2 s waits 10 s behind a live holder and then runs (P58)" {
	start_dlock -t 2s job sh -c 'until test -e go; do sleep 0.05; done'
	wait_until 2s running "$OUTER"
	start "$DLOCK" -t 2s job sh -c 'echo ran >ran'
	sleep 10
	assert_alive "$STARTED" "$OUTER"
	[ ! -e ran ]
	: >go
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 0 ]
	[ -s ran ]
}

@test "a crashed holder with the default TTL delays the next one by 30 s at most (P63 P64 P67)" {
	local died
	start_dlock job sleep 60
	wait_until 2s running "$OUTER"
	kill -STOP "$RUNNER" "$OUTER"
	died=$(boottime)
	kill -KILL "$OUTER" "$RUNNER"
	wait_until 2s gone "$OUTER" "$RUNNER" "$COMMAND"
	held job
	run -0 dlock -w 60 job true
	assert_between 25000 31000 "$(elapsed_ms "$died")" 'the wait'
}

@test "numbers increase and tokens differ over 1000 runs (P96 R51)" {
	local i
	for i in {1..1000}; do
		dlock job sh -c 'echo "$DLOCK_FENCE $DLOCK_TOKEN"'
	done >log
	[ "$(wc -l <log)" -eq 1000 ]
	[ "$(cut -d' ' -f2 log | sort -u | wc -l)" -eq 1000 ]
	sort -n -c -u log
}

@test "500 starts as session leader: no HUP (S48)" {
	local i
	for i in {1..500}; do
		"$TOOLS/ptyrun" how end -- "$DLOCK" job sh -c 'trap "echo HUP >>stray" HUP; trap "echo CONT >>stray" CONT; :'
		[ "$(<how)" = 'exit 0' ] || fail "run $i: $(<how)"
	done
	[ ! -e stray ]
}
