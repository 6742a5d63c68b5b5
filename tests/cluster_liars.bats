#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Nodes of a cluster that lie, or announce what cannot be reached: no storm, and a line that says so.

load helpers/common

setup() { common_setup; }

# start_liars [PLACE]: DLOCK_SERVER names both.
start_liars() {
	local first second
	start "$TESTS_DIR/helpers/liar_nodes.py" asked "$@" >ports
	wait_until 5s grep -q ' ' ports
	read -r first second <ports || [ -n "$second" ]
	DLOCK_SERVER=redis+cluster://127.0.0.1:$first,127.0.0.1:$second
	export DLOCK_SERVER
}

# requests: how many scripts they were asked. commands_in_worst_second: of all commands, with the logins.
requests() {
	grep -c EVAL asked
}

commands_in_worst_second() {
	awk '{ at[NR] = $1; while (at[NR] - at[first + 1] > 1) first++; n = NR - first; if (n > worst) worst = n } END { print worst }' asked
}

@test "R16: nodes that send to each other for ever: five redirections a try, no storm, and -w ends it" {
	start_liars
	run -69 dlock -n job true
	assert_output --partial "the nodes send who asks for slot 3647 to and fro"
	[ "$(requests)" -eq 6 ]
	: >asked
	start_clock
	run -69 dlock -w 4s job true
	assert_between 3000 5500 "$(clock_ms)" "milliseconds until it gave up"
	assert_between 5 40 "$(requests)" "requests in 4 s"
	assert_between 1 20 "$(commands_in_worst_second)" "commands in the worst second"
}

@test "an owner that cannot be reached is named, in one line, and that it refuses" {
	start_liars 127.0.0.1:1
	run -69 dlock -n job true
	assert_output --partial "slot 3647 is at 127.0.0.1:1, as the cluster says: Connection refused"
	[ "${#lines[@]}" -eq 1 ]
}

@test "a slot that is moving for long: that is what is said, wherever it was asked last" {
	LIAR_ASKS=yes start_liars
	run -69 dlock -n job true
	assert_output --partial "slot 3647 is moving to 127.0.0.1:"
	refute_output --partial "to and fro"
	run -69 dlock --status job job
	assert_output --partial "slot 3647 is moving to 127.0.0.1:"
	refute_output --partial "to and fro"
}

@test "so it is for --status and --break" {
	start_liars
	run -69 dlock --status job
	assert_output --partial "to and fro"
	run -69 dlock --break job
	assert_output --partial "to and fro"
	[ "$(requests)" -le 12 ]
}
