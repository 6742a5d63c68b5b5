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
	assert_between 0 "$(within 200)" "$best" "milliseconds from the release to the waiter's start"
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
	assert_between 0 "$(within 1000 2)" "$(started_after second)" "milliseconds to the second"
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

# expiry_of_member: of the one that there is, at the node where it is on its way to.
expiry_of_member() {
	printf 'ASKING\nZRANGE lock:job#members{lock:job} 0 -1 WITHSCORES\n' | node "$MOVED_TO" | tail -n 1
}

expires_later_than() {
	awk -v now="$(expiry_of_member)" -v before="$1" 'BEGIN { exit !(now > before) }'
}

@test "one of several holders too" {
	local to before
	mkfifo gate.hold
	to=$(other_master "$OWNER")
	holds -t 6s --slots 2 job
	begin_move job "$to"
	move_key 'lock:job#members{lock:job}'
	before=$(expiry_of_member)
	[ "${before%.*}" -gt 0 ]
	wait_until 5s expires_later_than "$before"
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

# hold_all NAME...: each is held by a dlock until the test ends.
hold_all() {
	local name
	for name; do
		start_dlock -t 30s "$name" sleep 900
	done
	for name; do
		wait_until 5s is_held "$name"
	done
}

@test "--list asks all masters, --status and --break whoever has the lock" {
	hold_all a b c d job
	waits_for next job
	wait_until 5s hears job 1
	run -0 dlock --list
	[ "$(awk '{ print $1 }' <<<"$output" | xargs)" = 'a b c d job' ]
	assert_line --regexp '^job +held .*1 waiting$'
	run -0 bash -c '"$DLOCK" --list --json | python3 -c "import json, sys; print(len(json.load(sys.stdin)))"'
	assert_output 5
	run -1 dlock --status a job free
	assert_line --partial 'a: held by '
	assert_line 'free: free'
	run -0 dlock --break b
	assert_output --partial "broke 'b'"
	[[ "$(token_at_owner b)" == dlock!broken:* ]]
}

@test "--check tells what the cluster is, and tries it; of a node that is not named as one it says how" {
	run -0 dlock --check
	assert_line --regexp '^cluster: state ok, 16384 of 16384 slots at 3 masters, replicas of each at least 1$'
	if server_has 7.0; then
		assert_line 'works: locks, waiting, messages, foreign, watch, shared, slots, counter, status, list, break'
	else
		assert_line 'works: locks, waiting, watch, shared, slots, counter, status, list, break'
		assert_line 'does not work: messages: this server has no channels for a slot of a cluster, as Redis 7 has them'
	fi
	assert_line --regexp '^role: master, mode: cluster$'
	run -0 bash -c '"$DLOCK" --check --json | python3 -c "import json, sys; s = json.load(sys.stdin)[0]; print(s[\"cluster_state\"], s[\"cluster_masters\"])"'
	assert_output 'ok 3'
	run -69 dlock -S "redis://127.0.0.1:$(node_port 0)" --check
	assert_output --partial 'redis+cluster://'
	[ "$(for i in $(nodes); do node "$i" KEYS '*dlock-check*'; done | grep -c .)" = 0 ]
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
	assert_between 0 "$(within 1500)" "$(started_after next)" "milliseconds to the next one's start"
	# A node that is dead is no obstacle to who names others.
	DLOCK_SERVER=$server,127.0.0.1:$(node_port "$(some_node)") run -0 dlock job sh -c 'echo "$DLOCK_FENCE"'
	[ "$output" -gt "$fence" ]
}
