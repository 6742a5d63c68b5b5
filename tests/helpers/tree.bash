#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Processes and their trees, read from /proc. Nothing here looks a process up by its name alone.
#
# shellcheck disable=SC2034,SC2062 # variables are for the caller; <<< is not grep's pattern

# alive PID: it exists and is no zombie.
alive() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
	stat=${stat##*) }
	case $stat in
	[ZX]*) return 1 ;;
	esac
}

# gone PID...: none of these is alive. Nothing, or what is no pid, has not gone: it was never there.
gone() {
	local pid
	[ "$#" -gt 0 ] || return 1
	for pid in "$@"; do
		[[ $pid =~ ^[0-9]+$ ]] || return 1
		! alive "$pid" || return 1
	done
}

# state_of PID: the letter of its state (R, S, D, T, t, Z), nothing when there is no such process.
state_of() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
	stat=${stat##*) }
	echo "${stat%% *}"
}

state_is() {
	[ "$(state_of "$2")" = "$1" ]
}

# start_time_of PID: field 22 of its stat; with the pid it names one process for ever.
start_time_of() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086 # split on purpose
	set -- $stat
	echo "${20}"
}

# status_field PID FIELD: a line of /proc/PID/status, such as SigIgn.
status_field() {
	local key value
	while IFS=$':\t' read -r key value; do
		[ "$key" != "$2" ] || { echo "${value#$'\t'}"; return 0; }
	done 2>/dev/null <"/proc/$1/status"
	return 1
}

comm_of() {
	local comm
	read -r comm 2>/dev/null <"/proc/$1/comm" && echo "$comm"
}

# children_of PID: the oldest first, those of all its threads; one a line.
children_of() {
	local file pids
	for file in /proc/"$1"/task/*/children; do
		read -r pids 2>/dev/null <"$file" || true
		# shellcheck disable=SC2086 # one word a pid
		[ -z "${pids:-}" ] || printf '%s\n' ${pids}
		pids=
	done
	return 0
}

# descendants PID: all processes below it, without itself; one a line.
descendants() {
	local child
	for child in $(children_of "$1"); do
		echo "$child"
		descendants "$child"
	done
	return 0
}

# runner_of OUTER: its child that is called dlock-run. Fails while there is none (dlock is waiting).
runner_of() {
	local child
	for child in $(children_of "$1"); do
		[ "$(comm_of "$child")" != dlock-run ] || { echo "$child"; return 0; }
	done
	return 1
}

# command_of OUTER: RUNNER's first child that has become what it shall be (until exec the child is
# called dlock-run as well).
command_of() {
	local runner child
	runner=$(runner_of "$1") || return 1
	for child in $(children_of "$runner"); do
		case $(comm_of "$child") in
		dlock-run | '') ;;
		*)
			echo "$child"
			return 0
			;;
		esac
	done
	return 1
}

# running OUTER: COMMAND has been started; sets RUNNER and COMMAND. For use with wait_until:
#   start_dlock job sleep "$nap"; wait_until 2s running "$OUTER"
running() {
	RUNNER=$(runner_of "$1") && COMMAND=$(command_of "$1")
}

# unique_sleep: a duration of 900 s and a fraction that nobody else uses, so that `find_argv` finds
# this very sleep wherever it has gone.
unique_sleep() {
	echo "900.${EPOCHREALTIME//[!0-9]/}$BASHPID$RANDOM"
}

# find_argv WORD: pids of the living processes one of whose arguments is exactly WORD. WORD goes to
# grep by stdin, so that grep does not find itself. A zombie has no arguments.
find_argv() {
	local pid
	grep -lsxzF -f - /proc/[0-9]*/cmdline <<<"$1" | while IFS=/ read -r _ _ pid _; do
		echo "$pid"
	done
	return 0
}

argv_gone() {
	[ -z "$(find_argv "$1")" ]
}

# argv_count WORD N: exactly N living processes have the argument WORD.
argv_count() {
	[ "$(find_argv "$1" | grep -c .)" -eq "$2" ]
}

# assert_alive PID...: at this moment; assert_gone PID...: likewise. (To wait: wait_until 2s gone PID)
assert_alive() {
	local pid
	[ "$#" -gt 0 ] || { echo "no process named" >&2; return 1; }
	for pid in "$@"; do
		alive "$pid" || { echo "process '$pid' is gone, it should live" >&2; show_scene >&2; return 1; }
	done
}

assert_gone() {
	local pid
	[ "$#" -gt 0 ] || { echo "no process named" >&2; return 1; }
	for pid in "$@"; do
		gone "$pid" || { echo "process '$pid' lives, or was never there" >&2; show_scene >&2; return 1; }
	done
}

# exit_status_of PID: waits for a background child of this shell (at most 10 s) and sets STATUS to
# what the shell shows: its exit code, or 128 + N.
exit_status_of() {
	wait_until "${2:-10s}" gone "$1" || return 1
	STATUS=0
	wait "$1" || STATUS=$?
}
