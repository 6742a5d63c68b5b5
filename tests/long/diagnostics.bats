#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Every row of tests/diagnostics.list: each provoked, at first contact, in line, while holding and at
# release, with the reaction that the table and DIAGNOSTICS of dlock(1) name. diagnostics_few.bats
# does some of them.

load ../helpers/common
load ../helpers/proxy
load ../helpers/tls
load ../helpers/badday

AT_ONCE=6

# The rows of the table, so many at a time.
part() {
	local rows
	mapfile -t rows < <(every_row)
	[ "${#rows[@]}" -ge 25 ]
	[ "${#rows[@]}" -le $((6 * AT_ONCE)) ]
	bad_days "${rows[@]:($1 - 1) * AT_ONCE:AT_ONCE}"
}

@test "bad days, at every moment of a run: the first part of the table" {
	part 1
}

@test "bad days, at every moment of a run: the second part of the table" {
	part 2
}

@test "bad days, at every moment of a run: the third part of the table" {
	part 3
}

@test "bad days, at every moment of a run: the fourth part of the table" {
	part 4
}

@test "bad days, at every moment of a run: the fifth part of the table" {
	part 5
}

@test "bad days, at every moment of a run: the sixth part of the table" {
	part 6
}
