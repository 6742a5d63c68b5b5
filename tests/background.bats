#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A child that the process had before it became dlock (`exporter & exec dlock ...`) is none of
# dlock's: it is never signalled and never killed, however the run ends.

load helpers/common
load helpers/signals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	BEFORE=$(unique_sleep)
	GOT=$WORK/got-before # its whole name: other tests run at the same time
	INSIDE=$(unique_sleep)
}

# exec_dlock ARG...: a shell that has two children, one of which has a child, and becomes dlock.
# OUTER is its pid.
exec_dlock() {
	start env --default-signal bash -c '"$TOOLS/sigcount" '"$GOT"' 30000 & sleep '"$BEFORE"' &
		bash -c "sleep '"$BEFORE"' & wait" & until test -s '"$GOT"'; do sleep 0.01; done
		exec "$DLOCK" "$@"' - "$@" 2>>"$DLOCK_LOG"
	OUTER=$STARTED
}

# The three are there, and no signal came to the one that counts.
untouched() {
	wait_until 2s argv_count "$BEFORE" 2
	run grep -c ' from ' "$GOT"
	assert_output 0
	argv_count "$GOT" 1
}

@test "COMMAND exits: the background process is untouched" {
	exec_dlock L sh -c 'exit 3'
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 3 ]
	untouched
	free L
}

@test "COMMAND dies of a signal: its tree is swept, the background process untouched" {
	exec_dlock -k 100ms L sh -c "trap '' TERM; sleep $INSIDE & setsid sleep $INSIDE & sleep 0.2; kill -KILL \$\$"
	wait_until 2s argv_count "$INSIDE" 2
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 137 ]
	argv_gone "$INSIDE"
	untouched
	free L
}

@test "the lock is lost: COMMAND's tree is killed, the background process untouched" {
	exec_dlock -t 2s -k 100ms L sh -c "sleep $INSIDE & setsid sleep $INSIDE & sleep $INSIDE"
	wait_until 2s argv_count "$INSIDE" 3
	untouched
	steal L
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	argv_gone "$INSIDE"
	untouched
}

@test "RUNNER is killed: OUTER sweeps COMMAND's tree, the background process untouched" {
	exec_dlock -t 2s L sh -c "sleep $INSIDE & setsid sleep $INSIDE & sleep $INSIDE"
	wait_until 2s argv_count "$INSIDE" 3
	wait_until 2s running "$OUTER"
	kill -KILL "$RUNNER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	argv_gone "$INSIDE"
	untouched
}

@test "OUTER is killed: RUNNER sweeps COMMAND's tree, the background process untouched" {
	exec_dlock L sh -c "sleep $INSIDE & setsid sleep $INSIDE & sleep $INSIDE"
	wait_until 2s argv_count "$INSIDE" 3
	kill -KILL "$OUTER"
	wait_until 2s argv_gone "$INSIDE"
	wait_until 2s free L
	untouched
}

@test "the background process may end meanwhile, before and after COMMAND's orphans" {
	exec_dlock L sh -c "setsid sh -c 'sleep 0.1' & until test -e go; do sleep 0.01; done; exit 8"
	wait_until 2s running "$OUTER"
	kill -KILL "$(find_argv "$GOT")"
	wait_until 2s argv_gone "$GOT"
	: >go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 8 ]
	argv_count "$BEFORE" 2
}

@test "a conflict leaves the background process alone too" {
	start_dlock L sleep 60
	wait_until 2s running "$OUTER"
	exec_dlock -n L true
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 75 ]
	untouched
}
