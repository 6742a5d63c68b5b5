#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 7, when something goes wrong: links that are cut, a server that restarts
# or forgets, a user without the right to publish. Nobody is stuck, and who is known to the server
# keeps its place.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/line
load helpers/proxy

setup() {
	common_setup
	line_setup
}

# three_in_line [OPTION...]: a holder of job, and 1, 2, 3 behind it.
three_in_line() {
	local tag
	hold "$@" job
	for tag in 1 2 3; do
		wait_in_line "$tag" job
	done
}

@test "the links of all waiters are cut, again and again: they are in the line again at once, each in its place (R12)" {
	local i
	start_redis
	three_in_line
	for i in 1 2 3 4 5; do
		listening job 3
		[ "$(redis CLIENT KILL TYPE pubsub)" -ge 3 ]
		wait_until 1s listening job 3
		in_line job 3
	done
	let_go
	all_end
	assert_order 1 2 3
	assert_between 0 1000 "$(started_after 1)" "milliseconds to the first"
	assert_between 0 1000 "$(started_after 2 "$(started_at 1)")" "milliseconds to the second"
	assert_no_trace job
}

@test "the links are cut just before the lock is let go: each has it, within a second (R12)" {
	local i
	start_redis
	for i in 1 2; do
		three_in_line
		[ "$(redis CLIENT KILL TYPE pubsub)" -ge 3 ]
		let_go
		all_end
		[ "$(cut -d' ' -f1 visits | sort | xargs)" = '1 2 3' ] || fail "$(<visits)"
		assert_between 0 3000 "$(elapsed_ms "$(<let-go)")" "milliseconds to the end of the last"
		assert_no_trace job
		: >visits
	done
}

@test "a server that restarts with its data: the holder is undisturbed, the line is as it was" {
	start_redis --appendonly yes --appendfsync always
	three_in_line
	kill -KILL "$REDIS_PID"
	wait_until 2s redis_ended
	restart_redis
	wait_until 5s listening job 3
	in_line job 3
	let_go
	exit_status_of "$HOLDER"
	[ "$STATUS" -eq 0 ]
	all_end
	assert_order 1 2 3
	assert_between 0 1000 "$(started_after 1)" "milliseconds to the first"
	assert_no_trace job
}

@test "a server that restarts without its data: the holder has lost, each waiter has its turn" {
	start_redis
	three_in_line -t 3s
	kill -KILL "$REDIS_PID"
	wait_until 2s redis_ended
	restart_redis
	exit_status_of "$HOLDER"
	[ "$STATUS" -eq 79 ]
	all_end
	[ "$(cut -d' ' -f1 visits | sort | xargs)" = '1 2 3' ] || fail "$(<visits)"
	assert_no_trace job
}

@test "the queue deleted, the records deleted, all deleted: the first in the line runs within 6 s, nobody is stuck" {
	local name order=() pids=()
	start_redis
	hold queue
	wait_in_line queue queue
	hold info
	wait_in_line info info
	redis DEL "$(queue_key_of queue)" "$(info_key_of info)"
	# The gates are as many as the holders.
	let_go_of 1
	let_go_of 2
	all_end
	assert_no_trace queue
	assert_no_trace info
	hold -t 3s all
	wait_in_line all all
	redis FLUSHALL
	boottime >flushed
	exit_status_of "$HOLDER"
	[ "$STATUS" -eq 79 ]
	all_end all
	assert_between 0 6500 "$(started_after all "$(<flushed)")" "milliseconds"
	assert_no_trace all
}

@test "a waiter whose wait is over while the server stands still leaves nobody in the line, and the next one runs (R9)" {
	local before
	start_redis
	hold job
	enter_line 1 -w 1 job
	before=$(boottime)
	wait_until 2s in_line job 1
	wait_in_line 2 job
	poll_for 900 waited_since "$before" 880
	redis CLIENT PAUSE 2000
	exit_status_of "${WAITER[1]}"
	[ "$STATUS" -eq 75 ]
	let_go
	all_end 2
	assert_order 2
	assert_between 0 3200 "$(started_after 2)" "milliseconds to the second"
	assert_no_trace job
}

@test "a user who may not use channels: queued, in order, one warning each, and the lock is let go (R31)" {
	needs_server 6.2 'rights for channels'
	local tag
	start_redis
	redis ACL SETUSER quiet on nopass '~lock:*' resetchannels +@all -@dangerous
	DLOCK_SERVER=redis://quiet:x@127.0.0.1:$REDIS_PORT
	three_in_line
	sleep 3.3 # long enough to be taken for dead, were they not seen polling
	in_line job 3
	let_go
	all_end
	assert_order 1 2 3
	assert_between 0 1500 "$(started_after 1)" "milliseconds to the first"
	for tag in 1 2; do
		assert_between 0 1500 "$(started_after $((tag + 1)) "$(started_at "$tag")")" "milliseconds from $tag to the next"
	done
	[ "$(grep -c "^dlock: .*channel" "$DLOCK_LOG")" -eq 3 ] || fail "$(<"$DLOCK_LOG")"
	assert_no_trace job
}

# scripts_are N: so many have been run since the server's start.
scripts_are() {
	[ "$(scripts_run)" -eq "$1" ]
}

@test "a user who may use the keys and the channels of locks is told when another client deletes one" {
	start_redis
	redis ACL SETUSER some on '>pw' '~lock:*' '&lock:*' +@all -@dangerous
	redis ACL LOG RESET
	redis SET lock:job somebody PX 60000
	DLOCK_SERVER=redis://some:pw@127.0.0.1:$REDIS_PORT wait_in_line 1 job
	# It asks once more, after a second, and has the key followed; then each five seconds.
	wait_until 3s scripts_are 2
	sleep 1.5
	scripts_are 2
	boottime >deleted
	redis DEL lock:job
	all_end
	assert_between 0 1500 "$(started_after 1 "$(<deleted)")" "milliseconds"
	assert_equal "$(redis ACL LOG)" ''
}

@test "a server that goes for good: -w ends the wait in time, with 69 and a line that says why" {
	start_redis
	hold job
	start_clock
	enter_line 1 -w 1.5 job
	wait_until 2s in_line job 1
	kill -KILL "$REDIS_PID"
	wait_until 2s redis_ended
	exit_status_of "${WAITER[1]}"
	[ "$STATUS" -eq 69 ] || fail "status $STATUS"
	assert_between 1400 3500 "$(clock_ms)" "milliseconds"
	[ "$(grep -c "^dlock: cannot lock 'job' at unix:" "$DLOCK_LOG")" -eq 1 ] || fail "$(<"$DLOCK_LOG")"
	[ ! -s visits ]
}

@test "the answer to what a waiter asked is lost: it is in the line once, has the lock once, and nobody is stuck" {
	local fault
	start_redis
	start_proxy
	for fault in 'here drop' 'here orphan'; do
		DLOCK_SERVER=$URL_UNIX hold job
		proxy on ACQUIRE "$fault"
		wait_in_line 1 -t 3s job
		DLOCK_SERVER=$URL_UNIX wait_in_line 2 job
		# And its confirmation, once it is granted the lock.
		proxy on ACQUIRE "$fault"
		let_go
		all_end
		proxy pass
		[ "$(cut -d' ' -f1 visits | xargs)" = '1 2' ] || fail "$fault: $(<visits)"
		assert_no_trace job
		: >visits
	done
}
