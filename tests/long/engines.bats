#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What every engine does (helpers/engines.bash), through Sentinel and in a cluster.

load ../helpers/common
load ../helpers/engines

# Each of the two has functions of the other's names.
setup_file() {
	load ../helpers/sentinel
	start_set
	export ENGINES='sentinel cluster' URL_OF_sentinel=$SET_URL
	load ../helpers/cluster
	start_cluster
	export URL_OF_cluster=$URL_CLUSTER
}

teardown_file() {
	load ../helpers/sentinel
	stop_set
	load ../helpers/cluster
	stop_cluster
}

@test "every engine: one at a time; -n and -w end with 75 and name the holder; -E changes it" {
	on_every_engine exclusive
}

@test "every engine: the command's status, output and variables; the fence rises" {
	on_every_engine status_and_fence
}

@test "every engine: who waits gets it when it is given back, and who wants too little time does not" {
	on_every_engine waiting
}

@test "every engine: shared locks exclude the exclusive one, and slots let N in" {
	on_every_engine several
}

@test "every engine: --status, --list and --break say and do the same" {
	on_every_engine reports
}

@test "every engine: --held confirms inside the command, and --reentrant runs under the lock above" {
	on_every_engine inside
}

@test "every engine: --report tells how it went" {
	on_every_engine report
}

@test "every engine: --check finds it fit, and leaves nothing" {
	on_every_engine check
}

@test "every engine: a server that is not there is 69, or skipped, or done without" {
	on_every_engine unreachable
}
