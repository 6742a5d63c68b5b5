#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 5 and 7 against a real Redis: release, --at-least, contention.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common

setup() {
	common_setup
	start_redis
}

@test "release while the server pauses: dlock gives up in time, nothing is renewed after it, the key ends by itself (R4, P102)" {
	start_dlock -v --ttl 3s job sh -c 'until [ -e go ]; do sleep 0.01; done; exit 23'
	wait_until 3s running "$OUTER"
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	redis CLIENT PAUSE 5000 >/dev/null
	touch go
	start_clock
	exit_status_of "$OUTER" 5s
	assert_between 0 3000 "$(clock_ms)" "milliseconds until dlock gave up"
	[ "$STATUS" -eq 23 ]
	grep -q "^dlock: " "$DLOCK_LOG"
	redis CLIENT UNPAUSE >/dev/null
	wait_until 3s free job
	run grep -iE '"pexpire" "lock:job"' monitor
	assert_failure
}

@test "--at-least keeps the lock, dlock returns at once with COMMAND's code, and nobody renews (P72, P73)" {
	local token left
	start_clock
	run dlock --at-least 3s -n job sh -c 'echo "$DLOCK_TOKEN" >token; exit 7'
	assert_failure 7
	assert_between 0 1000 "$(clock_ms)" "milliseconds until dlock returned"
	token=$(cat token)
	[ "$(redis GET lock:job)" = "dlock!done:$token" ]
	left=$(redis PTTL lock:job)
	assert_between 2000 3000 "$left" "PTTL"
	no_marked_dlock
	run dlock -n job true
	assert_failure 75
	assert_output --regexp "^dlock: 'job' .*finished, held until "
	run dlock -n -E 0 -q job true
	assert_success
	assert_output ''
	run dlock -w 5 --ttl 2s job true
	assert_success
	assert_between 2900 4500 "$(clock_ms)" "milliseconds until the next one ran"
}

@test "--at-least is over when COMMAND took longer, and holds after a bad end too" {
	run dlock --at-least 100ms -n job sleep 0.3
	assert_success
	free job
	start_dlock --at-least 20s -n job sleep 900
	wait_until 2s running "$OUTER"
	kill -TERM "$COMMAND"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 143 ]
	assert_between 15000 20000 "$(redis PTTL lock:job)" "PTTL"
	run dlock -n job true
	assert_failure 75
}

@test "under contention nobody is lost and no two overlap: 8 contenders, 12 runs each (P12)" {
	local i pids=() pid
	echo 0 >counter
	for i in {1..8}; do
			start bash -c 'for i in {1..12}; do
			"$DLOCK" --ttl 5s job sh -c "mkdir inside || echo overlap >>trouble
				read n <counter; echo \$((n + 1)) >counter; echo \$DLOCK_FENCE >>fences; rmdir inside" || echo "status $?" >>trouble
			done' 2>>"$DLOCK_LOG"
		pids+=("$STARTED")
	done
	for pid in "${pids[@]}"; do
		exit_status_of "$pid" 60s
	done
	[ ! -e trouble ] || { cat trouble "$DLOCK_LOG" >&2; return 1; }
	[ "$(cat counter)" -eq 96 ]
	# In the order of possession, and never the same twice.
	sort -n -u fences | cmp - fences
}

@test "a lease that was not renewed ends with its TTL: a holder killed with its RUNNER frees within TTL + 0.5 s (P67)" {
	start_dlock --ttl 1s job sleep 900
	wait_until 2s running "$OUTER"
	# RUNNER first: it would release the lock if it saw OUTER die.
	kill -KILL "$RUNNER" "$OUTER"
	start_clock
	wait_until 2s free job
	assert_between 300 1500 "$(clock_ms)" "milliseconds until it was free"
}
