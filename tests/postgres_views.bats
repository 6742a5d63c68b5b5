#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What --status, --list, --break and --check say of locks in PostgreSQL that is said of no other engine's:
# roles and their rights, foreign sessions, names. engines.bats has the rest.

load helpers/common
load helpers/postgres

setup_file() {
	start_postgres
	sql 'CREATE ROLE ann LOGIN; CREATE ROLE ben LOGIN'
}

teardown_file() {
	stop_postgres
}

setup() {
	common_setup
	end_sessions
	ANN=${PG_URL/postgres@/ann@}
	BEN=${PG_URL/postgres@/ben@}
}

# hold NAME [OPTION...]: as role ann.
hold() {
	DLOCK_SERVER=$ANN start_dlock "${@:2}" "$1" sleep 71
	wait_until 5s held_at "$1"
}

held_at() {
	"$DLOCK" --status "$1" >/dev/null
}

@test "of another role's locks host, pid and fence are seen, and all of it with pg_read_all_stats" {
	hold job --label secret
	run -0 dlock -S "$BEN" --status job
	assert_output --regexp "^job: held by ann@[^ ]+ pid $OUTER \?, for [^ ]+, fence [0-9]+$|^job: held by ann@[^ ]+ pid $OUTER \?, fence [0-9]+$"
	run -75 dlock -S "$BEN" -n job true
	assert_output --regexp "held by ann@[^ ]+ pid $OUTER"
	run -0 dlock -S "$BEN" --list
	assert_output ''
	sql 'GRANT pg_read_all_stats TO ben'
	run -0 dlock -S "$BEN" --status job
	assert_output --regexp "^job: held by [^ ]+ pid $OUTER sleep, for [^ ]+, label secret, fence [0-9]+$"
	run -0 dlock -S "$BEN" --list
	assert_output --partial "pid $OUTER sleep"
	sql 'REVOKE pg_read_all_stats FROM ben'
}

@test "--break says which right is missing, and works with it" {
	hold job
	run -77 dlock -S "$BEN" --break job
	assert_output --regexp "cannot break 'job' .*: ending a session of role ann needs that role, pg_signal_backend"
	held_at job
	sql 'GRANT pg_signal_backend TO ben'
	run -0 dlock -S "$BEN" --break job
	assert_output --regexp "^dlock: broke 'job', held by ann@.*: its session was ended, so that its command is killed at once"
	run -1 dlock --status job
	wait_until 3s gone "$OUTER"
	grep -q 'terminating connection due to administrator command' "$DLOCK_LOG"
	sql 'REVOKE pg_signal_backend FROM ben'
}

@test "--break of a foreign session needs --force; of several holders each is ended, with --token that one" {
	local server="$PG_URL?dlock_key=12"
	start "$PG_BIN/psql" -X -q "$PG_URL" -c 'SELECT pg_advisory_lock(12)' -c 'SELECT pg_sleep(60)'
	DLOCK_SERVER=$server wait_until 5s held_at any
	run -0 dlock -S "$server" --status any
	assert_output --regexp '^any: held by an unknown client \(token psql, backend [0-9]+\)$'
	run -75 dlock -S "$server" --break any
	assert_output --partial "'any' is held by an unknown client (psql, backend "
	assert_output --partial -- '--force ends its session at once'
	run -0 dlock -S "$server" --break --force any
	assert_output --partial "freed 'any' at once"
	run -1 dlock -S "$server" --status any
	hold many -s
	local one=$OUTER
	DLOCK_SERVER=$ANN start_dlock -s many sleep 71
	wait_until 5s has_holders 2 many
	local token
	token=$("$DLOCK" --status --json many | python3 -c '
import json, sys
print(*[h["token"] for h in json.load(sys.stdin)[0]["holders"] if h["pid"] == '"$one"'])')
	run -0 dlock --break --token "$token" many
	wait_until 3s gone "$one"
	alive "$OUTER"
	run -0 dlock --break many
	wait_until 3s gone "$OUTER"
}

has_holders() {
	[ "$("$DLOCK" --status --json "$2" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)[0]["holders"]))')" = "$1" ]
}

@test "names: any bytes are listed as they are; one too long for a session's comment is seen by --status alone" {
	hold "$(printf 'a*/b \303\251 %%41 "x\047')"
	run -0 dlock --list
	assert_output --regexp "^a\*/b é %41 \"x' +held "
	run -0 dlock --list 'a[*]/*'
	assert_output --partial 'held'
	local long
	long=$(printf 'n%.0s' {1..510})
	hold "$long" --label "$(printf 'l%.0s' {1..250})"
	run -0 dlock --status "$long"
	assert_output --partial "pid $OUTER sleep"
	DLOCK_SERVER=$ANN run -0 dlock --prefix other: --list
	assert_output ''
}

@test "--status names those who wait, in the order in which they came" {
	hold job
	DLOCK_SERVER=$ANN start "$DLOCK" -w 60 job true
	wait_until 5s waiters_are "$STARTED"
	local first=$STARTED
	DLOCK_SERVER=$ANN start "$DLOCK" -w 60 -s job true
	wait_until 5s waiters_are "$first $STARTED"
	run -0 dlock --status job
	assert_line --index 0 --partial '; 2 waiting:'
	assert_line --index 1 --partial "  1. root@"
	assert_line --index 2 --partial ", shared"
}

waiters_are() {
	[ "$("$DLOCK" --status --json job | python3 -c 'import json, sys; print(*[w["pid"] for w in json.load(sys.stdin)[0]["waiters"]])')" = "$1" ]
}

@test "--check tells what the server is, what the role may do, and what is wrong" {
	run -0 dlock -S "$BEN" --check
	assert_line --regexp '^version: postgresql [0-9.]+, a primary with 0 standbys, up for [0-9]+s$'
	assert_line --partial 'role: ben, which sees of others'
	assert_line 'works: locks, waiting, messages, watch, shared, slots, status, list, break'
	assert_line --partial 'verdict: works but: fsync is off'
	run -0 dlock -S "$BEN" --check -q
	[ "${#lines[@]}" = 1 ]
	sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'" | grep -qx 0
	run -77 dlock -S "${PG_URL/postgres@/nobody@}" --check
	assert_line --partial 'reached: no: '
}
