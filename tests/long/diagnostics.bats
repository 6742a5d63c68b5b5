#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Every row of tests/diagnostics.list: each provoked, at first contact, in line, while holding and at
# release, with the reaction that the table and DIAGNOSTICS of dlock(1) name. tests/diagnostics.bats
# does some of them.

load ../helpers/common
load ../helpers/proxy
load ../helpers/badday

@test "bad days: every row of the table, at every moment of a run" {
	local rows i wrong=0
	mapfile -t rows < <(every_row)
	[ "${#rows[@]}" -ge 25 ]
	for ((i = 0; i < ${#rows[@]}; i += 5)); do
		bad_days "${rows[@]:i:5}" || wrong=1
	done
	[ "$wrong" = 0 ]
}
