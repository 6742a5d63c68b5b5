#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5: any single process of dlock may be stopped or killed; DESIGN.md section 3, the
# two processes. (Stopped with the server frozen: promise1.bats. Stopped with it well:
# undisturbed.bats.)
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/witness

setup_file() {
	start_redis
}

teardown_file() {
	stop_redis
}

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# no_runner_left: dlock's own processes have all ended.
no_dlock_left() {
	gone "$OUTER" "$RUNNER" && no_marked_dlock
}

# assert_deleted_after LOW HIGH: that many milliseconds after KILLED_US the server executed the DEL of
# a release (by MONITOR's own line), and none of the witnesses has stamped after it.
assert_deleted_after() {
	local deleted pid boot real
	deleted=$(deleted_at job)
	assert_between "$1" "$2" $(((deleted - KILLED_US) / 1000)) "milliseconds until the key was deleted"
	witnesses_gone
	for pid in "${WITNESSES[@]}"; do
		read -r boot real < <(last_stamps "$pid")
		[ -n "$boot" ]
		[ "$((real / 1000))" -lt "$deleted" ] || { echo "the key was deleted while $pid lived" >&2; return 1; }
	done
	echo "# deleted after $(((deleted - KILLED_US) / 1000)) ms" >&3
}

@test "kill -9 of OUTER: the tree is gone and the key deleted within 500 ms, in this order; no dlock left after 1 s (S28, S30, S34, S3, R69)" {
	watch_server
	WITNESS_TRAP=: # TERM ends these
	start_witnessed --ttl 30s job
	KILLED_US=${EPOCHREALTIME/./}
	kill -KILL "$OUTER"
	wait_until 1s no_dlock_left
	assert_deleted_after 0 500
}

@test "kill -9 of OUTER, a tree that ignores TERM: killed after the grace, and only then is the key deleted (S3, S30)" {
	watch_server
	start_witnessed --ttl 30s --kill-after 300ms job
	KILLED_US=${EPOCHREALTIME/./}
	kill -KILL "$OUTER"
	assert_deleted_after 300 800
	wait_until 1s no_dlock_left
}

@test "kill -9 of OUTER while COMMAND is a polite one: it has the first signal, and its grace" {
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 30s job bash -c 'trap "sleep 0.2; echo cleaned >cleaned; exit" TERM; echo $$ >pid; while :; do sleep 0.01; done'
	wait_until 3s test -s pid
	RUNNER=$(runner_of "$OUTER")
	kill -KILL "$OUTER"
	wait_until 2s free job
	[ -e cleaned ]
	assert_gone "$(cat pid)"
	wait_until 1s no_dlock_left
}

@test "kill -9 of RUNNER: the tree is gone within a second, status 79, and the lock is left to its TTL" {
	start_witnessed --ttl 3s job
	start_clock
	kill -KILL "$RUNNER"
	wait_until 2s witnesses_gone
	assert_between 0 1000 "$(clock_ms)" "milliseconds until the tree was gone"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	held job
	grep -F "dlock: " "$DLOCK_LOG" | grep -F "'job'"
	wait_until 3s free job
	wait_until 1s no_dlock_left
}

@test "kill -9 of RUNNER at a random instant of the start: nothing is left, never a status of 0" {
	local round nap
	nap=$(unique_sleep)
	echo "$nap" >nap
	for round in {1..25}; do
		# shellcheck disable=SC2016 # for the shell inside
		start_dlock --ttl 1s "job$round" sh -c 'exec sleep "$(cat nap)"'
		poll_for 1000 runner_of "$OUTER" >/dev/null || continue
		[ $((round % 2)) = 0 ] || sleep "0.00$((RANDOM % 10))"
		kill -KILL "$(runner_of "$OUTER")" 2>/dev/null || true
		exit_status_of "$OUTER" 3s
		[ "$STATUS" -eq 79 ] || { echo "round $round: status $STATUS" >&2; return 1; }
		argv_gone "$nap"
	done
	wait_until 1s no_marked_dlock
}

@test "RUNNER dies between fork and prctl: COMMAND never runs (S36)" {
	DLOCK=$DLOCK_TEST_BUILD
	export DLOCK_TEST_HOOKS=slow-prctl=700
	start_dlock --ttl 3s job sh -c 'echo ran >ran'
	wait_until 2s runner_of "$OUTER"
	RUNNER=$(runner_of "$OUTER")
	wait_until 2s child_of_runner_is_there
	kill -KILL "$RUNNER"
	exit_status_of "$OUTER" 5s
	[ "$STATUS" -eq 79 ]
	sleep 1 # longer than the hook
	[ ! -e ran ]
	wait_until 1s no_marked_dlock
}

child_of_runner_is_there() {
	[ -n "$(children_of "$RUNNER")" ]
}

@test "the hook itself: without the kill COMMAND runs, late" {
	DLOCK=$DLOCK_TEST_BUILD
	start_clock
	DLOCK_TEST_HOOKS=slow-prctl=300 run "$DLOCK" --ttl 3s job sh -c 'echo ran >ran; exit 5'
	assert_failure 5
	assert_between 300 2000 "$(clock_ms)"
	[ -e ran ]
}

@test "kill -9 -PGID: both dlock processes and the group die, the lock is left to its TTL (S33)" {
	local nap
	nap=$(unique_sleep)
	echo "$nap" >nap
	# shellcheck disable=SC2016 # for the shell inside
	start setsid "$DLOCK" --ttl 3s job sh -c 'sleep "$(cat nap)" & sleep "$(cat nap)"' 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s running "$OUTER"
	wait_until 2s argv_count "$nap" 2
	[ "$(ps -o pgid= -p "$COMMAND" | tr -d ' ')" = "$OUTER" ]
	kill -KILL -- "-$OUTER"
	wait_until 1s no_dlock_left
	wait_until 1s argv_gone "$nap"
	held job
	wait_until 3500ms free job
}

@test "both dlock processes killed at one instant: COMMAND dies with RUNNER, the next holder starts within TTL + 1 s (P57, P67)" {
	local waiter
	start_dlock --ttl 2s job sleep 900
	wait_until 3s running "$OUTER"
	DLOCK_LOG=$WORK/waiter.log
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 2s job sh -c 'echo $EPOCHREALTIME >started; exit 9'
	waiter=$STARTED
	OUTER=$(ps -o ppid= -p "$RUNNER" | tr -d ' ')
	sleep 0.3
	start_clock
	# RUNNER first: it would release the lock if it saw OUTER die.
	kill -KILL "$RUNNER" "$OUTER"
	wait_until 500ms gone "$COMMAND"
	wait_until 4s test -e started
	assert_between 300 3000 "$(clock_ms)" "milliseconds until the waiter ran"
	exit_status_of "$waiter"
	[ "$STATUS" -eq 9 ]
}

@test "COMMAND killed: the key is gone within 100 ms, dlock dies of the same signal (R21)" {
	watch_server
	start_dlock --ttl 30s job sleep 900
	wait_until 3s running "$OUTER"
	KILLED_US=${EPOCHREALTIME/./}
	kill -KILL "$COMMAND"
	assert_between 0 100 $((($(deleted_at job) - KILLED_US) / 1000)) "milliseconds until the key was gone"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 137 ]
}

@test "after a death by signal what COMMAND left behind is killed before the lock is released" {
	local nap pid
	nap=$(unique_sleep)
	echo "$nap" >nap
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 30s --kill-after 300ms job sh -c 'trap "" TERM; (setsid sleep "$(cat nap)" &); sleep "$(cat nap)" & while :; do sleep 0.05; done'
	wait_until 3s argv_count "$nap" 2
	running "$OUTER"
	kill -KILL "$COMMAND"
	# The key may go only when the others have: look at the key first, then at them.
	local end=$((SECONDS + 9))
	while held job; do
		[ "$SECONDS" -lt "$end" ]
	done
	argv_gone "$nap"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 137 ]
}

@test "after a normal exit what COMMAND left behind goes on, and the lock is free (P27, S72)" {
	local nap
	nap=$(unique_sleep)
	echo "$nap" >nap
	# shellcheck disable=SC2016 # for the shell inside
	run dlock --ttl 30s job sh -c 'sleep "$(cat nap)" >/dev/null 2>&1 3>&- & exit 3'
	assert_failure 3
	free job
	argv_count "$nap" 1
	kill -KILL "$(find_argv "$nap")"
}

@test "PDEATHSIG is cleared by a setuid exec: kill -9 of RUNNER, OUTER still kills COMMAND (S40)" {
	local nap=900 dir
	# Where nothing is mounted nosuid.
	dir=$(mktemp -d /var/tmp/dlock-setuid.XXXXXX)
	chmod 755 "$dir"
	cp "$(command -v sleep)" "$dir/sleep"
	chown nobody "$dir/sleep"
	chmod 4755 "$dir/sleep"
	start_dlock --ttl 3s job "$dir/sleep" "$nap"
	wait_until 3s running "$OUTER"
	wait_until 1s uid_changed "$COMMAND"
	kill -KILL "$RUNNER"
	wait_until 1s gone "$COMMAND"
	rm -rf "$dir"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

# The effective user of PID is no longer root: the exec has happened, and it was a setuid one.
uid_changed() {
	local ids
	ids=$(status_field "$1" Uid)
	# shellcheck disable=SC2086 # four numbers
	set -- $ids
	[ "$2" != 0 ]
}

@test "a descendant of another user, whom dlock may not signal: reported, never claimed dead (S40)" {
	local dir pid
	dir=$(mktemp -d /var/tmp/dlock-setuid.XXXXXX)
	chmod 755 "$dir"
	chmod 777 "$WORK"
	cp "$(command -v setpriv)" "$dir/become"
	chmod 4755 "$dir/become"
	chmod 711 "$REDIS_DIR"
	chmod 777 "$REDIS_SOCK"
	start setpriv --reuid nobody --clear-groups "$DLOCK" --ttl 1s job \
		sh -c "$dir/become --reuid 0 --regid 0 --clear-groups sleep 20 & wait" 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s running "$OUTER"
	wait_until 2s roots_child "$COMMAND"
	pid=$(children_of "$COMMAND")
	redis DEL lock:job
	exit_status_of "$OUTER" 15s
	rm -rf "$dir"
	assert_alive "$pid"
	kill -KILL "$pid"
	[ "$STATUS" -eq 79 ]
	grep -E "dlock: .*\b$pid\b" "$DLOCK_LOG"
}

roots_child() {
	local child
	child=$(children_of "$1")
	[ -n "$child" ] && [ "$(comm_of "$child")" = sleep ] &&
		[ "$(status_field "$child" Uid | cut -f 1)" = 0 ]
}

@test "timers are absolute and on BOOTTIME, in RUNNER and in OUTER (S81)" {
	start_dlock --ttl 30s job sleep 900
	wait_until 3s running "$OUTER"
	# RUNNER's deadman: KILL and CONT (9 and 18), both on clock 7.
	wait_until 1s runner_has_timers
	run cat "/proc/$RUNNER/timers"
	assert_output --regexp 'signal: 9/'
	assert_output --regexp 'signal: 18/'
	refute_output --regexp 'ClockID: [^7]'
	# OUTER's alarm clock: a timerfd on clock 7, set to an absolute time (settime flags 01).
	run cat /proc/"$OUTER"/fdinfo/*
	assert_output --regexp 'clockid: 7'
	refute_output --regexp 'clockid: [^7]'
	assert_output --regexp 'settime flags: 01'
}

runner_has_timers() {
	[ "$(grep -c '^ClockID: 7' "/proc/$RUNNER/timers")" -ge 2 ]
}
