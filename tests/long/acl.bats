#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# That each of the rights that dlock(1) lists under Access control is needed: a run without it fails, or
# the server has refused something. (That they suffice: tests/acl.bats.)

load ../helpers/common
load ../helpers/walk
load ../helpers/life

setup_file() { export BATS_TEST_TIMEOUT=1800; }

setup() {
	common_setup
	export SERVER_CLOCK=$WORK/clock
	echo true >"$SERVER_CLOCK"
	LD_PRELOAD=$TOOLS/server_clock_preload.so start_redis
}

# make_walker [RULE...]: the scripts walk through what a cluster needs, too, which is a list of its own.
make_walker() {
	local shards=('+pubsub|shardnumsub')
	! server_has 7.0 || shards+=(+spublish)
	make_user "${shards[@]}" "$@"
}

# assert_needed RULE...: something goes wrong for a user who lacks that; first the scripts alone, which
# takes less time.
assert_needed() {
	make_walker "$@" || fail "no such rule: $*"
	echo true >"$SERVER_CLOCK"
	if ! walk --user dlock secret --steps 500 >walked; then
		! grep Traceback walked || fail "the walk itself failed"
		return
	fi
	echo true >"$SERVER_CLOCK"
	[ -z "$(redis ACL LOG)" ] || return 0
	! live "$USER_URL" >lived 2>&1 || [ -n "$(redis ACL LOG)" ] || fail "not needed: $*"
}

@test "with all of them nothing goes wrong, neither for the scripts nor for dlock" {
	make_walker
	! has_still_clock || walk --user dlock secret --steps 5000
	echo true >"$SERVER_CLOCK"
	assert_equal "$(redis ACL LOG)" ''
	live "$USER_URL"
	assert_equal "$(redis ACL LOG)" ''
}

@test "each command of the list is needed" {
	needs_still_clock
	local right
	for right in $(listed_commands); do
		assert_needed "-$right"
	done
}

@test "each key and channel of the list is needed" {
	needs_still_clock
	assert_needed resetkeys '~lock:acl'
	assert_needed resetkeys '~other:*'
	! server_has 6.2 || assert_needed resetchannels
}
