#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 5, for longer than `make check` has: failures at random.

load ../helpers/common
load ../helpers/proxy
load ../helpers/ambiguity
load ../helpers/chaos

setup() {
	common_setup
	start_redis
}

@test "requests fail at random for 90 s: each contender runs once or not, never two at once, fences rise" {
	watch_all
	chaos 90000 6
	assert_chaos_survived
}
