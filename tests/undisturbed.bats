#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 2: what never disturbs COMMAND: a cut connection, a pause or a restart
# of the server that is shorter than the lease, an error that passes, a dlock process that is
# stopped. In each case the same COMMAND goes on under the same token and dlock ends with its code.
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/witness
load helpers/proxy

setup() {
	common_setup
	start_redis
}

# hold TTL [DLOCK-OPTION...]: a COMMAND that runs until `finish` and then exits with 23.
hold() {
	local ttl=$1
	shift
	start env --default-signal=INT,QUIT "${LAUNCHER[@]}" "$DLOCK" -vv --ttl "$ttl" "$@" job \
		sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23' 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s running "$OUTER"
	TOKEN=$(redis GET lock:job)
	[ -n "$TOKEN" ]
}

assert_undisturbed() {
	assert_alive "$OUTER" "$RUNNER" "$COMMAND"
	[ "$(redis GET lock:job)" = "$TOKEN" ] || { show_scene >&2; return 1; }
}

finish() {
	assert_undisturbed
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ] || { echo "status $STATUS instead of 23" >&2; show_scene >&2; return 1; }
	free job
	run grep -F "lost 'job'" "$DLOCK_LOG"
	assert_failure
}

# The longest time between two confirmed renewals, in milliseconds.
longest_gap() {
	sed -n 's/.*confirmed t0=\([0-9.]*\) ttl=.*/\1/p' "$DLOCK_LOG" |
		awk 'NR > 1 && ($1 - last) * 1000 > gap { gap = ($1 - last) * 1000 } { last = $1 } END { printf "%d\n", gap }'
}

# pttl_above MS: the lease of 'job' has more than MS left.
pttl_above() {
	[ "$(redis PTTL lock:job)" -gt "$1" ]
}

@test "a connection that is killed every 300 ms does not disturb: reconnect, same token, no gap over 2T/3, no SIGPIPE (P4, R3, R76)" {
	local end
	hold 2s
	[ "$(($((0x$(status_field "$COMMAND" SigIgn))) >> 12 & 1))" = 0 ] # no SIGPIPE ignored in COMMAND
	end=$((SECONDS + 7))
	while [ "$SECONDS" -lt "$end" ]; do
		redis CLIENT KILL TYPE normal >/dev/null
		redis CLIENT KILL TYPE pubsub >/dev/null # who has waited
		sleep 0.3
	done
	assert_between 1 1333 "$(longest_gap)" "milliseconds between renewals"
	[ "$(confirmed_count)" -ge 15 ] # it went through some twenty connections
	echo "# longest gap $(longest_gap) ms of at most 1333" >&3
	finish
}

@test "the server pauses for a quarter of the TTL just before a renewal (R1)" {
	hold 3s
	wait_until 3s confirmed_more_than "$(confirmed_count)"
	sleep 0.8 # the next renewal is due in 200 ms
	redis CLIENT PAUSE 750 >/dev/null
	start_clock
	wait_until 1750ms pttl_above 2000
	assert_between 600 1750 "$(clock_ms)" "milliseconds until the lease is long again"
	finish
}

@test "scripts are flushed all the time, while one holds and one waits (R55)" {
	local end waiter
	hold 2s
	DLOCK_LOG=$WORK/waiter.log
	start_dlock -vv --ttl 2s job sh -c 'exit 24'
	waiter=$OUTER
	DLOCK_LOG=$WORK/dlock.log
	end=$((SECONDS + 4))
	while [ "$SECONDS" -lt "$end" ]; do
		redis SCRIPT FLUSH >/dev/null
		sleep 0.05
	done
	OUTER=$(ps -o ppid= -p "$RUNNER" | tr -d ' ')
	assert_undisturbed
	assert_between 600 800 "$(longest_gap)" "milliseconds between renewals"
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
	exit_status_of "$waiter"
	[ "$STATUS" -eq 24 ]
}

@test "a Redis with appendonly restarts within a TTL of 6 s" {
	stop_redis
	start_redis --appendonly yes --appendfsync always
	hold 6s
	wait_until 4s confirmed_more_than 1
	sleep 1.8 # the next renewal is due in 200 ms
	kill -TERM "$REDIS_PID"
	wait_until 3s gone "$REDIS_PID"
	sleep 0.7 # the outage; the first signal would come 1.8 s after the kill
	restart_redis
	wait_until 2s pttl_above 5000
	finish
}

@test "a Redis that is killed and comes back with its data: the same over TCP" {
	stop_redis
	start_redis --appendonly yes --appendfsync always
	hold 3s -S "$URL_TCP"
	wait_until 4s confirmed_more_than 1
	kill -KILL "$REDIS_PID"
	wait_until 3s gone "$REDIS_PID"
	sleep 1 # refused at t0 + 1 s, the first try; KILL would come at 2.67
	restart_redis
	wait_until 1s pttl_above 2500
	finish
}

@test "one renewal is answered with an error that passes, -LOADING (R72)" {
	start_proxy
	hold 2s
	wait_until 3s confirmed_more_than 1
	proxy answer-once '-LOADING Redis is loading the dataset in memory'
	wait_until 2s grep -q LOADING "$DLOCK_LOG"
	wait_until 1s confirmed_more_than 2
	finish
}

@test "one renewal's answer is lost, or its connection reset, or the server frozen for a while" {
	start_proxy
	hold 2s
	wait_until 3s confirmed_more_than 1
	local seen
	seen=$(proxy_requests)
	proxy on EVAL drop
	wait_until 2s proxied_more_than "$seen"
	proxy pass
	wait_until 1s confirmed_more_than 2
	proxy on EVAL reset
	wait_until 3s confirmed_more_than 4
	kill -STOP "$REDIS_PID"
	sleep 1 # up to T/2 after the last renewal's due time; TERM would come at 1.27 s after the last
	kill -CONT "$REDIS_PID"
	wait_until 1s pttl_above 1800
	finish
}

proxied_more_than() {
	[ "$(proxy_requests)" -gt "$1" ]
}

@test "RUNNER stopped once wakes itself, the lock is kept, COMMAND undisturbed (S31)" {
	hold 3s
	wait_until 3s confirmed_more_than "$(confirmed_count)"
	local before
	before=$(confirmed_count)
	kill -STOP "$RUNNER"
	wait_until 500ms state_is T "$RUNNER"
	start_clock
	wait_until 2s confirmed_more_than "$before"
	assert_between 500 1200 "$(clock_ms)" "milliseconds until it renewed"
	refute_stopped "$RUNNER"
	pttl_above 2500
	finish
}

refute_stopped() {
	! state_is T "$1"
}

# The kernel wakes it when RUNNER speaks, and is told so before there is a RUNNER.
@test "OUTER stopped right after the fork, and for good: it is woken for COMMAND's end (S31)" {
	run -42 timeout 8 strace -f -qq -o trace -e trace=setpriority \
		-e inject=setpriority:signal=STOP:when=1 "$DLOCK" -t 2s job sh -c 'exit 42'
	grep -q 'INJECTED' trace || grep -q 'stopped by SIGSTOP' trace
}

@test "OUTER stopped for two TTLs: the lock is kept, and after CONT dlock ends with COMMAND's code (S31)" {
	hold 1s
	kill -STOP "$OUTER"
	wait_until 1s state_is T "$OUTER"
	local before
	before=$(confirmed_count)
	sleep 2.5 # what must pass here is time itself
	assert_between 6 9 "$(($(confirmed_count) - before))" "renewals in 2.5 s"
	kill -CONT "$OUTER"
	finish
}

@test "OUTER stopped when COMMAND ends: the lock is released all the same" {
	hold 2s
	kill -STOP "$OUTER"
	wait_until 1s state_is T "$OUTER"
	touch go
	wait_until 1s free job
	kill -CONT "$OUTER" 2>/dev/null || true # RUNNER may have woken it for its last word
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
}

@test "a look-up that hangs on reconnect does not disturb while the server is where it was (R79)" {
	export SLOW_RESOLVER_FLAG=$WORK/hang ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	LAUNCHER=(env LD_PRELOAD="$TOOLS/slow_resolver_preload.so")
	hold 3s -S "redis://localhost:$REDIS_PORT"
	touch "$SLOW_RESOLVER_FLAG"
	redis CLIENT KILL TYPE normal >/dev/null
	redis CLIENT KILL TYPE pubsub >/dev/null # who has waited
	sleep 4 # more than a TTL
	[ -s "$SLOW_RESOLVER_FLAG.calls" ] || { echo "the name was never looked up again: the case is invalid" >&2; return 1; }
	assert_between 900 2300 "$(longest_gap)" "milliseconds between renewals"
	finish
}

@test "a COMMAND that takes TERM from outside and goes on keeps its lock" {
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -vv --ttl 1s job sh -c 'trap "echo >term" TERM; until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	TOKEN=$(redis GET lock:job)
	kill -TERM "$OUTER"
	wait_until 1s test -e term
	sleep 2 # two TTLs
	finish
}

@test "a stderr that is full and that nobody reads holds nothing up, with -vv and COMMAND writing to it too" {
	mkfifo stderr
	exec 5<>stderr # a reader that does not read
	start env --default-signal=INT,QUIT "$DLOCK" -vv --ttl 1s job \
		sh -c 'yes >&2 & until [ -e go ]; do sleep 0.02; done; kill $!; exit 23' 2>stderr 5>&-
	OUTER=$STARTED
	wait_until 3s running "$OUTER"
	TOKEN=$(redis GET lock:job)
	sleep 3 # three TTLs
	finish
	exec 5>&-
}
