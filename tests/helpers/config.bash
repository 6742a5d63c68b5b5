#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Config files, and what dlock makes of them.
#
# shellcheck disable=SC2154 # status, output and lines are bats'

# conf LINE...: writes them to ./conf.
conf() {
	printf '%s\n' "$@" >conf
}

# wrong WORDS [OPTION...]: dlock with the file ./conf ends with 78 and one line that begins with the
# file and its line and has WORDS (a regular expression).
wrong() {
	local words=$1
	shift
	run dlock --config conf "$@" job touch ran
	[ "$status" -eq 78 ] || fail "status $status with '$(<conf)': $output"
	[ "${#lines[@]}" -eq 1 ] || fail "not one line with '$(<conf)': $output"
	[[ "$output" =~ ^'dlock: conf:'$words ]] || fail "not /$words/ with '$(<conf)': $output"
	[ ! -e ran ] || fail "COMMAND was run with '$(<conf)'"
}

# shows PROGRAM ARG...: under the lock, the key and the TTL in the server, in seconds.
shows() {
	run "$@" sh -c 'echo "$DLOCK_KEY $(redis-cli -s "$REDIS_SOCK" TTL "$DLOCK_KEY")"'
	assert_success
}
