#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 4, last paragraph: COMMAND's whole tree is what is signalled and killed, background
# jobs, setsid(2) and double forks too, however fast it grows; and nothing else is.
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

generations() {
	"$TOOLS/refork" -n "$WORK/generations" | cut -d' ' -f1
}

generations_over() {
	[ "$(generations)" -gt "$1" ]
}

births_over() {
	[ "$(cat "$WORK/births" 2>/dev/null || echo 0)" -gt "$1" ] 2>/dev/null
}

assert_status() {
	exit_status_of "$OUTER"
	[ "$STATUS" -eq "$1" ] || { echo "status $STATUS instead of $1" >&2; show_scene >&2; return 1; }
}

@test "a process that re-forks itself with setsid is gone, fifteen times: ECHILD is reached (S21)" {
	local round now
	for round in {1..15}; do
		rm -f generations
		start_dlock --ttl 2s --kill-after 20ms job sh -c "exec '$TOOLS/refork' '$WORK/generations' 10"
		wait_until 3s generations_over 100
		steal job
		assert_status 79
		# The generations stand still: nobody is left to count.
		now=$(generations)
		sleep 0.02
		[ "$(generations)" = "$now" ] || { echo "round $round: it still lives" >&2; return 1; }
		argv_gone "$WORK/generations"
		redis DEL lock:job >/dev/null
	done
}

@test "a process that re-forks itself is gone before the key, when OUTER is killed and when COMMAND is (S21)" {
	local round now
	for round in outer command; do
		rm -f generations
		start_dlock --ttl 30s --kill-after 20ms job sh -c "exec '$TOOLS/refork' '$WORK/generations' 10"
		wait_until 3s generations_over 100
		running "$OUTER"
		if [ "$round" = outer ]; then kill -KILL "$OUTER"; else kill -KILL "$COMMAND"; fi
		wait_until 5s free job
		now=$(generations)
		sleep 0.02
		[ "$(generations)" = "$now" ] || { echo "$round: it lives, the lock is free" >&2; return 1; }
		wait_until 1s no_marked_dlock
	done
}

@test "a fork storm of 1,000 is gone, three times (S22)" {
	local round
	for round in 1 2 3; do
		rm -f births
		start_dlock --ttl 5s --kill-after 50ms job sh -c "exec '$TOOLS/forkstorm' 1000 '$WORK/births' 15"
		wait_until 10s births_over 1500
		redis DEL lock:job >/dev/null
		exit_status_of "$OUTER" 10s
		argv_gone "$WORK/births" || { echo "round $round: of the storm something still lives" >&2; return 1; }
		[ "$STATUS" -eq 79 ]
	done
}

@test "a fork storm is gone too when dlock has no descriptor to spare" {
	start bash -c 'ulimit -n 24; exec "$@"' bash "$DLOCK" --ttl 3s --kill-after 300ms job \
		"$TOOLS/forkstorm" 200 "$WORK/births" 15 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 5s births_over 300
	redis DEL lock:job >/dev/null
	exit_status_of "$OUTER" 10s
	argv_gone "$WORK/births"
	[ "$STATUS" -eq 79 ]
}

@test "a tree where all ignore TERM is gone after --kill-after, grandchildren too (S19, S18)" {
	start_witnessed --ttl 3s --kill-after 200ms job
	redis DEL lock:job
	wait_until 5s witnesses_gone
	assert_status 79
}

@test "a tree that is stopped gets CONT with the first signal, or it would sleep through its grace" {
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 2s job bash -c 'trap "echo >cleaned; exit 0" TERM; echo $$ >pid; while :; do sleep 0.01; done'
	wait_until 3s test -s pid
	kill -STOP "$(cat pid)"
	wait_until 1s state_is T "$(cat pid)"
	redis DEL lock:job
	wait_until 3s test -e cleaned
	assert_gone "$(cat pid)" || wait_until 500ms gone "$(cat pid)"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "where pidfd_open is refused the start-time check takes over: the polite signal still reaches all (S87)" {
	# shellcheck disable=SC2016 # for the shell inside
	start "$TOOLS/deny_pidfd" EPERM "$DLOCK" --ttl 2s job bash -c '
		(setsid bash -c "trap \"echo >far; exit\" TERM; echo >ready; while :; do sleep 0.01; done" &)
		trap "echo >near; exit" TERM
		while :; do sleep 0.01; done' 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s test -e ready
	redis DEL lock:job
	assert_status 79
	[ -e near ] && [ -e far ]
}

@test "where pidfd_open is refused OUTER killed and RUNNER killed still end the tree (S87)" {
	local victim
	WITNESS_TRAP=:
	for victim in OUTER RUNNER; do
		W=$WORK/$victim
		LAUNCHER=("$TOOLS/deny_pidfd" EPERM)
		start_witnessed --ttl 2s "$victim"
		kill -KILL "${!victim}"
		wait_until 5s witnesses_gone
	done
	wait_until 1s no_marked_dlock
}

@test "a spurious EINVAL of pidfd_open is taken as gone, nothing worse: the sweep still kills (S88)" {
	LAUNCHER=("$TOOLS/deny_pidfd" EINVAL)
	start_witnessed --ttl 2s job
	redis DEL lock:job
	wait_until 5s witnesses_gone
	assert_status 79
}

@test "a process that was dlock's child before dlock began is never touched" {
	local exporter
	# shellcheck disable=SC2016 # for the shell inside
	start bash -c 'sleep 900 & echo $! >exporter; exec "$DLOCK" --ttl 2s job sleep 900' 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s running "$OUTER"
	exporter=$(cat exporter)
	[ "$(ps -o ppid= -p "$exporter" | tr -d ' ')" = "$OUTER" ]
	redis DEL lock:job
	assert_status 79
	assert_alive "$exporter"
	kill -KILL "$exporter"
}

@test "a process that was dlock's child before dlock began is not touched when RUNNER is killed either" {
	local exporter
	# shellcheck disable=SC2016 # for the shell inside
	start bash -c 'sleep 900 & echo $! >exporter; exec "$DLOCK" --ttl 2s job sleep 900' 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s running "$OUTER"
	exporter=$(cat exporter)
	kill -KILL "$RUNNER"
	assert_status 79
	assert_gone "$COMMAND"
	assert_alive "$exporter"
	kill -KILL "$exporter"
}

@test "a dlock inside COMMAND, and all that it runs, is gone too when the outer lock is lost; the inner lock ends" {
	local nap outer inner
	nap=$(unique_sleep)
	echo "$nap" >nap
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 2s --kill-after 200ms outer "$DLOCK" --ttl 3s inner \
		sh -c 'trap "" TERM; (setsid sleep "$(cat nap)" &); sleep "$(cat nap)" & while :; do sleep 0.05; done'
	wait_until 3s argv_count "$nap" 2
	running "$OUTER"
	redis DEL lock:outer >/dev/null
	assert_status 79
	argv_gone "$nap"
	no_marked_dlock
	wait_until 3500ms free inner
}

@test "a tree in a pid namespace of its own, under an init that ignores everything, is gone too" {
	local nap
	nap=$(unique_sleep)
	echo "$nap" >nap
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 2s --kill-after 200ms job unshare -pf \
		sh -c 'trap "" TERM; (setsid sleep "$(cat nap)" &); while :; do sleep 0.05; done'
	wait_until 3s argv_count "$nap" 1
	redis DEL lock:job >/dev/null
	assert_status 79
	argv_gone "$nap"
}

@test "neighbours of the same group and session are not COMMAND's tree" {
	local neighbour
	# shellcheck disable=SC2016 # for the shell inside
	start setsid bash -c 'sleep 900 & echo $! >neighbour
		"$DLOCK" --ttl 2s job sleep 900; echo $? >status; wait' 2>>"$DLOCK_LOG"
	wait_until 3s held job
	neighbour=$(cat neighbour)
	redis DEL lock:job
	wait_until 3s test -s status
	[ "$(cat status)" = 79 ]
	assert_alive "$neighbour"
	kill -KILL "$neighbour"
}
