#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 5 and 7 against a real Redis: release, ghosts, --at-least, contention.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/proxy

setup() {
	common_setup
	start_redis
}

teardown() {
	stop_proxy
	common_teardown
}

@test "release while the server pauses: dlock gives up in time, nothing is renewed after it, the key ends by itself (R4, P102)" {
	start_dlock -v --ttl 3s job sh -c 'until [ -e go ]; do sleep 0.01; done; exit 23'
	wait_until 3s running "$OUTER"
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	redis CLIENT PAUSE 5000 ALL >/dev/null
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

@test "an acquire that the server executes after dlock gave up takes no lock: the whole server frozen (R57)" {
	kill -STOP "$REDIS_PID"
	start_clock
	run dlock -n --ttl 2s job true
	assert_failure 69
	assert_between 0 2000 "$(clock_ms)" "milliseconds until dlock gave up"
	kill -CONT "$REDIS_PID"
	sleep 0.5
	free job
}

@test "an acquire that arrives after dlock gave up takes no lock: held up on its way (R57)" {
	start_proxy
	proxy on EVAL blackhole
	start_clock
	run dlock -n --ttl 2s job touch ran
	assert_failure 69
	assert_between 100 3000 "$(clock_ms)" "milliseconds until dlock gave up"
	proxy pass
	wait_until 2s script_was_called
	free job
	[ ! -e ran ]
}

script_was_called() {
	redis INFO commandstats | grep -q '^cmdstat_eval:'
}

@test "when the answer to an acquire is lost dlock asks again with the same token, and holds once" {
	start_proxy
	proxy on EVAL drop
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	start_dlock -vv --ttl 3s job sh -c 'echo "$DLOCK_TOKEN $DLOCK_FENCE" >>ran; until [ -e go ]; do sleep 0.01; done'
	wait_until 2s held job
	[ ! -e ran ]
	proxy pass
	wait_until 3s test -s ran
	[ "$(redis GET lock:job)" = "$(cut -d' ' -f1 ran)" ]
	[ "$(redis GET "$(fence_key_of job)")" = "$(cut -d' ' -f2 ran)" ]
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	free job
	[ "$(wc -l <ran)" -eq 1 ]
}

@test "an acquire that was executed, with its answer lost for good, is undone or ends with its TTL: COMMAND never runs" {
	start_proxy
	proxy on EVAL drop
	start_dlock -n -v --ttl 2s job touch ran
	wait_until 2s held job
	exit_status_of "$OUTER" 5s
	[ "$STATUS" -eq 69 ]
	[ ! -e ran ]
	wait_until 2500ms free job
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
