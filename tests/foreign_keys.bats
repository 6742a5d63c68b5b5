#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 2 and 5: what stands at the lock's key is somebody else's data. It is never written
# to; what can never become a lock is said at once, what may is waited for.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

# refused_at_once TYPE: 69 before anything was waited for, the type named, the value as it was.
refused_at_once() {
	local dump
	dump=$(redis DUMP lock:job | od -An -tx1)
	start_clock
	run dlock -w 20s job touch ran
	assert_failure 69
	assert_between 0 900 "$(clock_ms)" "milliseconds"
	assert_output --partial "'job'"
	assert_output --partial "WRONGTYPE"
	assert_output --partial "$1"
	[ "${#lines[@]}" -eq 1 ]
	[ "$(redis DUMP lock:job | od -An -tx1)" = "$dump" ]
	[ "$(redis DBSIZE)" -eq 1 ]
	[ ! -e ran ]
	redis DEL lock:job >/dev/null
}

# Somebody is told when a key is written to.
is_followed() {
	[ "$(redis INFO clients | sed -n 's/^tracking_clients:\([0-9]*\).*/\1/p')" -ge 1 ]
}

@test "a key of another type: 69 at once, the type is named, the value untouched (R48)" {
	redis HSET lock:job a 1
	refused_at_once hash
	redis RPUSH lock:job a
	refused_at_once list
	redis SADD lock:job a
	refused_at_once set
	redis ZADD lock:job 1 a
	refused_at_once zset
	redis XADD lock:job '*' a 1
	refused_at_once stream
}

@test "a string without expiry is waited for, with a warning that says so, and is not touched (R48)" {
	redis SET lock:job application-data
	start_dlock job sh -c 'exit 23'
	wait_until 3s grep -q "no expiry" "$DLOCK_LOG"
	[ "$(wc -l <"$DLOCK_LOG")" -eq 1 ]
	grep -qF "dlock: waiting for 'job', held by an unknown client (token application-data)" "$DLOCK_LOG"
	alive "$OUTER"
	[ "$(redis GET lock:job)" = application-data ]
	[ "$(redis PTTL lock:job)" -eq -1 ]
	run dlock -n job true
	assert_failure 75
	assert_output --partial "no expiry"
	redis DEL lock:job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
}

@test "a string that is longer than any answer may be is a conflict as any other, and is waited for" {
	head -c 100000 /dev/zero | tr '\0' x | redis -x SET lock:job
	run dlock -n job touch ran
	assert_failure 75
	assert_output --partial "held by an unknown client (token xxx"
	# First in line it has the key followed, too, and learns so that it is deleted.
	start_dlock -v -w 20s job touch ran
	wait_until 5s grep -q "no expiry" "$DLOCK_LOG"
	wait_until 10s is_followed
	redis DEL lock:job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	[ -e ran ]
	[[ "$(<"$DLOCK_LOG")" != *"answer"* ]]
}

@test "a key that becomes another type while one waits, and a holder whose key does: 79, and it waits on, untouched (R48)" {
	start_dlock --ttl 2s job sleep 900
	local holder=$OUTER
	wait_until 3s running "$holder"
	start_dlock -w 20s job touch ran
	wait_until 3s grep -q "waiting for 'job'" "$DLOCK_LOG"
	redis EVAL "redis.call('DEL', KEYS[1]) return redis.call('HSET', KEYS[1], 'a', '1')" 1 lock:job
	exit_status_of "$holder"
	[ "$STATUS" -eq 79 ]
	# It waited already: a refusal that may pass is tried again, until the wait is over.
	alive "$OUTER"
	[ "$(redis HGET lock:job a)" = 1 ]
	[ ! -e ran ]
	kill -TERM "$OUTER"
	exit_status_of "$OUTER"
	[ "$(redis HGET lock:job a)" = 1 ]
}

@test "a record that the server lost its expiry of: a known holder's key says so too (R48)" {
	start_dlock --ttl 30s job sleep 900
	wait_until 3s running "$OUTER"
	redis PERSIST lock:job
	run dlock -n job true
	assert_failure 75
	assert_output --partial "sleep"
	assert_output --partial "no expiry"
	kill -TERM "$OUTER"
	exit_status_of "$OUTER"
	free job
}
