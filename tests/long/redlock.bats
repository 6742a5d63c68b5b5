#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Several servers on bad days: frozen in turn, killed, restarted empty, cut off, with clocks that differ. Never two
# holders where no node forgot, and numbers that strictly increase in the order in which they had it: a command
# writes its number down while it holds the lock. The naive rule fails the same trials.

load ../helpers/common
load ../helpers/quorum

setup() { common_setup; }

INSIDE='mkdir inside 2>/dev/null || echo two >>overlaps
	echo $DLOCK_FENCE >>fences
	rmdir inside 2>/dev/null || true'

# contend HOW_MANY TIMES [COMMAND...]: so many contenders, each takes the lock so often, or `until_enough`: until
# there is a file `enough`. COMMAND is put before dlock.
contend() {
	local many=$1 times=$2 k
	shift 2
	contenders=()
	for ((k = 1; k <= many; k++)); do
		# shellcheck disable=SC2016 # for the shell inside
		start env W="$WORK" INSIDE="$INSIDE" TIMES="$times" bash -c '
			cd "$W"
			for ((i = 0; TIMES == 0 ? 1 : i < TIMES; i++)); do
				[ ! -e enough ] || break
				"$@" job sh -c "$INSIDE" || echo "$?" >>failures
			done' contender "$@" "${DLOCK_UNDER_TEST:-$DLOCK}" -t 2s -w 60s 2>>"$DLOCK_LOG"
		contenders+=("$STARTED")
	done
}

until_enough=0

all_have_ended() {
	local pid
	for pid in "${contenders[@]}"; do
		gone "$pid" || return 1
	done
}

# rotate TURNS FROZEN: in each turn so many of the nodes stand still, others than before, and one acquires.
rotate() {
	local turn k which
	for ((turn = 0; turn < $1; turn++)); do
		which=()
		for ((k = 0; k < $2; k++)); do
			which+=($(((turn + k) % NODES + 1)))
		done
		for k in "${which[@]}"; do freeze_node "$k"; done
		"${DLOCK_UNDER_TEST:-$DLOCK}" -t 5s job sh -c "$INSIDE"
		for k in "${which[@]}"; do
			thaw_node "$k"
			wait_until 2s node_answers "$k"
		done
	done
}

# -- trials: the same for the rule that dlock has and for the naive one -----------------------------

# A trial sets `tries`: so many numbers there are in fences, or `least`: so many at least.

trial_rotate_one_of_three() {
	tries=200
	start_quorum 3
	fresh_quorum
	rotate $tries 1
}

trial_rotate_two_of_five() {
	tries=60
	start_quorum 5
	fresh_quorum
	rotate $tries 2
}

trial_contend() {
	tries=500
	start_quorum 3
	fresh_quorum
	contend 10 50
	wait_until 110s all_have_ended
}

# among TURNS EVENT: EVENT K in turn, on another node each time, among contenders; that they get on, too.
among() {
	local turn before
	for ((turn = 1; turn <= $1; turn++)); do
		before=$(count_fences)
		"$2" $((turn % NODES + 1))
		wait_until 20s there_are_more_than "$before"
	done
	touch enough
	wait_until 60s all_have_ended
}

count_fences() {
	if [ -e fences ]; then wc -l <fences; else echo 0; fi
}

there_are_more_than() {
	[ "$(count_fences)" -gt "$1" ]
}

stand_still() {
	freeze_node "$1"
	sleep 0.2
	thaw_node "$1"
}

trial_contend_while_nodes_freeze() {
	least=100
	start_quorum 3
	fresh_quorum
	contend 10 $until_enough
	among 60 stand_still
}

cut_off() {
	turns=$((turns + 1))
	tell_proxy "$1" "${orders[turns / 3 % 3]}"
	sleep 0.2
	tell_proxy "$1" pass
}

trial_contend_cut_off() {
	least=100
	turns=0 orders=(blackhole reset drop)
	start_quorum 3
	fresh_quorum
	for k in 1 2 3; do start_node_proxy $k; done
	DLOCK_SERVER="$(url_of_proxy 1) $(url_of_proxy 2) $(url_of_proxy 3)" contend 5 $until_enough
	contend_through=("${contenders[@]}")
	contend 5 $until_enough
	contenders+=("${contend_through[@]}")
	among 54 cut_off
}

# One node at a time may have forgotten: it votes again before the next one does.
forget_and_wait() {
	forget_node "$1"
	sleep 4.5
}

trial_contend_while_nodes_forget() {
	least=100
	start_quorum 3
	fresh_quorum
	echo 'quarantine = 3s' >"$DLOCK_CONFIG" # longer than the lease
	sleep 4
	contend 8 $until_enough
	among 9 forget_and_wait
}

forget() {
	forget_node "$1"
	sleep 0.3
}

trial_contend_while_nodes_forget_and_vote() {
	least=100
	start_quorum 3
	fresh_quorum
	contend 8 $until_enough
	among 45 forget
}

# All have had it, as often as they wanted.
have_all_had_it() {
	[ ! -e failures ] || fail "$(sort failures | uniq -c; tail -n 5 "$DLOCK_LOG")"
	if [ -n "${tries:-}" ]; then
		assert_equal "$(wc -l <fences)" "$tries"
	else
		there_are_more_than "$least"
	fi
}

# well TRIAL
well() {
	"trial_$1"
	have_all_had_it
	strictly_increasing fences
	[ ! -e overlaps ]
}

# naively TRIAL: all is as well as with the rule that dlock has, but for the numbers.
naively() {
	export DLOCK_UNDER_TEST=$DLOCK_TEST_BUILD DLOCK_TEST_HOOKS=naive-quorum
	"trial_$1"
	have_all_had_it
	run strictly_increasing fences
	assert_failure
}

@test "200 acquisitions, a node of three frozen in turn" { well rotate_one_of_three; }
@test "the naive rule fails that" { naively rotate_one_of_three; }

@test "60 acquisitions, two nodes of five frozen in turn" { well rotate_two_of_five; }
@test "the naive rule fails that, too" { naively rotate_two_of_five; }

@test "10 contenders, 50 runs each, all nodes well" {
	well contend
	wait_until 2s on_nodes 0 job
}
@test "the naive rule fails that: 10 contenders" { naively contend; }

@test "10 contenders while nodes freeze in turn" { well contend_while_nodes_freeze; }
@test "the naive rule fails that: nodes that freeze" { naively contend_while_nodes_freeze; }

@test "contenders that are cut off from a node, and reach it again" { well contend_cut_off; }
@test "the naive rule fails that: cut off" { naively contend_cut_off; }

@test "nodes killed and restarted empty: the numbers increase all the same, and with --quarantine nobody is let in twice" {
	well contend_while_nodes_forget
}
@test "the naive rule fails that: nodes that forget" { naively contend_while_nodes_forget; }

@test "the same without --quarantine: the numbers increase" {
	trial_contend_while_nodes_forget_and_vote
	have_all_had_it
	strictly_increasing fences
}
@test "the naive rule fails that, too: nodes that forget and vote" { naively contend_while_nodes_forget_and_vote; }

@test "clocks 20 minutes apart, of nodes and of clients: nothing of it rests on them" {
	NODE_CLOCKS=('shift 600000' 'shift 0' 'shift -600000') start_quorum 3
	fresh_quorum
	rotate 30 1
	assert_equal "$(wc -l <fences)" 30
	echo 'shift 600000' >ahead
	contend 4 20
	first=("${contenders[@]}")
	contend 4 20 env LD_PRELOAD="$TOOLS/server_clock_preload.so" SERVER_CLOCK="$WORK/ahead"
	contenders+=("${first[@]}")
	wait_until 100s all_have_ended
	[ ! -e failures ] || fail "$(sort failures | uniq -c)"
	assert_equal "$(wc -l <fences)" 190
	strictly_increasing fences
	[ ! -e overlaps ]
	# Where a node's clock is set back while it runs.
	echo 'shift -1200000' >"$(dir_of_node 1).clock"
	rotate 12 1
	strictly_increasing fences
}

@test "15 nodes, as many as there may be, seven of them frozen" {
	start_quorum 15
	fresh_quorum
	run dlock -t 3s job sh -c '"$0" --held && sleep 2 && echo $DLOCK_FENCE' "$DLOCK"
	assert_success
	assert_output --regexp '^[0-9]+$'
	for k in 1 3 5 7 9 11 13; do freeze_node $k; done
	run dlock -t 3s job sh -c '"$0" --held && sleep 2 && echo $DLOCK_FENCE' "$DLOCK"
	assert_success
	freeze_node 15
	run dlock --connect-timeout 300ms job touch ran
	assert_failure 69
	[ ! -e ran ]
}

is_replica() {
	node "$1" INFO replication | grep -q master_link_status:up
}

@test "a server and its replica are refused" {
	start_quorum 2
	fresh_quorum
	node 2 REPLICAOF 127.0.0.1 "$(<"$(dir_of_node 1)/port")" >/dev/null
	wait_until 15s is_replica 2
	run dlock job touch ran
	assert_failure 69
	assert_output --partial 'are a server and its replica: a quorum needs independent servers'
	run dlock --check -q
	assert_failure 69
	assert_output --partial 'it is a replica, or the master, of'
	[ ! -e ran ]
	assert_equal "$(node 1 KEYS '*')" ''
}
