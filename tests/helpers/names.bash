#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A name for servers, dns.example, that a test moves from one address to another.
#
#   load helpers/common; load helpers/names
#   point_at ADDRESS...    what the name stands for from now on; with none it is not known
#   in_names               "${IN_NAMES[@]}" COMMAND runs where that is so: in a mount namespace of its
#                          own, whose /etc/hosts is the test's file
#   start_replica          another server at 127.0.0.2, same port, and in step with the private one;
#                          `replica COMMAND...` asks it. Needs a private one with a TCP port
#   promote_replica        it is the master, and the old one its replica; the name is left alone
#
# shellcheck disable=SC2034 # variables are for the caller

NAME=dns.example

# Written in one go into the same file: that is what is mounted.
point_at() {
	local text=
	[ "$#" -eq 0 ] || printf -v text "%s $NAME\n" "$@"
	printf '127.0.0.1 localhost\n%s' "$text" >"$WORK/hosts"
}

# in_names [COMMAND...]: sets IN_NAMES, what is to stand before a command. It execs, so that the pid of
# a background command is COMMAND's.
in_names() {
	# A name that the file does not have must not be asked for in the network: that takes its own time.
	printf 'hosts: files\n' >"$WORK/nsswitch.conf"
	# shellcheck disable=SC2016 # for the shell inside
	IN_NAMES=(unshare -m sh -c 'mount --bind "$0/hosts" /etc/hosts &&
		mount --bind "$0/nsswitch.conf" /etc/nsswitch.conf && exec "$@"' "$WORK" "$@")
}

replica() {
	redis-cli -s "$REDIS_DIR/replica" --raw "$@"
}

# WAIT is for what its own connection has written, and with that for all before.
replica_in_step() {
	[ "$(redis <<<$'SET in-step yes\nWAIT 1 1000' | tail -n 1)" = 1 ]
}

start_replica() {
	mkdir "$WORK/replica"
	start redis-server --port "$REDIS_PORT" --bind 127.0.0.2 --unixsocket "$REDIS_DIR/replica" \
		--dir "$WORK/replica" --save "" --repl-diskless-sync-delay 0 \
		--replicaof 127.0.0.1 "$REDIS_PORT" >"$WORK/replica/log"
	REPLICA_PID=$STARTED
	wait_until 10s replica_in_step
}

# With all that the old one has been told.
promote_replica() {
	wait_until 5s replica_in_step
	redis REPLICAOF 127.0.0.2 "$REDIS_PORT" >/dev/null
	replica REPLICAOF NO ONE >/dev/null
}
