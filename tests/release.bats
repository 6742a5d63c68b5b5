#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Giving the lock back when something comes between.

load helpers/common

setup() {
	common_setup
	start_redis
}

# Releases among what `monitor` has: the scripts of two keys.
release_scripts() {
	grep -c "EVAL.*\"2\" \"lock:job\" " monitor || true
}

@test "TERM twice while the release hangs: the key is gone when the server goes on (R36)" {
	local before
	start_dlock job sh -c 'until [ -e go ]; do sleep 0.01; done'
	wait_until 2s running "$OUTER"
	before=$(boottime)
	redis CLIENT PAUSE 1000 >/dev/null
	touch go
	wait_until 1s gone "$COMMAND"
	kill -TERM "$OUTER" 2>/dev/null || true
	sleep 0.1
	kill -TERM "$OUTER" 2>/dev/null || true
	wait_until 2s free job
	assert_between 900 1600 "$(elapsed_ms "$before")" 'time to the release'
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
}

@test "a lock that is gone is not released again and again, and the loss is told in time (R45)" {
	local before
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	start_dlock -t 3s -k 400ms job bash -c 'trap "" TERM; touch up; while :; do sleep 0.02; done'
	wait_until 2s test -e up
	: >monitor
	redis DEL lock:job >/dev/null
	before=$(boottime)
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	# T/3 + grace + 0.5 s, and as much for a busy machine. Tries of a release would last 2 s more.
	assert_between 0 2400 "$(elapsed_ms "$before")" 'time'
	sleep 0.3
	[ "$(release_scripts)" -le 2 ]
	free job
}

@test "the server stands still when COMMAND ends: release is tried for two seconds, one warning, COMMAND's status (P102)" {
	start_dlock --ttl 30s job sh -c 'until [ -e go ]; do sleep 0.01; done; exit 23'
	wait_until 2s running "$OUTER"
	kill -STOP "$REDIS_PID"
	start_clock
	touch go
	exit_status_of "$OUTER" 5s
	assert_between 1900 3500 "$(clock_ms)" 'milliseconds until dlock gave up'
	[ "$STATUS" -eq 23 ]
	assert_equal "$(grep -c . "$DLOCK_LOG")" 1
	grep -q "^dlock: cannot release 'job' at .*; it is free when its TTL is over$" "$DLOCK_LOG"
	kill -CONT "$REDIS_PID"
	wait_until 2s free job # what was sent to it is executed all the same
}
