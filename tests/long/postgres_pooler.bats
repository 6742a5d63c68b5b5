#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A lock of PostgreSQL by way of pgbouncer (R60): a pool that keeps sessions apart does, one that shares them is
# refused, and is left as it was.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/witness
load ../helpers/proxy
load ../helpers/postgres
load ../helpers/postgres_trouble
load ../helpers/pgbouncer

setup() {
	common_setup
	start_postgres
	at_teardown stop_postgres
}

no_advisory_locks() {
	says 0 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
}

# assert_refused ARG...: soon, for what it is, and without a lock left.
assert_refused() {
	start_clock
	run -69 dlock -S "$BOUNCER_URL" "$@" job touch ran
	assert_output --partial 'there is a connection pooler which shares sessions between clients'
	assert_output --partial 'pool_mode=session'
	[ ! -e ran ]
	no_advisory_locks
	assert_between 0 10000 "$(clock_ms)" 'ms'
}

@test "R60 transaction pooling is refused with the reason and 69, whatever the pool's size; pg_locks is empty" {
	local size
	for size in 1 2 20; do
		start_pgbouncer transaction "default_pool_size=$size"
		assert_refused -n
		assert_refused -w 10s
		assert_refused -s
		assert_refused --slots 2
		kill -KILL "$BOUNCER_PID"
		wait_until 5s gone "$BOUNCER_PID"
	done
}

@test "R60 transaction pooling is refused while others keep the pool busy, twenty times" {
	local i
	start_pgbouncer transaction default_pool_size=3
	for i in 1 2; do
		start bash -c 'while :; do echo "SELECT 1;"; done | exec "$0" -X -q "$1" >/dev/null' "$PG_BIN/psql" "$BOUNCER_URL"
	done
	for i in {1..20}; do
		assert_refused -n
	done
}

@test "R60 statement pooling is refused" {
	start_pgbouncer statement
	assert_refused -n
	assert_refused -w 10s
}

# The next client of the pool is somebody else.
@test "R60 who was refused leaves the pool's sessions as they were" {
	local before
	start_pgbouncer transaction default_pool_size=1
	settings() {
		"$PG_BIN/psql" -X -A -t "$BOUNCER_URL" -c "SELECT name, setting FROM pg_settings WHERE source = 'session' AND
			name NOT LIKE 'application_name'" -c "SELECT name, setting FROM pg_settings WHERE name IN ('search_path',
			'synchronous_commit', 'statement_timeout', 'lock_timeout', 'idle_session_timeout')" \
			-c 'SELECT count(*) FROM pg_listening_channels()'
	}
	before=$(settings)
	assert_refused -n
	[ "$before" = "$(settings)" ] || { diff <(echo "$before") <(settings) >&2; return 1; }
}

@test "session pooling: locks, waiting, messages, fences, shared, slots" {
	local last released got
	start_pgbouncer session default_pool_size=20
	export DLOCK_SERVER=$BOUNCER_URL
	run -0 dlock -n job sh -c 'echo $DLOCK_FENCE'
	last=$output
	start_dlock job sh -c 'until [ -e go ]; do sleep 0.02; done; "$TOOLS/boottime" >released'
	wait_until 5s pg_held job
	run -75 dlock -n job true
	assert_output --partial "pid $OUTER "
	run -75 dlock -n -S "$PG_URL" job true
	start "$DLOCK" -w 20s job sh -c '"$TOOLS/boottime" >got; echo $DLOCK_FENCE >fence'
	wait_until 5s waiters_are 1 job
	touch go
	exit_status_of "$STARTED"
	[ "$STATUS" = 0 ]
	assert_between 0 600 "$(elapsed_ms "$(cat released)" "$(cat got)")" 'to the next, ms'
	[ "$(cat fence)" -gt "$last" ]
	run -0 dlock -n -s job "$DLOCK" -n -s job true
	run -0 dlock -n --slots 2 job "$DLOCK" -n --slots 2 job true
	wait_until 5s no_advisory_locks
}

@test "session pooling: the pool's session is clean for the next one, and is not ended by our timeout" {
	start_pgbouncer session default_pool_size=2
	run -0 dlock -w 20s --ttl 3s --connect-timeout 5s -S "$BOUNCER_URL" job true
	pause 3.5
	run -0 "$PG_BIN/psql" -X -A -t "$BOUNCER_URL" -c "SELECT count(*) FROM pg_settings WHERE source = 'session' AND
		name IN ('search_path', 'synchronous_commit', 'idle_session_timeout', 'statement_timeout')"
	assert_output 0
}

@test "session pooling with room for one session only: refused, and not for what it is not" {
	start_pgbouncer session default_pool_size=1
	run -69 dlock -n --connect-timeout 3s -S "$BOUNCER_URL" job touch ran
	assert_output --partial 'whether it keeps sessions apart cannot be found out without a second connection'
	refute_output --partial 'which shares sessions'
	[ ! -e ran ]
	wait_until 5s no_advisory_locks
}

@test "session pooling without a reset query: a client that is killed leaves its lock for a TTL, no longer" {
	start_pgbouncer session server_reset_query= default_pool_size=20
	start_witnessed --ttl 3s -S "$BOUNCER_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	kill -KILL "$OUTER" "$RUNNER" "${WITNESSES[@]}"
	wait_until 5s witnesses_gone
	assert_between 1 4000 "$(rival_got_after "$(last_confirmed)")" 'from the last confirmation to the next holder, ms'
}

@test "session pooling: the pooler stopped, or killed: the tree is dead before another has the lock" {
	start_pgbouncer session default_pool_size=20
	start_witnessed --ttl 4s -w 20s -S "$BOUNCER_URL" job
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	kill -STOP "$BOUNCER_PID"
	assert_dead_before_rival 4000 'pgbouncer stopped'
	kill -CONT "$BOUNCER_PID"
	assert_lost
	kill -KILL "$RIVAL"
	wait_until 10s pg_free job
	W=$WORK/witness2 DLOCK_LOG=$WORK/dlock2.log
	: >"$DLOCK_LOG"
	start_witnessed --ttl 60s -S "$BOUNCER_URL" job
	event
	kill -KILL "$BOUNCER_PID"
	wait_until 10s witnesses_gone
	assert_between -20 100 "$((($(died_at) - EVENT_NS) / 1000000))" 'from the death of pgbouncer to the last stamp, ms'
	assert_lost
}

@test "session pooling: the lease is ended by the server where the client is out of reach" {
	start_pgbouncer session default_pool_size=20
	local PG_PORT=${BOUNCER_URL#*:*:}
	PG_PORT=${PG_PORT%%/*} start_pg_proxy
	start_witnessed --ttl 4s -w 20s -S "$PROXY_URL" job
	PG_PORT=$(cat "$PG_DIR/port")
	start_rival
	wait_until 5s confirmed_more_than 2
	event
	proxy blackhole
	assert_dead_before_rival 4000 'black hole before pgbouncer'
	assert_between 1 5000 "$(rival_got_after "$(last_confirmed)")" 'from the last confirmation, ms'
}

@test "a standby is refused, by name, and beside it its primary is used" {
	start_standby
	at_teardown stop_standby
	run -69 dlock -n -S "$STANDBY_URL" job touch ran
	assert_output --partial 'it is a standby'
	[ ! -e ran ]
	run -0 dlock -n -S "postgresql://postgres@127.0.0.1:$STANDBY_PORT,127.0.0.1:$PG_PORT/postgres" job true
	run -0 dlock -n -S "postgresql://postgres@127.0.0.1:$STANDBY_PORT,127.0.0.1:$PG_PORT/postgres?target_session_attrs=read-write" job true
	# One that is promoted while somebody waits for it.
	start "$DLOCK" -w 30s -S "$STANDBY_URL" job touch had
	pause 1
	end_postgres INT
	promote
	exit_status_of "$STARTED" 20s
	[ "$STATUS" = 0 ]
	[ -e had ]
}

stop_standby() {
	stop_postgres "$STANDBY_DIR"
}
