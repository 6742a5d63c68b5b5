#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A lock in a Redis Cluster (redis+cluster://): it is found wherever its slot is, also while that moves, and
# when its master dies. tests/long/cluster.bats has what takes longer.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154

load helpers/common
load helpers/cluster
load helpers/line

setup_file() { start_cluster --replicas 1; }
teardown_file() { stop_cluster; }
setup() {
	common_setup
	cluster_flush
	line_setup
	OWNER=$(owner_of job)
}

# token_at_owner NAME: what stands at its key.
token_at_owner() {
	at_owner "$1" GET "lock:$1"
}

is_held() {
	[ "$(at_owner "$1" EXISTS "lock:$1")" = 1 ]
}

# listeners NAME: of the channels of who waits for it, that have one at the owner of the slot.
listeners() {
	local channels
	mapfile -t channels < <(at_owner "$1" PUBSUB SHARDCHANNELS "lock:$1#queue{lock:$1}:*")
	[ -n "${channels[0]:-}" ] || { echo 0; return; }
	at_owner "$1" PUBSUB SHARDNUMSUB "${channels[@]}" | grep -cx 1
}

hears() {
	[ "$(listeners "$1")" = "$2" ]
}

holds() {
	start_dlock -vv "$@" sh -c 'echo "$DLOCK_FENCE" >fence; : >holding; read -r line <gate.hold' 5<>gate.hold
	HOLDER=$OUTER
	wait_until 5s test -e holding
}

# waits_for TAG NAME: stands in line, and is told by the owner of the slot.
waits_for() {
	start "$DLOCK" -vv "${@:3}" "$2" ./visit "$1" 2>>"waiter.$1"
	WAITER[$1]=$STARTED
}

# is_fresh NAME MS: its key has so much of its lease before it.
is_fresh() {
	[ "$(at_owner "$1" PTTL "lock:$1")" -ge "$2" ]
}

# took_over N: the slot of job has another master now than node N, which is dead.
took_over() {
	local owner
	owner=$(owner_of job 2>/dev/null)
	[ -n "$owner" ] && [ "$owner" != "$1" ]
}

@test "R18: the keys of 10,000 random names are in one slot each, which dlock knows, or the name is refused" {
	run "$TOOLS/key_slots" "$(node_port 0)" 10000 "$RANDOM"
	assert_success
	assert_output --regexp '^10000 names, [0-9]{5} keys, [0-9]{4} refused$'
}

@test "whichever node is named, also a replica: the lock is taken at the slot's master, and nowhere else" {
	local i
	for i in $(nodes); do
		DLOCK_SERVER=redis+cluster://127.0.0.1:$(node_port "$i") run -0 dlock -v job sh -c '
			echo "$DLOCK_KEY $DLOCK_TOKEN"
			redis-cli -p "$1" GET "$DLOCK_KEY"' - "$(node_port "$OWNER")"
		assert_line --regexp "^lock:job [0-9a-f-]{36}\$"
		[ "$(grep -oE '[0-9a-f-]{36}' <<<"$output" | sort -u | wc -l)" = 1 ]
		refute [ "$(grep -cE '[0-9a-f-]{36}' <<<"$output")" = 1 ]
	done
	[ "$(at_owner job EXISTS lock:job)" = 0 ]
}

@test "R13: a waiter listens at the owner of the slot, and starts within 200 ms of the release" {
	local i best=9999 late
	mkfifo gate.hold
	for i in 1 2 3; do
		rm -f holding
		holds job
		waits_for "$i" job
		wait_until 5s hears job 1
		boottime >let-go
		echo >gate.hold
		wait "${WAITER[$i]}"
		late=$(started_after "$i")
		[ "$late" -ge "$best" ] || best=$late
	done
	assert_between 0 200 "$best" "milliseconds from the release to the waiter's start"
	[ "$(at_owner job ZCARD 'lock:job#queue{lock:job}')" = 0 ]
}

@test "the slot moves with all its keys while the lock is held, while two wait, and they keep their places" {
	local to
	mkfifo gate.hold
	to=$(other_master "$OWNER")
	holds -t 3s job
	waits_for first job
	wait_until 5s hears job 1
	waits_for second job
	wait_until 5s hears job 2
	move_slot job "$to"
	[ "$(owner_of job)" = "$to" ]
	# They listen at the new owner, and the holder renews there.
	wait_until 5s hears job 2
	sleep 1.5
	alive "$HOLDER"
	assert_between 1500 3000 "$(at_owner job PTTL lock:job)" "PTTL at the new owner"
	boottime >let-go
	echo >gate.hold
	wait "$HOLDER" "${WAITER[first]}" "${WAITER[second]}"
	assert_order first second
	assert_between 0 1000 "$(started_after second)" "milliseconds to the second"
}

@test "half of the slot's keys are elsewhere: the lock is renewed and given back all the same" {
	local to
	mkfifo gate.hold
	to=$(other_master "$OWNER")
	holds -t 3s job
	begin_move job "$to"
	move_key lock:job
	sleep 2.5
	alive "$HOLDER"
	[ "$(node "$to" ASKING)" = OK ]
	refute grep -i lost "$DLOCK_LOG"
	echo >gate.hold
	wait "$HOLDER"
	end_move
	[ "$(at_owner job EXISTS lock:job)" = 0 ]
	# And nothing of it is in the way.
	run -0 dlock -n job true
}

@test "one of several holders too" {
	local to
	mkfifo gate.hold
	to=$(other_master "$OWNER")
	holds -t 3s --slots 2 job
	begin_move job "$to"
	move_key 'lock:job#members{lock:job}'
	sleep 2
	alive "$HOLDER"
	echo >gate.hold
	wait "$HOLDER"
	end_move
	[ "$(at_owner job ZCARD 'lock:job#members{lock:job}')" = 0 ]
	run -0 dlock -n job true
}

@test "the slot is on its way when somebody comes: -w takes it when it is there, -n says why not" {
	local to
	to=$(other_master "$OWNER")
	begin_move job "$to"
	run -69 dlock -n job true
	assert_output --partial "slot $MOVED_SLOT is "
	start_dlock -v -w 10s job touch ran
	sleep 0.5
	refute [ -e ran ]
	end_move
	wait "$OUTER"
	[ -e ran ]
}

@test "a database other than 0 is refused, there is none in a cluster" {
	run -64 dlock -S "$URL_CLUSTER/1" job true
	assert_output --partial "cluster"
}

# Last: a master is killed here.
@test "the slot's master is killed while the lock is held and others wait: its replica goes on, nobody is disturbed" {
	local fence server
	mkfifo gate.hold
	cluster_calm
	# One node is named, and that one dies.
	server=redis+cluster://127.0.0.1:$(node_port "$OWNER")
	DLOCK_SERVER=$server holds -t 12s job
	DLOCK_SERVER=$server waits_for next job
	wait_until 5s hears job 1
	fence=$(<fence)
	kill_node "$OWNER"
	wait_until 10s took_over "$OWNER"
	wait_until 10s hears job 1
	# A renewal of the new master's.
	wait_until 10s is_fresh job 9000
	alive "$HOLDER"
	refute grep -i lost "$DLOCK_LOG"
	boottime >let-go
	echo >gate.hold
	wait "$HOLDER" "${WAITER[next]}"
	assert_between 0 1500 "$(started_after next)" "milliseconds to the next one's start"
	# A node that is dead is no obstacle to who names others.
	DLOCK_SERVER=$server,127.0.0.1:$(node_port "$(some_node)") run -0 dlock job sh -c 'echo "$DLOCK_FENCE"'
	[ "$output" -gt "$fence" ]
}
