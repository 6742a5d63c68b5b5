#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Settings of a role, a database or a server that would hurt a lock of PostgreSQL: overruled where that is ours to
# do, else refused with the reason.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/witness
load ../helpers/proxy
load ../helpers/postgres
load ../helpers/postgres_trouble

setup_file() {
	start_postgres max_connections=50
}

teardown_file() {
	stop_postgres
}

setup() {
	common_setup
	end_sessions
	sql 'CREATE ROLE ann LOGIN'
	at_teardown drop_role
	URL=postgresql://ann@127.0.0.1:$PG_PORT/postgres
}

drop_role() {
	sql 'DROP OWNED BY ann; DROP ROLE ann'
}

set_role() {
	sql "ALTER ROLE ann SET $1"
}

# holds_well: four renewals of a lease of 2 s, a conflict, a waiter that gets it, all as ever.
holds_well() {
	rm -f go had
	: >"$DLOCK_LOG"
	start_dlock -vv --ttl 2s -w 5s -S "$URL" job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 5s pg_held job || { cat "$DLOCK_LOG" >&2; return 1; }
	run -75 dlock -n --connect-timeout 5s -S "$URL" job true
	start "$DLOCK" -w 30s -S "$URL" job touch had
	wait_until 5s waiters_are 1 job
	wait_until 10s confirmed_more_than 4
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 23 ]
	exit_status_of "$STARTED"
	[ "$STATUS" = 0 ] && [ -e had ]
	wait_until 5s says 0 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
}

@test "statement_timeout, lock_timeout, idle_in_transaction_session_timeout, idle_session_timeout of the role" {
	set_role "statement_timeout = '500ms'"
	set_role "lock_timeout = '100ms'"
	set_role "idle_in_transaction_session_timeout = '200ms'"
	set_role "idle_session_timeout = '500ms'"
	holds_well
	says 0 "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
}

@test "synchronous_commit = off, remote_apply, local: numbers count when they are on disk" {
	local value
	for value in off local remote_write remote_apply; do
		set_role "synchronous_commit = $value"
		run -0 dlock -n -S "$URL" job sh -c 'echo $DLOCK_FENCE'
		[ "$output" -gt $((1 << 44)) ]
		# What the transaction has written is flushed when the command starts.
		run -0 dlock -n -S "$URL" job "$PG_BIN/psql" -X -A -t "$PG_URL_UNIX" -c \
			'SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()'
		assert_output t
	done
	set_role 'synchronous_commit = off'
	sql "ALTER SYSTEM SET wal_writer_delay = '10s'" && sql 'SELECT pg_reload_conf()' >/dev/null
	holds_well
	sql 'ALTER SYSTEM RESET wal_writer_delay' && sql 'SELECT pg_reload_conf()' >/dev/null
}

@test "default_transaction_read_only, of the role or of the server: refused, with the reason; another host is used" {
	set_role 'default_transaction_read_only = on'
	run -69 dlock -n -S "$URL" job touch ran
	assert_output --partial 'it is read-only: a lock needs a server that can be written to'
	[ ! -e ran ]
	start "$DLOCK" -w 20s -S "$URL" job touch had
	pause 0.5
	[ ! -e had ]
	sql 'ALTER ROLE ann RESET default_transaction_read_only'
	exit_status_of "$STARTED" 20s
	[ "$STATUS" = 0 ]
	[ -e had ]
}

@test "isolation levels, plans and parallel workers that nobody would choose" {
	local one
	for one in "default_transaction_isolation = 'serializable'" "default_transaction_isolation = 'repeatable read'" \
		'default_transaction_deferrable = on' 'force_parallel_mode = on' 'jit_above_cost = 0' \
		'enable_nestloop = off' 'enable_hashjoin = off' 'enable_material = off' 'from_collapse_limit = 1' \
		'join_collapse_limit = 1' "plan_cache_mode = force_generic_plan" 'geqo_threshold = 2'; do
		sql 'ALTER ROLE ann RESET ALL'
		set_role "$one"
		echo "$one"
		run -0 dlock -n -S "$URL" job true
		run -0 dlock -n -s -S "$URL" job "$DLOCK" -n -s -S "$URL" job true
		run -0 dlock -n --slots 2 -S "$URL" job "$DLOCK" -n --slots 2 -S "$URL" job sh -c 'echo $DLOCK_SLOT'
		run -75 dlock --slots 2 -S "$URL" job "$DLOCK" --slots 2 -S "$URL" job "$DLOCK" -n --slots 2 -S "$URL" job true
	done
	set_role 'force_parallel_mode = on'
	holds_well
}

@test "encodings, quoting, languages, dates, messages that nobody would choose" {
	set_role "client_encoding = 'SQL_ASCII'"
	set_role 'standard_conforming_strings = off'
	set_role 'backslash_quote = off'
	set_role "DateStyle = 'SQL, DMY'"
	set_role "TimeZone = 'Asia/Kolkata'"
	set_role 'client_min_messages = debug5'
	set_role 'extra_float_digits = -15'
	set_role "application_name = 'fixed'"
	holds_well
}

@test "a search path with functions of the same names in front of the system's: they are never called" {
	sql "CREATE SCHEMA evil AUTHORIZATION ann;
		CREATE TABLE evil.called (name text);
		ALTER TABLE evil.called OWNER TO ann"
	local function
	for function in 'set_config(text, text, boolean) RETURNS text' 'current_setting(text) RETURNS text' \
		'pg_is_in_recovery() RETURNS boolean' 'pg_backend_pid() RETURNS int' \
		'pg_try_advisory_lock(bigint) RETURNS boolean'; do
		sql "SET ROLE ann; CREATE FUNCTION evil.$function LANGUAGE plpgsql AS \$\$ BEGIN
			INSERT INTO evil.called VALUES ('$function'); RETURN NULL; END \$\$"
	done
	set_role 'search_path = evil, pg_catalog'
	holds_well
	says 0 'SELECT count(*) FROM evil.called'
}

@test "a server that shows nothing of its sessions: locks work, who has it is told as far as it is known" {
	set_role 'search_path = public'
	sql 'ALTER ROLE ann SET application_name = "x"'
	sql 'ALTER ROLE ann RESET ALL'
	sql 'ALTER ROLE ann SET statement_timeout = 0'
	sql "ALTER SYSTEM SET track_activities = off" && sql 'SELECT pg_reload_conf()' >/dev/null
	at_teardown show_activities
	start_dlock --ttl 2s -S "$URL" job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 5s pg_held job
	run -75 dlock -n -S "$URL" job true
	start "$DLOCK" -w 30s -S "$URL" job touch had
	wait_until 5s waiters_are 1 job
	pause 2.5
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 23 ]
	exit_status_of "$STARTED"
	[ "$STATUS" = 0 ]
}

show_activities() {
	sql 'ALTER SYSTEM RESET track_activities' && sql 'SELECT pg_reload_conf()' >/dev/null
}

@test "a role with one connection: it holds, a second one is refused, -w waits for it" {
	sql 'ALTER ROLE ann CONNECTION LIMIT 1'
	start_dlock --ttl 2s -S "$URL" job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 5s pg_held job
	run -69 dlock -n -S "$URL" job true
	assert_output --partial 'too many connections for role "ann"'
	start "$DLOCK" -w 30s -S "$URL" job touch had
	pause 1
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 23 ]
	exit_status_of "$STARTED" 20s
	[ "$STATUS" = 0 ]
}

@test "no room for locks on the server: 69 with the reason, -w waits, no lock is left" {
	local i
	start "$PG_BIN/psql" -X -q "$PG_URL_UNIX" -c "SELECT count(pg_try_advisory_lock_shared(i)) FROM generate_series(1, 1000000) i"
	exit_status_of "$STARTED" 60s
	run grep -c 'out of shared memory' "$PG_DIR/log"
	[ "$output" -ge 1 ]
	run -0 dlock -n -S "$URL" job true
}
