#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# How a session of PostgreSQL comes about: libpq's own conventions, TLS, passwords that change, servers that are
# full.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/witness
load ../helpers/proxy
load ../helpers/postgres
load ../helpers/postgres_trouble
load ../helpers/tls

setup() {
	common_setup
	start_postgres max_connections=20
	at_teardown stop_postgres
	HOST=127.0.0.1:$PG_PORT
	unset PGPASSWORD PGHOST PGPORT PGUSER PGDATABASE PGSERVICE PGSERVICEFILE PGPASSFILE PGSSLMODE
}

# with_password ROLE PASSWORD: who needs one over TCP from now on.
with_password() {
	sql "DO \$\$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '$1') THEN CREATE ROLE $1 LOGIN; END IF; END \$\$;
		ALTER ROLE $1 PASSWORD '$2'"
	grep -q "all $1 " "$PG_DIR/data/pg_hba.conf" ||
		sed -i "1i host all $1 127.0.0.1/32 scram-sha-256" "$PG_DIR/data/pg_hba.conf"
	sql 'SELECT pg_reload_conf()' >/dev/null
	wait_until 5s password_is "$1" "$2"
}

password_is() {
	PGPASSWORD=$2 "$PG_BIN/psql" -X -q "postgresql://$1@$HOST/postgres" -c '' 2>/dev/null &&
		! PGPASSWORD=not-it "$PG_BIN/psql" -X -q "postgresql://$1@$HOST/postgres" -c '' 2>/dev/null
}

@test "several hosts: the first that can be written to, in their order; each with its port, or one port for all" {
	local port
	run -0 dlock -n -S "postgresql://postgres@127.0.0.1:1,127.0.0.1:2,127.0.0.1:$PG_PORT/postgres" job true
	run -0 dlock -n -S "postgresql://postgres@/postgres?host=/nowhere,127.0.0.1,$PG_DIR&port=$PG_PORT" job true
	run -0 dlock -n -S "postgresql://postgres@nowhere.invalid:1,localhost:$PG_PORT/postgres?connect_timeout=10" job true
	run -69 dlock -n -S "postgresql://postgres@127.0.0.1:1,127.0.0.1:2/postgres" job true
	run -69 dlock -n -S "postgresql://postgres@/postgres?host=a,b,c&port=1,2" job true
	assert_output --partial 'port'
	# One that takes connections and says nothing is left after its share of the time.
	start_pg_proxy
	proxy blackhole
	start_clock
	run -0 dlock -n --connect-timeout 4s -S "postgresql://postgres@127.0.0.1:$PROXY_PORT,127.0.0.1:$PG_PORT/postgres" job true
	assert_between 0 4000 "$(clock_ms)" 'ms'
}

@test "a service file, in PGSERVICEFILE, of the home, with several hosts and a password in it" {
	with_password ann hush
	mkdir home
	printf '%s\n' '[lock]' "host=127.0.0.1,127.0.0.1" "port=1,$PG_PORT" user=ann dbname=postgres password=hush >home/.pg_service.conf
	HOME=$PWD/home run -0 dlock -n -S 'postgresql://?service=lock' job true
	PGSERVICE=lock PGSERVICEFILE=$PWD/home/.pg_service.conf run -0 dlock -n -S 'postgresql://' job true
	# What the URL says goes before.
	PGSERVICEFILE=$PWD/home/.pg_service.conf run -77 dlock -n -S 'postgresql://nobody@/?service=lock' job true
	PGSERVICEFILE=$PWD/home/.pg_service.conf run dlock -n -S 'postgresql://?service=other' job true
	assert_failure
	assert_output --partial 'definition of service "other" not found'
	refute_output --partial hush
}

@test "~/.pgpass: of the home, not where others can read it, by host and by several hosts" {
	with_password ann hush
	mkdir home
	echo "127.0.0.1:$PG_PORT:postgres:ann:hush" >home/.pgpass
	chmod 600 home/.pgpass
	export HOME=$PWD/home
	run -0 dlock -n -S "postgresql://ann@$HOST/postgres" job true
	run -0 dlock -n -S "postgresql://ann@127.0.0.1:1,$HOST/postgres" job true
	chmod 644 home/.pgpass
	run -77 dlock -n -S "postgresql://ann@$HOST/postgres" job true
	assert_output --partial 'no password supplied'
	PGPASSWORD=hush run -0 dlock -n -S "postgresql://ann@$HOST/postgres" job true
	# The command does not see more of it than it did before.
	PGPASSWORD=hush run -0 dlock -n -S "postgresql://ann@$HOST/postgres" job sh -c 'echo "$PGPASSWORD"'
	assert_output hush
}

tls_on() {
	make_files
	cp server.pem server.key "$PG_DIR/data/"
	[ "$(id -u)" != 0 ] || chown postgres "$PG_DIR/data/server.pem" "$PG_DIR/data/server.key"
	chmod 600 "$PG_DIR/data/server.key"
	printf '%s\n' ssl=on ssl_cert_file=server.pem ssl_key_file=server.key >>"$PG_DIR/settings"
	crash_postgres
	restart_postgres
	chmod 600 ca.key server.key
}

@test "TLS: require, verify-full with its CA; another CA, another name, a server without TLS are refused with 77" {
	run -77 dlock -n -S "$PG_URL?sslmode=require" job true
	assert_output --partial 'server does not support SSL'
	tls_on
	sed -i '1i hostnossl all postgres 127.0.0.1/32 reject' "$PG_DIR/data/pg_hba.conf"
	sql 'SELECT pg_reload_conf()' >/dev/null
	local url=postgresql://postgres@localhost:$PG_PORT/postgres
	run -0 dlock -n -S "$url?sslmode=require" job true
	run -0 dlock -n -S "$url?sslmode=verify-full&sslrootcert=$PWD/ca.pem" job true
	run -0 dlock -n -S "$PG_URL?sslmode=verify-full&sslrootcert=$PWD/ca.pem" job true
	PGSSLMODE=verify-full PGSSLROOTCERT=$PWD/ca.pem run -0 dlock -n -S "$url" job true
	make_ca other
	run -77 dlock -n -S "$url?sslmode=verify-full&sslrootcert=$PWD/other.pem" job touch ran
	assert_output --partial 'certificate verify failed'
	run -77 dlock -n -S "$url?sslmode=verify-full&sslrootcert=$PWD/nowhere.pem" job touch ran
	assert_output --partial 'nowhere.pem'
	make_certificate strange ca DNS:elsewhere.example
	cp strange.pem "$PG_DIR/data/server.pem"
	cp strange.key "$PG_DIR/data/server.key"
	sql 'SELECT pg_reload_conf()' >/dev/null
	wait_until 5s name_is_refused "$url"
	run -77 dlock -n -S "$url?sslmode=verify-full&sslrootcert=$PWD/ca.pem" job touch ran
	assert_output --partial 'does not match host name "localhost"'
	run -0 dlock -n -S "$url?sslmode=verify-ca&sslrootcert=$PWD/ca.pem" job true
	[ ! -e ran ]
}

name_is_refused() {
	! "$PG_BIN/psql" -X -q "$1?sslmode=verify-full&sslrootcert=$PWD/ca.pem" -c '' 2>/dev/null
}

@test "TLS: waiting, the lease, RUNNER killed, a session ended, as without it" {
	tls_on
	local url="postgresql://postgres@localhost:$PG_PORT/postgres?sslmode=verify-full&sslrootcert=$PWD/ca.pem"
	start_witnessed --ttl 3s -S "$url" job
	start_rival -S "$url"
	says 2 "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND application_name LIKE 'dlock%'"
	wait_until 5s confirmed_more_than 2
	event
	kill -KILL "$RUNNER"
	assert_dead_before_rival 3000 'TLS, RUNNER killed'
	kill -KILL "$RIVAL"
	wait_until 5s pg_free job
	W=$WORK/witness2 DLOCK_LOG=$WORK/dlock2.log
	: >"$DLOCK_LOG"
	start_witnessed --ttl 60s -S "$url" job
	event
	sql "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'" >/dev/null
	wait_until 10s witnesses_gone
	assert_between 0 100 "$(died_after_end)" 'from the end of the session to the death, ms'
	assert_lost
	grep -F 'terminating connection due to administrator command' "$DLOCK_LOG"
}

@test "a password that is changed while the lock is held: the holder goes on, a waiter too until it must log in again" {
	with_password ann hush
	echo hush >secret
	start_dlock -vv --ttl 2s -S "postgresql://ann:hush@$HOST/postgres" job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 5s pg_held job
	start "$DLOCK" -w 60s -S "postgresql://ann@$HOST/postgres" --password-file secret job touch had
	local waiter=$STARTED
	wait_until 5s waiters_are 1 job
	start "$DLOCK" -w 60s -S "postgresql://ann:hush@$HOST/postgres" job touch had-too 2>stubborn.log
	local stubborn=$STARTED
	wait_until 5s waiters_are 2 job
	with_password ann other
	echo other >secret
	wait_until 10s confirmed_more_than "$(($(confirmed_count) + 3))"
	waiters_are 2 job
	# Their sessions are ended: one reads the file again, the other has nothing but the old one.
	sql "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'" >/dev/null
	wait_until 10s waiters_are 1 job
	exit_status_of "$stubborn" 20s
	[ "$STATUS" = 77 ]
	grep -F 'password authentication failed' stubborn.log
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 23 ]
	exit_status_of "$waiter"
	[ "$STATUS" = 0 ]
	[ -e had ] && [ ! -e had-too ]
}

@test "no connection left: -n says so with 69, -w waits until there is one, and a holder is not disturbed" {
	local i
	sql 'CREATE ROLE ann LOGIN'
	start_dlock -vv --ttl 2s -S "postgresql://ann@$HOST/postgres" job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 5s pg_held job
	for i in {1..16}; do
		# The sessions of this test's own questions take room, too, for a moment.
		start sh -c 'until [ -e full ]; do "$PG_BIN/psql" -X -q "postgresql://ann@$0/postgres" -c "SELECT pg_sleep(300)"; done' "$HOST" 2>/dev/null
	done
	wait_until 10s says 16 "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'"
	touch full
	run -69 dlock -n -S "postgresql://ann@$HOST/postgres" other true
	assert_output --partial 'remaining connection slots are reserved'
	start "$DLOCK" -w 30s -S "postgresql://ann@$HOST/postgres" other touch had
	run -0 "$PG_BIN/psql" -X -q "$PG_URL" -c ''
	wait_until 10s confirmed_more_than "$(($(confirmed_count) + 2))"
	assert_alive "$STARTED"
	[ ! -e had ]
	sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' LIMIT 1" >/dev/null
	exit_status_of "$STARTED" 20s
	[ "$STATUS" = 0 ]
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 23 ]
}

@test "a server that is not there is 69 at once, with -w too; one that goes while somebody waits is waited for" {
	start_dlock --ttl 30s job sleep 300
	wait_until 5s pg_held job
	start "$DLOCK" -w 60s job touch had
	wait_until 5s waiters_are 1 job
	crash_postgres
	run -69 dlock -w 20s job true
	assert_output --partial "$PG_DIR/.s.PGSQL.$PG_PORT"
	restart_postgres
	exit_status_of "$STARTED" 20s
	[ "$STATUS" = 0 ]
	[ -e had ]
}
