#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Waiting in the line: with as many, and for as long, as the reports had it.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/line

# One of them watches for five minutes.
setup_file() { export BATS_TEST_TIMEOUT=1800; }

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
	local i before signalled
	for i in {1..100}; do
		hold job
		before=$(boottime)
		enter_line limited -w 1 job
		wait_until 2s in_line job 1
		start_dlock job true
		signalled=$OUTER
		wait_until 2s in_line job 2
		wait_in_line "next$i" job
		poll_for 1500 waited_since "$before" $((950 + RANDOM % 70))
		let_go
		sleep "0.0$((10 + RANDOM % 20))"
		kill -TERM "$signalled" || true
		exit_status_of "${WAITER[limited]}"
		[ "$STATUS" -eq 0 ] || [ "$STATUS" -eq 75 ]
		exit_status_of "$signalled"
		[ "$STATUS" -eq 0 ] || [ "$STATUS" -eq 143 ]
		all_end "next$i"
		assert_between 0 1200 "$(started_after "next$i")" "milliseconds to the next one"
		nothing_wrong
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

@test "a poller that dies, or stands still, is passed" {
	needs_server 6.2 'rights for channels'
	local tag
	redis ACL SETUSER quiet on nopass '~lock:*' resetchannels +@all -@dangerous
	DLOCK_SERVER=redis://quiet:x@127.0.0.1:$REDIS_PORT
	hold job
	for tag in 1 2 3; do
		wait_in_line "$tag" job
	done
	kill -KILL "${WAITER[1]}"
	kill -STOP "${WAITER[2]}"
	let_go
	all_end 3
	assert_order 3
	assert_between 0 8000 "$(started_after 3)" "milliseconds to the one that lives"
	kill -CONT "${WAITER[2]}"
	all_end 2
	assert_order 3 2
	assert_no_trace job
}

@test "a waiter who is told of its turn, behind a holder who may not use channels: nobody is stuck" {
	needs_server 6.2 'rights for channels'
	redis ACL SETUSER quiet on nopass '~lock:*' resetchannels +@all -@dangerous
	DLOCK_SERVER=redis://quiet:x@127.0.0.1:$REDIS_PORT hold job
	wait_in_line 1 job
	DLOCK_SERVER=redis://quiet:x@127.0.0.1:$REDIS_PORT wait_in_line 2 job
	wait_in_line 3 job
	let_go
	ALL_END_LIMIT=40s all_end
	assert_no_trace job
}

# loops N TIMES OPTION...: N shells, each with TIMES runs of dlock OPTION... one after the other; LOOPS are
# their pids, file pid.N the pid of its dlock. What ends with another status than 0 is told in `statuses`,
# two at once in `overlaps`: a kernel's lock does not outlive who has it.
loops() {
	local count=$1 times=$2 i
	shift 2
	cat >one-run <<-'END'
		#!/bin/sh
		exec 9>inside
		flock -n 9 || echo overlap >>overlaps
		echo in >>runs
		sleep 0.00$(($$ % 10))
	END
	chmod +x one-run
	: >overlaps
	: >statuses
	LOOPS=()
	for ((i = 1; i <= count; i++)); do
		start bash -c 'me=$1 times=$2; shift 2
			for ((i = 0; i < times; i++)); do
				env --default-signal "$DLOCK" -q "$@" job ./one-run & echo $! >"pid.$me"
				wait $! || echo "$?" >>statuses
			done' - "$i" "$times" "$@" 2>>"$DLOCK_LOG"
		LOOPS+=("$STARTED")
	done
}

# loops_end STATUS...: they all end, with no other status than these or 0, no two were inside at once, and
# nothing is left.
loops_end() {
	local i pattern
	for i in "${LOOPS[@]}"; do
		exit_status_of "$i" 200s
	done
	[ ! -s overlaps ]
	pattern=$(printf '%s\n' none "$@")
	! grep -vxF "$pattern" statuses >others || fail "$(sort others | uniq -c) $(tail -n 30 "$DLOCK_LOG")"
	assert_no_trace job
}

@test "links are cut, normal and subscribed ones, again and again while twelve take turns: nobody is stuck" {
	loops 12 30 -t 5s
	start bash -c 'while sleep "0.0$((RANDOM % 9 + 1))"; do
		redis-cli -s "$REDIS_SOCK" CLIENT KILL TYPE "$([ $((RANDOM % 2)) = 0 ] && echo normal || echo pubsub)" >/dev/null
		done'
	# A link that is cut before the first answer is a server that cannot be reached.
	loops_end 69
	[ "$(wc -l <runs)" -ge 300 ]
}

@test "the server is killed and comes back with its data ten times while ten take turns: nobody is stuck, no two at once" {
	local i
	stop_redis
	start_redis --appendonly yes --appendfsync always
	loops 10 30 -t 5s
	for i in {1..10}; do
		sleep "0.$((RANDOM % 9 + 1))"
		kill -KILL "$REDIS_PID"
		wait_until 2s redis_ended
		restart_redis
	done
	loops_end 69
	[ "$(wc -l <runs)" -ge 100 ]
}

@test "waiters and holders are stopped, ended and killed at random while twenty take turns: nobody is stuck, no two at once" {
	loops 20 30 -t 3s -k 100ms
	start bash -c 'while sleep "0.0$((RANDOM % 9 + 1))"; do
		pid=$(cat "pid.$((RANDOM % 20 + 1))")
		case $((RANDOM % 4)) in
		0) kill -TERM "$pid" ;;
		1) kill -KILL "$pid" ;;
		*) kill -STOP "$pid"; (sleep "0.$((RANDOM % 9))"; kill -CONT "$pid") & ;;
		esac
		done' 2>/dev/null
	# Killed, ended, or lost: a claim that was taken up too late is none, but a stopped OUTER holds nothing up.
	loops_end 137 143 79
	grep -qx 137 statuses
	grep -qx 143 statuses
	[ "$(wc -l <runs)" -ge 100 ]
}

@test "a waiter who was handed the lock and crashes, with a TTL shorter and longer than the claim: the next one runs within 50 ms of the expiry" {
	local ttl round granted late=
	for ttl in 1s 2s 4s; do
		for round in 1 2 3; do
			hold job
			start_dlock -t "$ttl" -k 50ms job sleep 900
			granted=$OUTER
			wait_until 5s in_line job 1
			start "$DLOCK" job date +%s%3N >ran
			WAITER["next"]=$STARTED
			wait_until 5s in_line job 2
			let_go
			wait_until 5s running "$granted"
			kill -STOP "$RUNNER" "$granted"
			kill -KILL "$granted" "$RUNNER"
			redis EVAL "
				local time, left = redis.call('TIME'), redis.call('PTTL', KEYS[1])
				return left > 0 and string.format('%.0f', time[1] * 1000 + time[2] / 1000 + left) or 'none'
			" 1 lock:job >expires
			all_end next
			late=$(($(<ran) - $(<expires)))
			assert_between 0 1000 "$late" "$ttl: milliseconds after the expiry"
			[ "$late" -ge 50 ] || break
		done
		[ "$late" -lt 50 ] || fail "$ttl: $late ms after the expiry, at last"
	done
	assert_no_trace job
}

@test "a dlock's key is deleted by hand: the first in the line has it within 1.5 s, and within 100 ms when it has been first for a while" {
	local round
	hold job
	wait_in_line 1 job
	boottime >deleted
	redis DEL lock:job
	all_end
	assert_between 0 1500 "$(started_after 1 "$(<deleted)")" "milliseconds, fresh"
	kill -TERM "$HOLDER"
	wait_until 2s gone "$HOLDER"
	for round in 1 2 3; do
		: >visits
		hold job
		wait_in_line 1 job
		sleep 6
		boottime >deleted
		redis DEL lock:job
		all_end
		kill -TERM "$HOLDER"
		wait_until 2s gone "$HOLDER"
		[ "$(started_after 1 "$(<deleted)")" -ge 100 ] || return 0
	done
	fail "not within 100 ms"
}
