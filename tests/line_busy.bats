#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A server that a slow script keeps busy answers BUSY to everybody: also to UNSUBSCRIBE, after which the
# connection of who waits, or has been told of its turn, would be of no use for ever.
#
# shellcheck disable=SC2016,SC2031,SC2034,SC2153

load helpers/common
load helpers/line

setup() {
	common_setup
	line_setup
}

# keep_busy: from when this returns the server answers BUSY.
keep_busy() {
	start redis-cli -s "$REDIS_SOCK" EVAL 'while true do end' 0 >busy.out
	wait_until 2s is_busy
}

is_busy() {
	[[ $(redis PING 2>&1) == *BUSY* ]]
}

@test "a busy server costs neither who was told of its turn the lock, nor who waits its place" {
	local before
	start_redis --lua-time-limit 20
	hold -t 6s job
	make_gate told
	VISIT=hold wait_in_line told -t 6s job
	let_go
	wait_until 5s visited told
	wait_in_line next -t 6s job
	listening job 1

	# Over the first renewal, 2 s after the grant, and an asking of the next in line.
	before=$(boottime)
	keep_busy
	wait_until 5s waited_since "$before" 2500
	is_busy
	redis SCRIPT KILL

	wait_until 5s listening job 1
	in_line job 1
	wait_until 10s waited_since "$before" 7000
	running "${WAITER[told]}"
	[ "$(redis EXISTS lock:job)" -eq 1 ]
	let_go_of told
	all_end
	assert_order told next
	nothing_wrong
	assert_no_trace job
}
