#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --at-least: the lock outlives a short COMMAND, and nobody stays behind to keep it.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

@test "--at-least: dlock returns at once with COMMAND's status, the lock stays (P72 P73)" {
	local before token
	before=$(boottime)
	run -3 dlock --at-least 30s -n J sh -c 'echo "$DLOCK_TOKEN"; exit 3'
	assert_between 0 999 "$(elapsed_ms "$before")" 'wall time'
	token=$output
	[ "$(redis GET lock:J)" = "dlock!done:$token" ]
	assert_between 28000 30000 "$(redis PTTL lock:J)" PTTL
	wait_until 1s no_marked_dlock
	# The other host, 2 s later or at once.
	run -75 dlock --at-least 30s -n J touch ran
	[ ! -e ran ]
	assert_output --regexp "^dlock: 'J' .*finished, held until "
	[ "${#lines[@]}" -eq 1 ]
}

@test "--at-least counts from the acquisition, and less than COMMAND took is nothing (P73)" {
	dlock --at-least 5s J sleep 0.5
	assert_between 3500 4500 "$(redis PTTL lock:J)" PTTL
	dlock --at-least 0.1 K sleep 0.3
	free K
	dlock --at-least 0 L true
	free L
}

@test "--at-least holds as well when COMMAND fails or dies of a signal (P72)" {
	run -1 dlock --at-least 20s J false
	assert_between 18000 20000 "$(redis PTTL lock:J)" PTTL
	run -137 dlock --at-least 20s K sh -c 'kill -KILL $$'
	assert_between 18000 20000 "$(redis PTTL lock:K)" PTTL
	start_dlock --at-least 20s L sleep 60
	wait_until 2s running "$OUTER"
	kill -TERM "$OUTER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 143 ]
	assert_between 18000 20000 "$(redis PTTL lock:L)" PTTL
}

@test "--at-least may be longer or shorter than the TTL (P72)" {
	dlock -t 2s --at-least 60s J true
	assert_between 58000 60000 "$(redis PTTL lock:J)" PTTL
	dlock -t 60s --at-least 2s K true
	assert_between 500 2000 "$(redis PTTL lock:K)" PTTL
}

@test "when --at-least is over the next one has it, waiting or not" {
	local before fence
	run dlock --at-least 1s J sh -c 'echo "$DLOCK_FENCE"'
	fence=$output
	before=$(boottime)
	run -0 dlock -w 10 J sh -c 'echo "$DLOCK_FENCE"'
	assert_between 500 2500 "$(elapsed_ms "$before")" wait
	[ "$output" -gt "$fence" ]
	free J
}

@test "--at-least with a COMMAND that cannot run leaves no lock behind" {
	run -127 dlock --at-least 60s J no-such-command
	run -126 dlock --at-least 60s J /etc/passwd
	free J
}

@test "a lost lock is not kept by --at-least" {
	run -79 dlock --at-least 60s J redis-cli -s "$REDIS_SOCK" SET lock:J other PX 50000
	[ "$(redis GET lock:J)" = other ]
	run -79 dlock --at-least 60s K redis-cli -s "$REDIS_SOCK" DEL lock:K
	free K
}

@test "another client sees held while --at-least lasts" {
	dlock --at-least 20s J true
	[ -z "$(redis SET lock:J by-hand NX PX 1000)" ]
	[[ "$(redis GET lock:J)" == 'dlock!done:'* ]]
}
