#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A private PostgreSQL: own directory, Unix socket and TCP port, of a user that is not root.
#
#   load helpers/common
#   load helpers/postgres
#   setup_file() { start_postgres; }         one server for the file ...
#   teardown_file() { stop_postgres; }
#
# or, where a test stops or crashes it, one for each test:
#
#   setup() { common_setup; start_postgres; at_teardown stop_postgres; }
#
#   start_postgres [NAME=VALUE...]           settings of the server, say max_connections=300; PG_LAUNCHER is put
#                                            before it, say nsenter
#
# sets and exports PG_DIR (its directory; the data is in PG_DIR/data, the log in PG_DIR/log), PG_PORT, PG_URL
# (TCP), PG_URL_UNIX (its Unix socket) and DLOCK_SERVER, the Unix one. The superuser is postgres, who needs
# no password. A server is named by its directory; without one PG_DIR's is meant:
#
#   sql 'SELECT 1'                           of PG_DIR's server; sql_of DIR 'SELECT 1' of another one
#   stop_postgres [DIR]                      ends it and removes its directory, a stopped one too
#   restart_postgres [DIR]                   starts one again that has ended: same data, same port
#   end_postgres SIGNAL [DIR]                INT: sessions are ended at once; QUIT: as after a crash
#   crash_postgres [DIR]                     end_postgres QUIT
#   pg_pid [DIR]                             of its postmaster
#   start_standby                            a streaming standby of PG_DIR's server: sets and exports STANDBY_DIR,
#                                            STANDBY_PORT, STANDBY_URL; stopped by stop_postgres "$STANDBY_DIR"
#   promote [DIR]                            makes the standby (STANDBY_DIR's) a primary
#
# shellcheck disable=SC2034 # variables are for the caller

PG_LAUNCHER=()
PG_BIN=$(pg_config --bindir 2>/dev/null) || true
[ -x "$PG_BIN/postgres" ] || for PG_BIN in /usr/lib/postgresql/*/bin; do :; done
export PG_BIN

# as_postgres COMMAND...: PostgreSQL refuses to run as root.
as_postgres() {
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=postgres --regid=postgres --clear-groups "$@"
	else
		"$@"
	fi
}

# new_postgres_dir: an empty directory of that user; a Unix socket's path has 107 bytes.
new_postgres_dir() {
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/dlock-pg.XXXXXX") || return 1
	[ "$(id -u)" != 0 ] || chown postgres:postgres "$dir" || return 1
	chmod 755 "$dir"
	echo "$dir"
}

# make_postgres_data DIR: what initdb makes is made once for a file, and copied.
make_postgres_data() {
	local template=${BATS_FILE_TMPDIR:-$BATS_RUN_TMPDIR}/postgres-template
	if [ ! -d "$template" ]; then
		(cd "$1" && as_postgres "$PG_BIN/initdb" -D "$1/data" -U postgres -A trust --no-sync \
			--no-instructions --wal-segsize=1 -E UTF8 --locale=C) >"$1/initdb.log" 2>&1 ||
			{ cat "$1/initdb.log" >&2; return 1; }
		cp -a "$1/data" "$template"
	else
		cp -a "$template" "$1/data"
	fi
}

# Below the range from which the kernel takes ports for outgoing connections.
free_postgres_port() {
	local port attempt
	for attempt in {1..50}; do
		port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return 0; }
	done
	return 1
}

# launch_postgres DIR: with the settings in DIR/settings and the port in DIR/port.
launch_postgres() {
	local user=() options=() setting
	while read -r setting; do
		options+=(-c "$setting")
	done <"$1/settings"
	(
		cd "$1" || exit 1
		close_descriptors
		unset DLOCK_TEST_MARK # it is the file's, or lives as long as its test wants it to
		[ "$(id -u)" != 0 ] || user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
		exec "${PG_LAUNCHER[@]}" env --default-signal "${user[@]}" "$PG_BIN/postgres" -D "$1/data" -p "$(cat "$1/port")" \
			-k "$1" -h 127.0.0.1 "${options[@]}"
	) >>"$1/log" 2>&1 </dev/null &
	echo "$! $(start_time_of "$!")" >"$1/pid"
}

# postgres_ready DIR: it takes connections; a standby too.
postgres_ready() {
	[[ "$(sed -n 8p "$1/data/postmaster.pid" 2>/dev/null)" =~ ^(ready|standby) ]]
}

postgres_up_or_dead() {
	postgres_ready "$1" || ! pg_pid "$1" >/dev/null
}

# run_postgres DIR: launches it and waits until it is ready, on another port where that one is taken.
run_postgres() {
	local attempt
	for attempt in {1..5}; do
		launch_postgres "$1"
		poll_for 30000 postgres_up_or_dead "$1"
		postgres_ready "$1" && pg_pid "$1" >/dev/null && return 0
		grep -qi 'address already in use' "$1/log" || break
		free_postgres_port >"$1/port"
		: >"$1/log"
	done
	echo "postgres did not start (attempt $attempt):" >&2
	cat "$1/log" >&2
	return 1
}

start_postgres() {
	local -
	set +T # as in untraced
	PG_DIR=$(new_postgres_dir) && make_postgres_data "$PG_DIR" || return 1
	printf '%s\n' fsync=off autovacuum=off shared_buffers=16MB dynamic_shared_memory_type=mmap log_line_prefix='%m [%p] ' "$@" >"$PG_DIR/settings"
	free_postgres_port >"$PG_DIR/port"
	run_postgres "$PG_DIR" || return 1
	PG_PORT=$(cat "$PG_DIR/port")
	PG_URL=postgresql://postgres@127.0.0.1:$PG_PORT/postgres
	PG_URL_UNIX="postgresql://postgres@/postgres?host=$PG_DIR&port=$PG_PORT"
	DLOCK_SERVER=$PG_URL_UNIX
	export PG_DIR PG_PORT PG_URL PG_URL_UNIX DLOCK_SERVER
}

restart_postgres() {
	local -
	set +T
	rm -f "${1:-$PG_DIR}/data/postmaster.pid" # a crashed one leaves it, and the pid may be somebody's now
	run_postgres "${1:-$PG_DIR}"
}

pg_pid() {
	local pid since
	read -r pid since 2>/dev/null <"${1:-$PG_DIR}/pid" || return 1
	[ "$(start_time_of "$pid")" = "$since" ] && alive "$pid" && echo "$pid"
}

postgres_ended() {
	! pg_pid "$1" >/dev/null
}

# The descendants are gone, too: they keep the data's shared memory until then.
end_postgres() {
	local - dir=${2:-$PG_DIR} pid pids
	set +T
	pid=$(pg_pid "$dir") || return 0
	mapfile -t pids < <(descendants "$pid")
	kill "-$1" "$pid" || true
	kill -CONT "$pid" "${pids[@]}" 2>/dev/null || true
	poll_for 10000 postgres_ended "$dir" || { kill -KILL "$pid" "${pids[@]}" 2>/dev/null || true; }
	poll_for 5000 postgres_ended "$dir"
}

crash_postgres() {
	end_postgres QUIT "${1:-$PG_DIR}"
}

stop_postgres() {
	local - dir=${1:-${PG_DIR:-}}
	set +T
	[ -n "$dir" ] || return 0
	end_postgres QUIT "$dir"
	[[ "$dir" != */dlock-pg.* ]] || rm -rf "$dir"
	[ "$dir" != "${PG_DIR:-}" ] || PG_DIR=
}

sql_of() {
	timeout 20 "$PG_BIN/psql" -X -q -A -t -v ON_ERROR_STOP=1 -U postgres -h "$1" -p "$(cat "$1/port")" \
		-d postgres "${@:3}" -c "$2"
}

# sql QUERY [PSQL-OPTION...]
sql() {
	sql_of "$PG_DIR" "$@"
}

# end_sessions: of tests before; none is left.
end_sessions() {
	sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND
		pid <> pg_backend_pid()" >/dev/null
	wait_until 5s no_sessions
}

no_sessions() {
	[ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")" = 1 ]
}

standby_streams() {
	[ "$(sql "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'")" -ge 1 ]
}

start_standby() {
	local -
	set +T
	STANDBY_DIR=$(new_postgres_dir) || return 1
	as_postgres "$PG_BIN/pg_basebackup" -D "$STANDBY_DIR/data" -R --no-sync -c fast -X stream \
		-h "$PG_DIR" -p "$PG_PORT" -U postgres || return 1
	cp "$PG_DIR/settings" "$STANDBY_DIR/settings"
	free_postgres_port >"$STANDBY_DIR/port"
	run_postgres "$STANDBY_DIR" || return 1
	STANDBY_PORT=$(cat "$STANDBY_DIR/port")
	STANDBY_URL=postgresql://postgres@127.0.0.1:$STANDBY_PORT/postgres
	export STANDBY_DIR STANDBY_PORT STANDBY_URL
	wait_until 20s standby_streams
}

promote() {
	[ "$(sql_of "${1:-$STANDBY_DIR}" 'SELECT pg_promote(true, 30)')" = t ]
}
