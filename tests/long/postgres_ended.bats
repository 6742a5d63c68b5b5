#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A session's end, which frees its lock at once: KILL within 100 ms, by the stamps of what dies. And the locks of
# clients that are dead, or out of reach: free by TTL + 1 s (R61).
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/witness
load ../helpers/proxy
load ../helpers/freezer
load ../helpers/postgres
load ../helpers/postgres_trouble

setup() {
	common_setup
	start_postgres
	at_teardown stop_postgres
}

# assert_killed_at_once LABEL: of the instant at which the server ended the session, or of the event.
assert_killed_at_once() {
	local ms
	wait_until 10s witnesses_gone
	if [ "${2:-server}" = server ]; then ms=$(died_after_end); else ms=$((($(died_at) - EVENT_NS) / 1000000)); fi
	echo "# dead after $ms ms: $1" >&3
	assert_between -20 100 "$ms" "$1: from the event to the last stamp, ms"
	assert_lost
}

@test "pg_terminate_backend: killed within 100 ms, also while nothing is asked; three times" {
	local round asked
	for round in 1 2 3; do
		W=$WORK/witness$round DLOCK_LOG=$WORK/dlock$round.log
		: >"$DLOCK_LOG"
		start_witnessed --ttl 60s job
		event
		# The instant by the server itself, which is this machine: psql takes its time.
		asked=$(sql "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint FROM
			(SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock') t")
		wait_until 10s witnesses_gone
		assert_between -50 100 "$(($(died_at_real) / 1000000 - asked / 1000))" 'from pg_terminate_backend to the last stamp, ms'
		echo "# dead after $(($(died_at_real) / 1000000 - asked / 1000)) ms" >&3
		assert_lost
		grep -F 'terminating connection due to administrator command' "$DLOCK_LOG"
	done
}

@test "pg_terminate_backend: killed within 100 ms over TCP, and a grace of 5 s does not count" {
	start_witnessed --ttl 60s -k 5s -S "$PG_URL" job
	event
	sql "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'" >/dev/null
	assert_killed_at_once 'pg_terminate_backend, TCP'
	grep -F 'the server has ended the session: terminating connection due to administrator command' "$DLOCK_LOG"
}

@test "the postmaster restarted, fast: killed within 100 ms" {
	start_witnessed --ttl 60s job
	event
	kill -INT "$(pg_pid)"
	assert_killed_at_once 'fast shutdown'
	wait_until 10s postgres_ended "$PG_DIR"
	restart_postgres
	run -0 dlock -n job true
}

@test "the postmaster restarted, immediate, over TCP: killed within 100 ms" {
	start_witnessed --ttl 60s -S "$PG_URL" job
	event
	kill -QUIT "$(pg_pid)"
	assert_killed_at_once 'immediate shutdown'
}

@test "a server process killed by the kernel: killed within 100 ms, also one that was somebody else's" {
	start_witnessed --ttl 60s job
	start "$PG_BIN/psql" -X -q "$PG_URL_UNIX" -c 'SELECT pg_sleep(60)'
	wait_until 5s says 1 "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'"
	local other
	other=$(sql "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")
	event
	kill -KILL "$other"
	assert_killed_at_once 'another backend killed'
}

@test "a reset on the way, and an orderly end: killed within 100 ms of it" {
	start_pg_proxy
	start_witnessed --ttl 60s -S "$PROXY_URL" job
	event
	proxy reset
	assert_killed_at_once 'reset' proxy
	wait_until 5s pg_free job
	W=$WORK/witness2 DLOCK_LOG=$WORK/dlock2.log
	: >"$DLOCK_LOG"
	start_witnessed --ttl 60s -S "$PROXY_URL" job
	event
	proxy quit
	assert_killed_at_once 'the proxy ended' proxy
}

@test "OUTER stopped when the session ends: killed within 100 ms all the same" {
	start_witnessed --ttl 60s job
	kill -STOP "$OUTER"
	event
	kill -INT "$(pg_pid)"
	assert_killed_at_once 'OUTER stopped'
}

@test "a session that ends --on-lost wait, or signal: what the user has chosen, and 79" {
	start_dlock --ttl 60s --on-lost signal job sh -c 'trap "echo told >told; exit 5" TERM; while :; do sleep 0.02; done'
	wait_until 5s pg_held job
	wait_until 5s running "$OUTER"
	pause 0.3
	kill -INT "$(pg_pid)"
	exit_status_of "$OUTER"
	[ "$STATUS" = 79 ]
	[ -e told ]
}

# -- R61

# assert_free_in_time TTL_MS [LABEL]: from the last confirmation on.
assert_free_in_time() {
	local ms died
	ms=$(rival_got_after "$(last_confirmed)")
	echo "# free ${1} ms lease: another has it $ms ms after the last confirmation: ${2:-}" >&3
	assert_between 1 "$(($1 + 1000))" "$ms" "${2:-}: from t0 of the last confirmation to the next holder, ms"
}

@test "R61 a client that a proxy has swallowed: dead before, free by TTL + 1 s" {
	start_pg_proxy
	start_witnessed --ttl 3s -S "$PROXY_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	proxy blackhole
	assert_dead_before_rival 3000 'black hole'
	assert_free_in_time 3000 'black hole'
}

@test "R61 a client whose packets the kernel drops: dead before, free by TTL + 1 s" {
	stop_postgres
	make_network
	PG_LAUNCHER=("${IN_NETWORK[@]}")
	start_postgres
	LAUNCHER=("${IN_NETWORK[@]}")
	start_witnessed --ttl 3s -S "$PG_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	drop_packets "$PG_PORT"
	assert_dead_before_rival 3000 'packets dropped'
	assert_free_in_time 3000 'packets dropped'
}

# A suspended machine: its kernel says nothing, its processes neither.
@test "R61 a client that is frozen whole: free by TTL + 1 s, and dead when it wakes" {
	make_freezer
	LAUNCHER=("${in_freezer[@]}")
	start_witnessed --ttl 3s -S "$PG_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	freeze
	assert_free_in_time 3000 frozen
	thaw
	wait_until 5s witnesses_gone
	assert_lost
}

@test "R61 dlock and its command killed all at once: free at once, without the TTL" {
	start_witnessed --ttl 60s -S "$PG_URL" job
	start_rival
	event
	kill -KILL "$OUTER" "$RUNNER" "${WITNESSES[@]}"
	wait_until 5s witnesses_gone
	assert_between 0 1000 "$(rival_got_after "$EVENT_NS")" 'from KILL to the next holder, ms'
}

@test "R61 TTLs from 1 to 12 s: a client swallowed at once after it has the lock" {
	local ttl
	start_pg_proxy
	for ttl in 1000 2000 5000 12000; do
		proxy pass
		W=$WORK/witness$ttl DLOCK_LOG=$WORK/dlock$ttl.log
		: >"$DLOCK_LOG"
		start_witnessed --ttl ${ttl}ms -S "$PROXY_URL" job
		start_rival
		event
		proxy blackhole
		assert_dead_before_rival "$ttl" "TTL $ttl ms"
		assert_free_in_time "$ttl" "TTL $ttl ms"
		kill -KILL "$RIVAL"
		wait_until 10s pg_free job
	done
}

@test "R61 waiters that are out of reach are no waiters for long, and never get the lock" {
	start_pg_proxy
	start_dlock --ttl 60s job sh -c 'until [ -e go ]; do sleep 0.02; done'
	wait_until 5s pg_held job
	start "$DLOCK" -w 60s --ttl 3s -S "$PROXY_URL" job touch ran
	wait_until 5s waiters_are 1 job
	proxy blackhole
	start_rival
	touch go
	exit_status_of "$OUTER"
	assert_between -3000 3000 "$(rival_got_after "$(boottime | tr -d .)")" 'ms'
	[ ! -e ran ]
}
