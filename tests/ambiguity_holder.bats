#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promises 2 and 5, the holder's side (ambiguity.bats has the waiter's): a renewal, a
# release or a login meets a failure (helpers/ambiguity). COMMAND is undisturbed, the lock is granted
# once and freed once, and no connection carries a request after one of its answers failed to come.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/witness
load helpers/proxy
load helpers/ambiguity
load helpers/chaos

setup() {
	common_setup
	start_redis
}

renew_again() {
	watch_all
	start_dlock -vv --ttl 2s job sh -c 'echo up >>ran; until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s test -e ran
	strike_next RENEW "$1"
	wait_until 3s struck "$1"
	wait_until 1s grep -q 'cannot renew' "$DLOCK_LOG"
	end_failure "$1"
	local confirmed
	confirmed=$(confirmed_count)
	wait_until 2s confirmed_more_than "$confirmed"
	touch go
	ran_once_renewed
	[ "$(connections)" -ge 2 ]
	not_used_again
}

ran_once_renewed() {
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	[ "$(wc -l <ran)" -eq 1 ]
	free job
	[ "$(server_did SET)" -eq 1 ]
	run grep -F lost "$DLOCK_LOG"
	assert_failure
}

@test "renew, its answer dropped: COMMAND undisturbed, renewed on a new connection" {
	renew_again drop
}

@test "renew, half an answer and then silence, a digit without its end: the same" {
	renew_again half
}

@test "renew, a RST instead of the answer: the same" {
	renew_again cut
}

@test "renew, an end of file instead of the answer: the same" {
	renew_again end
}

@test "renew, its answer later than the limit: the same" {
	renew_again late
}

@test "renew, held up on its way: the same" {
	renew_again keep
}

@test "renew, the server frozen for longer than the limit: the same" {
	renew_again freeze
}

release_again() {
	watch_all
	start_dlock -vv --ttl 3s job sh -c 'echo up >>ran; until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s test -e ran
	strike_next RELEASE "$1"
	touch go
	wait_until 2s struck "$1"
	if [ "$1" = freeze ]; then
		wait_until 2s closed_connections 1
		end_failure freeze
	fi
	start_clock
	exit_status_of "$OUTER"
	assert_between 0 2500 "$(clock_ms)" "milliseconds until dlock had ended"
	[ "$STATUS" -eq 23 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	wait_until 100ms free job
	end_failure "$1"
	absent_for 200
	[ "$(server_did DEL)" -eq 1 ]
	run grep -E 'lost|cannot release' "$DLOCK_LOG"
	assert_failure
	not_used_again
}

@test "release, its answer dropped: the key is gone, the status COMMAND's" {
	release_again drop
}

@test "release, half an answer and then silence: the same" {
	release_again half
}

@test "release, a RST instead of the answer: the same" {
	release_again cut
}

@test "release, an end of file instead of the answer: the same" {
	release_again end
}

@test "release, its answer later than the limit: the same" {
	release_again late
}

@test "release, held up on its way: it is sent again, and deletes nothing when it arrives" {
	release_again keep
}

@test "release, the server frozen for longer than the limit: the same" {
	release_again freeze
}

@test "a release that was executed unseen does not free the next holder's lock" {
	watch_all
	start_dlock -vv --ttl 3s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	strike_next RELEASE drop
	touch go
	wait_until 2s free job
	redis SET lock:job another PX 60000 >/dev/null
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ] # it was released, by all that is known, while it was ours
	[ "$(redis GET lock:job)" = another ]
}

@test "login, its answer lost in one of the ways: bounded by --connect-timeout, 69, nothing was asked" {
	local failure
	watch_all
	for failure in drop half cut end freeze; do
		strike_next CLIENT "$failure"
		start_clock
		start_dlock -n --ttl 2s --connect-timeout 500ms job touch ran
		exit_status_of "$OUTER"
		assert_between 0 900 "$(clock_ms)" "milliseconds until dlock gave up ($failure)"
		[ "$STATUS" -eq 69 ] || fail "$failure: status $STATUS"
		end_failure "$failure"
	done
	absent_for 300
	[ "$(proxy_requests ACQUIRE)" -eq 0 ]
	[ ! -e ran ]
}

@test "a renewal lost, and the login after it lost too: COMMAND undisturbed" {
	local failure
	watch_all
	start_dlock -vv --ttl 3s job sh -c 'echo up >>ran; until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s test -e ran
	wait_until 3s confirmed_more_than 0
	strike_every RENEW cut
	wait_until 4s struck cut
	strike_next CLIENT half
	wait_until 2s struck half
	local confirmed
	confirmed=$(confirmed_count)
	wait_until 3s confirmed_more_than "$confirmed"
	touch go
	ran_once_renewed
	not_used_again
}

@test "TERM twice while the server pauses in the release: the key is gone, the status COMMAND's (R36)" {
	watch_all
	start_dlock -vv --ttl 10s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	redis CLIENT PAUSE 1000 >/dev/null
	start_clock
	touch go
	wait_until 2s gone "$COMMAND"
	wait_until 1s released_more_than 0
	kill -TERM "$OUTER"
	sleep 0.2
	kill -TERM "$OUTER" 2>/dev/null || fail "dlock ended before the release was answered"
	exit_status_of "$OUTER"
	assert_between 900 1500 "$(clock_ms)" "milliseconds from the pause to dlock's end"
	[ "$STATUS" -eq 23 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	free job
	absent_for 300
	[ "$(server_did DEL)" -eq 1 ]
}

released_more_than() {
	[ "$(proxy_requests RELEASE)" -gt "$1" ]
}

@test "TERM twice while the release is under way, dlock and RUNNER: the same (R36)" {
	watch_all
	start_dlock -vv --ttl 10s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	strike_every RELEASE drop
	touch go
	wait_until 2s struck drop
	kill -TERM "$OUTER" "$RUNNER"
	kill -INT "$OUTER"
	proxy pass
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	free job
}

# For longer: tests/long/ambiguity.bats.
@test "three contend for 5 s while requests fail at random: each runs once or not, never two at once, fences rise" {
	watch_all
	chaos 5000 3
	assert_chaos_survived
}
