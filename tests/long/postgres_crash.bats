#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Fencing numbers of PostgreSQL over crashes and promotions: every later one is higher.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

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

# crash_in_command ARG...: the command notes its number and crashes the server in the same breath.
crash_in_command() {
	local status=0
	FENCE_FILE=$WORK/fences POSTMASTER=$(pg_pid) dlock "$@" \
		sh -c 'echo "$DLOCK_FENCE" >>"$FENCE_FILE"; kill -QUIT "$POSTMASTER"; sleep 20' 2>>"$DLOCK_LOG" || status=$?
	[ "$status" = 79 ] || { echo "status $status instead of 79" >&2; return 1; }
	wait_until 10s postgres_ended "$PG_DIR"
	restart_postgres
}

# assert_rising N: there are N numbers, each higher than the one before.
assert_rising() {
	[ "$(wc -l <fences)" = "$1" ]
	awk 'NR > 1 && ($1 + 0 <= last) { print "number " NR ": " $1 " after " last; exit 1 } { last = $1 + 0 }' fences >&2
}

@test "twenty immediate crashes right after an acquire: every later number is higher" {
	local i
	for i in {1..20}; do
		crash_in_command job
	done
	assert_rising 20
	echo "# $(head -n 1 fences) to $(tail -n 1 fences)" >&3
}

@test "crashes right after an acquire: shared, slots, by a waiter, by a role that wants no sync" {
	local i
	sql 'ALTER ROLE postgres SET synchronous_commit = off'
	sql "ALTER SYSTEM SET wal_writer_delay = '10s'"
	crash_postgres
	restart_postgres
	for i in {1..3}; do
		crash_in_command -s job
		crash_in_command --slots 3 job
		start_dlock job sh -c 'until [ -e go ]; do sleep 0.02; done'
		wait_until 5s pg_held job
		start crash_in_command -w 30s job
		wait_until 10s waiters_are 1 job
		touch go
		exit_status_of "$STARTED" 20s
		[ "$STATUS" = 0 ]
		rm go
	done
	assert_rising 9
}

@test "a promotion: numbers of the new primary are higher, also after it has crashed" {
	local i
	for i in 1 2 3; do
		run -0 dlock job sh -c 'echo "$DLOCK_FENCE" >>fences'
	done
	start_standby
	at_teardown stop_standby
	# Transactions of others, which make the numbers of the old primary run ahead.
	sql 'CREATE TABLE filler (n int)'
	for i in {1..40}; do echo 'INSERT INTO filler VALUES (1);'; done | sql 'SELECT 1' -f - >/dev/null
	run -0 dlock job sh -c 'echo "$DLOCK_FENCE" >>fences'
	# Cut off from the standby, it gives numbers of which the other never learns.
	end_postgres INT "$STANDBY_DIR"
	for i in {1..40}; do echo 'INSERT INTO filler VALUES (1);'; done | sql 'SELECT 1' -f - >/dev/null
	run -0 dlock job sh -c 'echo "$DLOCK_FENCE" >>fences'
	crash_postgres
	restart_postgres "$STANDBY_DIR"
	promote
	run -0 dlock -S "$STANDBY_URL" job sh -c 'echo "$DLOCK_FENCE" >>fences'
	crash_postgres "$STANDBY_DIR"
	restart_postgres "$STANDBY_DIR"
	run -0 dlock -S "$STANDBY_URL" job sh -c 'echo "$DLOCK_FENCE" >>fences'
	assert_rising 7
	[ "$(sed -n 6p fences)" -gt $((2 << 44)) ]
}

stop_standby() {
	stop_postgres "$STANDBY_DIR"
}

@test "a switch-over while a lock is held: the command dies, a waiter with both hosts gets it with a higher number" {
	local both
	start_standby
	at_teardown stop_standby
	both="postgresql://postgres@127.0.0.1:$PG_PORT,127.0.0.1:$STANDBY_PORT/postgres"
	start_witnessed --ttl 10s -S "$both" job
	start_rival -S "$both"
	event
	end_postgres INT
	wait_until 10s witnesses_gone
	assert_between 0 100 "$(died_after_end)" 'from the end of the session to the death, ms'
	promote
	assert_between 0 10000 "$(rival_got_after "$(died_at)")" 'from the death to the next, ms'
	[ "$(cat got.fence)" -gt $((2 << 44)) ]
	exit_status_of "$OUTER"
	[ "$STATUS" = 79 ]
	grep -F "dlock: lost 'job': " "$DLOCK_LOG"
}

@test "--min-fence and fence_base: for who comes from elsewhere, and over a crash" {
	run -69 dlock --min-fence 1000000000000000 job touch ran
	assert_output --partial '?fence_base='
	local url="$PG_URL?${output##*\?}"
	[ ! -e ran ]
	DLOCK_SERVER=$url crash_in_command --min-fence 1000000000000000 job
	DLOCK_SERVER=$url crash_in_command --min-fence 1000000000000000 job
	assert_rising 2
	# What the user remembers of the last time is exceeded by itself.
	DLOCK_SERVER=$url run -0 dlock --min-fence "$(tail -n 1 fences)" job true
	# A waiter is refused too, and neither keeps the lock nor a session.
	start_dlock job sh -c 'until [ -e go ]; do sleep 0.02; done'
	wait_until 5s pg_held job
	start "$DLOCK" -w 20s --min-fence 1000000000000000 job touch ran
	wait_until 5s waiters_are 1 job
	touch go
	exit_status_of "$STARTED"
	[ "$STATUS" = 69 ]
	[ ! -e ran ]
	wait_until 3s says 0 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
	# The sum must fit.
	DLOCK_SERVER="$PG_URL?fence_base=2305843009213693952" run -0 dlock job sh -c 'echo $DLOCK_FENCE'
	[ "$output" -gt 2305843009213693952 ]
}
