#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Each kind of hostility to --status, --list and --break: in the place of the login's answers, and of
# the script's. Whatever comes, it ends in time, says one line, and stdout gets nothing.
#
# shellcheck disable=SC2016,SC2034,SC2154

load helpers/common
load helpers/hostile

# visit REPORT...: a dlock for each hostility; each is to fail with 69 or 77 and one line.
visit() {
	local i name status err
	: >wrong
	for ((i = 0; i < ${#HOSTILITIES[@]}; i += AT_ONCE)); do
		for name in "${HOSTILITIES[@]:i:AT_ONCE}"; do
			mkdir -p "$name"
			rm -f "$name"/{result,out,err}
			(
				cd "$name" || exit 1
				exec "$TOOLS/measure" result "$DLOCK" --connect-timeout 500ms \
					-S "redis://:hush@127.0.0.1:${PORTS[$name]}/3" "$@" >out 2>err 3>&- 4>&- </dev/null
			) 3>&- 4>&- &
			track "$!"
		done
		for name in "${HOSTILITIES[@]:i:AT_ONCE}"; do
			wait_until 20s test -e "$name/result"
		done
	done
	for name in "${HOSTILITIES[@]}"; do
		examine "$name" check_report >said
		[ ! -s said ] || printf '%s, %s, %s: %s\n' "$STEP" "$1" "$name" "$(<said)" >>wrong
	done
	[ ! -s wrong ] || { cat wrong >&2; return 1; }
	no_marked_dlock
}

check_report() {
	[ "$2" -eq 69 ] || [ "$2" -eq 77 ] || echo "status $2: $(<"$1/out")"
	[ "$3" -le 5000 ] || echo "took $3 ms"
	[ ! -s "$1/out" ] || echo "on stdout: $(<"$1/out")"
	says "$1" 1
}

each_report() {
	visit --status job
	visit --json --list
	visit --break job
}

@test "hostile in the place of a report's answer: 69, one line, nothing on stdout" {
	serve acquire
	each_report
}

@test "hostile in the place of the login's last answer: the same" {
	serve time
	visit --status job
}

@test "hostile before anything was asked: the same" {
	serve connect
	visit --list
}
