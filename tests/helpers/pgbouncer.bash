#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A pgbouncer in front of PG_DIR's server (helpers/postgres.bash).
#
#   start_pgbouncer MODE [NAME=VALUE...]   MODE: session, transaction, statement; its other settings
#
# sets BOUNCER_PID and BOUNCER_URL. The teardown ends it.
#
# shellcheck disable=SC2034 # variables are for the caller

BOUNCER_DIRS=()

start_pgbouncer() {
	local attempt port
	BOUNCER_DIR=$(new_postgres_dir) || return 1
	BOUNCER_DIRS+=("$BOUNCER_DIR")
	at_teardown remove_bouncers
	echo '"postgres" ""' >"$BOUNCER_DIR/users"
	for attempt in 1 2 3; do
		port=$(free_postgres_port)
		{
			echo '[databases]'
			echo "postgres = host=$PG_DIR port=$PG_PORT dbname=postgres"
			echo '[pgbouncer]'
			printf '%s\n' "pool_mode=$1" listen_addr=127.0.0.1 "listen_port=$port" unix_socket_dir= \
				auth_type=trust "auth_file=$BOUNCER_DIR/users" "${@:2}"
		} >"$BOUNCER_DIR/settings.ini"
		start_bouncer_process
		poll_for 5000 bouncer_up_or_dead "$port"
		! alive "$BOUNCER_PID" || break
	done
	BOUNCER_URL=postgresql://postgres@127.0.0.1:$port/postgres
	grep -q 'process up' "$BOUNCER_DIR/log" || { cat "$BOUNCER_DIR/log" >&2; return 1; }
}

start_bouncer_process() {
	local user=()
	[ "$(id -u)" != 0 ] || user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
	start env "${user[@]}" pgbouncer "$BOUNCER_DIR/settings.ini" >"$BOUNCER_DIR/log" 2>&1
	BOUNCER_PID=$STARTED
}

bouncer_up_or_dead() {
	! alive "$BOUNCER_PID" || (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

remove_bouncers() {
	rm -rf "${BOUNCER_DIRS[@]}"
	BOUNCER_DIRS=()
}
