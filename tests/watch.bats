#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --watch: a loss reaches COMMAND within 100 ms of the event, not at the next renewal, which with this
# lease of 30 s would be 10 s later.
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/watched

setup_file() {
	start_redis
}

teardown_file() {
	stop_redis
}

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

start_three() {
	start_watched one
	start_watched two
	start_watched three
}

# lose SCRIPT: which is run with the three keys.
lose() {
	local since=$EPOCHREALTIME
	redis EVAL "$1" 3 lock:one lock:two lock:three >/dev/null
	told_within 100 "$since" one two three
}

@test "told at once: the key is deleted (P1, R52)" {
	start_three
	lose "return redis.call('DEL', unpack(KEYS))"
	grep -F "dlock: lost 'one': the key is gone" one.log
	[ "$(redis EXISTS lock:one lock:two lock:three)" = 0 ]
}

@test "told at once: another takes the key (R52)" {
	start_three
	lose "for _, key in ipairs(KEYS) do redis.call('SET', key, 'other', 'XX') end"
	grep -F "dlock: lost 'two': another holder has it" two.log
	[ "$(redis GET lock:two)" = other ]
	[ "$(redis PTTL lock:two)" = -1 ]
}

@test "told at once: the lock is broken by its marker" {
	start_three
	lose "for _, key in ipairs(KEYS) do
			redis.call('SET', key, 'dlock!broken:' .. redis.call('GET', key), 'KEEPTTL')
		end"
}

@test "told at once: the key expires early (R81)" {
	# The server looks for keys that have expired ten times a second, unless it is told otherwise.
	redis CONFIG SET hz 100 >/dev/null
	start_three
	lose "for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 1) end"
}

@test "told at once: the key becomes one of another type, or is renamed" {
	start_three
	lose "for _, key in ipairs(KEYS) do
			redis.call('RENAME', key, key .. 'x')
			redis.call('HSET', key, 'a', 'b')
		end"
	[ "$(redis TYPE lock:one)" = hash ]
}

@test "told at once: FLUSHALL" {
	local since
	start_three
	since=$EPOCHREALTIME
	redis FLUSHALL >/dev/null
	told_within 100 "$since" one two three
}

@test "told at once: one of several holders loses its place, the others keep theirs" {
	local since token
	start_watched one --slots 3
	token=$(redis ZRANGE "lock:one#members{lock:one}" 0 0)
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 30s --watch --slots 3 one bash -c '"$DLOCK" --held && echo >second; exec sleep 900'
	wait_until 5s test -e second
	wait_until 5s running "$OUTER"
	since=$EPOCHREALTIME
	redis ZREM "lock:one#members{lock:one}" "$token"
	told_within 300 "$since" one
	assert_alive "$OUTER"
	held one
}

@test "told at once: one of several holders whose mark at the key is taken away" {
	local since
	start_watched one -s
	since=$EPOCHREALTIME
	redis SET lock:one other KEEPTTL
	told_within 300 "$since" one
	[ "$(redis GET lock:one)" = other ]
}

@test "nothing is opened before the first renewal: a short command pays nothing" {
	local before after
	before=$(redis INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
	dlock --watch job true
	after=$(redis INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
	[ $((after - before)) = 2 ] # dlock's and this redis-cli's
}

@test "one connection until the first renewal, two after it, none at the end; COMMAND has neither" {
	local runner pid
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --watch --ttl 3s job bash -c 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done; ls -l /proc/self/fd >descriptors'
	wait_until 3s test -s pid
	[ "$(redis CLIENT LIST | grep -c name=dlock)" = 1 ]
	unwatched job
	wait_until 4s watched job
	[ "$(redis CLIENT LIST | grep -c name=dlock)" = 2 ]
	runner=$(runner_of "$OUTER")
	pid=$(cat pid)
	[ "$(find "/proc/$runner/fd" -lname 'socket:*' | wc -l)" -ge 2 ]
	[ "$(find "/proc/$pid/fd" -lname 'socket:*' | wc -l)" = 0 ]
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 0 ]
	run grep socket descriptors
	assert_failure
	[ "$(redis CLIENT LIST | grep -c name=dlock)" = 0 ]
	[ "$(redis INFO clients | tr -d '\r' | grep tracking_clients)" = tracking_clients:0 ]
}

@test "its own renewals are no loss, and each is followed by one look" {
	local before
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -vv --watch --ttl 1s job bash -c 'echo $$ >pid; exec sleep 900'
	wait_until 5s watched job
	before=$(grep -c confirmed "$DLOCK_LOG") looked=$(looks)
	wait_until 10s eval '[ "$(grep -c confirmed "$DLOCK_LOG")" -ge $((before + 5)) ]'
	wait_until 1s eval '[ "$(looks)" -ge $((looked + 5)) ]'
	assert_between 4 7 $(($(looks) - looked)) "looks at 5 renewals"
	running "$OUTER"
	run grep lost "$DLOCK_LOG"
	assert_failure
	kill "$OUTER"
	exit_status_of "$OUTER"
	[ "$STATUS" = 143 ]
}

@test "what is written to other keys and other databases is no loss" {
	local evals
	start_watched job
	evals=$(scripts_run)
	redis -n 5 SET lock:job other >/dev/null
	redis -n 5 FLUSHDB >/dev/null
	redis SET lock:other x >/dev/null
	redis PUBLISH lock:job whatever >/dev/null
	redis PERSIST lock:job >/dev/null
	wait_until 2s watched job
	sleep 0.2 # what would be a loss by now
	running "${OUTERS[job]}"
	[ "$(scripts_run)" = "$evals" ] # nor a reason to ask
	redis DEL lock:job >/dev/null
	assert_lost job
}
