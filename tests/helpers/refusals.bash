#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Command lines, environments and config files that are refused: judged by status, the one line that is
# said, and by the server that hears nothing. No line has a password in it: every one is called hush.
#
# shellcheck disable=SC2034 # DURATION is for those who load this

# To be called by setup.
refusals_setup() {
	common_setup
	CASES=0
	CONNECTED=$(connections)
}

# To be called by teardown, after every table: nobody has connected meanwhile but the one who asks. And
# it was a table.
refusals_teardown() {
	local now=0 status=0
	if [ -z "${BATS_TEST_COMPLETED:-}" ]; then
		common_teardown
		return
	fi
	now=$(connections)
	if [ "$now" -ne $((CONNECTED + 1)) ]; then
		echo "a server was connected to $((now - CONNECTED - 1)) times" >&2
		status=1
	fi
	[ "$CASES" -ge 4 ] || { echo "only $CASES cases" >&2; status=1; }
	common_teardown
	return "$status"
}

connections() {
	redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p'
}

# The proof of these tests: a run that is right does connect.
refusals_prove() {
	local now
	run -0 dlock job true
	now=$(connections)
	[ "$now" -gt $((CONNECTED + 1)) ] || fail "$CONNECTED, then $now"
	CONNECTED=$now CASES=4
}

# judge STATUS WORDS COMMAND...: it ends with STATUS, with nothing on stdout and one line on stderr
# that has WORDS (a regular expression) and nothing that it must not have.
judge() {
	local expected=$1 words=$2 status lines said
	shift 2
	CASES=$((CASES + 1))
	status=0
	timeout 5 "$@" >out 2>err || status=$?
	mapfile -t lines <err
	said=${lines[0]-}
	[ "$status" -eq "$expected" ] || fail "$(printf '%q ' "$@"): status $status: $(<out) $(<err)"
	[ ! -s out ] || fail "$(printf '%q ' "$@"): on stdout: $(<out)"
	[ "${#lines[@]}" -eq 1 ] || fail "$(printf '%q ' "$@"): not one line: $(<err)"
	[[ "$said" == 'dlock: '* ]] || fail "$(printf '%q ' "$@"): $said"
	[[ "$said" =~ $words ]] || fail "$(printf '%q ' "$@"): not /$words/ in: $said"
	[[ "$said" != *hush* ]] || fail "$(printf '%q ' "$@"): a password: $said"
	[[ "$said" != *[[:cntrl:]]* ]] || fail "$(printf '%q ' "$@"): unescaped: $said"
	[ "${#said}" -le 600 ] || fail "$(printf '%q ' "$@"): ${#said} bytes: $said"
	[ ! -e ran ] || fail "$(printf '%q ' "$@"): COMMAND was run"
}

# bad WORDS ARG...: a usage error.
bad() {
	judge 64 "$1" "$DLOCK" "${@:2}"
}

# bad_env WORDS NAME=VALUE...: an error of configuration.
bad_env() {
	judge 78 "$1" env "${@:2}" "$DLOCK" job touch ran
}

# bad_line WORDS LINE: the same in a config file; WORDS come behind its name and the number of the line.
bad_line() {
	printf '# this file is wrong\n%s\n' "$2" >conf
	judge 78 "^dlock: conf:2: $1" "$DLOCK" --config conf job touch ran
}

# options_with ARGUMENT: the main name of each option that --help shows with it.
options_with() {
	"$DLOCK" --help | sed -nE "s/^ +(-.,)? *--([a-z][a-z-]*)(, --[a-z-]+)* $1 .*/\2/p" | grep -vx command
}

DURATION='a number with an optional unit ms, s, m, h or d, such as 250ms or 1.5m'
