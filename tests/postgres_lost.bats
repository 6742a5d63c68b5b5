#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The ends of a session that has a lock in PostgreSQL: others may have the lock from then on, so the command is
# killed at once, without the grace; and what must not end a session does not. tests/long/postgres_*.bats has
# more of each.

load helpers/common
load helpers/postgres
load helpers/freezer
load helpers/proxy

setup_file() {
	start_postgres
}

teardown_file() {
	stop_postgres
}

setup() {
	common_setup
	pg_pid >/dev/null || restart_postgres # a test before has failed
	end_sessions
}

# hold: a holder whose command ignores TERM, and has a descendant in a session of its own that does so too.
# Both pids are in tree.
hold() {
	start_dlock "$@" job bash -c 'trap "" TERM; setsid bash -c "trap \"\" TERM; echo \$\$; while :; do sleep 0.2; done" &
		echo $$; while :; do sleep 0.2; done' >tree
	wait_until 5s has_lines 2 tree
	mapfile -t TREE <tree
	RUNNER=$(pgrep -P "$OUTER")
}

has_lines() {
	[ "$(wc -l <"$2")" -ge "$1" ]
}

tree_is_dead() {
	gone "${TREE[0]}" && gone "${TREE[1]}"
}

# The session of a dlock that has a lock.
holding_backend() {
	sql "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'dlock % #%'"
}

is_held() {
	[ -n "$(holding_backend)" ]
}

# ends_at_once COMMAND...: what ends the session; the tree is dead and status and words are those of a loss.
# TOOK is after how many milliseconds, far less than the grace.
ends_at_once() {
	local before status=0
	"$@"
	before=$(now_ms)
	poll_for 3000 tree_is_dead
	TOOK=$(($(now_ms) - before))
	assert_between 0 1500 "$TOOK" 'from the end of the session to the death of the tree, ms'
	wait "$OUTER" || status=$?
	[ "$status" = 79 ]
	grep -q "lost 'job': its session has ended, and others may have it" "$DLOCK_LOG"
}

terminate() {
	sql "SELECT pg_terminate_backend($(holding_backend))"
}

@test "a session that is ended kills the tree within 100 ms, without the grace, and dlock says what the server said" {
	local best=1500
	# On a machine that has other things to do, one of several shows what it takes.
	for _ in 1 2 3 4; do
		hold -k 5s
		ends_at_once terminate
		[ "$TOOK" -gt "$best" ] || best=$TOOK
		[ "$best" -gt 100 ] || break
		rm -f tree
	done
	assert_between 0 100 "$best" 'from the end of the session to the death of the tree, ms'
	grep -q 'terminating connection due to administrator command' "$DLOCK_LOG"
}

@test "a server that is stopped or crashes ends the command at once" {
	hold -k 5s
	ends_at_once end_postgres INT
	restart_postgres
	: >"$DLOCK_LOG"
	hold -k 5s
	ends_at_once crash_postgres
	restart_postgres
	run -0 dlock -n job true
}

@test "--on-lost signal: the end of a session is told by the signal alone" {
	start_dlock --on-lost signal --signal USR1 job bash -c 'trap "echo told >told" USR1; echo ready >ready; for i in {1..50}; do
		[ -e told ] && break; sleep 0.1; done; sleep 0.3; echo done >done'
	wait_until 5s test -s ready
	sql "SELECT pg_terminate_backend($(holding_backend))"
	local status=0
	wait "$OUTER" || status=$?
	[ "$status" = 79 ]
	[ "$(cat told 'done' | paste -sd' ')" = 'told done' ]
}

@test "a cancelled renewal, or a waiter's, costs nothing" {
	start_dlock -t 2s job sleep 3.5
	wait_until 5s is_held
	for _ in {1..20}; do
		sql "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dlock%'" >/dev/null
		pause 0.1
	done
	wait "$OUTER"
}

@test "a waiter whose session is ended goes on with another one, and gets the lock when it is free" {
	hold -k 200ms
	start "$DLOCK" -w 60 job sh -c 'echo had >had'
	local waiter=$STARTED
	wait_until 5s has_waiter
	sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dlock %:$waiter'"
	wait_until 5s has_waiter
	kill -KILL "$OUTER"
	wait_until 10s test -s had
	wait "$waiter"
}

# The kernel would end RUNNER's connection with it, and the server give the lock away at once.
@test "RUNNER killed: nobody has the lock before the tree is dead, although the session's client is gone" {
	hold -t 5s
	start "$DLOCK" -w 20 job bash -c 'for pid in $(cat tree); do kill -0 "$pid" 2>/dev/null && echo "alive $pid"; done; echo had >had'
	wait_until 5s has_waiter
	kill -KILL "$RUNNER"
	wait_until 10s test -s had
	[ "$(cat had)" = had ]
	tree_is_dead
}

has_waiter() {
	[ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'dlock %' AND application_name NOT LIKE '%#%'")" -ge 1 ]
}

@test "OUTER killed: RUNNER ends the tree, and then gives the lock back" {
	hold -t 5s
	kill -KILL "$OUTER"
	poll_for 8000 tree_is_dead
	wait_until 3s dlock -n job true
}

# A quarter of the lease later the server would be asked, and is not there.
@test "a frozen server: the tree is dead before the lease is over, and a late answer revives nothing" {
	hold -t 2s -k 200ms
	local since backend
	backend=$(holding_backend)
	since=$(now_ms)
	kill -STOP "$backend"
	poll_for 4000 tree_is_dead
	assert_between 500 2100 "$(($(now_ms) - since))" 'from the freeze to the death of the tree, ms'
	kill -CONT "$backend"
	local status=0
	wait "$OUTER" || status=$?
	[ "$status" = 79 ]
	wait_until 3s dlock -n job true
}

@test "R61 a client that is silent for its TTL loses its session: the lock is free a second later at most" {
	local since status=0
	make_freezer
	# shellcheck disable=SC2154 # make_freezer sets it
	start "${in_freezer[@]}" "$DLOCK" -t 2s job bash -c 'echo $$ >tree; echo $$ >>tree; sleep 71' 2>>"$DLOCK_LOG"
	local holder=$STARTED
	wait_until 5s is_held
	wait_until 5s has_lines 2 tree
	mapfile -t TREE <tree
	# What a machine that has vanished looks like: no word more, and no end of the connection.
	freeze
	since=$(now_ms)
	run -75 dlock -n job true
	wait_until 5s dlock -n job true
	assert_between 0 3100 "$(($(now_ms) - since))" 'from the freeze to the next holder, ms'
	thaw
	poll_for 2000 tree_is_dead
	wait "$holder" || status=$?
	[ "$status" = 79 ]
}

# What undoes the acquire, the end of its connection, does not get through.
@test "an acquire whose answer is lost is not taken for one, and its session does not stand in the way of the next try" {
	local direct=$PG_URL
	PROXY_TARGET=$PG_PORT start_proxy
	DLOCK_SERVER=$direct start_dlock job sleep 71
	local holder=$OUTER
	wait_until 5s is_held
	start "$DLOCK" -t 30s -w 60 --connect-timeout 4s \
		-S "postgresql://postgres@127.0.0.1:$PROXY_PORT,127.0.0.1:$PG_PORT/postgres" job sh -c 'echo $DLOCK_FENCE >got' 2>>"$DLOCK_LOG"
	wait_until 5s has_waiter
	proxy drop
	kill "$holder"
	wait_until 5s is_held_again "$holder"
	proxy blackhole
	[ ! -e got ]
	wait_until 20s test -s got
}

is_held_again() {
	gone "$1" && is_held
}
