#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The random walk of tests/scripts.bats, farther, from another seed each time (it is printed).

load ../helpers/common
load ../helpers/walk

setup_file() {
	export BATS_TEST_TIMEOUT=1800
	start_walk_server
}

teardown_file() { stop_redis; }

@test "500,000 random steps of the scripts keep what is promised" {
	run walk --steps 500000 --seed "$(date +%s)"
	assert_success
	went_everywhere
}

@test "a flaw in a script is found" {
	assert_flaws_found "${FLAWS[@]}" "${MORE_FLAWS[@]}"
}
