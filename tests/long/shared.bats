#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What tests/shared.bats, slots.bats and members.bats show once or for seconds: often, with crashes and
# with a server out of reach. The oracle is flock(1), which the kernel frees when a process dies.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154,SC2086 # dollars for the shell inside

load ../helpers/common
load ../helpers/shared
load ../helpers/witness
load ../helpers/proxy
load ../helpers/ambiguity
load ../helpers/chaos

setup() {
	common_setup
	start_redis
	shared_setup
}

# COMMAND: takes what flock(1) has for its mode, without waiting; says in `trouble` when somebody has
# it with whom it excludes. It has no children when it waits: what it holds ends with it.
OVERLAP='exec 7>>readers 8>>slots
	has() { grep -q ":$(stat -c %i "$1") " /proc/locks; }
	case $0 in
	x) flock -n -x 7 && flock -n -x 8 || echo "x and another: $DLOCK_FENCE" >>trouble ;;
	s)
		flock -n -s 7 || echo "s and x: $DLOCK_FENCE" >>trouble
		! has slots || echo "s and slots: $DLOCK_FENCE" >>trouble ;;
	*)
		flock -n -s 8 || echo "slots and x: $DLOCK_FENCE" >>trouble
		! has readers || echo "slots and s: $DLOCK_FENCE" >>trouble
		[ "$DLOCK_SLOT" -lt "$0" ] || echo "slot $DLOCK_SLOT" >>trouble
		exec 9>>"slot.$DLOCK_SLOT"
		flock -n -x 9 || echo "two in slot $DLOCK_SLOT" >>trouble ;;
	esac
	echo "$DLOCK_FENCE $0" >>ran
	read -r -t "$1" <>nothing || true'

# contend_mixed SEED END OPTION...: runs of all modes, one after the other, until END (now_ms); their
# statuses in `statuses`.
contend_mixed() {
	local modes=(x s s 3 3) mode how status end=$2
	RANDOM=$1
	shift 2
	while [ "$(now_ms)" -lt "$end" ]; do
		mode=${modes[RANDOM % 5]}
		case $mode in
		x) how=-x ;;
		s) how=-s ;;
		*) how="--slots $mode" ;;
		esac
		status=0
		"$DLOCK" -q $how "$@" job bash -c "$OVERLAP" "$mode" "0.${HOLD:-0}$((RANDOM % 10))" 2>>"$DLOCK_LOG" || status=$?
		echo "$mode $status" >>statuses
	done
}

# kill_somebody END: a kill -9 of OUTER and RUNNER of some contender's dlock, or of one that waits,
# again and again.
kill_somebody() {
	local outer runner
	while [ "$(now_ms)" -lt "$1" ]; do
		outer=$(children_of "${pids[RANDOM % ${#pids[@]}]}")
		[ "$(comm_of "${outer:-1}")" = dlock ] || continue
		if runner=$(runner_of "$outer"); then
			kill -STOP "$outer" "$runner" 2>/dev/null || continue
			kill -KILL "$outer" "$runner" 2>/dev/null || continue
			echo holder >>kills
		elif ((RANDOM % 40 == 0)); then
			kill -KILL "$outer" 2>/dev/null || continue
			echo waiter >>kills
		else
			continue
		fi
		sleep "0.$((RANDOM % 4))"
	done
}

contend_all() {
	local end=$1 i pid pids=()
	shift
	mkfifo nothing
	: >ran
	: >kills
	for i in {1..16}; do
		start contend_mixed "$RANDOM" "$end" "$@"
		pids+=("$STARTED")
	done
	"${MEANWHILE[@]}"
	for pid in "${pids[@]}"; do
		wait_until 60s gone "$pid"
	done
}

report_contention() {
	echo "# $(wc -l <ran) runs, $(wc -l <kills) kills; $(sort statuses | uniq -c | sort -rn | head -n 12 | tr -s ' \n' ' ')" >&3
	[ ! -e trouble ] || { head -n 20 trouble >&2; return 1; }
	[ "$(cut -d' ' -f1 ran | sort -u | wc -l)" -eq "$(wc -l <ran)" ] || { echo "a fence twice" >&2; return 1; }
}

@test "16 contenders of all modes for a minute: nobody with whom it excludes, all statuses 0" {
	MEANWHILE=(true)
	watch_expiries
	contend_all $(($(now_ms) + 60000))
	stop_watching
	report_contention
	[ "$(wc -l <ran)" -gt 300 ]
	run grep -v ' 0$' statuses
	assert_output ''
	wait_until 2s no_trace
}

@test "16 contenders of all modes, somebody killed all the time: nobody with whom it excludes, and nothing is taken for ever" {
	local end
	end=$(($(now_ms) + 60000))
	MEANWHILE=(kill_somebody "$end")
	HOLD=3 # long enough to be met
	watch_expiries
	contend_all "$end" -t 1s -k 100ms
	stop_watching
	report_contention
	[ "$(grep -c holder kills)" -gt 20 ]
	[ "$(grep -c waiter kills)" -gt 2 ]
	[ "$(wc -l <ran)" -gt 60 ]
	# 137: killed.
	run grep -v -e ' 0$' -e ' 137$' statuses
	assert_output ''
	run -0 dlock -w 5 job true
	wait_until 2s no_trace
}

@test "16 contenders of all modes, the way to the server disturbed all the time: nobody with whom it excludes" {
	local end
	watch_all
	end=$(($(now_ms) + 60000))
	disturb_and_mend() {
		disturb "$1"
		proxy pass
		kill -CONT "$REDIS_PID"
	}
	MEANWHILE=(disturb_and_mend "$end")
	contend_all "$end" -w 5s -t 2s -k 100ms
	report_contention
	# Never a status that nothing explains.
	run grep -v -e ' 0$' -e ' 69$' -e ' 75$' -e ' 79$' statuses
	assert_output ''
	[ "$(grep -c ' 0$' statuses)" -gt 20 ]
	run -0 dlock -w 8 -t 2s job true
}

@test "promise 1 for members, 24 times at random instants: the tree is dead before its lease in members ends" {
	local round how ttl
	for round in {1..24}; do
		how=-s
		[ $((round % 2)) = 0 ] || how='--slots 3'
		ttl=$((1000 + (round * 977) % 3000))
		W=$WORK/witness$round
		DLOCK_LOG=$WORK/dlock$round.log
		: >"$DLOCK_LOG"
		enter "a$round" $how -t 60s
		start_witnessed $how --ttl "${ttl}ms" job
		wait_until 5s confirmed_more_than "$(confirmed_count)"
		sleep "0.$(printf %03d $((RANDOM % (ttl / 6))))"
		event
		kill -STOP "$REDIS_PID"
		wait_until 10s witnesses_gone
		kill -CONT "$REDIS_PID"
		# By the server's own word, unless that has been dropped since.
		EXPIRES=9000000000000
		assert_dead_in_time "$ttl" "round $round"
		assert_lost
		undisturbed "a$round"
		leave "a$round"
	done
}

@test "16 readers hammering for a minute and four writers in turn: no writer waits longer than the readers before it" {
	local i pids=() end
	end=$(($(now_ms) + 60000))
	read_on() {
		while [ "$(now_ms)" -lt "$end" ]; do record s 0.2 -q || echo "s $?" >>failures; done
	}
	write_on() {
		while [ "$(now_ms)" -lt "$end" ]; do record x 0.02 -q || echo "x $?" >>failures; sleep 0.3; done
	}
	for i in {1..16}; do
		start read_on
		pids+=("$STARTED")
	done
	for i in {1..4}; do
		start write_on
		pids+=("$STARTED")
	done
	for i in "${pids[@]}"; do
		exit_status_of "$i" 90s
		[ "$STATUS" -eq 0 ]
	done
	[ ! -e failures ]
	# Launched, until it began.
	awk '$1 == "x" { waited = ($5 - $4) / 1000; sum += waited; n++; if (waited > most) most = waited }
		END { printf "# %d writers, waited %d ms on average, %d at most\n", n, sum / n, most; exit most > 5000 || n < 60 }' ran >&3
	[ "$(most_at_once s)" -ge 4 ]
	# The whole square is too much: every run against the 200 around it.
	split -l 400 ran part.
	for i in part.*; do
		mv "$i" ran
		assert_compatible "$(wc -l <ran)"
	done
	no_trace
}

@test "a stopped waiter costs one claim, shared or slots, and has its turn when it goes on" {
	local how
	for how in -s '--slots 1'; do
		enter w
		queue a $how
		queue x
		kill -STOP "${OUTERS[a]}"
		wait_until 1s state_is T "${OUTERS[a]}"
		leave w
		wait_until 8s is_in x
		is_out a
		kill -CONT "${OUTERS[a]}"
		sleep 0.3
		# Granted once, and yet it has not got it.
		is_out a
		undisturbed x
		leave x
		wait_until 3s is_in a
		leave a
		no_trace
	done
}

@test "a member whose RUNNER is stopped again and again: its tree is dead before its place is given (R25)" {
	local pid boot real began
	start_witnessed --slots 1 --ttl 2s job
	queue b --slots 1
	settle_member
	event
	start stop_again_and_again "$RUNNER"
	wait_until 1s state_is T "$RUNNER"
	wait_until 6s is_in b
	began=$(stat -c %.9Y in.b)
	for pid in "${WITNESSES[@]}"; do
		read -r boot real < <(last_stamps "$pid")
		[ "$boot" -ge "$EVENT_NS" ] || fail "$pid was dead before"
		[ "$real" -lt "${began/./}" ] || fail "$pid lived when b began"
	done
	gone "${WITNESSES[@]}"
	leave b
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	no_trace
}

# A renewal has just been confirmed.
settle_member() {
	wait_until 5s confirmed_more_than "$(confirmed_count)"
}

# Ends when PID is gone, or after ten seconds.
stop_again_and_again() {
	local end=$((SECONDS + 10))
	while alive "$1" && [ "$SECONDS" -lt "$end" ]; do
		kill -STOP "$1" "$1" "$1" "$1" 2>/dev/null || true
	done
}
@test "a writer that was killed at the head of the line: those behind it that share notice by themselves" {
	enter a -s
	queue w
	queue b -s
	queue c -s
	kill -KILL "${OUTERS[w]}"
	wait_until 20s all_in b c
	leave a
	leave b
	leave c
	no_trace
}
