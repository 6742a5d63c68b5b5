#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What tests/promise1.bats and its neighbours show once, often: at random instants, with the
# processors busy, in full numbers.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/witness
load ../helpers/immortal

setup() {
	common_setup
	start_redis
}

# burn SECONDS: one processor, busy.
burn() {
	local end=$((SECONDS + $1))
	while [ "$SECONDS" -lt "$end" ]; do :; done
}

# One round of the oracle, with a name and files of its own: server frozen at a random instant.
frozen_round() {
	W=$WORK/witness$1
	DLOCK_LOG=$WORK/dlock$1.log
	: >"$DLOCK_LOG"
	start_witnessed --ttl "${2}ms" "job$1"
	settle "job$1"
	sleep "0.$(printf %03d $((RANDOM % ($2 / 6))))"
	event
	kill -STOP "$REDIS_PID"
	assert_dead_in_time "$2" "round $1"
	assert_nothing_confirmed_since_settle
	kill -CONT "$REDIS_PID"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	[ "$(argv_count "$NAP" 0; echo $?)" = 0 ]
}

@test "dead before free, thirty times: the server frozen at a random instant, TTLs of 1 to 6 s" {
	local round
	for round in {1..30}; do
		frozen_round "$round" $((1000 + (round * 977) % 5000))
	done
}

@test "dead before free with both processors busy, ten times" {
	local round burner
	for burner in 1 2 3 4; do
		start burn 80
	done
	for round in {1..10}; do
		frozen_round "$round" 3000
	done
}

@test "dead before free with both processors busy and RUNNER killed at a random instant, ten times" {
	local round burner
	for burner in 1 2 3 4; do
		start burn 60
	done
	for round in {1..10}; do
		W=$WORK/witness$round
		DLOCK_LOG=$WORK/dlock$round.log
		: >"$DLOCK_LOG"
		start_witnessed --ttl 2s "job$round"
		settle "job$round"
		sleep "0.$(printf %03d $((RANDOM % 600)))"
		event
		kill -KILL "$RUNNER"
		wait_until 5s witnesses_gone
		EXPIRES=$(lock_end "job$round")
		assert_dead_in_time 2000 "round $round"
	done
}

@test "at no instant does the key exist with PTTL -1: 500 times kill -9 at a random instant of the start" {
	kill_at_random 500
}

@test "TERM at random moments, 1,000 times: never a leftover key (P19)" {
	term_at_random 1000
}

@test "twenty TTLs with a connection killed every half TTL: no gap between renewals over 2T/3 (R3)" {
	local i
	start_dlock -vv --ttl 2s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	for i in {1..40}; do
		sleep 1
		redis CLIENT KILL TYPE normal >/dev/null
		redis CLIENT KILL TYPE pubsub >/dev/null # who has waited
	done
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
	sed -n 's/.*confirmed t0=\([0-9.]*\) ttl=.*/\1/p' "$DLOCK_LOG" |
		awk 'NR > 1 && $1 - last > 2 / 1.5 { exit 1 } { last = $1 }'
}

@test "32 contenders, 100 short runs each: all exit 0, no overlap (P12)" {
	local i pids=() pid
	echo 0 >counter
	for i in {1..32}; do
		start bash -c 'for i in {1..100}; do
			"$DLOCK" --ttl 30s job sh -c "mkdir inside || echo overlap >>trouble
				read n <counter; echo \$((n + 1)) >counter; echo \$DLOCK_FENCE >>fences; rmdir inside" || echo "status $?" >>trouble
			done' 2>>"$DLOCK_LOG"
		pids+=("$STARTED")
	done
	for pid in "${pids[@]}"; do
		exit_status_of "$pid" 1800s
	done
	[ ! -e trouble ] || { sort trouble | uniq -c >&2; return 1; }
	[ "$(cat counter)" -eq 3200 ]
	sort -n -u fences | cmp - fences
}

@test "a fork storm ends too when RUNNER is killed, and when OUTER is, before the key is free" {
	local victim
	for victim in RUNNER OUTER; do
		rm -f births
		start_dlock --ttl 5s --kill-after 20ms "$victim" sh -c "exec '$TOOLS/forkstorm' 1000 '$WORK/births' 20"
		wait_until 10s births_over 1500
		running "$OUTER"
		kill -KILL "${!victim}"
		if [ "$victim" = RUNNER ]; then wait_until 4s gone "$OUTER"; else wait_until 10s free "$victim"; fi
		argv_gone "$WORK/births"
		wait_until 1s no_marked_dlock
	done
}

births_over() {
	[ "$(cat "$WORK/births" 2>/dev/null || echo 0)" -gt "$1" ] 2>/dev/null
}

@test "a process that re-forks itself, a hundred times" {
	local round now
	for round in {1..100}; do
		rm -f generations
		start_dlock --ttl 2s --kill-after 20ms "job$round" sh -c "exec '$TOOLS/refork' '$WORK/generations' 10"
		wait_until 3s generations_over 100
		redis DEL "lock:job$round" >/dev/null
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 79 ]
		now=$("$TOOLS/refork" -n generations)
		sleep 0.02
		[ "$("$TOOLS/refork" -n generations)" = "$now" ]
	done
}

generations_over() {
	[ "$("$TOOLS/refork" -n generations | cut -d' ' -f1)" -gt "$1" ]
}

@test "pauses of the whole machine, by each kind of freezer there is" {
	local root
	for root in /sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/freezer; do
		[ -e "$root/cgroup.procs" ] || continue
		DLOCK_TEST_FREEZER=$root bats --tap -f 'whole machine|wakes late' "$TESTS_DIR/promise1.bats" >"$WORK/tap" ||
			{ cat "$WORK/tap" >&2; return 1; }
		[ "$(grep -c '^ok ' "$WORK/tap")" -eq 3 ]
		echo "# as a freezer: $root" >&3
	done
}
