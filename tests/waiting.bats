#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1 and 2: -n, -w, -E, and what a signal does to a dlock that waits.

load helpers/common
load helpers/signals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

# hold NAME: another dlock holds it; its pid is in HOLDER.
hold() {
	start_dlock -t 30s "$@" sleep 60
	HOLDER=$OUTER
	wait_until 2s running "$HOLDER"
}

# connected N: N dlocks are connected to the server (the holder counts, redis-cli does not).
connected() {
	[ "$(redis CLIENT LIST | grep -c name=dlock)" -ge "$1" ]
}

# fastest LIMIT_MS COMMAND...: of three runs that all succeed at least one is within the limit: a busy
# machine may be late once.
fastest() {
	local limit=$1 i before took all=
	shift
	for i in 1 2 3; do
		before=$(boottime)
		"$@" || return 1
		took=$(elapsed_ms "$before")
		all+=" $took"
		[ "$took" -ge "$limit" ] || return 0
	done
	echo "slower than $limit ms each time:$all" >&2
	return 1
}

try_conflict() {
	local status=0
	"$DLOCK" "$@" || status=$?
	[ "$status" -eq 75 ]
}

@test "-n does not wait, under 100 ms; -w 0 is the same (P52)" {
	local option
	hold job
	for option in -n --nonblock --nb '-w 0' '-w0' '--wait=0' '--timeout 0' '-w 0ms'; do
		# shellcheck disable=SC2086 # an option and its value
		fastest 100 try_conflict -q $option job true
	done
}

@test "-w 0.3 gives up between 0.3 and 0.5 s (P52 R37)" {
	hold job
	local before i took
	for i in 1 2 3; do
		before=$(boottime)
		try_conflict -q -w 0.3 job true
		took=$(elapsed_ms "$before")
		[ "$took" -ge 300 ] || fail "too early: $took ms"
		[ "$took" -gt 500 ] || return 0
	done
	fail "later than 500 ms each time, at last $took ms"
}

@test "each form of -w is understood: it waits that long and no longer (P52)" {
	hold job
	local form
	for form in '-w .2' '-w 0.2' '-w 200ms' '-w 0.2s' '--wait 0.2' '--wait=200ms' '--timeout .2s' '-w0.2'; do
		start_clock
		# shellcheck disable=SC2086 # an option and its value
		try_conflict -q $form job true
		assert_between 200 1000 "$(clock_ms)" "$form"
	done
}

@test "the lock that becomes free in time is had, -w or not" {
	hold job
	start "$DLOCK" -w 10 job sh -c 'echo "$DLOCK_FENCE" >first'
	local limited=$STARTED
	start "$DLOCK" job sh -c 'echo "$DLOCK_FENCE" >second'
	wait_until 2s connected 3
	kill -TERM "$HOLDER"
	exit_status_of "$limited"
	[ "$STATUS" -eq 0 ]
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 0 ]
	[ -s first ] && [ -s second ]
	[ "$(<first)" != "$(<second)" ]
	free job
}

@test "without -w it waits on, far beyond the TTL, behind a live holder (P58)" {
	# Two and a half TTLs here; the long run has ten seconds.
	start_dlock -t 1s -k 100ms job sh -c 'until test -e go; do sleep 0.05; done'
	wait_until 2s running "$OUTER"
	start "$DLOCK" -t 1s -k 100ms job sh -c 'echo ran >ran'
	sleep 2.5
	assert_alive "$STARTED"
	[ ! -e ran ]
	: >go
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 0 ]
	[ -s ran ]
}

@test "of -n and -w the last one counts" {
	hold job
	start_clock
	run -75 dlock -q -n -w 0.3 job true
	assert_between 300 2000 "$(clock_ms)" '-n -w 0.3'
	start_clock
	run -75 dlock -q -w 30 -n job true
	assert_between 0 2000 "$(clock_ms)" '-w 30 -n'
}

@test "-w bounds the wait, not COMMAND" {
	start_clock
	run -4 dlock -w 0.1 job sh -c 'sleep 0.4; exit 4'
	assert_between 400 3000 "$(clock_ms)" 'COMMAND'
}

@test "a signal ends a waiting dlock by that signal, under 100 ms, and leaves no trace (P18)" {
	local name before keys fields
	hold job
	keys=$(redis --scan | sort)
	fields=$(redis HKEYS "$(info_key_of job)")
	for name in HUP INT QUIT TERM USR1 USR2 ALRM VTALRM PROF XCPU IO PWR ABRT RTMIN RTMAX; do
		killed_in_wait() {
			local how
			start env --default-signal bash -c 'ulimit -c 0; exec "$@"' - \
				"$TOOLS/waitstatus" how env --default-signal "$DLOCK" job touch ran
			wait_until 2s connected 2
			wait_until 2s waiter_of "$STARTED"
			before=$(boottime)
			kill "-$name" "$WAITER"
			wait_until 2s gone "$WAITER"
			took=$(elapsed_ms "$before")
			exit_status_of "$STARTED"
			how=$(<how)
			[ "$how" = "signal $(kill -l "$name")" ] || { echo "$name: $how" >&2; return 1; }
			wait_until 1s disconnected 1
		}
		took=1000
		killed_in_wait
		[ "$took" -lt 100 ] || killed_in_wait
		[ "$took" -lt 100 ] || killed_in_wait
		[ "$took" -lt 100 ] || fail "$name took $took ms"
	done
	[ ! -e ran ]
	[ "$(redis --scan | sort)" = "$keys" ]
	[ "$(redis HKEYS "$(info_key_of job)")" = "$fields" ]
}

# waiter_of PID: the child of waitstatus that has become dlock; sets WAITER.
waiter_of() {
	WAITER=$(children_of "$1")
	[ -n "$WAITER" ] && [ "$(comm_of "$WAITER")" = dlock ]
}

disconnected() {
	[ "$(redis CLIENT LIST | grep -c name=dlock)" -le "$1" ]
}

@test "a signal that was ignored at start does not end the wait" {
	hold job
	start env --ignore-signal=HUP,INT,TERM "$DLOCK" job touch ran
	wait_until 2s connected 2
	kill -HUP "$STARTED"
	kill -INT "$STARTED"
	kill -TERM "$STARTED"
	# It is still there to have the lock.
	kill -TERM "$HOLDER"
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 0 ]
	[ -e ran ]
}

@test "WINCH, CHLD, URG and CONT do not end the wait; STOP and CONT neither" {
	hold job
	start_dlock job touch ran
	wait_until 2s connected 2
	kill -WINCH "$OUTER"
	kill -CHLD "$OUTER"
	kill -URG "$OUTER"
	kill -CONT "$OUTER"
	kill -STOP "$OUTER"
	wait_until 1s state_is T "$OUTER"
	kill -TERM "$HOLDER"
	# It cannot say that it is there when its turn has come: a claim's time later the lock is free.
	wait_until 5s free job
	kill -CONT "$OUTER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	[ -e ran ]
}

@test "TSTP stops a waiting dlock, as it stops anybody" {
	local waiter
	hold job
	# A job of its own below a shell of its session: in an orphaned group TSTP stops nobody.
	start setsid bash -c 'set -m; "$DLOCK" job touch ran & echo $! >waiter; sleep 60'
	wait_until 2s connected 2
	waiter=$(<waiter)
	kill -TSTP "$waiter"
	wait_until 1s state_is T "$waiter"
	kill -CONT "$waiter"
	kill -TERM "$HOLDER"
	wait_until 5s gone "$waiter"
	[ -e ran ]
}

@test "a full stderr pipe keeps no waiter: -n, -w and TERM end it as ever" {
	hold job
	mkfifo full
	exec 5<>full
	dd if=/dev/zero of=full bs=65536 count=1 oflag=nonblock status=none
	run -75 sh -c 'exec timeout -s KILL 5 "$0" -n job true 2>full' "$DLOCK"
	run -75 sh -c 'exec timeout -s KILL 5 "$0" -w 1.5 job true 2>full' "$DLOCK"
	start env --default-signal "$DLOCK" job true 2>full
	wait_until 2s connected 2
	sleep 1.2 # the line that it cannot write
	kill -TERM "$STARTED"
	exec 5<&-
	wait_until 2s gone "$STARTED"
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 143 ]
}

@test "a waiter is one process, and COMMAND is not run before its time" {
	hold job
	start_dlock job touch ran
	wait_until 2s connected 2
	[ -z "$(children_of "$OUTER")" ]
	[ ! -e ran ]
}

@test "two waiters and a holder, none runs with another (P54)" {
	local i
	: >log
	for i in 1 2 3 4; do
		start_dlock job sh -c 'echo in >>log; sleep 0.05; echo out >>log'
		pids[i]=$OUTER
	done
	for i in 1 2 3 4; do
		exit_status_of "${pids[i]}"
		[ "$STATUS" -eq 0 ]
	done
	run cat log
	assert_output "$(printf 'in\nout\n%.0s' 1 2 3 4)"
}

@test "after a kill -9 of all of dlock the key is free within TTL + 0.5 s, a waiter runs within TTL + 1 s (P67 P57 P63)" {
	local ttl name
	declare -A died waiter
	for ttl in 2 5; do
		for name in "alone$ttl" "watched$ttl"; do
			crash_holder "$name" "$ttl"
			died[$name]=$DIED
			[ "$name" = "watched$ttl" ] || continue
			start "$DLOCK" "$name" sh -c "\"$TOOLS/boottime\" >ran$ttl"
			waiter[$ttl]=$STARTED
		done
	done
	for ttl in 2 5; do
		wait_until $((ttl + 3))s test -s "free-alone$ttl"
		assert_between $((ttl * 500)) $((ttl * 1000 + 500)) \
			"$(elapsed_ms "${died[alone$ttl]}" "$(<"free-alone$ttl")")" "free after, TTL $ttl s"
		exit_status_of "${waiter[$ttl]}"
		[ "$STATUS" -eq 0 ]
		assert_between $((ttl * 500)) $((ttl * 1000 + 1000)) \
			"$(elapsed_ms "${died[watched$ttl]}" "$(<"ran$ttl")")" "waiter after, TTL $ttl s"
	done
}

# crash_holder NAME TTL: kills all of a dlock that has just acquired NAME; DIED is when, and when the
# key has gone free-NAME will say so.
crash_holder() {
	start_dlock -t "$2s" "$1" sleep 60
	wait_until 2s running "$OUTER"
	held "$1"
	# Stopped first, or the one that is left would free the lock at once.
	kill -STOP "$RUNNER" "$OUTER"
	DIED=$(boottime)
	kill -KILL "$OUTER" "$RUNNER"
	wait_until 2s gone "$OUTER" "$RUNNER" "$COMMAND"
	held "$1"
	start sh -c '"$TOOLS/keywatch" "$REDIS_SOCK" "$1" "$2" && "$TOOLS/boottime" >"free-$3"' - \
		"lock:$1" "$COMMAND" "$1" >/dev/null
}
