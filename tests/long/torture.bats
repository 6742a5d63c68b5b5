#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The torture rack for a few seconds a round (make torture is the whole), and with faults planted in dlock, in a server or
# in the store: it has to find each.

load ../helpers/common

setup_file() {
	export BATS_TEST_TIMEOUT=1800
}

@test "every promise is kept in each round of the rack, for ten seconds" {
	local round
	"$TESTS_DIR/torture/torture" --seconds 10 | tee report >&3
	[ "${PIPESTATUS[0]}" -eq 0 ]
	for round in $("$TESTS_DIR/torture/torture" --list); do
		grep -qE "^$round: [1-9][0-9]+ faults in .*, [1-9][0-9]+ commands, .* 0 violations$" report
	done
	grep -qE '^[1-9][0-9]{3} faults in all, every promise kept$' report
}

@test "the rack finds each fault that is planted" {
	local plant
	"$TESTS_DIR/torture/torture" --plant --seconds 15 | tee report >&3
	[ "${PIPESTATUS[0]}" -eq 0 ]
	for plant in $("$TESTS_DIR/torture/torture" --plant --list); do
		grep -qx "  planted $plant: found" report
	done
}
