#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Who waits for a lock of PostgreSQL: hinders neither vacuum nor CREATE INDEX CONCURRENTLY, costs the server
# little, and leaves nothing behind.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/proxy
load ../helpers/postgres
load ../helpers/postgres_trouble

setup() {
	common_setup
	start_postgres max_connections=300
	at_teardown stop_postgres
}

@test "R63 CREATE INDEX CONCURRENTLY run by the holder's command finishes with 2 waiters, five times, and they go on" {
	local round waiters=()
	sql 'CREATE TABLE big (n int); INSERT INTO big SELECT generate_series(1, 50000)'
	for round in {1..5}; do
		start_dlock --ttl 10s job sh -c 'until [ -e go ]; do sleep 0.02; done
			timeout 30 "$PG_BIN/psql" -X -q "$PG_URL" -c "CREATE INDEX CONCURRENTLY ON big (n)" && echo done >>indexed'
		wait_until 5s pg_held job
		start "$DLOCK" -w 60s job true
		waiters=("$STARTED")
		start "$DLOCK" -w 60s -s job true
		waiters+=("$STARTED")
		wait_until 10s waiters_are 2 job
		touch go
		exit_status_of "$OUTER" 40s
		[ "$STATUS" = 0 ]
		[ "$(wc -l <indexed)" = "$round" ]
		exit_status_of "${waiters[0]}"
		[ "$STATUS" = 0 ]
		exit_status_of "${waiters[1]}"
		[ "$STATUS" = 0 ]
		rm go
	done
	says 0 "SELECT count(*) FROM pg_index WHERE NOT indisvalid"
	run ! grep -i deadlock "$PG_DIR/log"
}

@test "a session of psql that waits in pg_advisory_lock is what deadlocks there: the case above can fail" {
	sql 'CREATE TABLE big (n int); INSERT INTO big SELECT generate_series(1, 50000)'
	start_dlock --ttl 10s -S "$PG_URL?dlock_key=7" job sh -c 'until [ -e go ]; do sleep 0.02; done
		timeout 8 "$PG_BIN/psql" -X -q "$PG_URL" -c "CREATE INDEX CONCURRENTLY ON big (n)"'
	wait_until 5s says 1 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
	start "$PG_BIN/psql" -X -q "$PG_URL" -c 'SELECT pg_advisory_lock(7)'
	wait_until 5s says 1 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
	touch go
	exit_status_of "$OUTER" 20s
	[ "$STATUS" != 0 ]
}

@test "who waits, or holds, has no snapshot and no transaction: vacuum's horizon goes on" {
	local i before
	sql 'CREATE TABLE rows (n int); INSERT INTO rows SELECT generate_series(1, 1000)'
	start_dlock --ttl 10s job sleep 300
	wait_until 5s pg_held job
	for i in 1 2 3; do start "$DLOCK" -w 100s job true; done
	start "$DLOCK" -w 100s -s job true
	wait_until 10s waiters_are 4 job
	# Seen often enough: one in a statement has a snapshot for a moment, none has one that is old.
	for i in {1..40}; do
		says 0 "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'dlock%' AND
			state <> 'active' AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR xact_start IS NOT NULL)"
		says 0 "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'dlock%' AND
			xact_start < now() - interval '1 s'"
	done
	says 5 "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'dlock%'"
	before=$(sql "SELECT pg_stat_get_live_tuples('rows'::regclass)")
	sql 'DELETE FROM rows'
	pause 1
	run -0 sql 'VACUUM (VERBOSE) rows'
	assert_output --regexp '1000 (removed|dead item|row versions)|tuples: 1000 removed'
	refute_output --regexp '[1-9][0-9]* (are dead but not yet removable|dead row versions cannot)'
}

# transactions: of the database so far; to hear a message is one as well. Statistics come up to a second late.
transactions() {
	sql "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'postgres'"
}

# statements: of dlocks so far, but for those of logins.
statements() {
	grep -acE 'execute <unnamed>: /\*dlock' "$PG_DIR/log"
}

@test "200 waiters: few statements per second, the lock goes from one to the next, all have had it" {
	local i before asked cpu ms pids=()
	sql "ALTER SYSTEM SET log_statement = 'all'" && sql 'SELECT pg_reload_conf()'
	start_dlock --ttl 30s job sh -c 'until [ -e go ]; do sleep 0.05; done'
	wait_until 5s pg_held job
	for i in {1..200}; do
		start "$DLOCK" -w 300s --ttl 30s job sh -c 'echo x >>had' 2>>"$DLOCK_LOG"
		pids+=("$STARTED")
		[ $((i % 20)) != 0 ] || wait_until 30s waiters_are "$i" job
	done
	pause 5 # until all have asked once more, since they are in line
	before=$(transactions) asked=$(statements) cpu=$(server_cpu)
	start_clock
	pause 20
	ms=$(clock_ms)
	asked=$((($(statements) - asked) * 1000 / ms)) before=$((($(transactions) - before) * 1000 / ms))
	echo "# 200 waiters: $asked statements/s, $before transactions/s, $((($(server_cpu) - cpu) * 10000 / ms)) ms of CPU/s" >&3
	assert_between 0 20 "$asked" 'statements per second'
	assert_between 0 40 "$before" 'transactions per second'
	before=$(transactions) asked=$(statements)
	start_clock
	touch go
	for i in "${pids[@]}"; do
		exit_status_of "$i" 120s
		[ "$STATUS" = 0 ]
	done
	ms=$(clock_ms)
	[ "$(wc -l <had)" = 200 ]
	pause 1.2
	asked=$((($(statements) - asked) / 200)) before=$((($(transactions) - before) / 200))
	echo "# 200 hand-offs in $ms ms: $asked statements, $before transactions each" >&3
	assert_between 2 40 "$asked" 'statements for a hand-off'
	wait_until 5s says 0 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
}

# Of the server's processes that live, in hundredths of seconds.
server_cpu() {
	local pid sum=0 stat
	for pid in $(descendants "$(pg_pid)"); do
		read -r stat 2>/dev/null <"/proc/$pid/stat" || continue
		stat=${stat##*) }
		# shellcheck disable=SC2086 # split on purpose
		set -- $stat
		sum=$((sum + ${12} + ${13}))
	done
	echo "$sum"
}

@test "R64 a waiter ended by a signal while the answer to its try is 2 s late: pg_locks empty within 3 s, ten times" {
	local round signal
	start_pg_proxy
	for round in {1..10}; do
		proxy pass
		start_dlock -vv -w 60s -S "$PROXY_URL" job touch ran
		# While it logs in, or asks for the lock, which is free: at another moment each time.
		pause "0.0$((RANDOM % 9 + 1))"
		proxy delay 2000
		pause "0.$((RANDOM % 9 + 1))"
		signal=TERM
		[ $((round % 3)) != 0 ] || signal=INT
		kill -"$signal" "$OUTER" 2>/dev/null || true
		start_clock
		wait_until 3s says 0 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
		exit_status_of "$OUTER"
	done
}

@test "R64 the answer that grants the lock is 2 s late, and a signal, or the end of -w, comes before: free within 3 s" {
	local end
	start_pg_proxy
	start_dlock job sh -c 'until [ -e go ]; do sleep 0.02; done'
	wait_until 5s pg_held job
	for end in TERM HUP time; do
		rm -f go ran
		local holder=$OUTER
		start "$DLOCK" -w 3s --ttl 20s -S "$PROXY_URL" job touch ran
		wait_until 5s waiters_are 1 job
		proxy delay 2500
		touch go
		exit_status_of "$holder"
		# Now the lock is granted to the one who does not know it.
		wait_until 5s pg_held job
		case $end in
		time) ;;
		*) kill -"$end" "$STARTED" ;;
		esac
		start_clock
		exit_status_of "$STARTED"
		wait_until 3s pg_free job
		[ "$end" = time ] || [ ! -e ran ]
		proxy pass
		rm -f go
		start_dlock job sh -c 'until [ -e go ]; do sleep 0.02; done'
		wait_until 5s pg_held job
	done
}

@test "the connection of a waiter is cut again and again: it gets the lock all the same, in good time" {
	local i
	start_pg_proxy
	start_dlock --ttl 30s job sh -c 'until [ -e go ]; do sleep 0.02; done'
	wait_until 5s pg_held job
	start "$DLOCK" -w 60s -S "$PROXY_URL" job sh -c '"$TOOLS/boottime" >got'
	for i in {1..10}; do
		wait_until 5s waiters_are 1 job
		proxy reset
		pause "0.$((RANDOM % 4))1"
	done
	touch go
	exit_status_of "$OUTER"
	exit_status_of "$STARTED"
	[ "$STATUS" = 0 ]
	[ -s got ]
}

@test "the server restarted under a holder and three waiters: the holder is killed, the waiters come through" {
	local pids=() i
	start_dlock --ttl 30s job sleep 300
	wait_until 5s pg_held job
	for i in 1 2 3; do
		start "$DLOCK" -w 60s job sh -c 'echo x >>had'
		pids+=("$STARTED")
	done
	wait_until 10s waiters_are 3 job
	crash_postgres
	exit_status_of "$OUTER"
	[ "$STATUS" = 79 ]
	pause 1
	restart_postgres
	for i in "${pids[@]}"; do
		exit_status_of "$i" 20s
		[ "$STATUS" = 0 ]
	done
	[ "$(wc -l <had)" = 3 ]
}

@test "messages that nobody meant for a waiter do no harm: foreign payloads on its channel, 2,000 of them" {
	local channel
	channel=dlock_$(printf %016x "$(number_of lock:job)")
	start_dlock --ttl 30s job sh -c 'until [ -e go ]; do sleep 0.02; done'
	wait_until 5s pg_held job
	start "$DLOCK" -w 60s job touch ran
	wait_until 5s waiters_are 1 job
	sql "SELECT pg_notify('$channel', repeat('x', i)) FROM generate_series(0, 1000) i" >/dev/null
	sql "SELECT pg_notify('$channel', CASE i % 3 WHEN 0 THEN 'f' WHEN 1 THEN 't-1' ELSE 'l99999999999999999999' END || '')
		FROM generate_series(0, 1000) i" >/dev/null
	pause 1
	assert_alive "$STARTED"
	[ ! -e ran ]
	touch go
	exit_status_of "$STARTED"
	[ "$STATUS" = 0 ]
}
