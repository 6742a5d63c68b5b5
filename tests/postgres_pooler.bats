#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What a lock of PostgreSQL goes with, and what not: poolers, CREATE INDEX CONCURRENTLY. More of both is in
# tests/long/postgres_pooler.bats and postgres_waiting.bats.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034

load helpers/common
load helpers/postgres
load helpers/postgres_trouble
load helpers/pgbouncer

setup_file() {
	start_postgres max_connections=50
}

teardown_file() {
	stop_postgres
}

setup() {
	common_setup
	end_sessions
}

@test "R60 a pool that shares sessions is refused with the reason and 69, and pg_locks is empty" {
	start_pgbouncer transaction
	run -69 dlock -n -S "$BOUNCER_URL" job touch ran
	assert_output --partial 'there is a connection pooler which shares sessions between clients'
	assert_output --partial 'pool_mode=session'
	[ ! -e ran ]
	says 0 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
	# Who comes next in that session finds it as it was.
	run -0 "$PG_BIN/psql" -X -A -t "$BOUNCER_URL" -c 'SHOW search_path'
	assert_output '"$user", public'
}

@test "R60 a pool that keeps sessions apart does: the lock is exclusive, and free afterwards" {
	start_pgbouncer session
	start_dlock -w 10s -S "$BOUNCER_URL" job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 10s pg_held job
	run -75 dlock -n -S "$PG_URL" job true
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 23 ]
	wait_until 5s pg_free job
}

@test "R63 CREATE INDEX CONCURRENTLY run by the holder's command finishes while two wait" {
	local first second
	sql 'CREATE TABLE big (n int); INSERT INTO big SELECT generate_series(1, 1000)'
	start_dlock --ttl 10s job sh -c 'until [ -e go ]; do sleep 0.02; done
		timeout 20 "$PG_BIN/psql" -X -q "$PG_URL" -c "CREATE INDEX CONCURRENTLY ON big (n)"'
	wait_until 5s pg_held job
	start "$DLOCK" -w 60s job true
	first=$STARTED
	start "$DLOCK" -w 60s -s job true
	second=$STARTED
	wait_until 10s waiters_are 2 job
	touch go
	exit_status_of "$OUTER" 20s
	[ "$STATUS" = 0 ]
	exit_status_of "$first"
	[ "$STATUS" = 0 ]
	exit_status_of "$second"
	[ "$STATUS" = 0 ]
	says 1 "SELECT count(*) FROM pg_index WHERE indisvalid AND indrelid = 'big'::regclass"
}
