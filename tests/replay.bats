#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The simulator's Redis (tests/sim/model*) answers as the real one does: random commands, transactions and
# scripts, dlock's own too, from several clients at both, with one clock; and that this finds a difference.

load helpers/common
load helpers/replay

setup_file() { start_replay_server; }
setup() { common_setup && needs_server_of_model; }
teardown_file() { stop_redis; }

@test "whatever is sent to the simulator's Redis, it answers as the real one does" {
	run replay 6000
	assert_success
	assert_line --regexp '^6[0-9]{3} steps, [0-9]+ commands, .* messages to others: all the same$'
	# Where a script never gets anywhere nothing is compared.
	replay_reached acquire\ {GRANTED,OWNED,BUSY,LATE,FREE,-OOM,-READONLY} release\ {0,-1,1} renew\ {0,-1} \
		confirm\ UNUSUAL renew_member\ {0,1} node_take\ {TAKEN,BUSY,FREE} node_accept\ GONE node_release\ 0 \
		break\ FREE status\ text survey\ text list\ text check\ text renew_alone\ 0 release_alone\ 0 cluster\ -ERR
}

@test "where it does not, that is found" {
	assert_model_flaws_found "${MODEL_FLAWS[@]}"
}
