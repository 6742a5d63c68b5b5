#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A lock in a Redis Cluster: what takes longer than tests/cluster.bats may.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154

load ../helpers/common
load ../helpers/cluster
load ../helpers/line

setup_file() { start_cluster --replicas 1; }
teardown_file() { stop_cluster; }
setup() {
	common_setup
	cluster_flush
	line_setup
	OWNER=$(owner_of job)
}

watches() {
	[ "$(at_owner job PUBSUB NUMSUB lock:job | tail -n 1)" = 1 ]
}

@test "--watch: a key that is deleted is noticed at once, also where its slot has moved to" {
	local round
	for round in here there; do
		start_dlock --watch -t 6s -k 100ms job sleep 900
		wait_until 10s watches
		if [ "$round" = there ]; then
			move_slot job "$(other_master "$(owner_of job)")"
			wait_until 10s watches
		fi
		start_clock
		at_owner job DEL lock:job
		status=0
		wait "$OUTER" || status=$?
		[ "$status" -eq 79 ]
		assert_between 0 700 "$(clock_ms)" "milliseconds to the loss"
	done
}

@test "a planned failover while the lock is held and two wait: nobody is disturbed, the order is kept" {
	local replica
	mkfifo gate.hold
	replica=$(replica_of "$OWNER")
	holds -t 6s job
	waits_for first job
	wait_until 5s hears job 1
	waits_for second job
	wait_until 5s hears job 2
	[ "$(node "$replica" CLUSTER FAILOVER)" = OK ]
	wait_until 10s is_master "$replica"
	wait_until 15s hears job 2
	boottime >let-go
	echo >gate.hold
	wait "$HOLDER" "${WAITER[first]}" "${WAITER[second]}"
	assert_order first second
	cluster_calm
}

is_master() {
	[[ "$(node "$1" ROLE)" == master* ]] && [ "$(owner_of job)" = "$1" ]
}

@test "nodes that do not say their host, and such as say a name: the lock is found" {
	local kind i
	for kind in unknown-endpoint hostname; do
		for i in $(nodes); do
			node "$i" CONFIG SET cluster-announce-hostname localhost >/dev/null
			node "$i" CONFIG SET cluster-preferred-endpoint-type "$kind" >/dev/null
		done
		for i in a b c d; do
			run -0 dlock -vv "$i" true
		done
		run -0 dlock --list
	done
	for i in $(nodes); do
		node "$i" CONFIG SET cluster-preferred-endpoint-type ip >/dev/null
	done
}

# not_served N: node N says CLUSTERDOWN of job's slot.
not_served() {
	[[ "$(node "$1" GET lock:job 2>&1)" == CLUSTERDOWN* ]]
}

@test "CLUSTERDOWN: -n ends with 69, -w goes on until the slot is served, a holder is not disturbed" {
	local slot
	slot=$(slot_of job)
	mkfifo gate.hold
	holds -t 6s job
	[ "$(node "$OWNER" CLUSTER DELSLOTS "$slot")" = OK ]
	wait_until 5s not_served "$OWNER"
	DLOCK_SERVER=redis+cluster://127.0.0.1:$(node_port "$OWNER") run -69 dlock -n job true
	assert_line --partial CLUSTERDOWN
	assert_equal "${#lines[@]}" 1
	waits_for first job -w 20s
	# A renewal falls into this time.
	sleep 2.5
	[ ! -s visits ]
	[ "$(node "$OWNER" CLUSTER ADDSLOTS "$slot")" = OK ]
	cluster_calm
	running "$HOLDER"
	boottime >let-go
	echo >gate.hold
	wait "$HOLDER" "${WAITER[first]}"
	assert_order first
}

@test "--wait-replicas 1: had with a replica, and not without one" {
	local replica
	replica=$(replica_of "$OWNER")
	run -0 dlock --wait-replicas 1 job true
	kill -STOP "$(node_pid "$replica")"
	run dlock --wait-replicas 1 -t 3s -n job true
	kill -CONT "$(node_pid "$replica")"
	[ "$status" -eq 69 ]
	[ "$(at_owner job EXISTS lock:job)" = 0 ]
	run -64 dlock --wait-replicas auto job true
	cluster_calm
}

@test "a user with the rights that the man page lists can wait there, and be told" {
	local rights i
	mkfifo gate.hold
	# shellcheck disable=SC2002
	rights=$(sed -n '/^ACL SETUSER dlock on/,/^\.Ed/p' "$ROOT_DIR/man/dlock.1" | sed '$d' | xargs | cut -d ' ' -f 4-)
	rights+=" $(sed -n 's/^\.Dl \(+ssubscribe .*\)/\1/p' "$ROOT_DIR/man/dlock.1")"
	for i in $(nodes); do
		# shellcheck disable=SC2086
		[ "$(node "$i" ACL SETUSER dlock reset $rights)" = OK ]
		node "$i" ACL LOG RESET >/dev/null
	done
	DLOCK_SERVER=redis+cluster://dlock:secret@127.0.0.1:$(node_port "$OWNER")
	holds job
	waits_for first job
	wait_until 5s hears job 1
	run -0 dlock --list
	assert_line --partial job
	boottime >let-go
	echo >gate.hold
	wait "$HOLDER" "${WAITER[first]}"
	for i in $(nodes); do
		[ -z "$(node "$i" ACL LOG)" ]
	done
}
