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

setup_file() {
	start_postgres
}

teardown_file() {
	stop_postgres
}

setup() {
	common_setup
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

# ends_at_once COMMAND...: what ends the session; the whole tree is dead 100 ms later, which is a moment more
# where the machine is busy.
ends_at_once() {
	local before status=0
	"$@"
	before=$(now_ms)
	poll_for 3000 tree_is_dead
	assert_between 0 "${LIMIT_MS:-100}" "$(($(now_ms) - before))" 'from the end of the session to the death of the tree, ms'
	wait "$OUTER" || status=$?
	[ "$status" = 79 ]
	grep -q "lost 'job': its session has ended, and others may have it" "$DLOCK_LOG"
}

@test "a session that is ended kills the tree within 100 ms, without the grace, and dlock says what the server said" {
	hold -k 5s
	ends_at_once sql "SELECT pg_terminate_backend($(holding_backend))"
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
