#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A part of tests/bench/run: from the start of each contender to its end, with COMMAND `true` and a
# free lock.
#
# shellcheck disable=SC2154 # variables are run's

measure_start() {
	local id slowest=1
	tabbed floor 'no lock at all' 1 "$(type -P true)" >"$dir/race"
	for id in "${chosen[@]}"; do
		contender "$id"
		[ "$every" -le "$slowest" ] || slowest=$every
		tabbed "$kind" "$name" "$every" "${command[@]}" true >>"$dir/race"
	done
	[ "$rounds" -ge "$slowest" ] || fail "BENCH_ROUNDS is at least $slowest for these"
	finish times "$programs/race" "$rounds" "$dir/race" || fail "the race broke off"
	sed 's/^/start\t/' "$dir/times" >>"$out"
}
