#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5: a server that refuses, hangs up or is written to all the time gets no storm from
# those who wait, and costs them nothing; a holder is undisturbed.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/witness
load helpers/proxy
load helpers/ambiguity

setup() {
	common_setup
	start_redis
}

all_commands() {
	redis INFO stats | tr -d '\r' | sed -n 's/^total_commands_processed://p'
}

cpu_ms() {
	awk '{ print ($14 + $15) * 10 }' "/proc/$1/stat"
}

asked() {
	[ "$(scripts_run)" -ge "$1" ]
}

@test "a server that has become read-only: a waiter asks 20 times a second at most, and has its turn when it is over (R84)" {
	local before
	redis SET lock:job another PX 60000
	start_dlock job sh -c 'exit 23'
	wait_until 2s asked 1
	redis REPLICAOF 127.0.0.1 1
	# The first few tries follow one another closely. Each is four commands, and what its script does until it
	# is refused.
	wait_until 5s asked $(($(scripts_run) + 4))
	before=$(all_commands)
	sleep 3
	assert_between 1 60 $(($(all_commands) - before)) "commands in 3 s"
	alive "$OUTER"
	redis REPLICAOF NO ONE
	redis DEL lock:job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
}

@test "a master that has become a replica: holder, waiter and newcomer connect at most five times a second; lost by the clock, else undisturbed (R33)" {
	local before holder waiter short newcomer command
	redis SET lock:other another PX 60000
	start_dlock --ttl 20s long sh -c 'until [ -e go ]; do sleep 0.05; done; exit 23'
	holder=$OUTER
	wait_until 3s running "$holder"
	start_dlock -w 60s other sh -c 'exit 24'
	waiter=$OUTER
	wait_until 3s asked 2
	start_dlock --ttl 2s short sh -c 'until [ -e never ]; do sleep 0.05; done'
	short=$OUTER
	wait_until 3s running "$short"
	command=$COMMAND
	redis REPLICAOF 127.0.0.1 1
	start_dlock -w 60s new sh -c 'exit 25'
	newcomer=$OUTER
	before=$(connections)
	start_clock
	# It is dead before its lease of 2 s is over; dlock itself tries to give the lock back until then.
	wait_until 3s gone "$command"
	assert_between 0 1850 "$(clock_ms)" "milliseconds until it was lost"
	exit_status_of "$short"
	[ "$STATUS" -eq 79 ]
	sleep 1
	# Each asks for the name again, and none more than five times a second.
	assert_between 1 20 $(($(connections) - before)) "connections in $(clock_ms) ms"
	redis REPLICAOF NO ONE
	redis DEL lock:other
	: >go
	exit_status_of "$newcomer" && [ "$STATUS" -eq 25 ]
	exit_status_of "$waiter" && [ "$STATUS" -eq 24 ]
	exit_status_of "$holder" && [ "$STATUS" -eq 23 ]
}

connections() {
	redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p'
}

@test "a server that closes idle connections after 2 s: a waiter waits on, a holder with a TTL of 60 s is undisturbed (R88)" {
	redis CONFIG SET timeout 2
	start_dlock --ttl 60s job sh -c 'until [ -e go ]; do sleep 0.05; done; exit 23'
	local holder=$OUTER waiter
	wait_until 2s running "$holder"
	start_dlock job sh -c 'exit 24'
	waiter=$OUTER
	sleep 6
	alive "$holder"
	alive "$waiter"
	[ "$(redis EXISTS lock:job)" = 1 ]
	: >go
	exit_status_of "$holder"
	[ "$STATUS" -eq 23 ] || fail "the holder ended with $STATUS: $(<"$DLOCK_LOG")"
	exit_status_of "$waiter"
	[ "$STATUS" -eq 24 ] || fail "the waiter ended with $STATUS: $(<"$DLOCK_LOG")"
}

@test "the connection is cut in each release before it arrives: COMMAND's status, a warning, and the next run has the lock after the TTL at most (R67)" {
	start_proxy
	start_dlock --ttl 2s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	proxy every RELEASE reset
	: >go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
	[ "$(proxy_requests RELEASE)" -ge 3 ]
	grep -q "^dlock: cannot release 'job'" "$DLOCK_LOG"
	proxy pass
	start_clock
	run dlock -w 5s job true
	assert_success
	assert_between 0 2300 "$(clock_ms)" "milliseconds until the next run had it"
}

@test "a key that is overwritten 1,000 times costs its waiter next to nothing (R70)" {
	local before i
	redis SET lock:job another PX 60000
	start_dlock job sh -c 'exit 23'
	wait_until 2s asked 1
	before=$(scripts_run)
	for i in {1..1000}; do
		echo "SET lock:job another$i PX 60000"
		[ $((i % 100)) -ne 0 ] || sleep 0.2
	done | redis >/dev/null
	assert_between 0 60 $(($(scripts_run) - before)) "scripts"
	assert_between 0 100 "$(cpu_ms "$OUTER")" "milliseconds of processor time"
	redis DEL lock:job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
}
