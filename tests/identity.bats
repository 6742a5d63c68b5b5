#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promises 3 and 8: another's lock is never touched; clients that follow Redis's
# own recipe exclude dlock and are excluded.

load helpers/common
load helpers/freezer

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	PYTHON=/usr/bin/python3 # Debian's, which has python3-redis
}

# redis_py SCRIPT: r is a connection, lock the redis-py Lock of lock:job.
redis_py() {
	"$PYTHON" -c "
import os, subprocess, sys
import redis
r = redis.Redis(unix_socket_path=os.environ['REDIS_SOCK'])
lock = r.lock('lock:job', timeout=20)
dlock = os.environ['DLOCK']
$1"
}

@test "tokens never repeat, and are lower-case UUIDs (R51)" {
	local i
	for i in 1 2 3 4; do
		start bash -c 'for i in {1..75}; do "$DLOCK" "job$1" sh -c "echo \$DLOCK_TOKEN"; done' - "$i" >"tokens$i"
		pids[i]=$STARTED
	done
	for i in 1 2 3 4; do
		exit_status_of "${pids[i]}" 30s
		[ "$STATUS" -eq 0 ]
	done
	[ "$(cat tokens? | wc -l)" -eq 300 ]
	[ "$(sort -u tokens? | wc -l)" -eq 300 ]
	run grep -cvE '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' <(cat tokens?)
	assert_output 0
}

@test "what is stored at the key is the token, with an expiry of the TTL" {
	run dlock -t 10s job sh -c 'redis-cli -s "$REDIS_SOCK" GET lock:job; echo "$DLOCK_TOKEN"
		redis-cli -s "$REDIS_SOCK" PTTL lock:job; redis-cli -s "$REDIS_SOCK" TYPE lock:job'
	assert_success
	[ "${lines[0]}" = "${lines[1]}" ]
	assert_between 9000 10000 "${lines[2]}" PTTL
	[ "${lines[3]}" = string ]
}

@test "after a run only the fencing number is left, and it expires (R27)" {
	dlock job true
	run redis --scan
	assert_output "$(fence_key_of job)"
	assert_between 1 $((31 * 24 * 3600 * 1000)) "$(redis PTTL "$(fence_key_of job)")" PTTL
}

@test "release leaves another's key alone (R34 P70)" {
	# Overwritten so late that no renewal notices before COMMAND has ended.
	run dlock -t 30s job redis-cli -s "$REDIS_SOCK" SET lock:job other PX 60000
	[ "$status" -eq 79 ] || fail "$status: $output"
	[ "$(redis GET lock:job)" = other ]
	run -75 dlock -n job true
	assert_between 50000 60000 "$(redis PTTL lock:job)" PTTL
}

@test "a lock that is gone at release is not made anew, and told: 79" {
	run -79 dlock -t 30s job redis-cli -s "$REDIS_SOCK" DEL lock:job
	free job
	assert_output --partial "lost 'job'"
}

@test "the renewals of a robbed holder never raise the other's PTTL (R73 R52)" {
	local left last=5001
	start_dlock -t 1s -k 300ms job bash -c 'trap "" TERM; echo >ready; while :; do sleep 0.02; done'
	wait_until 2s test -e ready
	redis SET lock:job other PX 5000
	while alive "$OUTER"; do
		left=$(redis PTTL lock:job)
		[ "$left" -le "$last" ] || fail "PTTL rose from $last to $left"
		last=$left
		sleep 0.01
	done
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	[ "$(redis GET lock:job)" = other ]
	assert_between 1 4999 "$(redis PTTL lock:job)" PTTL
}

@test "a lost lock is never recreated" {
	start_dlock -t 1s -k 300ms job bash -c 'trap "" TERM; echo >ready; while :; do sleep 0.02; done'
	wait_until 2s test -e ready
	redis DEL lock:job
	while alive "$OUTER"; do
		free job || fail 'the key is back'
		sleep 0.01
	done
	free job
}

@test "a holder frozen beyond its TTL touches nothing on waking: the next one keeps the lock (P70)" {
	# A holds; time stops for all of A; B holds; A goes on.
	local a other
	make_freezer
	# shellcheck disable=SC2154 # make_freezer sets it
	start "${in_freezer[@]}" "$DLOCK" -t 1s -k 100ms job bash -c 'while :; do sleep 0.02; done'
	a=$STARTED
	wait_until 2s running "$a"
	freeze
	wait_until 3s free job
	start_dlock -t 30s job sleep 60
	wait_until 2s running "$OUTER"
	other=$(redis GET lock:job)
	thaw
	exit_status_of "$a"
	[ "$STATUS" -eq 79 ]
	[ "$(redis GET lock:job)" = "$other" ]
	assert_alive "$COMMAND"
	run -75 dlock -n job true
}

@test "two dlocks exclude each other" {
	start_dlock job sh -c 'echo "$DLOCK_TOKEN" >first; sleep 60'
	wait_until 2s test -s first
	run -75 dlock -n job touch ran
	[ ! -e ran ]
	[ "$(redis GET lock:job)" = "$(<first)" ]
	run -0 dlock -n other true
	kill -TERM "$OUTER"
	wait_until 2s free job
	run -0 dlock -n job touch ran
	[ -e ran ]
}

@test "SET NX PX by hand excludes dlock and is excluded" {
	[ "$(redis SET lock:job by-hand NX PX 60000)" = OK ]
	run -75 dlock -n job touch ran
	[ ! -e ran ]
	[ "$(redis GET lock:job)" = by-hand ]
	redis DEL lock:job
	run dlock job redis-cli -s "$REDIS_SOCK" SET lock:job by-hand NX PX 60000
	assert_success
	assert_output ''
	[ "$(redis SET lock:job by-hand NX PX 60000)" = OK ]
}

@test "dlock waits for a lock made by hand, until its expiry or its release" {
	redis SET lock:job by-hand PX 700
	start_clock
	run -0 dlock -w 10 job true
	assert_between 500 3000 "$(clock_ms)" 'until the expiry'
	redis SET lock:job by-hand PX 60000
	start "$DLOCK" -w 10 job true
	wait_until 2s waiting
	redis DEL lock:job
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 0 ]
}

waiting() {
	[ "$(redis CLIENT LIST | grep -c name=dlock)" -ge 1 ]
}

@test "redis-py's Lock excludes dlock and is excluded" {
	run redis_py '
assert lock.acquire(blocking=False)
assert subprocess.call([dlock, "-q", "-n", "job", "touch", "ran"]) == 75
assert not os.path.exists("ran")
assert lock.owned()
lock.release()
assert subprocess.call([dlock, "-n", "job", "true"]) == 0
print("excluded")'
	assert_success
	assert_output excluded
	start_dlock job sleep 60
	wait_until 2s running "$OUTER"
	run redis_py '
assert not lock.acquire(blocking=False)
assert not lock.acquire(blocking=True, blocking_timeout=0.3)
assert lock.locked()
print("was excluded")'
	assert_success
	assert_output 'was excluded'
	kill -TERM "$OUTER"
	wait_until 2s free job
	run redis_py 'assert lock.acquire(blocking=False); lock.release(); print("had it")'
	assert_output 'had it'
}

@test "redis-py's Lock cannot release or extend dlock's, nor dlock its" {
	start_dlock -t 30s job sleep 60
	wait_until 2s running "$OUTER"
	run redis_py '
lock.local.token = b"some-other-token"
for attempt in (lock.release, lambda: lock.extend(50), lock.reacquire):
    try:
        attempt()
        print("went through")
    except redis.exceptions.LockError:
        lock.local.token = b"some-other-token"
print("refused")'
	assert_output refused
	assert_alive "$COMMAND"
	held job
}

@test "dlock and redis-py in turns on one lock: nobody overlaps" {
	local i
	: >log
	start_dlock -w 30 job true
	for i in 1 2; do
		start bash -c 'for i in 1 2 3 4 5; do
			"$DLOCK" job sh -c "echo in >>log; sleep 0.01; echo out >>log" || exit; done'
		pids[i]=$STARTED
	done
	redis_py '
import time
lock = r.lock("lock:job", timeout=20, sleep=0.02)
for i in range(20):
    with lock:
        open("log", "a").write("in\n")
        time.sleep(0.005)
        open("log", "a").write("out\n")'
	for i in 1 2; do
		exit_status_of "${pids[i]}" 30s
		[ "$STATUS" -eq 0 ]
	done
	[ "$(wc -l <log)" -eq 60 ]
	run uniq -d log
	assert_output ''
}
