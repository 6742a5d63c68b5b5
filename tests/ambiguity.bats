#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 5: an answer that was lost is neither a yes nor a no. A table of requests
# (acquire of the first contact, acquire of a waiter, renew, release, login) and of failures (see
# helpers/ambiguity): COMMAND runs once or not at all, never on a guess; no lock remains that nobody
# holds; no connection carries a request after one of its answers failed to come.
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

RUN=(sh -c 'echo "$DLOCK_TOKEN $DLOCK_FENCE" >>ran; exit 23')

# ran_once: COMMAND has run once and is what the exit status is of; the lock was granted once, with
# one fencing number, and is free.
ran_once() {
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	[ "$(wc -l <ran)" -eq 1 ]
	wait_until 1s free job
	[ "$(server_did SET)" -eq 1 ]
	[ "$(fences_drawn)" -eq 1 ]
	[ "$(redis GET "$(fence_key_of job)")" = "$(cut -d' ' -f2 ran)" ]
}

# -- the acquire of the first contact ------------------------------------------------------------

# An acquire fails once: dlock asks again with the same token, on another connection.
acquire_again() {
	watch_all
	strike_next ACQUIRE "$1"
	start_dlock -vv --ttl 2s job "${RUN[@]}"
	wait_until 2s struck "$1"
	# Where the failure shows itself dlock has asked again by now.
	[[ $1 = @(cut|end|orphan) ]] || [ ! -e ran ]
	if [ "$1" = freeze ]; then
		# Until it has given up that connection, so that the server executes both.
		wait_until 2s closed_connections 1
		end_failure freeze
	fi
	ran_once
	end_failure "$1"
	absent_for 300 # also when the held-up acquire arrives now
	[ "$(server_did SET)" -eq 1 ]
	[ "$(connections)" -ge 2 ]
	not_used_again
}

@test "acquire, its answer dropped: asked again with the same token, granted once, one fence, on a new connection" {
	acquire_again drop
}

@test "acquire, half an answer and then silence: the same" {
	acquire_again half
}

@test "acquire, a RST instead of the answer: the same" {
	acquire_again cut
}

@test "acquire, an end of file instead of the answer: the same" {
	acquire_again end
}

@test "acquire, its answer later than the limit: the same" {
	acquire_again late
}

@test "acquire, held up on its way until all is over: it takes nothing (R57)" {
	acquire_again keep
}

@test "acquire, held up in a middle box that resets the connection, arriving when all is over: it takes nothing (R57)" {
	acquire_again orphan
}

@test "acquire, the server frozen for longer than the limit: the same (R57)" {
	acquire_again freeze
}

@test "as long as no acquire is answered COMMAND does not run, though the key is there" {
	watch_all
	strike_every ACQUIRE drop
	start_dlock -vv --ttl 2s -w 5s job "${RUN[@]}"
	wait_until 3s struck drop 2
	held job
	[ ! -e ran ]
	proxy pass
	ran_once
	not_used_again
}

# -n, and no acquire is ever answered: 69, COMMAND does not run, nothing remains.
acquire_never() {
	watch_all
	strike_every ACQUIRE "$1"
	start_clock
	start_dlock -n -vv --ttl 2s job "${RUN[@]}"
	exit_status_of "$OUTER"
	# Two answers, and one to undo them: T/6 each. And the machine's share.
	assert_between 0 2000 "$(clock_ms)" "milliseconds until dlock gave up"
	[ "$STATUS" -eq 69 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	struck "$1"
	end_failure "$1"
	sleep 0.2
	absent_for 300
	[ ! -e ran ]
	not_used_again
}

@test "-n, every acquire's answer dropped: 69, no lock remains, COMMAND does not run" {
	acquire_never drop
}

@test "-n, half of each answer: the same" {
	acquire_never half
}

@test "-n, a RST instead of each answer: the same" {
	acquire_never cut
}

@test "-n, an end of file instead of each answer: the same" {
	acquire_never end
}

@test "-n, each answer later than the limit: the same" {
	acquire_never late
}

@test "-n, each acquire held up until dlock has given up: the same (R57)" {
	acquire_never keep
}

@test "-n, the server frozen when the acquire comes, until dlock has given up: the same (R57)" {
	acquire_never freeze
}

# -- the acquire of a waiter ------------------------------------------------------------------------

# Somebody holds the lock; each acquire that comes after its release fails, until -w is over.
waiter_never() {
	watch_all
	redis SET lock:job another PX 60000 >/dev/null
	start_dlock -vv --ttl 2s -w 1500ms job "${RUN[@]}"
	wait_until 2s asked_more_than 0
	redis PEXPIRE lock:job 500 >/dev/null # not DEL: a frozen server would not take it
	strike_every ACQUIRE "$1"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 69 ] || [ "$STATUS" -eq 75 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	struck "$1"
	end_failure "$1"
	sleep 0.2
	absent_for 300
	[ ! -e ran ]
}

asked_more_than() {
	[ "$(proxy_requests ACQUIRE)" -gt "$1" ]
}

@test "-w runs out while no acquire is answered: no lock remains, COMMAND does not run" {
	waiter_never drop
}

@test "-w runs out with half answers: the same" {
	waiter_never half
}

@test "-w runs out with a RST for each acquire: the same" {
	waiter_never cut
}

@test "-w runs out with late answers: the same" {
	waiter_never late
}

@test "-w runs out while acquires are held up: the same (R57)" {
	waiter_never keep
}

@test "-w runs out while the server stands still: the same (R57)" {
	waiter_never freeze
}

@test "-n, each acquire held up in a middle box that resets its connection: the same (R57)" {
	acquire_never orphan
}

@test "-n, the server frozen before it was connected to: 69 within --connect-timeout, nothing taken when it wakes (R57)" {
	kill -STOP "$REDIS_PID"
	start_clock
	run dlock -n --ttl 30s --connect-timeout 1s job touch ran
	assert_failure 69
	assert_between 900 1500 "$(clock_ms)" "milliseconds until dlock gave up"
	kill -CONT "$REDIS_PID"
	absent_for 500
	[ ! -e ran ]
	# By default that is min(5 s, T/3), as the manual says.
	kill -STOP "$REDIS_PID"
	start_clock
	run dlock -n --ttl 3s job touch ran
	assert_failure 69
	assert_between 900 1500 "$(clock_ms)" "milliseconds until dlock gave up, T/3"
	kill -CONT "$REDIS_PID"
	absent_for 500
	[ ! -e ran ]
}

@test "-w runs out after an acquire that a middle box holds up, another has the lock meanwhile: it takes nothing (R57)" {
	watch_all
	strike_next ACQUIRE orphan
	redis SET lock:job another PX 60000 >/dev/null
	start_dlock -vv --ttl 30s -w 500ms job "${RUN[@]}"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 75 ]
	redis DEL lock:job >/dev/null
	end_failure orphan
	absent_for 300
	[ ! -e ran ]
}

@test "-w 1s, the server frozen when the first acquire comes: it gives up, and takes nothing when the server wakes (R57)" {
	watch_all
	strike_next ACQUIRE freeze
	start_clock
	start_dlock -w 1s --ttl 30s job "${RUN[@]}"
	exit_status_of "$OUTER"
	assert_between 900 1500 "$(clock_ms)" "milliseconds until dlock gave up"
	[ "$STATUS" -eq 69 ]
	end_failure freeze
	sleep 0.2
	absent_for 500
	[ ! -e ran ]
}

@test "a waiter whose acquire was granted unseen asks again and runs once" {
	local failure
	watch_all
	for failure in drop half cut end late freeze; do
		rm -f ran
		redis FLUSHALL >/dev/null
		redis SET lock:job another PX 60000 >/dev/null
		start_dlock -vv --ttl 2s job "${RUN[@]}"
		wait_until 2s asked_more_than 0
		: >monitor
		redis PEXPIRE lock:job 500 >/dev/null
		strike_next ACQUIRE "$failure"
		wait_until 2s struck "$failure"
		[ "$failure" != freeze ] || { sleep 0.6; end_failure freeze; }
		ran_once || fail "$failure"
		end_failure "$failure"
		not_used_again
		: >"$PROXY_LOG"
	done
}


# -- TERM while the answer is under way --------------------------------------------------------------

# TERM, or another signal, comes when the acquire has been sent and not been answered.
term_meanwhile() {
	local name=${2:-TERM}
	watch_all
	strike_next ACQUIRE "$1"
	start_dlock -vv --ttl 30s job "${RUN[@]}"
	wait_until 2s struck "$1"
	[ "$1" = freeze ] || [ "$1" = keep ] || wait_until 1s held job
	kill "-$name" "$OUTER"
	start_clock
	STATUS=0
	wait "$OUTER" || STATUS=$?
	assert_between 0 150 "$(clock_ms)" "milliseconds until dlock ended"
	[ "$STATUS" -eq $((128 + $(kill -l "$name"))) ] || fail "status $STATUS"
	end_failure "$1"
	wait_until 500ms free job
	sleep 0.2
	absent_for 300
	[ ! -e ran ]
}

@test "TERM while the acquire's answer is lost: dlock dies of it at once, no lock remains" {
	term_meanwhile drop
}

@test "so it does of a signal that is never passed on to COMMAND" {
	term_meanwhile drop PROF
}

@test "TERM after half an answer: the same" {
	term_meanwhile half
}

@test "TERM while the answer is late: the same" {
	term_meanwhile late
}

@test "TERM while the acquire is held up on its way: the same" {
	term_meanwhile keep
}

@test "TERM while the server stands still: the same" {
	term_meanwhile freeze
}

@test "TERM, and the request that undoes the acquire meets a RST: it is sent again" {
	watch_all
	strike_next ACQUIRE drop
	start_dlock -vv --ttl 30s job "${RUN[@]}"
	wait_until 2s held job
	proxy on RELEASE reset
	kill -TERM "$OUTER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 143 ]
	wait_until 200ms free job
	[ ! -e ran ]
}

@test "-n gives up over a line with 150 ms of delay: no lock remains" {
	watch_all
	proxy delay 150
	strike_every ACQUIRE cut
	start_dlock -n -vv --ttl 30s job "${RUN[@]}"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 69 ]
	wait_until 200ms free job
	[ ! -e ran ]
}
