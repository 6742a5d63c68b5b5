#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# tests/replay.bats for minutes: more commands, every answer of every script, more flaws.

load ../helpers/common
load ../helpers/replay

setup_file() { start_replay_server; }
setup() { common_setup && needs_server_of_model; }
teardown_file() { stop_redis; }

@test "half a million random commands and scripts, with every answer that a script has" {
	run replay 200000 1000
	assert_success
	assert_line --regexp '^200[0-9]{3} steps, [45][0-9]{5} commands, .* messages to others: all the same$'
	echo "${lines[-1]}"
	replay_reached acquire\ {GRANTED,OWNED,BUSY,FULL,SLOTS,FREE,LATE,-OOM,-READONLY,-WRONGTYPE} \
		confirm\ {OWNED,UNUSUAL} release\ {0,-1,1} renew\ {0,-1,1} renew_member\ {0,-1,1} \
		renew_alone\ {0,1} release_alone\ {0,-1,1} node_take\ {TAKEN,OWNED,BUSY,LOW,FREE,LATE,-OOM} \
		node_accept\ {ACCEPTED,LOW,GONE} node_release\ {0,-1,1} status\ text survey\ text list\ text \
		check\ text break\ {BROKEN,FREED,NOTOKEN,FREE,FOREIGN,LATE} cluster\ -ERR
}

@test "what is wrong in the simulator's Redis is found" {
	assert_model_flaws_found "${MORE_MODEL_FLAWS[@]}"
}
