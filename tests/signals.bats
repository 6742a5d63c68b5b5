#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 4: signals sent to dlock reach COMMAND exactly once, however they were sent.
# (terminal.bats has those that a terminal sends.)

load helpers/common
load helpers/signals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

# count_under LAUNCHER...: a sigcount that runs under the LAUNCHER and ends, with status 5, when
# nothing has come for 300 ms: three times as long as a forwarded one may take.
count_under() {
	start env --default-signal "$@" "$TOOLS/sigcount" got 300 5 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s has_line got ready
	held job
}

ended_with() {
	exit_status_of "$OUTER"
	[ "$STATUS" -eq "$1" ] || fail "status $STATUS, not $1: $(<"$DLOCK_LOG")"
}

@test "each signal by kill PID reaches COMMAND exactly once (P15 S6)" {
	local name
	count_under setsid "$DLOCK" job
	for name in "${FORWARDED[@]}"; do
		kill "-$name" "$OUTER"
		wait_until 2s got got "$name"
	done
	ended_with 5
	each_once got "${FORWARDED[@]}"
}

@test "each signal by kill -PGID reaches COMMAND exactly once (P15 S10)" {
	local name
	count_under setsid "$DLOCK" job
	for name in "${FORWARDED[@]}"; do
		kill "-$name" -- "-$OUTER"
		wait_until 2s got got "$name"
	done
	ended_with 5
	each_once got "${FORWARDED[@]}"
}

@test "a trapping shell prints each signal once, by kill PID (P15)" {
	local name
	start_dlock job bash -c 'for s in HUP INT QUIT TERM USR1 USR2; do trap "echo $s >>seen" $s; done
		echo >ready; until test -e stop; do sleep 0.02; done'
	wait_until 2s test -e ready
	for name in HUP INT QUIT TERM USR1 USR2; do
		kill "-$name" "$OUTER"
		wait_until 2s has_line seen "$name"
	done
	: >stop
	ended_with 0
	run cat seen
	assert_output "$(printf '%s\n' HUP INT QUIT TERM USR1 USR2)"
}

@test "a signal sent again counts again" {
	local i
	count_under setsid "$DLOCK" job
	for i in 1 2 3 4 5; do
		kill -USR1 "$OUTER"
		wait_until 2s got got USR1 "$i"
		sleep 0.03 # what the same sender sends within 10 ms counts once
	done
	for i in 1 2 3 4 5; do
		kill -USR2 -- "-$OUTER"
		wait_until 2s got got USR2 "$i"
		sleep 0.03
	done
	ended_with 5
	[ "$(times got USR1)" -eq 5 ] || fail "$(<got)"
	[ "$(times got USR2)" -eq 5 ] || fail "$(<got)"
}

@test "the same signal from different senders counts for each" {
	# Direct to OUTER by one process, to the group by another, 30 ms apart.
	count_under setsid "$DLOCK" job
	/bin/kill -TERM "$OUTER"
	wait_until 2s got got TERM
	sleep 0.03
	/bin/kill -TERM -- "-$OUTER"
	wait_until 2s got got TERM 2
	ended_with 5
	[ "$(times got TERM)" -eq 2 ] || fail "$(<got)"
}

@test "a volley to the group reaches COMMAND no more often than it was sent" {
	# At a pace at which each comes when the one before is just being forgotten. (Of two that are
	# pending at once the kernel makes one, so fewer are no wonder on a busy machine.)
	count_under setsid "$DLOCK" job
	"$TOOLS/volley" 10 150 9000 11500 "-$OUTER"
	ended_with 5
	assert_between 75 150 "$(times got USR1)" 'USR1 of 150'
}

@test "an alarm that was set before dlock was executed reaches COMMAND once" {
	start /usr/bin/python3 -c 'import os, signal, sys
signal.alarm(1)
os.execv(sys.argv[1], sys.argv[1:])' "$DLOCK" job "$TOOLS/sigcount" got 300 5
	OUTER=$STARTED
	wait_until 3s got got ALRM
	ended_with 5
	each_once got ALRM
}

@test "a stopped COMMAND and its dlock get TERM when they are continued" {
	start setsid "$DLOCK" job bash -c 'echo >up; kill -STOP $$; sleep 60'
	OUTER=$STARTED
	wait_until 2s test -e up
	wait_until 2s running "$OUTER"
	wait_until 2s state_is T "$COMMAND"
	wait_until 2s state_is T "$OUTER"
	held job
	kill -TERM "$OUTER"
	kill -CONT "$OUTER"
	ended_with 143
	assert_gone "$COMMAND"
	free job
}

@test "a signal to RUNNER alone, as from kill \$PPID, is forwarded once" {
	local runner
	count_under setsid "$DLOCK" job
	runner=$(runner_of "$OUTER")
	kill -USR1 "$runner"
	wait_until 2s got got USR1
	kill -TERM "$runner"
	wait_until 2s got got TERM
	ended_with 5
	each_once got USR1 TERM
}

@test "timeout 1 dlock: direct and to the group is once (S10)" {
	local name
	count_under setsid timeout 1 "$DLOCK" job
	ended_with 124
	wait_until 2s has_line got end
	for name in TERM CONT; do
		[ "$(times got "$name")" -eq 1 ] || fail "$(<got)"
	done
	free job
}

@test "timeout --foreground 1 dlock: once" {
	count_under setsid timeout --foreground 1 "$DLOCK" job
	ended_with 124
	wait_until 2s has_line got end
	[ "$(times got TERM)" -eq 1 ] || fail "$(<got)"
}

@test "what COMMAND itself sends to dlock is not sent back (S16)" {
	echo "$$" >nobody
	start_dlock job bash -c 'trap "echo TERM >>seen" TERM; trap "echo USR1 >>seen" USR1
		until test -s outer; do sleep 0.01; done
		kill -TERM "$(<outer)"; kill -USR1 $PPID
		sleep 0.4; exit 6'
	echo "$OUTER" >outer
	ended_with 6
	[ ! -e seen ] || fail "bounced: $(<seen)"
}

@test "what COMMAND sends to its whole group it gets once (S16 S10)" {
	start setsid "$DLOCK" job bash -c 'trap "echo TERM >>seen" TERM; echo >ready; kill -TERM 0; sleep 0.4; exit 6'
	OUTER=$STARTED
	ended_with 6
	run cat seen
	assert_output TERM
}

@test "COMMAND passes TERM on to its child: the child sees it once (S9)" {
	start_dlock job bash -c 'trap "kill -TERM \$child" TERM
		"$TOOLS/sigcount" got 300 5 & child=$!
		until wait $child; s=$?; [ $s -lt 128 ]; do :; done; exit $s'
	wait_until 2s has_line got ready
	kill -TERM "$OUTER"
	ended_with 5
	each_once got TERM
}

@test "TERM: COMMAND has it, dlock dies of it, the lock is free, in 500 ms (S1 S4 P16)" {
	local before
	for _ in 1 2 3; do
		start_dlock -t 30s job sleep 60
		wait_until 2s running "$OUTER"
		held job
		before=$(boottime)
		kill -TERM "$OUTER"
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 143 ]
		free job
		assert_gone "$COMMAND" "$RUNNER"
		run -0 dlock -n job true
		# Measured three times: a busy machine may be late once.
		[ "$(elapsed_ms "$before")" -ge 500 ] || return 0
	done
	fail "three times slower than 500 ms"
}

@test "INT from another process reaches COMMAND, and dlock dies of it (S6)" {
	start_dlock job sleep 60
	wait_until 2s running "$OUTER"
	kill -INT "$OUTER"
	ended_with 130
	free job
	assert_gone "$COMMAND"
}

@test "COMMAND that cleans up after INT is waited for, the lock kept (S7)" {
	start_dlock job bash -c 'trap "echo >cleaning; sleep 0.5; echo >clean; exit 3" INT
		echo >ready; while :; do sleep 0.01; done'
	wait_until 2s test -e ready
	kill -INT "$OUTER"
	wait_until 2s test -e cleaning
	held job
	assert_alive "$OUTER"
	ended_with 3
	[ -e clean ]
	free job
}

@test "a forwarded TERM is not escalated: COMMAND may take its time" {
	# Longer than TTL and grace: the lock is kept by renewals all the while.
	start_dlock -t 1s -k 100ms job bash -c 'trap "echo >asked" TERM
		echo >ready; until test -e asked; do sleep 0.01; done; sleep 1.5; exit 4'
	wait_until 2s test -e ready
	kill -TERM "$OUTER"
	wait_until 2s test -e asked
	ended_with 4
}

@test "the key is never absent while any of the tree is alive (S3)" {
	local pids
	# TERM for the shell, whose children do not get it; dlock signals and kills them, then releases.
	start_dlock -k 300ms job sh -c 'trap "" TERM; (trap "" TERM; while :; do sleep 0.05; done) &
		setsid sh -c "trap \"\" TERM; while :; do sleep 0.05; done" & trap - TERM; echo >ready; sleep 60 & wait'
	wait_until 2s test -e ready
	wait_until 2s running "$OUTER"
	wait_until 2s tree_of_at_least "$COMMAND" 4
	# RUNNER releases, hence outlives the key: it is not of the tree.
	mapfile -t pids < <(descendants "$RUNNER")
	start "$TOOLS/keywatch" "$REDIS_SOCK" lock:job "${pids[@]}" >watched
	wait_until 2s has_line watched watching
	kill -TERM "$OUTER"
	ended_with 143
	wait_until 2s test -n "$(tail -n +2 watched)"
	run cat watched
	assert_output --partial 'free after all had ended'
}

# tree_of_at_least PID N: PID has N descendants.
tree_of_at_least() {
	[ "$(descendants "$1" | wc -l)" -ge "$2" ]
}

@test "COMMAND that ignores TERM is killed after the grace when the lock is lost (P24)" {
	local before
	start_dlock -t 3s -k 1s L bash -c 'trap "echo >asked" TERM; echo >ready; while :; do sleep 0.05; done'
	wait_until 2s test -e ready
	wait_until 2s running "$OUTER"
	steal L
	wait_until 2s test -e asked
	before=$(boottime)
	assert_alive "$COMMAND"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	assert_gone "$COMMAND"
	# One second of grace, less the time after which the test saw the signal.
	assert_between 700 1500 "$(elapsed_ms "$before")" grace
	[ "$(redis GET lock:L)" = stolen-by-the-test ]
	run cat "$DLOCK_LOG"
	assert_output --partial "lost 'L': another holder has it"
}

@test "TERM at a random moment, 200 times: no key, no survivor (P19 S13)" {
	strike TERM 200 8
}

@test "kill -9 at a random moment, 150 times: no survivor, no key for ever (P21 S28 S30 S34)" {
	strike KILL 150 8
}

@test "INT, HUP and USR1 at a random moment: the same (S13)" {
	strike INT 50 8
	strike HUP 50 8
	strike USR1 50 8
}

@test "a signal in the midst of a COMMAND that ends at once: its status or that signal (S13)" {
	local i wrong=
	for i in {1..30}; do
		start_dlock job true
		sleep "0.00$((RANDOM % 8))"
		kill -TERM "$OUTER" 2>/dev/null || true
		exit_status_of "$OUTER"
		[[ " 0 143 " == *" $STATUS "* ]] || wrong+=" $STATUS"
		free job || wrong+=" key-left-$i"
	done
	[ -z "$wrong" ] || fail "$wrong"
	# Some have had the lock.
	[ "$(redis EXISTS "$(fence_key_of job)")" -eq 1 ]
}
