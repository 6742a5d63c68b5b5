#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1, 4 and 7: --slots N, up to N holders at once, each with an index of its own.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154,SC2086 # dollars for the shell inside; `how` is an option and its value

load helpers/common
load helpers/shared
load helpers/witness
load helpers/freezer

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() { shared_setup; }

@test "--slots N: so many at once and not one more; the key holds a marker that says N" {
	local id now
	enter a --slots 3
	enter b --slots=3
	enter c --slots 3 -t 20s
	[ "$(redis GET lock:job)" = 'dlock!slots:3' ]
	members_are 3
	now=$(server_ms)
	assert_between $((now + 15000)) $((now + 20000)) "$(expiry_of "$(token_of c)")" "expiry of c"
	for id in a b c; do
		[ "$(scored_slot_of "$(token_of "$id")")" = "$(slot_of "$id")" ]
	done
	(($(fence_of a) < $(fence_of b) && $(fence_of b) < $(fence_of c)))
	conflict --slots 3
	queue d --slots 3
	queue e --slots 3
	leave b
	wait_until 2s is_in d
	is_out e
	leave a
	wait_until 2s is_in e
	members_are 3
	leave c
	leave d
	leave e
	no_trace
}

@test "DLOCK_SLOT is the smallest free index, from 0" {
	local id
	for id in 0 1 2 3; do
		enter "a$id" --slots 4
		[ "$(slot_of "a$id")" = "$id" ]
	done
	leave a2
	leave a0
	enter b --slots 4
	[ "$(slot_of b)" = 0 ]
	enter c --slots 4
	[ "$(slot_of c)" = 2 ]
	queue d --slots 4
	leave a3
	wait_until 2s is_in d
	[ "$(slot_of d)" = 3 ]
	leave b
	leave c
	leave a1
	enter e --slots 4
	[ "$(slot_of e)" = 0 ]
	leave d
	leave e
	no_trace
}

@test "several waiters that are granted at once have different slots, in order of arrival" {
	local i
	enter w
	for i in 0 1 2 3 4; do
		queue "a$i" --slots 3
	done
	leave w
	wait_until 2s all_in a0 a1 a2
	all_out a3 a4
	waiting_are 2
	for i in 0 1 2; do
		[ "$(slot_of "a$i")" = "$i" ]
	done
	leave a1
	wait_until 2s is_in a3
	[ "$(slot_of a3)" = 1 ]
	leave a2
	wait_until 2s is_in a4
	[ "$(slot_of a4)" = 2 ]
	leave a0
	leave a3
	leave a4
	no_trace
}

@test "never more than N at once, each in a slot of its own: 12 contenders for 3 slots, and all 3 are used" {
	local i pids=()
	hammer() {
		local i
		for i in {1..3}; do
			record 3 "0.0$((RANDOM % 5))" -q || echo "$?" >>failures
		done
	}
	for i in {1..12}; do
		start hammer
		pids+=("$STARTED")
	done
	for i in "${pids[@]}"; do
		exit_status_of "$i" 60s
	done
	[ ! -e failures ]
	assert_compatible 36
	[ "$(most_at_once 3)" -eq 3 ]
	no_trace
}

@test "DLOCK_SLOT is there with --slots alone; an inherited one is removed" {
	export DLOCK_SLOT=7
	run -1 dlock job printenv DLOCK_SLOT
	[ -z "$output" ]
	run -1 dlock -s job printenv DLOCK_SLOT
	[ -z "$output" ]
	run -0 dlock --slots 2 job printenv DLOCK_SLOT
	[ "$output" = 0 ]
	run -1 dlock --slots 2 job "$DLOCK" other printenv DLOCK_SLOT
	[ -z "$output" ]
	run -1 dlock -S "unix://$WORK/nobody" --if-unreachable run -q --slots 2 job printenv DLOCK_SLOT
	refute_output --regexp '^[0-9]'
	run -0 dlock job sh -c 'env | grep -c ^DLOCK_SLOT= || :'
	[ "$output" = 0 ]
}

@test "a disagreement on N is an error that names both numbers, not an over-admission" {
	enter a --slots 2
	refused_with 69 '(2.*17|17.*2)' --slots 17
	refused_with 69 '(1.*2|2.*1)' --slots 1
	refused_with 69 '(2.*17|17.*2)' -n --slots 17
	members_are 1
	waiting_are 0
	[ "$(redis GET lock:job)" = 'dlock!slots:2' ]
	undisturbed a
	enter b --slots 2
	refused_with 69 '(2.*17|17.*2)' --slots 17
	leave a
	leave b
	no_trace
	# When nobody has it there is nothing to disagree with.
	run -0 dlock -n --slots 17 job true
}

@test "those in line who disagree on N never have it together" {
	local id
	enter w
	queue a --slots 2
	queue b --slots 3
	queue c --slots 2
	leave w
	wait_until 2s is_in a
	is_out b
	leave a
	# b is refused, or waits for its turn; c has it before, with or after it.
	for id in b c; do
		wait_until 10s ended_or_in "$id"
		if is_in "$id"; then
			leave "$id"
		else
			exit_status_of "${OUTERS[$id]}"
			[ "$STATUS" -eq 69 ]
		fi
	done
	is_in c || is_in b
	no_trace
}

ended_or_in() {
	is_in "$1" || gone "${OUTERS[$1]}"
}

@test "--slots 1 works like exclusive" {
	enter a --slots 1
	[ "$(slot_of a)" = 0 ]
	conflict --slots 1
	conflict
	queue b --slots 1
	queue c --slots 1
	leave a
	wait_until 2s is_in b
	is_out c
	[ "$(slot_of b)" = 0 ]
	leave b
	wait_until 2s is_in c
	leave c
	no_trace
}

@test "slots, shared and exclusive of the same name exclude each other" {
	local mine other
	for mine in -x -s '--slots 2'; do
		enter a $mine
		for other in -x -s '--slots 2'; do
			[ "$mine" != "$other" ] || [ "$mine" = -x ] || continue
			conflict $other
		done
		undisturbed a
		leave a
		no_trace
	done
}

@test "an exclusive waiter has its turn when all slots are empty, and those behind it theirs" {
	enter a --slots 2
	queue w
	conflict --slots 2
	queue b --slots 2
	leave a
	wait_until 2s is_in w
	is_out b
	leave w
	wait_until 2s is_in b
	leave b
	no_trace
}

@test "N is 1 to 1000" {
	local n
	for n in 0 1001 -1 1.5 two '' 18446744073709551617; do
		run dlock --slots "$n" job touch ran
		[ "$status" -eq 64 ] || fail "--slots '$n': $status"
		[[ $output == *slots* ]]
	done
	[ ! -e ran ]
	[ "$(redis DBSIZE)" = 0 ]
	run -0 dlock --slots 1000 job sh -c 'redis-cli -s "$REDIS_SOCK" GET lock:job'
	assert_output 'dlock!slots:1000'
}

@test "of a thousand slots the last is told exactly" {
	local key now
	key=$(members_key_of job)
	now=$(server_ms)
	redis SET lock:job 'dlock!slots:1000' PX 100000
	redis EVAL "for i = 0, 998 do
			redis.call('ZADD', KEYS[1], string.format('%.10f', ARGV[1] + 60000 + i / 1024), 'other-' .. i)
		end
		return redis.call('PEXPIRE', KEYS[1], 100000)" 1 "$key" "$now"
	run -0 dlock -n --slots 1000 job sh -c 'echo "$DLOCK_SLOT"'
	assert_output 999
	redis ZREM "$key" other-511
	run -0 dlock -n --slots 1000 job sh -c 'echo "$DLOCK_SLOT"'
	assert_output 511
	redis ZREM "$key" other-500 other-998
	enter a --slots 1000 -t 1s -k 100ms
	[ "$(slot_of a)" = 500 ]
	sleep 0.8 # it renews, and keeps it
	[ "$(scored_slot_of "$(token_of a)")" = 500 ]
	run -0 dlock -n --slots 1000 job sh -c 'echo "$DLOCK_SLOT"'
	assert_output 511
	leave a
}

# --- crashes ---

@test "killed jobs do not leave slots taken for ever: three of three killed, a fourth runs within the TTL (P88)" {
	local crashed
	enter a --slots 3 -t 1s -k 100ms
	enter b --slots 3 -t 1s -k 100ms
	enter c --slots 3 -t 1s -k 100ms
	crash a
	crash b
	crashed=$(boottime)
	crash c
	conflict --slots 3
	run -0 dlock -q -w 10 --slots 3 job sh -c '"$TOOLS/boottime" >ran-at; echo "$DLOCK_SLOT"'
	# Its lease began up to T/3 before it was killed.
	assert_between 200 1500 "$(elapsed_ms "$crashed" "$(<ran-at)")" "milliseconds until a fourth ran"
	assert_between 0 2 "$output" "its slot"
}

@test "a permit is not lost on a crash: both of two killed, two new ones hold within TTL + 0.5 s (R24)" {
	local crashed
	enter a --slots 2 -t 1s -k 100ms
	enter b --slots 2 -t 1s -k 100ms
	queue c --slots 2
	queue d --slots 2
	crash a
	crashed=$(boottime)
	crash b
	wait_until 6s all_in c d
	assert_between 200 1500 "$(elapsed_ms "$crashed")" "milliseconds until two held"
	[ "$(slot_of c) $(slot_of d)" = '0 1' ] || [ "$(slot_of c) $(slot_of d)" = '1 0' ]
	leave c
	leave d
	no_trace
}

@test "a crashed member's slot is given again after its TTL, those of the living never" {
	enter a --slots 3
	enter b --slots 3 -t 1s -k 100ms
	enter c --slots 3
	crash b
	conflict --slots 3
	enter d --slots 3
	[ "$(slot_of d)" = 1 ]
	conflict --slots 3
	undisturbed a c d
	leave a
	leave c
	leave d
	no_trace
}

@test "a member that stands still does not free another's place when it goes on: its tree is dead first, and who waits still waits (R25)" {
	local thawed pid boot real
	make_freezer
	LAUNCHER=("${in_freezer[@]}")
	start_witnessed --slots 1 --ttl 2s job
	LAUNCHER=()
	freeze
	enter b --slots 1 # when the lease of the frozen one is over
	queue c --slots 1
	thawed=$(boottime)
	thawed=${thawed/./}
	thaw
	wait_until 2s witnesses_gone
	for pid in "${WITNESSES[@]}"; do
		read -r boot real < <(last_stamps "$pid")
		[ $((boot - thawed)) -lt 200000000 ] || fail "$pid ran on for $(((boot - thawed) / 1000000)) ms"
	done
	assert_lost
	is_out c
	undisturbed b
	is_member "$(token_of b)"
	members_are 1
	leave b
	wait_until 2s is_in c
	leave c
	no_trace
}
