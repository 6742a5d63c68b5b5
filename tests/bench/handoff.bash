#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A part of tests/bench/run: from the end of the holder's command to the start of that of a waiter,
# for each contender of which can be seen that its waiter is in line. handoff.c says how.
#
# shellcheck disable=SC2154 # variables are run's

measure_handoff() {
	local id turns=$(((rounds + 4) / 5)) turn
	true >"$dir/handoffs"
	for id in "${chosen[@]}"; do
		contender "$id"
		[ -n "$in_line" ] || continue
		turn=1
		# Half a second for each; and since it polls, what there is to see is seen in a few.
		[ "$id" != redis-py ] || [ "$turns" -lt 4 ] || turn=4
		tabbed "$kind" "$name" "$turn" "${in_line//[$'\n\t']/ }" "${command[@]}" >>"$dir/handoffs"
	done
	[ -s "$dir/handoffs" ] || return
	mkdir "$dir/stamps"
	finish times "$programs/handoff" "$turns" "$dir/handoffs" "$dir/stamps" "$programs/stamp" ||
		fail "the hand-offs broke off"
	sed 's/^/handoff\t/' "$dir/times" >>"$out"
}
