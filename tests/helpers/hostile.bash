#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A server that is no Redis, or a Redis gone mad (tests/tools/hostile_server.c), and a dlock for each
# of its kinds of hostility.
#
#   serve renew once                  hostile in the place of the answer to the first renewal
#   assault check_this job COMMAND    `check_this NAME STATUS MILLISECONDS` prints what is wrong
#
# shellcheck disable=SC2034 # variables are for the caller

TTL_MS=2000
AT_ONCE=16       # dlocks that run at the same time
PEAK_MAX_KB=8192 # of OUTER, RUNNER and COMMAND, each

# serve STEP [once]: PORTS has the port of each hostility, HOSTILITIES their names.
serve() {
	local name port
	STEP=$1
	HOSTILITIES=()
	declare -gA PORTS=()
	mkdir -p server
	start "$TOOLS/hostile_server" "$WORK/server" "$@" >ports
	wait_until 3s grep -q ready ports
	while read -r name port; do
		[ -n "$port" ] || continue
		HOSTILITIES+=("$name")
		PORTS[$name]=$port
	done <ports
	[ "${#HOSTILITIES[@]}" -ge 40 ]
}

# assault CHECK ARG...: a dlock for each hostility, in its own directory, where it leaves `result` and
# `err`; then CHECK NAME STATUS MILLISECONDS, which prints what is wrong. ARG... is what dlock gets
# behind its usual options.
assault() {
	local check=$1 i name
	shift
	: >wrong
	for ((i = 0; i < ${#HOSTILITIES[@]}; i += AT_ONCE)); do
		for name in "${HOSTILITIES[@]:i:AT_ONCE}"; do
			mkdir -p "$name/stamps"
			(
				cd "$name" || exit 1
				exec env HERE="$WORK/$name" "$TOOLS/measure" result "$DLOCK" -n --ttl "${TTL_MS}ms" \
					--connect-timeout 500ms -S "redis://:hush@127.0.0.1:${PORTS[$name]}/3" "$@" \
					2>err 3>&- 4>&- </dev/null
			) 3>&- 4>&- &
			track "$!"
		done
		for name in "${HOSTILITIES[@]:i:AT_ONCE}"; do
			wait_until 10s test -e "$name/result"
		done
	done
	for name in "${HOSTILITIES[@]}"; do
		examine "$name" "$check" >said
		[ ! -s said ] || printf '%s, %s: %s\n' "$STEP" "$name" "$(<said)" >>wrong
	done
	[ ! -s wrong ] || { cat wrong >&2; return 1; }
	no_marked_dlock
}

# What holds for all. No process is started here: there are hundreds of rows.
examine() {
	local name=$1 check=$2 status ms peak err log LC_ALL=C
	read -r status ms peak <"$name/result"
	err=$(<"$name/err")
	log=$(<"server/$name")
	[[ $log == *' hostile'* ]] || echo "the server was never hostile"
	[ -n "${DLOCK_SANITIZED:-}" ] || [ "$peak" -le "$PEAK_MAX_KB" ] || echo "$peak kB of memory"
	[[ $err != *[!$'\n'\ -~]* ]] || echo "it says what a terminal obeys: ${err@Q}"
	[[ $err != *hush* ]] || echo "it says the password"
	[ "${#err}" -le 2100 ] || echo "it says too much"
	"$check" "$name" "$status" "$ms"
}

# says NAME LINES: so many lines, each of dlock's.
says() {
	local lines line
	mapfile -t lines <"$1/err"
	[ "${#lines[@]}" -eq "$2" ] || echo "it should say $2 lines, not: $err"
	for line in "${lines[@]}"; do
		[[ $line == 'dlock: '?* ]] || echo "not in its own name: $line"
	done
}

# count_connects: in `log`.
count_connects() {
	local others=${log//' connect'/}
	echo $(((${#log} - ${#others}) / 8))
}
