#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 5 and 6: a server that does not answer, or answers late, or cannot be found: every
# call is bounded, and promise 1 does not depend on any of them. (The oracle: promise1.bats.)
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/witness
load helpers/proxy

setup() {
	common_setup
	start_redis
}

@test "a half-open connection after a forced reconnect: each call is bounded, the tree is dead in time (P99)" {
	start_proxy
	watch_server
	start_witnessed --ttl 2s job
	proxy reset
	wait_until 3s confirmed_more_than 2
	event
	proxy blackhole
	wait_until 5s witnesses_gone
	EXPIRES=$(lock_end job)
	assert_dead_in_time 2000 "half-open after a reconnect"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	# It went on trying, each time on a new connection.
	run grep -c 'renew\|connect' "$DLOCK_LOG"
	[ "$output" -ge 1 ]
}

@test "answers that are late by half of the answer's limit do not disturb" {
	start_proxy
	proxy delay 80 # T/12 is 167 ms
	start_dlock -vv --ttl 2s job sh -c 'sleep 4; exit 23'
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]
	run grep -F lost "$DLOCK_LOG"
	assert_failure
	free job
}

@test "answers that are always later than the limit: lost by the clock, never renewed by a late answer, dead in time" {
	start_proxy
	watch_server
	start_witnessed --ttl 2s job
	wait_until 3s confirmed_more_than 1
	event
	proxy delay 1000
	local before
	before=$(confirmed_count)
	wait_until 5s witnesses_gone
	EXPIRES=$(lock_end job)
	assert_dead_in_time 2000 "answers 1 s late"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	[ "$(confirmed_count)" -eq "$before" ]
}

@test "requests arrive, answers never: lost by the clock, the tree dead though the server has renewed" {
	start_proxy
	watch_server
	start_witnessed --ttl 2s job
	wait_until 3s confirmed_more_than 1
	event
	proxy drop
	wait_until 5s witnesses_gone
	EXPIRES=$(lock_end job)
	assert_dead_in_time 2000 "answers dropped"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "connections refused: lost by the clock; and while not refused for long, undisturbed" {
	start_proxy
	start_dlock -vv --ttl 2s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s running "$OUTER"
	wait_until 3s confirmed_more_than 1
	proxy refuse
	proxy reset
	sleep 0.8 # from t0 to t0 + 0.8, at the worst: the first signal would come at 1.278
	proxy pass
	wait_until 2s confirmed_more_than 2
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ]

	rm go
	watch_server
	start_witnessed --ttl 2s job
	event
	proxy refuse
	proxy reset
	wait_until 5s witnesses_gone
	EXPIRES=$(lock_end job)
	assert_dead_in_time 2000 "refused"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "the server away for good: reconnects are spaced out, 50 ms doubling to T/12" {
	local count
	start_proxy
	start_dlock -vv --ttl 5s job sleep 900
	wait_until 3s running "$OUTER"
	proxy blackhole
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	# What was tried waits in the proxy's backlog.
	proxy pass
	sleep 0.3
	count=$(cut -d' ' -f2 "$PROXY_LOG" | sort -u | wc -l)
	assert_between 2 20 "$count" "connections"
}

@test "a look-up that hangs at the start ends with --connect-timeout, and with -n too: 69 (R79)" {
	export SLOW_RESOLVER_FLAG=$WORK/hang ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	touch hang
	start_clock
	run env LD_PRELOAD="$TOOLS/slow_resolver_preload.so" "$DLOCK" -n --ttl 30s --connect-timeout 500ms \
		-S "redis://localhost:$REDIS_PORT" job touch ran
	assert_failure 69
	assert_between 400 1200 "$(clock_ms)" "milliseconds with --connect-timeout 500ms"
	assert_output --partial "dlock: "
	start_clock
	run env LD_PRELOAD="$TOOLS/slow_resolver_preload.so" "$DLOCK" -n --ttl 3s \
		-S "redis://localhost:$REDIS_PORT" job touch ran
	assert_failure 69
	assert_between 900 1700 "$(clock_ms)" "milliseconds by default, TTL/3"
	[ -s hang.calls ]
	[ ! -e ran ]
	no_marked_dlock
}

@test "TERM during a look-up that hangs ends dlock within 100 ms (P18)" {
	export SLOW_RESOLVER_FLAG=$WORK/hang ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	touch hang
	start env LD_PRELOAD="$TOOLS/slow_resolver_preload.so" "$DLOCK" --ttl 30s \
		-S "redis://localhost:$REDIS_PORT" job true 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 2s test -s hang.calls
	start_clock
	kill -TERM "$OUTER"
	STATUS=0
	wait "$OUTER" || STATUS=$? # without a poll, which takes its own time
	assert_between 0 120 "$(clock_ms)" "milliseconds until it ended"
	[ "$STATUS" -eq 143 ]
	wait_until 1s no_marked_dlock
}

@test "a server that never answers the login: 69 within --connect-timeout, whatever the TTL" {
	start_proxy
	proxy blackhole
	start_clock
	run dlock -n --ttl 30s --connect-timeout 700ms job touch ran
	assert_failure 69
	assert_between 600 1200 "$(clock_ms)" "milliseconds"
	[ ! -e ran ]
}

@test "RUNNER ignores no deadline while a connect hangs: SYN dropped by the kernel, default limits" {
	start unshare -n sleep 900
	local namespace=$STARTED
	wait_until 2s in_other_network "$namespace"
	LAUNCHER=(nsenter -t "$namespace" -n)
	"${LAUNCHER[@]}" ip link set lo up
	"${LAUNCHER[@]}" iptables -w -A INPUT -p tcp --dport 6379 -j DROP
	start_clock
	run "${LAUNCHER[@]}" "$DLOCK" -n --ttl 3s -S redis://127.0.0.1:6379 job touch ran
	assert_failure 69
	assert_between 900 1700 "$(clock_ms)" "milliseconds, TTL/3"
	[ ! -e ran ]
}

in_other_network() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# reset_for MS: each connection is reset again and again, at any moment of what goes on in it.
reset_for() {
	local end=$(($(now_ms) + $1))
	while [ "$(now_ms)" -lt "$end" ]; do
		proxy reset
		sleep "0.00$((RANDOM % 10))"
	done
}

@test "every connection is reset for 5 s while many acquire: afterwards it works, no key is left without a holder beyond its TTL (R90)" {
	local i bad
	start_proxy
	start_dlock -w 20s --ttl 2s other true # a waiter of its own, which must come through
	reset_for 5000 3>&- &
	local resetter=$!
	track "$resetter"
	i=0
	while alive "$resetter"; do
		i=$((i + 1))
		STATUS=0
		"$DLOCK" -n --ttl 2s job sh -c 'echo "$DLOCK_FENCE" >>fences' 2>>tries || STATUS=$?
		echo "$STATUS" >>statuses
	done
	wait "$resetter"
	[ "$i" -ge 10 ]
	# A conflict is the lock of a run whose release did not get through; nothing else is thinkable.
	bad=$(grep -cvx -e 0 -e 69 -e 75 -e 79 statuses) || true
	[ "$bad" -eq 0 ] || fail "$(sort statuses | uniq -c)"
	echo "# $(sort statuses | uniq -c | tr -s ' \n' ' ')" >&3
	[ "$(redis PTTL lock:job)" -le 2000 ]
	run dlock -w 3s --ttl 2s job sh -c 'echo "$DLOCK_FENCE" >>fences'
	assert_success
	free job
	sort -n -c -u fences # each higher than the one before
	exit_status_of "$OUTER" 25s
	wait_until 3s free other
}
