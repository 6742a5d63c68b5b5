#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Bad days (tests/diagnostics.list): what befalls a dlock at first contact, in line, while it holds and
# when it releases. Here are the rows on which most depends; tests/long/diagnostics.bats does them all.
# More of one kind or another: unreachable, hostile, foreign_keys, ambiguity, members_server, passwords.

load helpers/common
load helpers/proxy
load helpers/badday

@test "bad days that pass (LOADING, BUSY, READONLY, MISCONF, too many clients): tried again within -w, told at once without" {
	bad_days loading busy readonly misconf maxclients
}

@test "bad days that stay (OOM, no rights, no EVAL, a garbage fence): told at once, in line tried again; under OOM a lock renews and releases" {
	bad_days oom noauth noperm_inside no_eval garbage_fence
}
