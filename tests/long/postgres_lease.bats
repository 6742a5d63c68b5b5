#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5 with a lock of PostgreSQL: whatever stands still or is lost, the tree is dead before another
# has the lock. (The oracle: helpers/postgres_trouble.bash.)
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/witness
load ../helpers/proxy
load ../helpers/postgres
load ../helpers/postgres_trouble

setup() {
	common_setup
	start_postgres
	at_teardown stop_postgres
}

server_pids() {
	descendants "$(pg_pid)"
	pg_pid
}

holder_backend() {
	sql "SELECT l.pid FROM pg_locks l WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted"
}

@test "dead before another has it: the whole server stopped, and gone on after the lease" {
	start_witnessed --ttl 2s job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	# shellcheck disable=SC2046 # one word a pid
	kill -STOP $(server_pids)
	wait_until 10s witnesses_gone
	# shellcheck disable=SC2046
	kill -CONT $(server_pids)
	assert_dead_before_rival 2000 'the server stopped'
	assert_lost
}

@test "dead before another has it: the holder's server process alone stopped" {
	local backend
	start_witnessed --ttl 2s job
	start_rival
	backend=$(holder_backend)
	wait_until 5s confirmed_more_than 2
	event
	kill -STOP "$backend"
	wait_until 10s witnesses_gone
	exit_status_of "$OUTER"
	[ "$STATUS" = 79 ]
	[ ! -e got ] # it has the lock until it goes on
	kill -CONT "$backend"
	assert_dead_before_rival 2000 'its backend stopped'
}

@test "the server stopped for less than the lease leaves lock and command undisturbed" {
	local backend round
	start_dlock -vv --ttl 3s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 5s pg_held job
	start_rival
	backend=$(holder_backend)
	for round in 1 2 3; do
		wait_until 5s confirmed_more_than "$(confirmed_count)"
		kill -STOP "$backend"
		pause 1.4
		kill -CONT "$backend"
	done
	[ ! -e got ]
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 23 ]
	run ! grep -F lost "$DLOCK_LOG"
	wait_until 5s test -s got
}

@test "dead before another has it: packets thrown away by a proxy that keeps the connections" {
	start_pg_proxy
	start_witnessed --ttl 2s -S "$PROXY_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	proxy blackhole
	assert_dead_before_rival 2000 'black hole'
	assert_lost
}

@test "dead before another has it: requests arrive, answers never" {
	start_pg_proxy
	start_witnessed --ttl 2s -S "$PROXY_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	proxy drop
	assert_dead_before_rival 2000 'answers dropped'
	assert_lost
}

@test "dead before another has it: answers later than the lease, and a late one revives nothing" {
	start_pg_proxy
	start_witnessed --ttl 2s -S "$PROXY_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	proxy delay 1900
	assert_dead_before_rival 2000 'answers 1.9 s late'
	assert_lost
}

@test "answers that are later than a request may take, by a fifth of the lease, do not disturb, however often" {
	start_pg_proxy
	start_witnessed --ttl 3s -S "$PROXY_URL" job
	start_rival
	proxy delay 600
	wait_until 20s confirmed_more_than "$(($(confirmed_count) + 4))"
	assert_alive "${WITNESSES[@]}"
	[ ! -e got ]
	proxy pass
	kill -TERM "$OUTER"
	kill -KILL "${WITNESSES[0]}" # it ignores TERM
	exit_status_of "$OUTER"
	[ "$STATUS" != 79 ]
}

@test "dead before another has it: packets dropped by the kernel in a network of its own" {
	stop_postgres
	make_network
	PG_LAUNCHER=("${IN_NETWORK[@]}")
	start_postgres
	LAUNCHER=("${IN_NETWORK[@]}")
	start_witnessed --ttl 2s -S "$PG_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	drop_packets "$PG_PORT"
	assert_dead_before_rival 2000 'packets dropped'
	assert_lost
}

@test "dead before another has it: the look-up of the server's name hangs, the connection is cut (R79)" {
	start_pg_proxy
	export SLOW_RESOLVER_FLAG=$WORK/hang
	LAUNCHER=(env LD_PRELOAD="$TOOLS/slow_resolver_preload.so")
	start_witnessed --ttl 2s -S "postgresql://postgres@localhost:$PROXY_PORT/postgres" job
	start_rival
	wait_until 5s confirmed_more_than 2
	touch "$SLOW_RESOLVER_FLAG"
	event
	proxy blackhole
	assert_dead_before_rival 2000 'black hole, and no names'
	assert_lost
}

@test "a look-up that hangs: -n ends in time, -w too, and a host beside it is used" {
	export SLOW_RESOLVER_FLAG=$WORK/hang
	touch hang
	local hanging=(env LD_PRELOAD="$TOOLS/slow_resolver_preload.so" "$DLOCK")
	start_clock
	run -69 "${hanging[@]}" -n --ttl 30s --connect-timeout 500ms -S "postgresql://postgres@localhost:$PG_PORT/postgres" job true
	assert_output --partial 'name look-up has not answered'
	assert_between 450 5000 "$(clock_ms)" 'ms, -n'
	[ -s hang.calls ]
	start_clock
	run "${hanging[@]}" -w 1s --connect-timeout 20s -S "postgresql://postgres@localhost:$PG_PORT/postgres" job true
	assert_between 900 5000 "$(clock_ms)" 'ms, -w'
	start_clock
	run -0 "${hanging[@]}" -n --connect-timeout 4s \
		-S "postgresql:///postgres?user=postgres&host=localhost,$PG_DIR&port=1,$PG_PORT" job true
	assert_between 0 4000 "$(clock_ms)" 'ms, with another host'
}

@test "dead before another has it: OUTER stopped, the server stopped" {
	start_witnessed --ttl 2s job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	kill -STOP "$OUTER"
	# shellcheck disable=SC2046
	kill -STOP $(server_pids)
	wait_until 10s witnesses_gone
	# shellcheck disable=SC2046
	kill -CONT $(server_pids)
	assert_dead_before_rival 2000 'OUTER and the server stopped'
	kill -CONT "$OUTER" 2>/dev/null || true
	assert_lost
}

@test "RUNNER stopped once: it goes on by itself, and the lock is kept" {
	start_witnessed --ttl 2s job
	start_rival
	kill -STOP "$RUNNER"
	wait_until 5s confirmed_more_than "$(($(confirmed_count) + 3))"
	assert_alive "${WITNESSES[@]}"
	[ ! -e got ]
	wait_until 5s pg_held job
}

stop_again_and_again() {
	while kill -STOP "$1" 2>/dev/null; do :; done
}

# With the server well it may find the time for a renewal, and then it has the lock.
@test "dead before another has it: RUNNER stopped again and again, the server stopped" {
	start_witnessed --ttl 2s job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	# shellcheck disable=SC2046
	kill -STOP $(server_pids)
	start stop_again_and_again "$RUNNER"
	wait_until 10s witnesses_gone
	# shellcheck disable=SC2046
	kill -CONT $(server_pids)
	assert_dead_before_rival 2000 'RUNNER stopped all the time'
	exit_status_of "$OUTER"
	[ "$STATUS" = 79 ]
}

@test "dead before another has it: RUNNER killed, whose session OUTER keeps open; ten times" {
	local round
	for round in {1..10}; do
		W=$WORK/witness$round DLOCK_LOG=$WORK/dlock$round.log
		: >"$DLOCK_LOG"
		start_witnessed --ttl 3s job
		start_rival
		wait_until 5s confirmed_more_than 1
		pause "0.$(printf %03d $((RANDOM % 900)))"
		event
		kill -KILL "$RUNNER"
		assert_dead_before_rival 3000 "RUNNER killed, round $round"
		exit_status_of "$OUTER"
		[ "$STATUS" = 79 ]
		kill -KILL "$RIVAL"
		wait_until 10s pg_free job
	done
}

@test "dead before another has it: OUTER killed; ten times" {
	local round
	for round in {1..10}; do
		W=$WORK/witness$round DLOCK_LOG=$WORK/dlock$round.log
		: >"$DLOCK_LOG"
		start_witnessed --ttl 3s job
		start_rival
		wait_until 5s confirmed_more_than 1
		pause "0.$(printf %03d $((RANDOM % 900)))"
		event
		kill -KILL "$OUTER"
		assert_dead_before_rival 3000 "OUTER killed, round $round"
		wait_until 5s gone "$RUNNER"
		kill -KILL "$RIVAL"
		wait_until 10s pg_free job
	done
}

@test "dead before another has it: RUNNER killed while the server is stopped" {
	start_witnessed --ttl 3s job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	# shellcheck disable=SC2046
	kill -STOP $(server_pids)
	kill -KILL "$RUNNER"
	wait_until 10s witnesses_gone
	# shellcheck disable=SC2046
	kill -CONT $(server_pids)
	assert_dead_before_rival 3000 'RUNNER killed, the server stopped'
	exit_status_of "$OUTER"
	[ "$STATUS" = 79 ]
}
