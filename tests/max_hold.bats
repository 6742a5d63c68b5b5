#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --max-hold: COMMAND may run so long; then its tree is ended, the lock given back, status 124.
#
# shellcheck disable=SC2016,SC2154 # dollars for the other shell; stderr is set by run

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# The line that says so, for NAME and DUR.
assert_said() {
	grep -qxF "dlock: '$1' was held for its --max-hold of $2: its command has been ended" "$DLOCK_LOG" ||
		{ cat "$DLOCK_LOG"; return 1; }
	[ "$(grep -c ^dlock: "$DLOCK_LOG")" -eq 1 ] || { cat "$DLOCK_LOG"; return 1; }
}

@test "--max-hold: the first signal at that time, 124, one line, the lock is free at once" {
	local before
	before=$(boottime)
	run --separate-stderr -124 dlock --max-hold 500ms job sleep 60
	assert_between 490 3000 "$(elapsed_ms "$before")" 'wall time'
	free job
	[ "${#stderr_lines[@]}" -eq 1 ]
	assert_equal "$stderr" "dlock: 'job' was held for its --max-hold of 0.500s: its command has been ended"
	run --separate-stderr -124 dlock -q --max-hold 100ms job sleep 60
	[ "${#stderr_lines[@]}" -eq 1 ]
}

@test "--max-hold: a COMMAND that ends before it is not disturbed; 0 is no limit" {
	run -3 dlock --max-hold 5s job sh -c 'sleep 0.1; exit 3'
	[ -z "$output" ]
	run -0 dlock --max-hold 0 job sleep 0.3
	[ -z "$output" ]
	run -143 dlock --max-hold 5s job sh -c 'kill -TERM $$'
	free job
}

@test "--max-hold: counted from COMMAND's start, not from the wait" {
	redis SET lock:job other PX 2000
	run -0 dlock -q --max-hold 1500ms job sh -c 'sleep 0.2; echo ran'
	assert_output ran
}

@test "--max-hold: the whole tree gets the first signal, also what left the group, and CONT" {
	local nap
	nap=$(unique_sleep)
	start_dlock --max-hold 2s --signal USR1 -k 3s job bash -c '
		trap "echo command >>got; exit 0" USR1
		setsid bash -c "trap \"echo escaped >>got; exit 0\" USR1; while :; do sleep 0.02; done" &
		bash -c "trap \"echo stopped >>got; exit 0\" USR1; touch armed; kill -STOP \$BASHPID; sleep 9" &
		until [ -e armed ]; do sleep 0.01; done
		while :; do sleep 0.02; done'
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 124 ]
	assert_equal "$(sort got)" "$(printf 'command\nescaped\nstopped')"
	assert_said job 2.0s
}

@test "--max-hold: KILL after the grace for who ignores the signal, and no release before (S19)" {
	local nap before
	nap=$(unique_sleep)
	before=$(boottime)
	start_dlock --max-hold 1s -k 2s job bash -c "trap 'touch told' TERM
		(trap '' TERM; exec setsid sleep $nap) & (trap '' TERM; exec sleep $nap) &
		while :; do sleep 0.02; done"
	wait_until 4s test -e told
	# In its grace: signalled, alive, held.
	held job
	argv_count "$nap" 2
	exit_status_of "$OUTER"
	assert_between 2990 6000 "$(elapsed_ms "$before")" 'wall time'
	[ "$STATUS" -eq 124 ]
	argv_gone "$nap"
	free job
	grep -qx "dlock: 'job' was held for its --max-hold of 1.0s: its command has been ended" "$DLOCK_LOG"
}

@test "--max-hold: at no instant is the key absent while the tree lives (S3)" {
	local nap pids
	nap=$(unique_sleep)
	start_dlock --max-hold 1500ms -k 300ms job bash -c "trap '' TERM; setsid sleep $nap & sleep $nap"
	wait_until 2s argv_count "$nap" 2
	mapfile -t pids < <(find_argv "$nap")
	"$TOOLS/keywatch" "$REDIS_SOCK" lock:job "${pids[@]}" || { show_scene; return 1; }
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 124 ]
}

@test "--max-hold: a COMMAND that exits by itself in the grace: 124 all the same" {
	run -124 dlock --max-hold 600ms -k 5s job bash -c 'trap "exit 0" TERM; while :; do sleep 0.02; done'
	run -124 dlock --max-hold 600ms -k 5s job bash -c 'trap "exit 9" TERM; while :; do sleep 0.02; done'
	free job
}

@test "--max-hold: what COMMAND left in its grace is killed at the end of it" {
	local nap before
	nap=$(unique_sleep)
	before=$(boottime)
	run -124 dlock --max-hold 200ms -k 400ms job bash -c "
		trap 'exit 0' TERM
		(trap '' TERM; exec setsid sleep $nap) &
		while :; do sleep 0.02; done"
	assert_between 590 4000 "$(elapsed_ms "$before")" 'wall time'
	argv_gone "$nap"
}

@test "--max-hold -k 0: KILL at once" {
	local before
	before=$(boottime)
	run -124 dlock --max-hold 200ms -k 0 job bash -c 'trap "" TERM; while :; do sleep 0.02; done'
	assert_between 190 2500 "$(elapsed_ms "$before")" 'wall time'
}

@test "--max-hold bounds a job that is suspended" {
	start_dlock --max-hold 2500ms job sleep 60
	wait_until 2s running "$OUTER"
	# STOP: in a session without a terminal TSTP stops nobody.
	kill -STOP "$COMMAND"
	wait_until 2s state_is T "$COMMAND"
	wait_until 2s state_is T "$OUTER"
	exit_status_of "$OUTER" 6s
	[ "$STATUS" -eq 124 ]
	free job
	assert_said job 2.5s
}

@test "--max-hold: with OUTER stopped by SIGSTOP, COMMAND is ended in time and the lock is free" {
	start_dlock --max-hold 1500ms job sleep 60
	wait_until 2s running "$OUTER"
	kill -STOP "$OUTER"
	wait_until 4s gone "$COMMAND"
	wait_until 1s free job
	exit_status_of "$OUTER" 2s
	[ "$STATUS" -eq 124 ]
}

@test "--max-hold: a stopped RUNNER is woken for it, though its renewal is not due (S31)" {
	local before
	# A third of this lease is 10 s.
	start_dlock -t 30s -k 200ms --max-hold 1500ms job \
		bash -c 'trap ": >signalled" TERM; while :; do sleep 0.05; done'
	wait_until 2s running "$OUTER"
	before=$(boottime)
	kill -STOP "$RUNNER"
	wait_until 2s state_is T "$RUNNER"
	# And again in the grace: it is awake only when it has done something. (One that is stopped before it
	# has read the CONT that woke it gets no other.)
	wait_until 4s test -e signalled
	kill -STOP "$RUNNER"
	exit_status_of "$OUTER" 5s
	assert_between 0 7000 "$(elapsed_ms "$before")" 'time'
	[ "$STATUS" -eq 124 ]
	free job
}

@test "--max-hold: a COMMAND that ended in time did so, also when RUNNER learns of it late" {
	start_dlock -t 30s --max-hold 1500ms job sh -c 'sleep 1; exit 5'
	wait_until 2s running "$OUTER"
	kill -STOP "$RUNNER"
	exit_status_of "$OUTER" 5s
	[ "$STATUS" -eq 5 ]
}

@test "--max-hold: the lock lost in the grace, 79 wins" {
	start_dlock -t 2s -k 700ms --max-hold 1s job bash -c 'trap "touch told" TERM; while :; do sleep 0.02; done'
	wait_until 3s test -e told
	steal job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	grep -q "lost 'job'" "$DLOCK_LOG"
	[ "$(redis GET lock:job)" = stolen-by-the-test ]
}

@test "--max-hold kills also with --on-lost signal" {
	local nap
	nap=$(unique_sleep)
	run -124 dlock --on-lost signal --max-hold 200ms -k 200ms job bash -c "trap '' TERM; sleep $nap; sleep $nap"
	argv_gone "$nap"
	# ... after a loss that left COMMAND to itself, too.
	start_dlock -t 1s --on-lost signal --max-hold 1500ms -k 200ms lost bash -c "trap 'echo signalled >>got' TERM
		touch up; while :; do sleep 0.02; done"
	wait_until 2s test -e up
	redis DEL lock:lost
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	assert_equal "$(grep -c signalled got)" 2 # one for the loss, one for --max-hold
}

@test "--max-hold and --at-least: ended at the one, kept until the other" {
	run -124 dlock --max-hold 200ms --at-least 20s job sleep 60
	assert_between 18000 20000 "$(redis PTTL lock:job)" PTTL
	[[ "$(redis GET lock:job)" == 'dlock!done:'* ]]
}

@test "--max-hold: the shortest there is" {
	local limit
	for limit in 1ms 0.000000001; do
		run -124 dlock --max-hold "$limit" job sleep 60
		free job
	done
}

@test "--max-hold bounds a run without a lock" {
	run -124 dlock -S unix://"$WORK/nobody" --if-unreachable run --max-hold 300ms job sleep 60
	assert_line "dlock: the command of 'job' ran for its --max-hold of 0.300s: it has been ended"
}

@test "--max-hold: kill -9 of OUTER in the grace, the tree dies and the lock is freed (S28)" {
	start_dlock --max-hold 200ms -k 600ms job bash -c 'trap "touch told" TERM; while :; do sleep 0.02; done'
	wait_until 2s running "$OUTER"
	wait_until 2s test -e told
	kill -KILL "$OUTER"
	wait_until 1500ms gone "$COMMAND"
	wait_until 1s free job
	wait_until 1s no_marked_dlock
}

@test "--max-hold: bad values are usage errors" {
	run -64 dlock --max-hold 5x job true
	assert_output --partial "--max-hold: "
	assert_output --partial "'5x'"
	run -64 dlock --max-hold job true
	run -64 dlock --max-hold -1 job true
	[ "${#lines[@]}" -eq 1 ]
}
