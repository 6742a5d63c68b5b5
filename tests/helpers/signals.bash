#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What signals.bats, terminal.bats and the long runs share: counting what sigcount wrote, and runs
# that are hit at a random moment.
#
# shellcheck disable=SC2034,SC2154 # variables are for the caller, and run's

FORWARDED=(HUP INT QUIT TERM USR1 USR2 ALRM WINCH CONT)

# times FILE SIGNAL: how often sigcount got it.
times() {
	local count
	count=$(grep -c "^$2 " "$1") || true
	echo "${count:-0}"
}

# got FILE SIGNAL [N]: at least N (1) times. For wait_until.
got() {
	[ "$(times "$1" "$2")" -ge "${3:-1}" ]
}

# has_line FILE LINE
has_line() {
	[ -e "$1" ] && grep -qx -- "$2" "$1"
}

# each_once FILE SIGNAL...: exactly once each, and nothing else.
each_once() {
	local file=$1 name wrong=
	shift
	for name; do
		[ "$(times "$file" "$name")" -eq 1 ] || wrong+=" $name:$(times "$file" "$name")"
	done
	[ "$(grep -c ' from ' "$file")" -eq $# ] || wrong+=" $(grep -c ' from ' "$file") in all"
	[ -z "$wrong" ] || { echo "not once each:$wrong"; cat "$file"; return 1; } >&2
}

# strike SIGNAL RUNS MAX_MS OPTION...: RUNS times `dlock OPTION... job sleep`, hit by SIGNAL after 0 to
# MAX_MS milliseconds: it dies of that, leaves no key (after KILL: none without expiry) and nothing
# alive. A useful range of delays has runs that had the lock already, and runs that had not.
strike() {
	local name=$1 runs=$2 max=$3 word
	shift 3
	word=$(unique_sleep)
	run "$TOOLS/strike" "$REDIS_SOCK" job "$(kill -l "$name")" "$runs" $((max * 1000)) "$word" \
		"$DLOCK" "$@" job sleep "$word"
	assert_success
	[[ "$output" =~ ([0-9]+)" started, "([0-9]+)" not"$ ]] || fail "$output"
	((BASH_REMATCH[1] > 0 && BASH_REMATCH[2] > 0)) || fail "delays out of range: $output"
}
