#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 1: dead before free. The oracle is in helpers/witness.bash: three
# processes that stamp the time until they die, and ignore TERM. With a TTL of 2 s KILL comes at
# t0 + 1.778 s (RUNNER) or t0 + 1.878 s (OUTER), the key ends at t0 + 2 s.

# shellcheck disable=SC2030,SC2031,SC2034,SC2153,SC2154

load helpers/common
load helpers/witness
load helpers/proxy
load helpers/freezer

setup() {
	common_setup
	start_redis
}

# Ends when PID is gone, or after ten seconds.
stop_again_and_again() {
	local end=$((SECONDS + 10))
	while alive "$1" && [ "$SECONDS" -lt "$end" ]; do
		kill -STOP "$1" "$1" "$1" "$1" 2>/dev/null || true
	done
}

@test "dead before free: with the server frozen, the tree is dead before the key ends (R6, S27, P40)" {
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	assert_dead_in_time 2000 "server frozen"
	assert_nothing_confirmed_since_settle
	assert_lost
	grep -F "could not be confirmed for" "$DLOCK_LOG"
}

@test "the first signal comes a grace before KILL, and only then: with the server frozen TERM at t0 + T - D - 2s - G (S27)" {
	WITNESS_TRAP='trap "" INT'
	start_witnessed --ttl 3s --kill-after 1s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	wait_until 5s witnesses_gone
	dead_in_time 3000
	# D = 32 ms, s = 150 ms: TERM at 1.668 s, that is 1332 ms before the end of the lease.
	assert_between 1200 1340 "$MARGIN" "margin"
	echo "# margin $MARGIN ms (TERM, not ignored)" >&3
	assert_lost
}

@test "dead before free: packets dropped by the proxy, no reset, answers only missing (P3, P99)" {
	start_proxy
	watch_server
	start_witnessed --ttl 2s job
	wait_until 3s confirmed_more_than 2
	event
	proxy blackhole
	assert_dead_in_proxied_time
}

# The server itself is well and tells when the key ends, after all is over.
assert_dead_in_proxied_time() {
	wait_until 10s witnesses_gone
	EXPIRES=$(lock_end job)
	assert_dead_in_time 2000 "packets dropped"
	assert_lost
}

@test "dead before free: packets dropped by the kernel in a network of its own (P3)" {
	start unshare -n sleep 900
	local namespace=$STARTED
	LAUNCHER=(nsenter -t "$namespace" -n)
	wait_until 2s in_other_network "$namespace"
	"${LAUNCHER[@]}" ip link set lo up
	start_proxy "${LAUNCHER[@]}"
	watch_server
	start_witnessed --ttl 2s job
	wait_until 3s confirmed_more_than 2
	event
	"${LAUNCHER[@]}" iptables -w -A INPUT -p tcp --dport "$PROXY_PORT" -j DROP
	"${LAUNCHER[@]}" iptables -w -A INPUT -p tcp --sport "$PROXY_PORT" -j DROP
	assert_dead_in_proxied_time
}

in_other_network() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

@test "dead before free: a reconnect that hangs in the look-up of the server's name (R79)" {
	start_proxy
	export SLOW_RESOLVER_FLAG=$WORK/hang ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	LAUNCHER=(env LD_PRELOAD="$TOOLS/slow_resolver_preload.so")
	watch_server
	start_witnessed --ttl 2s -S "redis://localhost:$PROXY_PORT" job
	wait_until 3s confirmed_more_than 2
	touch "$SLOW_RESOLVER_FLAG"
	event
	proxy blackhole
	proxy reset
	assert_dead_in_proxied_time
	[ -s "$SLOW_RESOLVER_FLAG.calls" ] || { echo "the name was never looked up again: the case is invalid" >&2; return 1; }
}

@test "dead before free: RUNNER stopped again and again, the server frozen (S31)" {
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	start stop_again_and_again "$RUNNER"
	wait_until 1s state_is T "$RUNNER"
	assert_dead_in_time 2000 "RUNNER stopped all the time"
	assert_nothing_confirmed_since_settle
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "dead before free: OUTER stopped, the server frozen (S31)" {
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$OUTER"
	kill -STOP "$REDIS_PID"
	wait_until 1s state_is T "$OUTER"
	assert_dead_in_time 2000 "OUTER stopped"
	kill -CONT "$OUTER" 2>/dev/null || true # RUNNER may have woken it for its last word
	assert_lost
}

@test "dead before free: RUNNER killed, the server well (S36)" {
	watch_server
	start_witnessed --ttl 2s job
	settle job
	event
	kill -KILL "$RUNNER"
	wait_until 10s witnesses_gone
	EXPIRES=$(lock_end job)
	assert_dead_in_time 2000 "RUNNER killed"
	assert_lost
}

@test "dead before free: RUNNER killed, the server frozen" {
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	kill -KILL "$RUNNER"
	assert_dead_in_time 2000 "RUNNER killed, server frozen"
	assert_lost
}

@test "dead before free: OUTER killed, the server frozen" {
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	kill -KILL "$OUTER"
	assert_dead_in_time 2000 "OUTER killed, server frozen"
	wait_until 3s gone "$RUNNER"
}

# --- what shows that the oracle can fail, and that each half of the guard suffices

@test "without guard and kill timers the tree overruns its lease: the oracle says so" {
	DLOCK=$DLOCK_TEST_BUILD
	export DLOCK_TEST_HOOKS=no-guard,no-kill
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	wait_until 4s past_end
	run dead_in_time 2000
	assert_failure
	assert_output --partial "still lives"
	assert_output --partial "overrun"
	kill -KILL "$OUTER" "$RUNNER" "${WITNESSES[@]}"
}

# A tenth of a second after EXPIRES.
past_end() {
	[ "$(now_ms)" -gt "$((EXPIRES + 100))" ]
}

@test "a RUNNER that stands still for good (a debugger, a freezer), the server frozen: the guard is enough" {
	make_freezer
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	echo "$RUNNER" >"$FREEZER/cgroup.procs"
	freeze
	assert_dead_in_time 2000 "RUNNER frozen"
	assert_nothing_confirmed_since_settle
	thaw
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "without the guard the same tree overruns its lease: the oracle says so" {
	DLOCK=$DLOCK_TEST_BUILD
	export DLOCK_TEST_HOOKS=no-guard
	make_freezer
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	echo "$RUNNER" >"$FREEZER/cgroup.procs"
	freeze
	wait_until 4s past_end
	run dead_in_time 2000
	assert_failure
	assert_output --partial "overrun"
	kill -KILL "$OUTER" "$RUNNER" "${WITNESSES[@]}"
}

@test "the guard alone suffices: RUNNER does nothing at term_at and kill_at" {
	DLOCK=$DLOCK_TEST_BUILD
	export DLOCK_TEST_HOOKS=no-kill
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	assert_dead_in_time 2000 "OUTER alone"
	assert_nothing_confirmed_since_settle
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "RUNNER alone suffices: OUTER does nothing at guard_at" {
	DLOCK=$DLOCK_TEST_BUILD
	export DLOCK_TEST_HOOKS=no-guard
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	assert_dead_in_time 2000 "RUNNER alone"
	assert_nothing_confirmed_since_settle
	assert_lost
}

# --- trees that do not want to die

# (dlock itself goes on a little: it tries to release.)

@test "dead before free: a fork storm of 1,000 (S22)" {
	local now
	make_freezer # the storm's own control group tells at once when nobody is left in it
	start_dlock -vv --ttl 5s --kill-after 200ms job "${in_freezer[@]}" "$TOOLS/forkstorm" 1000 "$WORK/births" 15
	wait_until 10s births_over 1500
	running "$OUTER"
	settle job
	kill -STOP "$REDIS_PID"
	# Without a fork, which takes its time in a storm.
	now=0
	until freezer_empty || [ "$now" -gt $((EXPIRES + 3000)) ]; do
		now=${EPOCHREALTIME/./}
		now=$((now / 1000))
	done
	echo "# margin $((EXPIRES - now)) ms, $(cat births) births" >&3
	[ "$now" -lt "$EXPIRES" ]
	assert_nothing_confirmed_since_settle
	assert_lost
}

births_over() {
	[ "$(cat births 2>/dev/null || echo 0)" -gt "$1" ] 2>/dev/null
}

@test "dead before free: a process that re-forks itself with setsid (S21)" {
	local count last
	start_dlock -vv --ttl 2s --kill-after 50ms job sh -c "exec '$TOOLS/refork' '$WORK/generations' 15"
	wait_until 5s generations_over 200
	settle job
	kill -STOP "$REDIS_PID"
	assert_lost
	argv_gone "$WORK/generations"
	read -r count last < <("$TOOLS/refork" -n generations)
	echo "# margin $((EXPIRES - last)) ms, $count generations" >&3
	[ "$last" -lt "$EXPIRES" ]
	assert_between 0 1000 "$((EXPIRES - last))" "margin"
	assert_nothing_confirmed_since_settle
}

generations_over() {
	[ "$("$TOOLS/refork" -n generations | cut -d' ' -f1)" -gt "$1" ]
}

@test "dead before free: a line of 400 processes, each the child of the one before, all ignoring TERM (S19)" {
	# The shell, its job and its daemon are at the far end.
	W=$WORK/witness
	mkdir -p "$W/stamps"
	NAP=$(unique_sleep)
	echo "$NAP" >"$W/nap"
	start_dlock -vv --ttl 2s job "$TOOLS/chain" 400 env LD_PRELOAD="$TOOLS/witness_preload.so" \
		WITNESS_DIR="$W/stamps" W="$W" sh -c "$(witness_script)"
	wait_until 20s chain_complete
	settle job
	event
	kill -STOP "$REDIS_PID"
	assert_dead_in_time 2000 "a line of 400"
	assert_nothing_confirmed_since_settle
	assert_lost
}

# As witness_complete, which asks for the whole tree and takes too long with so many.
chain_complete() {
	local pid
	WITNESSES=()
	for pid in "$W/shell" "$W/job" "$W/daemon"; do
		[ -s "$pid" ] || return 1
		WITNESSES+=("$(cat "$pid")")
		alive "${WITNESSES[-1]}" && [ -s "$W/stamps/${WITNESSES[-1]}" ] || return 1
	done
}
