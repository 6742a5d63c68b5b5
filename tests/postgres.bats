#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A lock in PostgreSQL (postgresql://): an advisory lock of a session. What a run does there, and what of the
# command line does not go with it. postgres_lost.bats has the ends of sessions, engines.bats what every engine
# does, tests/long/postgres.bats the crashes.

load helpers/common
load helpers/postgres

setup_file() {
	start_postgres max_connections=100
}

teardown_file() {
	stop_postgres
}

# number_of KEY: of its advisory lock.
number_of() {
	local hex
	hex=$(printf %s "$1" | sha256sum)
	echo $((16#${hex:0:16}))
}

# pg_holders NUMBER: sessions that have that advisory lock.
pg_holders() {
	sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND
		classid::bigint << 32 | objid::bigint = $1"
}

pg_free() {
	[ "$(pg_holders "$(number_of "lock:$1")")" = 0 ]
}

pg_held() {
	[ "$(pg_holders "$(number_of "lock:$1")")" = 1 ]
}

setup() {
	common_setup
	end_sessions
}

@test "a lock is the session's advisory lock of the first eight bytes of SHA-256 of its key" {
	start_dlock job sleep 71
	wait_until 5s pg_held job
	[ "$(sql "SELECT pg_try_advisory_lock($(number_of lock:job))")" = f ]
	kill "$OUTER"
	wait_until 5s pg_free job
	run -0 dlock -S "$PG_URL" job true
	run -0 dlock -S "${PG_URL/postgresql:/postgres:}" job true
}

@test "dlock_key names the lock that other programs take, and they exclude each other" {
	local url="$PG_URL?dlock_key=4821"
	DLOCK_SERVER=$url start_dlock any sleep 71
	wait_until 5s sql_says f "SELECT pg_try_advisory_lock(4821)"
	run -75 dlock -n -S "$url" other true
	assert_output --partial 'sleep'
	kill "$OUTER"
	wait_until 5s sql_says t "SELECT pg_try_advisory_lock(4821)"
	start "$PG_BIN/psql" -X -q "$PG_URL" -c 'SELECT pg_advisory_lock(4821)' -c 'SELECT pg_sleep(60)'
	wait_until 5s sql_says f "SELECT pg_try_advisory_lock(4821)"
	run -75 dlock -n -S "$url" any true
	assert_output --regexp "held by an unknown client \(token psql, backend [0-9]+\)$"
	run -0 dlock -n -S "$PG_URL?dlock_key=-4821" any true
}

sql_says() {
	[ "$(sql "$2")" = "$1" ]
}

@test "fencing numbers increase, and are above the timeline's" {
	local last=0
	for _ in 1 2 3; do
		run -0 dlock job sh -c 'echo "$DLOCK_FENCE $DLOCK_NAME $DLOCK_KEY"'
		[[ $output == *' job lock:job' ]]
		[ "${output%% *}" -gt "$last" ]
		last=${output%% *}
	done
	assert_between $((1 << 44)) $((2 << 44)) "$last"
	run -0 dlock -S "$PG_URL?fence_base=4000000000000000" job sh -c 'echo $DLOCK_FENCE'
	assert_between $((4000000000000000 + last)) $((4000000000000000 + (2 << 44))) "$output"
}

@test "--min-fence is exceeded, or the lock is not had, and the URL that would do is named" {
	run -0 dlock --min-fence 1000 job sh -c 'echo $DLOCK_FENCE'
	run -69 dlock --min-fence 8000000000000000 job touch ran
	assert_output --regexp 'would be 1759218[0-9]+, and --min-fence is 8000000000000000: .*\?fence_base=[0-9]+$'
	[ ! -e ran ]
	pg_free job
	DLOCK_SERVER="$PG_URL?${output##*\?}" run -0 dlock --min-fence 8000000000000000 job sh -c 'echo $DLOCK_FENCE'
	[ "$output" -gt 8000000000000000 ]
	# The highest of all: what is named is a base that is taken.
	run -69 dlock --min-fence 4611686018427387904 job true
	DLOCK_SERVER="$PG_URL?${output##*\?}" run -0 dlock --min-fence 4611686018427387904 job sh -c 'echo $DLOCK_FENCE'
	[ "$output" -gt 4611686018427387904 ]
}

# What else shares the session's name space, or does less than it says.
@test "the session's settings are what a lock needs, whatever the user's defaults are" {
	sql "ALTER ROLE postgres SET synchronous_commit = off; ALTER ROLE postgres SET idle_session_timeout = '1s';
		ALTER ROLE postgres SET search_path = evil, pg_catalog; CREATE SCHEMA evil;
		CREATE FUNCTION evil.pg_try_advisory_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true';
		CREATE FUNCTION evil.no(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT false';
		CREATE OPERATOR evil.= (LEFTARG = int, RIGHTARG = int, FUNCTION = evil.no)"
	at_teardown reset_role
	start_dlock job sleep 71
	wait_until 5s pg_held job
	run -75 dlock -n job true
	assert_output --partial 'sleep'
	pause 1.5
	pg_held job
}

reset_role() {
	PGOPTIONS='-c search_path=pg_catalog' sql \
		"ALTER ROLE postgres RESET ALL; DROP SCHEMA IF EXISTS evil CASCADE"
}

@test "a user without any right but to connect has locks, fences, waiting and messages" {
	sql "CREATE ROLE nobody LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC; REVOKE TEMP ON DATABASE postgres FROM PUBLIC"
	local url=${PG_URL/postgres@/nobody@}
	DLOCK_SERVER=$url start_dlock job sleep 1
	wait_until 5s pg_held job
	run -0 dlock -S "$url" -w 10 job sh -c 'echo $DLOCK_FENCE'
	# Of another user's session he sees only what all see.
	start_dlock job sleep 71
	wait_until 5s pg_held job
	run -75 dlock -n -S "$url" job true
	assert_output --regexp "held by postgres@[^ ]+ pid $OUTER "
}

@test "who waits is woken by the release, not by the next look" {
	start_dlock job sh -c 'sleep 1.5; "$TOOLS/boottime" >released'
	wait_until 5s pg_held job
	start "$DLOCK" -w 20 job sh -c '"$TOOLS/boottime" >got'
	wait_until 10s test -s got
	assert_between 0 150 "$(elapsed_ms "$(cat released)" "$(cat got)")" "from the end of the command to the next one's start, ms"
}

@test "R64 a waiter that a signal ends leaves neither a session nor a lock behind" {
	start_dlock job sleep 71
	wait_until 5s pg_held job
	local before
	before=$(sql 'SELECT count(*) FROM pg_stat_activity')
	start "$DLOCK" -w 60 job true
	local waiter=$STARTED
	wait_until 5s sql_says "$((before + 1))" 'SELECT count(*) FROM pg_stat_activity'
	start_clock
	kill -TERM "$waiter"
	local ended=0
	wait "$waiter" || ended=$?
	[ "$ended" = 143 ]
	assert_between 0 300 "$(clock_ms)" 'a waiter to end, ms'
	wait_until 3s sql_says "$before" 'SELECT count(*) FROM pg_stat_activity'
}

@test "what does not go with PostgreSQL is refused, with the reason" {
	run -64 dlock --at-least 1s job true
	assert_output --partial '--at-least does not go with PostgreSQL: its locks end with the session'
	run -64 dlock --ttl 25d job true
	assert_output --partial '--ttl does not go with PostgreSQL: at most 24d: after 24 days and some hours it ends any silent session'
	run -0 dlock --ttl 24d job true
	run -64 dlock --wait-replicas 1 job true
	assert_output --partial 'synchronous_standby_names'
	run -64 dlock --fence counter job true
	assert_output --partial 'would need a table'
	run -64 dlock --cacert x.pem job true
	assert_output --partial 'sslmode=verify-full, sslrootcert'
	run -64 dlock --slots 2 -S "$PG_URL?dlock_key=1" job true
	assert_output --partial 'dlock_key in the server URL is the number of one lock'
	run -64 dlock -S "$PG_URL" -S "$PG_URL_UNIX" job true
	assert_output --partial 'is no member of a quorum: PostgreSQL keeps a lock by itself'
	run -64 dlock -S redis://h -S "$PG_URL" job true
	assert_output --partial 'is no member of a quorum'
	run -64 dlock -S "$PG_URL?target_session_attrs=standby" job true
	assert_output --partial 'a lock needs a primary'
	run -64 dlock -S "$PG_URL?dlock_key=x" job true
	assert_output --partial 'bad dlock_key'
	run -64 dlock -S "$PG_URL?fence_base=-1" job true
	assert_output --partial 'bad fence_base'
	run -64 dlock -S "$PG_URL?speed=9" job true
	assert_output --partial 'libpq says: invalid URI query parameter: "speed"'
	DLOCK_SERVER="$PG_URL?speed=9" run -78 dlock job true
}

@test "passwords: in the URL, of a file, of ~/.pgpass, PGPASSWORD; a bad one is 77 and is not shown" {
	sql "CREATE ROLE ann LOGIN PASSWORD 'hush%'"
	sed -i '1i host all ann 127.0.0.1/32 scram-sha-256' "$PG_DIR/data/pg_hba.conf"
	sql 'SELECT pg_reload_conf()'
	local host=127.0.0.1:$PG_PORT/postgres
	unset DLOCK_SERVER
	run -0 dlock -S "postgresql://ann:hush%25@$host" job true
	run -0 dlock -S "postgresql://ann@$host?password=hush%25" job true
	echo 'hush%' >secret
	run -0 dlock -S "postgresql://ann@$host" --password-file secret job true
	DLOCK_PASSWORD=hush% run -0 dlock -S "postgresql://ann@$host" job sh -c 'echo ${DLOCK_PASSWORD-unset}'
	assert_output unset
	PGPASSWORD=hush% run -0 dlock -S "postgresql://ann@$host" job true
	echo "127.0.0.1:$PG_PORT:*:ann:hush%" >pgpass
	chmod 600 pgpass
	PGPASSFILE=$PWD/pgpass run -0 dlock -S "postgresql://ann@$host" job true
	run -77 dlock -S "postgresql://ann:lies@$host" job true
	assert_output --partial 'password authentication failed for user "ann"'
	refute_output --partial lies
	REDISCLI_AUTH=hush% run -77 dlock -S "postgresql://ann@$host" job true
	assert_output --partial 'no password supplied'
	start "$DLOCK" -S "postgresql://ann:hush%25@$host?sslpassword=quiet" job sleep 71
	wait_until 5s pg_held job
	run ! grep -aE 'hush|quiet' "/proc/$STARTED/cmdline"
}

@test "service files, several hosts, and the first that is a primary" {
	printf '[lock]\nhost=127.0.0.1\nport=%s\nuser=postgres\ndbname=postgres\n' "$PG_PORT" >services
	PGSERVICEFILE=$PWD/services run -0 dlock -S 'postgresql:///?service=lock' job true
	PGSERVICEFILE=$PWD/services PGSERVICE=lock run -0 dlock -S 'postgresql://' job true
	PGHOST=127.0.0.1 PGPORT=$PG_PORT PGUSER=postgres run -0 dlock -S 'postgresql:///postgres' job true
	# The first one is not there.
	run -0 dlock -S "postgresql://postgres@127.0.0.1:1,localhost:$PG_PORT/postgres" job true
	run -69 dlock -S "postgresql://postgres@127.0.0.1:1/postgres" job true
	assert_output --partial 'Connection refused'
	run -69 dlock -S "postgresql://postgres@127.0.0.1:$PG_PORT/nowhere" job true
	assert_output --partial 'database "nowhere" does not exist'
	run -69 dlock -S "postgresql://postgres@no-such-host.invalid/postgres" job true
	assert_output --partial "cannot look up 'no-such-host.invalid'"
	# What libpq would look up itself, and wait for.
	run -69 dlock -S "postgresql://postgres@$(printf 'a%s.invalid,' {1..8})a9.invalid/postgres" job true
	assert_output --partial 'too many hosts are names: at most 8 can be looked up, others must be addresses'
	run -69 dlock -S "postgresql://postgres@$(printf '127.0.0.%s:1,' {1..16})127.0.0.1:$PG_PORT/postgres" job true
	assert_output --partial 'too many hosts: at most 16 can be named'
}

@test "a machine without libpq gets one clear line, and 71" {
	run -71 env LD_PRELOAD="$TOOLS/no_libssl_preload.so" "$DLOCK" job true
	assert_output --regexp '^dlock: PostgreSQL needs libpq, and this machine has no libpq.so.5 that can be loaded'
	[ "${#lines[@]}" = 1 ]
	DLOCK_SERVER=redis://127.0.0.1:1 run -69 env LD_PRELOAD="$TOOLS/no_libssl_preload.so" "$DLOCK" job true
}
