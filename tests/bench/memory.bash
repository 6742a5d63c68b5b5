#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A part of tests/bench/run: the memory of all processes of each contender while it holds the lock,
# without COMMAND's, and of all processes of one that waits for it meanwhile.
#
# shellcheck disable=SC2034,SC2154 # variables are run's, and a count

# descendants PID: itself and all below, one a line.
descendants() {
	local child
	echo "$1"
	for child in $(pgrep -P "$1"); do
		descendants "$child"
	done
}

# command_runs PID: sets command_pid to the sleep that stands for COMMAND.
command_runs() {
	command_pid=$(descendants "$1" | while read -r pid; do
		[ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = 'sleep 3217 ' ] && echo "$pid"
	done 2>/dev/null)
	[ -n "$command_pid" ]
}

# pss_of PID [BUT]: sets pss to the KiB of all processes from PID down, BUT left out. Memory is shared
# with whatever else runs, so it goes up and down: the middle one of three.
pss_of() {
	local pid total try samples=()
	for try in 1 2 3; do
		sleep 0.1
		total=0
		for pid in $(descendants "$1" | grep -vx "${2:--}"); do
			total=$((total + $(awk '$1 == "Pss:" { print $2 }' "/proc/$pid/smaps_rollup")))
		done
		samples+=("$total")
	done
	pss=$(printf '%s\n' "${samples[@]}" | sort -n | sed -n 2p)
}

end_newest() {
	end "${pids[-1]}"
	unset 'pids[-1]'
}

measure_memory() {
	local id holder pss
	for id in "${chosen[@]}"; do
		contender "$id"
		serve holder "${command[@]}" sleep 3217
		holder=${pids[-1]}
		wait_for 100 command_runs "$holder" || fail "$name does not hold the lock"
		pids+=("$command_pid")
		pss_of "$holder" "$command_pid"
		record pss "$kind" "$name" "$pss"
		if [ -n "$in_line" ]; then
			serve waiter "${command[@]}" true
			wait_for 100 sh -c "$in_line" || fail "$name does not wait for the lock"
			pss_of "${pids[-1]}"
			record waiting "$kind" "$name" "$pss"
			end_newest
		fi
		end_newest
		end_newest
	done
}
