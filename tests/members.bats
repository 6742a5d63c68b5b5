#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1, 5 and 7 for those that share a lock or have a slot of it: each has a lease of its
# own, and what befalls one of them befalls nobody else.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154,SC2086 # dollars for the shell inside; `how` is an option and its value

load helpers/common
load helpers/shared
load helpers/witness

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() { shared_setup; }

remove_member() {
	[ "$(redis ZREM "$(members_key_of job)" "$1")" = 1 ]
}

# marker_outlives TOKEN: the key lasts at least as long as this member's lease.
marker_outlives() {
	local now left
	now=$(server_ms)
	left=$(redis PTTL lock:job)
	[ "$left" -ge $(($(expiry_of "$1") - now)) ] || { echo "the marker ends in $left ms, a member later" >&2; return 1; }
}

# --- leases ---

@test "one reader's short TTL does not end the others' hold (R22)" {
	local limit
	enter a -s -t 10s
	enter b -s -t 1s -k 100ms
	marker_outlives "$(token_of a)"
	crash b
	limit=$(($(server_ms) + 1500)) # beyond b's TTL
	while [ "$(server_ms)" -lt "$limit" ]; do
		conflict
		sleep 0.1
	done
	undisturbed a
	marker_outlives "$(token_of a)"
	leave a
	run -0 dlock -n job true
	no_trace
}

@test "one that comes and goes with a short TTL leaves the key's long expiry alone" {
	local how
	for how in -s '--slots 3'; do
		enter a $how -t 60s
		run -0 dlock $how -t 1s -k 100ms job true
		marker_outlives "$(token_of a)"
		enter b $how -t 1s -k 100ms
		wait_until 3s renewed b "$(expiry_of "$(token_of b)")"
		marker_outlives "$(token_of a)"
		marker_outlives "$(token_of b)"
		leave b
		marker_outlives "$(token_of a)"
		leave a
	done
	no_trace
}

@test "members renew: each lease goes on for as long as its command runs" {
	local first
	enter a -s -t 1s -k 100ms
	enter b -s -t 2s
	first=$(expiry_of "$(token_of a)")
	wait_until 5s renewed a "$first"
	marker_outlives "$(token_of a)"
	marker_outlives "$(token_of b)"
	undisturbed a b
	leave a
	leave b
	enter c --slots 3 -t 1s -k 100ms
	enter d --slots 3 -t 1s -k 100ms
	first=$(expiry_of "$(token_of d)")
	wait_until 5s renewed d "$first"
	[ "$(scored_slot_of "$(token_of d)")" = 1 ]
	undisturbed c d
	leave c
	leave d
}

@test "a crashed reader's lease ends with its TTL, not with the marker: a writer in line starts then" {
	local crashed
	enter a -s -t 1s -k 100ms
	marker_outlives "$(token_of a)"
	queue w
	crashed=$(boottime)
	crash a
	wait_until 6s is_in w
	assert_between 200 1500 "$(elapsed_ms "$crashed")" "milliseconds until the writer started, TTL 1 s"
	leave w
	no_trace
}

@test "a crashed reader's lease ends with its TTL: a writer waits for the reader that lives, no longer" {
	enter a -s -t 1s -k 100ms
	enter b -s
	queue w
	crash a
	wait_until 4s lapsed "$(token_of a)"
	is_out w
	leave b
	wait_until 2s is_in w
	leave w
	no_trace
}

# lapsed TOKEN: the lease of this member is over, or it is a member no more.
lapsed() {
	local expiry
	expiry=$(expiry_of "$1")
	[ -z "$expiry" ] || [ "$(server_ms)" -gt "$expiry" ]
}

@test "a marker without living members counts as free" {
	redis SET lock:job 'dlock!shared' PX 60000
	run -0 dlock -n job true
	redis SET lock:job 'dlock!slots:2' PX 60000
	run -0 dlock -n --slots 5 job true
	redis SET lock:job 'dlock!shared' PX 60000
	redis ZADD "$(members_key_of job)" $(($(server_ms) - 1)) 00000000-0000-4000-8000-000000000000
	run -0 dlock -n --slots 2 job sh -c 'redis-cli -s "$REDIS_SOCK" ZCARD "$DLOCK_KEY#members{$DLOCK_KEY}"'
	assert_output 1
	no_trace
}

@test "members without a marker count for nothing" {
	redis ZADD "$(members_key_of job)" $(($(server_ms) + 60000)) 00000000-0000-4000-8000-000000000000
	run -0 dlock -n job true
	redis ZADD "$(members_key_of job)" $(($(server_ms) + 60000)) 00000000-0000-4000-8000-000000000000
	run -0 dlock -n --slots 1 job sh -c 'echo "$DLOCK_SLOT"'
	assert_output 0
	no_trace
}

# --- losses ---

@test "ZREM of one member: that one alone gets TERM and 79, the others are undisturbed" {
	local how
	for how in -s '--slots 3'; do
		enter a $how -t 1s -k 100ms
		enter b $how -t 1s -k 100ms
		enter c $how -t 1s -k 100ms
		remove_member "$(token_of b)"
		lost b
		members_are 2
		sleep 0.7 # beyond the others' next renewal
		undisturbed a c
		leave a
		leave c
		no_trace
		rm -f log.b
	done
}

@test "DEL of the marker: all lose it" {
	local how
	for how in -s '--slots 3'; do
		enter a $how -t 1s -k 100ms
		enter b $how -t 1s -k 100ms
		redis DEL lock:job
		lost a
		lost b
		wait_until 1s free job
		run -0 dlock -n job true
		no_trace
	done
}

@test "who comes when the marker was deleted does not inherit the members of before" {
	local how
	for how in -x -s '--slots 2'; do
		enter a --slots 2 -t 1s -k 100ms
		enter b --slots 2 -t 1s -k 100ms
		redis DEL lock:job
		enter c $how -t 60s
		[ "$how" = -x ] || members_are 1
		[ "$how" != '--slots 2' ] || [ "$(slot_of c)" = 0 ]
		lost a
		lost b
		[ "$how" = -x ] || is_member "$(token_of c)"
		undisturbed c
		leave c
		no_trace
	done
}

@test "FLUSHALL: who has it loses it, who waits has it" {
	enter a -s -t 1s -k 100ms
	enter b -s -t 1s -k 100ms
	queue w
	redis FLUSHALL
	lost a
	lost b
	wait_until 8s is_in w
	leave w
	no_trace
}

@test "a cut connection disturbs no member" {
	enter a -s -t 2s
	enter b -s -t 2s
	queue w -t 2s
	redis CLIENT KILL TYPE normal >/dev/null
	redis CLIENT KILL TYPE pubsub >/dev/null
	wait_until 5s renewed a "$(expiry_of "$(token_of a)")"
	undisturbed a b
	leave a
	leave b
	wait_until 8s is_in w
	leave w
	no_trace
}

@test "another's token, or a marker of another kind, in the marker's place: all lose it, and leave that alone" {
	local other
	for other in another 'dlock!shared'; do
		enter a --slots 2 -t 1s -k 100ms
		enter b --slots 2 -t 1s -k 100ms
		redis SET lock:job "$other" PX 60000
		lost a
		lost b
		# A marker of readers that are not there may be cleared away.
		[ "$other" != another ] || [ "$(redis GET lock:job)" = another ]
		redis DEL lock:job
	done
	enter a -s -t 1s -k 100ms
	redis SET lock:job another PX 60000
	lost a
	[ "$(redis GET lock:job)" = another ]
	[ "$(redis PTTL lock:job)" -gt 50000 ]
}

@test "DEL of the members: all lose it, and an expired lease is not revived by its renewal" {
	enter a -s -t 1s -k 100ms
	enter b -s -t 1s -k 100ms
	redis DEL "$(members_key_of job)"
	lost a
	lost b
	enter c -s -t 1s -k 100ms
	enter d -s -t 60s
	redis ZADD "$(members_key_of job)" XX $(($(server_ms) - 1)) "$(token_of c)"
	lost c
	lapsed "$(token_of c)"
	undisturbed d
	leave d
	no_trace
}

@test "a member whose place was lost unseen says so at the end: 79, whatever COMMAND's status" {
	local how
	for how in -s '--slots 2'; do
		enter a $how
		run dlock $how job sh -c 'redis-cli -s "$REDIS_SOCK" ZREM "$DLOCK_KEY#members{$DLOCK_KEY}" "$DLOCK_TOKEN"; exit 0'
		assert_failure 79
		undisturbed a
		members_are 1
		leave a
	done
	no_trace
}

@test "the release of a member that lost its place touches nobody who came after" {
	enter a --slots 1 -t 30s
	remove_member "$(token_of a)"
	enter b --slots 1
	[ "$(slot_of b)" = 0 ]
	echo 23 1<>go.a
	exit_status_of "${OUTERS[a]}"
	[ "$STATUS" -eq 79 ]
	members_are 1
	is_member "$(token_of b)"
	[ "$(redis GET lock:job)" = 'dlock!slots:1' ]
	conflict --slots 1
	undisturbed b
	leave b
	no_trace
}

@test "promise 1 for members: with the server frozen the tree is dead before its lease in members ends" {
	enter a -s -t 60s
	start_witnessed -s --ttl 2s job
	wait_until 5s confirmed_more_than "$(confirmed_count)"
	CONFIRMED=$(confirmed_count)
	EXPIRES=$(redis ZRANGE "$(members_key_of job)" 0 0 WITHSCORES | tail -n 1)
	EXPIRES=${EXPIRES%%.*}
	event
	kill -STOP "$REDIS_PID"
	assert_dead_in_time 2000 "a member, server frozen"
	kill -CONT "$REDIS_PID"
	assert_nothing_confirmed_since_settle
	assert_lost
	undisturbed a
	leave a
}
