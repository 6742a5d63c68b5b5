#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 7: first come, first served, and each at once. Who is in the line, who
# is next, and when.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/line

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	line_setup
}

# best_of N LIMIT MEASURE: one of N measures is within the limit: a busy machine may be late. MEASURE
# leaves its milliseconds in TOOK.
best_of() {
	local i all=
	for ((i = 1; i <= $1; i++)); do
		"$3"
		all+=" $TOOK"
		[ "$TOOK" -ge "$2" ] || return 0
	done
	fail "not within $2 ms:$all"
}

@test "twenty waiters run in the order in which they came, each within 50 ms of the one before (P55)" {
	local i order=() gaps
	hold job
	for i in {1..20}; do
		wait_in_line "$i" job
		order+=("$i")
	done
	[ "$(cat visits)" = '' ]
	let_go
	all_end
	assert_order "${order[@]}"
	assert_between 0 500 "$(started_after 1)" "milliseconds to the first"
	gaps=$(awk 'NR > 1 { printf "%d\n", ($2 - last) * 1000 } { last = $2 }' visits | sort -n | xargs)
	# The fastest ones: what it takes when nothing else wants the processor.
	assert_between 0 50 "$(cut -d' ' -f2 <<<"$gaps")" "milliseconds from one to the next ($gaps)"
	assert_no_trace job
}

@test "the hand-off takes a round trip or two: under 50 ms from COMMAND's end to the next one's start" {
	hand_off() {
		hold job
		wait_in_line first job
		let_go
		all_end
		TOOK=$(started_after first)
		: >visits
	}
	best_of 5 50 hand_off
}

@test "two of three dead at the head of the line: the first who lives runs within 200 ms (R7)" {
	past_the_dead() {
		local i
		hold job
		for i in 1 2 3 4 5; do
			wait_in_line "$i" job
		done
		kill_dead "${WAITER[1]}" "${WAITER[2]}" "${WAITER[4]}"
		let_go
		all_end 3 5
		assert_order 3 5
		TOOK=$(started_after 3)
		assert_no_trace job
		: >visits
	}
	best_of 3 200 past_the_dead
}

@test "a stopped waiter costs the others 3 s, once, and is in the line again when it goes on" {
	local tag
	hold job
	for tag in 1 2 3; do
		wait_in_line "$tag" job
	done
	kill -STOP "${WAITER[1]}"
	wait_until 1s state_is T "${WAITER[1]}"
	let_go
	all_end 2 3
	assert_order 2 3
	assert_between 2000 4500 "$(started_after 2)" "milliseconds to the second"
	assert_between 0 1500 "$(started_after 3 "$(started_at 2)")" "milliseconds from the second to the third"
	alive "${WAITER[1]}"
	kill -CONT "${WAITER[1]}"
	all_end 1
	assert_order 2 3 1
	assert_no_trace job
}

@test "a crashed holder's lock, a foreign one, and that of --at-least: the first in the line runs within 50 ms of the expiry (R40 P57 P67)" {
	local name round late holder
	for round in 1 2 3; do
		# Three crashes and one of each other kind, at the same time.
		for name in crash1 crash2 crash3; do
			start_dlock -t 3s -k 100ms "$name" sleep 900
			holder=$OUTER
			wait_until 5s running "$holder"
			wait_for "$name"
			held "$name"
			# Stopped first, or the one that is left would free the lock at once.
			kill -STOP "$RUNNER" "$holder"
			kill -KILL "$holder" "$RUNNER"
			wait_until 2s gone "$holder" "$RUNNER" "$COMMAND"
			expects "$name"
		done
		dlock -t 30s --at-least 3s kept true
		wait_for kept
		expects kept
		redis SET lock:foreign somebody PX 3000
		wait_for foreign
		expects foreign
		for name in crash1 crash2 crash3 kept foreign; do
			exit_status_of "${WAITER[$name]}"
			[ "$STATUS" -eq 0 ]
			late=$(($(<"ran.$name") - $(<"expires.$name")))
			echo "$name $late" >>late
			# TTL + 0.3 s, and what a busy machine needs.
			assert_between 0 1000 "$late" "$name: milliseconds after the expiry"
		done
		soon_after_expiry crash && soon_after_expiry kept && soon_after_expiry foreign && return 0
	done
	fail "not within 50 ms of the expiry:"$'\n'"$(<late)"
}

# soon_after_expiry KIND: of those that there were one was.
soon_after_expiry() {
	[ "$(sed -n "s/^$1[0-9]* //p" late | sort -n | head -n 1)" -lt 50 ]
}

# wait_for NAME: in its line there is one that will write to ran.NAME when it runs.
wait_for() {
	start "$DLOCK" "$1" date +%s%3N >"ran.$1"
	WAITER[$1]=$STARTED
	wait_until 5s in_line "$1" 1
}

# expects NAME: when its key will have expired, in the server's milliseconds, to expires.NAME. The
# server's clock is ours.
expects() {
	redis EVAL "
		local time, left = redis.call('TIME'), redis.call('PTTL', KEYS[1])
		return left > 0 and string.format('%.0f', time[1] * 1000 + time[2] / 1000 + left) or 'none'
	" 1 "lock:$1" >"expires.$1"
	[ "$(<"expires.$1")" != none ]
}

@test "-n does not barge past a live waiter, though the key is gone" {
	local tag
	for tag in 1 2 3; do
		redis SET lock:job somebody PX 60000
		wait_in_line "$tag" job
		# Whether the waiter has heard of it by then, or -n finds the key gone: the waiter is first.
		kill -STOP "${WAITER[$tag]}"
		wait_until 1s state_is T "${WAITER[$tag]}"
		redis DEL lock:job
		run -75 dlock -n job touch barged
		[ ! -e barged ]
		kill -CONT "${WAITER[$tag]}"
		all_end "$tag"
	done
	assert_order 1 2 3
	assert_no_trace job
}

@test "-n, and one that would wait, pass those who died in the line at once" {
	redis SET lock:job somebody PX 60000
	wait_in_line 1 job
	wait_in_line 2 job
	kill_dead "${WAITER[1]}" "${WAITER[2]}"
	redis DEL lock:job
	start_clock
	run -0 dlock -n job echo ran
	assert_output ran
	assert_between 0 1000 "$(clock_ms)" "milliseconds"
	assert_no_trace job
}

@test "ghosts in the line, from whenever, are passed by -n in one script, and the queue is gone (R10)" {
	local now i before
	now=$(redis TIME | xargs | awk '{ printf "%d%06d", $1, $2 }')
	for i in {1..50}; do
		redis ZADD "$(queue_key_of job)" "$i" "ghost-$i" >/dev/null
	done
	redis ZADD "$(queue_key_of job)" "$now" recent-ghost $((now + 60000000)) future-ghost
	before=$(scripts_run)
	run -0 dlock -n job "$BASH" -c '
		redis-cli -s "$REDIS_SOCK" INFO commandstats |
			awk -F "[=,]" "/^cmdstat_eval(sha)?:/ { sum += \$2 } END { print sum }"'
	[ "$((output - before))" -eq 1 ]
	assert_no_trace job
}

somebody_listens() {
	[ -n "$(redis PUBSUB CHANNELS)" ]
}

@test "thousands of dead before a waiter, more than one script passes over: it has the lock within seconds" {
	hold job
	redis EVAL 'for i = 1, 3500 do
		redis.call("ZADD", KEYS[1], i, "ghost-" .. i)
		redis.call("HSET", KEYS[2], "ghost-" .. i, "mode=exclusive\nhost=x\nseen=" .. ARGV[1] .. "\npush=1\n")
	end' 2 "$(queue_key_of job)" "lock:job#info{lock:job}" "${EPOCHREALTIME/./}" >/dev/null
	start_dlock -w 30 job touch ran
	wait_until 5s somebody_listens
	let_go
	wait_until 15s test -e ran
	wait_until 5s gone "$OUTER"
	assert_no_trace job
}

@test "--max-waiters N: who finds N waiting gives up at once, the dead do not count, 0 is -n" {
	hold job
	wait_in_line 1 job
	wait_in_line 2 --max-waiters 2 job
	start_clock
	run -75 dlock --max-waiters 2 job touch ran
	assert_between 0 1000 "$(clock_ms)" "milliseconds"
	[ "${#lines[@]}" -eq 1 ]
	assert_output --regexp "^dlock: 'job' is held by .*, and 2 wait already\$"
	run -75 dlock -w 30 --max-waiters 0 job touch ran
	assert_output --regexp "^dlock: 'job' is held by .*, and 2 wait\$"
	run -75 dlock -w 100ms job touch ran
	assert_output --regexp "^dlock: 'job' is held by .*, and 2 wait before us\$"
	run -7 dlock -E 7 -q --max-waiters 1 job touch ran
	assert_output ''
	in_line job 2
	wait_in_line 3 --max-waiters 3 job
	kill_dead "${WAITER[1]}" "${WAITER[2]}"
	enter_line 4 --max-waiters 2 job
	wait_until 2s connections_are 3
	let_go
	all_end 3 4
	assert_order 3 4
	[ ! -e ran ]
	run -0 dlock --max-waiters 0 job echo ran
	assert_output ran
	assert_no_trace job
}

@test "-w 1.5 is over after 1.5 s, and nobody is in the line (R37)" {
	hold job
	in_vain() {
		local before
		before=$(boottime)
		run -75 dlock -q -w 1.5 job true
		TOOK=$(elapsed_ms "$before")
		[ "$TOOK" -ge 1500 ] || fail "too early: $TOOK ms"
		in_line job 0
		[ "$(redis HLEN "$(info_key_of job)")" -eq 1 ]
	}
	best_of 3 1601 in_vain
}

@test "a signal at any moment of the wait leaves nobody in the line (P18)" {
	local i delays=(0 1 2 3 4 5 6 7 8 10 12 15)
	hold job
	# Of those that were there, too: the line may be one that is not empty.
	wait_in_line last job
	for i in "${delays[@]}" "${delays[@]}"; do
		start_dlock job touch ran
		sleep "0.$(printf %03d "$i")"
		kill -TERM "$OUTER"
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 143 ]
	done
	# One that died before it could set up its own handling may have sent a request all the same.
	wait_until 1s in_line job 1
	[ "$(redis HLEN "$(info_key_of job)")" -eq 2 ]
	wait_until 1s connections_are 2
	let_go
	all_end
	[ ! -e ran ]
	assert_no_trace job
}

@test "a wait that is over just when the lock is handed over: the next one has it at once" {
	local before late
	for late in 990 1005; do
		hold job
		before=$(boottime)
		enter_line limited -w 1 job
		wait_until 2s in_line job 1
		wait_in_line "next$late" job
		poll_for 1500 waited_since "$before" "$late"
		let_go
		exit_status_of "${WAITER[limited]}"
		[ "$STATUS" -eq 0 ] || [ "$STATUS" -eq 75 ]
		all_end "next$late"
		assert_between 0 1000 "$(started_after "next$late")" "milliseconds to the next one"
		nothing_wrong
		assert_no_trace job
	done
}

@test "eight simultaneous dlock L true are done in 2 s (P54)" {
	together() {
		local i pids=() before
		before=$(boottime)
		for i in {1..8}; do
			start_dlock job true
			pids+=("$OUTER")
		done
		for i in "${pids[@]}"; do
			exit_status_of "$i"
			[ "$STATUS" -eq 0 ]
		done
		TOOK=$(elapsed_ms "$before")
	}
	best_of 3 2000 together
	assert_no_trace job
}

@test "a key that another client deletes is the first waiter's within a second, whoever had it" {
	redis SET lock:job somebody PX 60000
	wait_in_line 1 job
	wait_in_line 2 job
	boottime >deleted
	redis DEL lock:job
	all_end
	assert_order 1 2
	assert_between 0 1500 "$(started_after 1 "$(<deleted)")" "milliseconds to the first"
	assert_no_trace job
}

@test "who has been the first for a second or two has a key that is deleted, or overwritten to expire, within 100 ms" {
	local name
	for name in 1 2 3; do
		redis SET "lock:$name" somebody PX 60000
		wait_in_line "$name" "$name"
	done
	redis SET lock:shortened somebody PX 60000
	wait_in_line shortened shortened
	wait_until 5s followers_are 4
	for name in 1 2 3; do
		boottime >"deleted.$name"
		redis DEL "lock:$name"
	done
	boottime >shortened
	redis SET lock:shortened another PX 500
	all_end
	for name in 1 2 3; do
		started_after "$name" "$(<"deleted.$name")"
	done >late
	[ "$(sort -n late | head -n 1)" -lt 100 ] || fail "milliseconds: $(xargs <late)"
	[ "$(sort -n late | tail -n 1)" -lt 1000 ] || fail "milliseconds: $(xargs <late)"
	assert_between 450 1000 "$(started_after shortened "$(<shortened)")" "milliseconds to the end of the shorter one"
}

# followers_are N: so many connections are told when a key is written to.
followers_are() {
	[ "$(redis CLIENT LIST | grep -cE ' flags=[A-Z]*t')" -eq "$1" ]
}

@test "where keys cannot be followed, the first waiter has one that is deleted within a second" {
	redis ACL SETUSER blind on nopass '~*' '&*' +@all '-client|tracking'
	redis SET lock:job somebody PX 60000
	DLOCK_SERVER=redis://blind:x@127.0.0.1:$REDIS_PORT wait_in_line 1 job
	sleep 1.5 # by now it would follow
	followers_are 0
	boottime >deleted
	redis DEL lock:job
	all_end
	assert_between 0 1500 "$(started_after 1 "$(<deleted)")" "milliseconds"
	redis ACL DELUSER blind
}
