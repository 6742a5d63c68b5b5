#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 6: the fencing numbers of one lock strictly increase.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	FENCE=$(fence_key_of job)
}

# fence [OPTION...]: acquires job and prints the number.
fence() {
	dlock "$@" job sh -c 'echo "$DLOCK_FENCE"'
}

# server_us: the server's clock in microseconds.
server_us() {
	local seconds micros
	{
		read -r seconds
		read -r micros
	} < <(redis TIME)
	echo $((seconds * 1000000 + micros))
}

# increasing FILE N: it has N numbers, each greater than the one before. (Shell arithmetic has 64 bits.)
increasing() {
	local last=0 number count=0
	while read -r number; do
		((number > last)) || { echo "$number after $last" >&2; return 1; }
		last=$number
		count=$((count + 1))
	done <"$1"
	[ "$count" -eq "$2" ] || { echo "$count numbers, not $2" >&2; return 1; }
}

@test "numbers strictly increase over 300 acquisitions (P96)" {
	local i
	for i in {1..300}; do
		fence
	done >log
	increasing log 300
	[ "$(redis GET "$FENCE")" = "$(tail -n 1 log)" ]
}

@test "numbers strictly increase in the order of possession, among contenders (P96)" {
	local i
	for i in 1 2 3 4; do
		start bash -c 'for i in {1..8}; do "$DLOCK" job sh -c "echo \$DLOCK_FENCE >>log" || exit; done'
		pids[i]=$STARTED
	done
	for i in 1 2 3 4; do
		exit_status_of "${pids[i]}" 60s
		[ "$STATUS" -eq 0 ]
	done
	increasing log 32
}

@test "clock: a number is the server's time in microseconds" {
	local before after number
	before=$(server_us)
	number=$(fence)
	after=$(server_us)
	assert_between "$before" "$after" "$number" fence
	number=$(fence --fence clock)
	((number >= after))
}

@test "numbers increase also after DEL of the key, expiry and a crash (P96)" {
	{
		fence
		redis DEL lock:job >/dev/null
		fence
		dlock -t 1s -k 100ms job sh -c 'echo "$DLOCK_FENCE"; redis-cli -s "$REDIS_SOCK" DEL lock:job >/dev/null; sleep 60' || true
		fence
		dlock -t 1s -k 100ms job sh -c 'echo "$DLOCK_FENCE"; redis-cli -s "$REDIS_SOCK" PEXPIRE lock:job 1 >/dev/null; sleep 60' || true
		fence
		dlock -t 1s -k 100ms job sh -c 'echo "$DLOCK_FENCE"; kill -KILL $PPID' || true
		redis DEL lock:job >/dev/null
		fence
	} >log
	increasing log 8
}

@test "numbers increase also after FLUSHALL, DEL of the fence and a restart without data (P96)" {
	{
		fence
		redis FLUSHALL >/dev/null
		fence
		redis DEL "$FENCE" >/dev/null
		fence
		redis SET "$FENCE" 1 >/dev/null
		fence
	} >log
	local sock=$REDIS_SOCK pid=$REDIS_PID
	start_redis # another server, empty: what a move or a restart without data is
	[ "$sock" != "$REDIS_SOCK" ] && [ "$pid" != "$REDIS_PID" ]
	fence >>log
	stop_redis
	increasing log 5
}

@test "--min-fence: the number exceeds it, also ahead of the clock" {
	local number first
	first=$(fence)
	[ "$(fence --min-fence 5)" -gt "$first" ]
	number=$(fence --min-fence 8000000000000000)
	[ "$number" -eq 8000000000000001 ]
	# And stays ahead without the option.
	[ "$(fence)" -eq 8000000000000002 ]
	[ "$(fence --min-fence 9007199254740991)" -eq 9007199254740992 ]
	[ "$(fence)" -eq 9007199254740993 ]
	[ "$(fence)" -eq 9007199254740994 ]
}

@test "a number ahead of the clock does not expire before the clock has caught up" {
	local left
	fence
	left=$(redis PTTL "$FENCE")
	assert_between 2000000000 2600000000 "$left" 'about 30 days'
	fence --min-fence 8000000000000000
	left=$(redis PTTL "$FENCE")
	((left == -1 || left > 30 * 24 * 3600 * 1000)) || fail "PTTL $left"
	((left == -1 || $(server_us) + left * 1000 > 8000000000000000)) || fail "PTTL $left"
}

@test "--fence counter: 1, 2, 3, kept for ever" {
	[ "$(fence --fence counter)" -eq 1 ]
	[ "$(fence --fence counter)" -eq 2 ]
	[ "$(fence --fence counter)" -eq 3 ]
	[ "$(redis PTTL "$FENCE")" -eq -1 ]
	[ "$(fence --fence counter --min-fence 41)" -eq 42 ]
	[ "$(fence --fence counter)" -eq 43 ]
	[ "$(redis PTTL "$FENCE")" -eq -1 ]
}

@test "from counter to clock and back the numbers increase" {
	{
		fence --fence counter
		fence
		fence --fence counter
		fence --fence counter
		fence
	} >log
	increasing log 5
	# Once a counter, the number must not be forgotten while counter is in use.
	fence --fence counter
	[ "$(redis PTTL "$FENCE")" -eq -1 ]
}

@test "numbers beyond 2^53 are exact, up to 2^63-1; then the lock is refused" {
	local start
	for start in 9007199254740992 9007199254740993 9007199254740994 1152921504606846977 \
		9223372036854775805; do
		redis SET "$FENCE" "$start"
		[ "$(fence)" = $((start + 1)) ] || fail "after $start"
		[ "$(redis GET "$FENCE")" = $((start + 1)) ] || fail "stored after $start"
		redis SET "$FENCE" "$start"
		[ "$(fence --fence counter)" = $((start + 1)) ] || fail "counter after $start"
	done
	[ "$(fence)" = 9223372036854775807 ]
	run -69 dlock -n job touch ran
	[ ! -e ran ]
	free job
	[ "$(redis GET "$FENCE")" = 9223372036854775807 ]
}

@test "a fence key that holds no number is an error, and no lock is left behind" {
	redis SET "$FENCE" nonsense
	run -69 dlock -n job touch ran
	free job
	redis DEL "$FENCE"
	redis HSET "$FENCE" a 1
	run -69 dlock -n job touch ran
	free job
	[ ! -e ran ]
}

@test "a conflict draws no number" {
	start_dlock --fence counter job sleep 60
	wait_until 2s running "$OUTER"
	run -75 dlock -n --fence counter job true
	run -75 dlock -w 0.3 --fence counter job true
	[ "$(redis GET "$FENCE")" = 1 ]
}

@test "two names have numbers of their own, a prefix another" {
	permit_keys 'p:*'
	dlock --fence counter a true
	dlock --fence counter a true
	run dlock --fence counter b sh -c 'echo $DLOCK_FENCE'
	assert_output 1
	run dlock --fence counter --prefix p: a sh -c 'echo $DLOCK_FENCE'
	assert_output 1
}
