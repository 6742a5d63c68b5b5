#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Waiting in the line: with as many, and for as long, as the reports had it.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/line

setup() {
	common_setup
	start_redis
	line_setup
}

@test "100 waiters, 14 killed waiting, 10 killed holding: nobody is stuck, the order is kept" {
	local round
	for round in 1 2 3 4 5; do
		crowd 100 14 10 -t 2s -k 100ms
		redis FLUSHALL
		line_setup
		rm -rf kill-at.* inside.*
	done
}

@test "a server lost while queued is tried again for 60 s with a TTL of 10 s, then 69 and a line that says why" {
	hold -t 10s job
	enter_line 1 -t 10s job
	wait_until 2s in_line job 1
	kill -KILL "$REDIS_PID"
	wait_until 2s redis_ended
	start_clock
	exit_status_of "${WAITER[1]}" 90s
	[ "$STATUS" -eq 69 ]
	assert_between 58000 66000 "$(clock_ms)" "milliseconds"
	grep -q "^dlock: cannot lock 'job' at unix:" "$DLOCK_LOG"
	[ ! -s visits ]
}

@test "a server lost while queued is tried again for two TTLs of 40 s; one that comes back in time is waited at" {
	hold -t 40s job
	enter_line 1 -t 40s job
	wait_until 2s in_line job 1
	kill -KILL "$REDIS_PID"
	wait_until 2s redis_ended
	start_clock
	sleep 70
	alive "${WAITER[1]}"
	restart_redis
	all_end
	assert_between 70000 75000 "$(clock_ms)" "milliseconds"
	assert_no_trace job
}

@test "all deleted under ten who wait: each has its turn within a minute and a half" {
	local i
	hold -t 3s job
	for i in {1..10}; do
		wait_in_line "$i" job
	done
	redis FLUSHALL
	ALL_END_LIMIT=90s all_end
	[ "$(cut -d' ' -f1 visits | sort -n | xargs)" = '1 2 3 4 5 6 7 8 9 10' ]
	assert_no_trace job
}

@test "the queue and the records deleted under a holder: who waits is in the line again, in its place, when it has asked" {
	local i
	hold job
	for i in 1 2 3; do
		wait_in_line "$i" job
	done
	redis DEL "$(queue_key_of job)" "$(info_key_of job)"
	wait_until 25s in_line job 3
	wait_in_line 4 job
	let_go
	all_end
	assert_order 1 2 3 4
	assert_no_trace job
}

@test "a wait of more than a minute says so twice, whatever the place in the line (P79)" {
	hold job
	wait_in_line 1 job
	wait_in_line 2 job
	start "$DLOCK" -w 63 job true 2>said
	exit_status_of "$STARTED" 70s
	[ "$STATUS" -eq 75 ]
	[ "$(grep -c "^dlock: waiting for 'job', held by .* pid $HOLDER sh" said)" -eq 2 ]
	[ "$(wc -l <said)" -eq 3 ]
	let_go
	all_end
}

@test "200 waits that end just when the lock is handed over, by time or by signal: the next one has it at once" {
	local i signalled
	for i in {1..100}; do
		hold job
		enter_line limited -w 0.25 job
		wait_until 2s in_line job 1
		start_dlock job true
		signalled=$OUTER
		wait_until 2s in_line job 2
		wait_in_line "next$i" job
		sleep "0.$((150 + RANDOM % 100))"
		let_go
		sleep "0.0$((10 + RANDOM % 20))"
		kill -TERM "$signalled" || true
		exit_status_of "${WAITER[limited]}"
		[ "$STATUS" -eq 0 ] || [ "$STATUS" -eq 75 ]
		exit_status_of "$signalled"
		[ "$STATUS" -eq 0 ] || [ "$STATUS" -eq 143 ]
		all_end "next$i"
		assert_between 0 1200 "$(started_after "next$i")" "milliseconds to the next one"
		assert_no_trace job
	done
}

@test "a line that stands for five minutes is the same line, and cost next to nothing" {
	local i before order=()
	redis CONFIG SET timeout 2
	hold job
	for i in {1..30}; do
		wait_in_line "$i" job
		order+=("$i")
	done
	before=$(scripts_run)
	sleep 300
	in_line job 30
	# The first twelve 5 s times the place, the others one a minute, and the holder's renewals: about 0.9
	# a second.
	assert_between 100 450 $(($(scripts_run) - before)) "scripts"
	let_go
	all_end
	assert_order "${order[@]}"
	assert_no_trace job
}

@test "a server that stands still for 8 s while they wait: each keeps its place" {
	local tag
	hold job
	for tag in 1 2 3; do
		wait_in_line "$tag" job
	done
	kill -STOP "$REDIS_PID"
	sleep 8 # all of them ask in that time
	kill -CONT "$REDIS_PID"
	wait_until 3s listening job 3
	let_go
	exit_status_of "$HOLDER"
	[ "$STATUS" -eq 0 ]
	all_end
	assert_order 1 2 3
	assert_no_trace job
}

@test "a waiter who is told of its turn, behind a holder who may not use channels: nobody is stuck" {
	redis ACL SETUSER quiet on nopass '~lock:*' resetchannels +@all -@dangerous
	DLOCK_SERVER=redis://quiet:x@127.0.0.1:$REDIS_PORT hold job
	wait_in_line 1 job
	DLOCK_SERVER=redis://quiet:x@127.0.0.1:$REDIS_PORT wait_in_line 2 job
	wait_in_line 3 job
	let_go
	ALL_END_LIMIT=40s all_end
	assert_no_trace job
}
