#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 5 and 8: Redis ends leases by its wall clock. A clock that jumps or stands still may
# end a lock early or never; it makes nobody start twice on a guess, no waiter give up or spin, and no
# fencing number fall back. (The server alone is lied to: server_clock_preload.)
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/witness

setup() {
	common_setup
	export SERVER_CLOCK=$WORK/clock
	echo true >clock
	LD_PRELOAD=$TOOLS/server_clock_preload.so start_redis
}

# server_clock WORDS: what the clock is from now on. No reader finds the file half written.
server_clock() {
	local before after
	before=$(server_now)
	printf '%-30s\n' "$*" 1<>clock
	after=$(server_now)
	echo "# server's clock: $*, $before then $after" >&3
}

server_now() {
	redis TIME | head -n 1
}

fence_now() {
	redis GET "$(fence_key_of job)"
}

# lost_with HIGHER: dlock ends with 79, and the next holder's fence is higher than $1.
lost_then_higher() {
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ] || fail "status $STATUS: $(<"$DLOCK_LOG")"
	run dlock -n job sh -c 'echo "$DLOCK_FENCE"'
	assert_success
	[ "$output" -gt "$1" ] || fail "fence $output after $1"
}

@test "a key that the server ends early: lost at the next renewal, the next fence is higher (R81)" {
	local fence
	start_dlock --ttl 2s job sleep 900
	wait_until 3s running "$OUTER"
	fence=$(fence_now)
	redis PEXPIRE lock:job 1
	start_clock
	lost_then_higher "$fence"
	assert_between 0 1700 "$(clock_ms)" "milliseconds: a third of the TTL, the grace, and the machine"
}

@test "the server's clock jumps an hour ahead: the same (R81)" {
	local fence
	start_dlock --ttl 2s job sleep 900
	wait_until 3s running "$OUTER"
	fence=$(fence_now)
	server_clock shift 3600000
	wait_until 1s free job
	lost_then_higher "$fence"
}

@test "the server's clock jumps an hour back: the holder is undisturbed, fences still rise" {
	local fence
	start_dlock --ttl 2s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	fence=$(fence_now)
	server_clock shift -3600000
	sleep 1.2
	[ "$(redis PTTL lock:job)" -le 2000 ] # it has been renewed by the new clock
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
	free job
	run dlock -n job sh -c 'echo "$DLOCK_FENCE"'
	[ "$output" -eq $((fence + 1)) ]
}

@test "the server's clock is set while one waits: it takes its turn, by the new time" {
	local shift
	for shift in 3600000 -3600000; do
		redis FLUSHALL >/dev/null
		server_clock true
		redis SET lock:job another PX 60000 >/dev/null
		start_dlock -vv job sh -c 'exit 23'
		wait_until 2s asked 1
		server_clock shift "$shift"
		# Far ahead the jump has ended it already, and the key may be the waiter's by now.
		redis EVAL "return redis.call('GET', KEYS[1]) == 'another' and redis.call('DEL', KEYS[1])" \
			1 lock:job >/dev/null
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 23 ] || fail "shift $shift: $(<"$DLOCK_LOG")"
	done
}

asked() {
	[ "$(scripts_run)" -ge "$1" ]
}

@test "the server's clock stands still: a waiter does not take the key for expired, says so with -vv, and does not spin (R82)" {
	local before
	server_clock freeze
	redis SET lock:job another PX 700 >/dev/null
	start_dlock -vv job touch ran
	wait_until 2s asked 1
	before=$(scripts_run)
	sleep 3
	assert_between 1 20 $(($(scripts_run) - before)) "tries in 3 s"
	[ ! -e ran ]
	alive "$OUTER"
	[ "$(grep -c 'its key expires in 0.700s' "$DLOCK_LOG")" -ge 2 ]
	# A key that stands a moment before its end would be asked for every few milliseconds.
	redis SET lock:job another PX 3 >/dev/null
	before=$(scripts_run)
	sleep 2
	assert_between 0 20 $(($(scripts_run) - before)) "tries in 2 s"
	[ ! -e ran ]
	server_clock true
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	[ -e ran ]
}

@test "the server's clock stands still: a holder renews and releases, fences rise all the same (R82)" {
	local fence=0
	server_clock freeze
	for _ in 1 2 3; do
		run dlock -n --ttl 1s job sh -c 'sleep 1.2; echo "$DLOCK_FENCE"'
		assert_success
		[ "$output" -gt "$fence" ]
		fence=$output
		free job
	done
}

# Not by setting it: a preload says what the kernel would say.
@test "the clock of dlock's machine was set: the lock is verified at once, and only once" {
	local confirmed
	mkfifo step
	start env LD_PRELOAD="$TOOLS/clock_step_preload.so" CLOCK_STEP="$WORK/step" "$DLOCK" -vv --ttl 30s job \
		env -u LD_PRELOAD sh -c 'echo up >up; until [ -e go ]; do sleep 0.02; done' 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s test -s up
	sleep 0.2
	confirmed=$(confirmed_count)
	printf x >step
	wait_until 1s confirmed_more_than "$confirmed"
	sleep 0.5
	[ "$(confirmed_count)" -eq $((confirmed + 1)) ]
	redis DEL lock:job >/dev/null
	printf x >step
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "two machines whose clocks are 20 minutes apart: no overlap, fences rise, the lease is neither longer nor shorter (P76)" {
	local shift fence=0 skewed
	for shift in 600000 -600000; do
		echo "shift $shift" >"here$shift"
	done
	for shift in 600000 -600000 600000; do
		skewed=(env LD_PRELOAD="$TOOLS/server_clock_preload.so" SERVER_CLOCK="$WORK/here$shift" "$DLOCK")
		start env --default-signal=INT,QUIT "${skewed[@]}" --ttl 1s job env -u LD_PRELOAD sh -c \
			'echo "$DLOCK_FENCE" >fence; until [ -e go ]; do sleep 0.02; done; exit 23' 2>>"$DLOCK_LOG"
		OUTER=$STARTED
		wait_until 3s test -s fence
		[ "$(<fence)" -gt "$fence" ]
		fence=$(<fence)
		assert_between 500 1000 "$(redis PTTL lock:job)" "PTTL"
		sleep 1.3
		run env LD_PRELOAD="$TOOLS/server_clock_preload.so" SERVER_CLOCK="$WORK/here$((-shift))" "$DLOCK" -n job touch ran
		assert_failure 75
		[[ "$output" =~ "for "[12]\.[0-9]+s ]] || fail "not the age by the server's clock: $output"
		: >go
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 23 ]
		rm go fence
	done
	[ ! -e ran ]
}
