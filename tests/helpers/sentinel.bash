#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A master, two replicas and three sentinels, for a whole file:
#
#   load helpers/common
#   load helpers/sentinel
#   setup_file() { start_set; }
#   teardown_file() { stop_set; }
#   setup() { common_setup; mend_set; }
#
# Servers are numbered from 1 to 3, node 1 is the master at first; sentinels too. SET_URL names all
# three sentinels.
#
# shellcheck disable=SC2034 # variables are for the caller

# launch NAME COMMAND...: in the set's directory; its pid goes to NAME.pid.
launch_in_set() {
	local name=$1
	shift
	(
		cd "$SET_DIR" || exit 1
		close_descriptors
		exec env --default-signal "$@"
	) >>"$SET_DIR/$name.log" 2>&1 </dev/null &
	echo "$! $(start_time_of "$!")" >"$SET_DIR/$name.pid"
}

# pid_in_set NAME: of a process that still runs; else nothing, and false.
pid_in_set() {
	local pid since
	[ -e "$SET_DIR/$1.pid" ] || return 1
	read -r pid since <"$SET_DIR/$1.pid"
	[ "$(start_time_of "$pid")" = "$since" ] && alive "$pid" && echo "$pid"
}

# ask PORT COMMAND...: one command, raw.
ask() {
	local port=$1
	shift
	timeout 3 redis-cli -h 127.0.0.1 -p "$port" --raw "$@" 2>/dev/null
}

# node PORT of NUMBER; sentinel port of NUMBER.
node_port() { echo $((SET_PORT + $1)); }
sentinel_port() { echo $((SET_PORT + 10 + $1)); }

launch_node() {
	launch_in_set "node$1" redis-server --port "$(node_port "$1")" --bind 127.0.0.1 --dir "$SET_DIR" \
		--dbfilename "node$1.rdb" --save "" --repl-diskless-sync yes --repl-diskless-sync-delay 0 \
		--daemonize no "${@:2}"
}

launch_sentinel() {
	launch_in_set "sentinel$1" redis-server "$SET_DIR/sentinel$1.conf" --sentinel
}

answers() { [ "$(ask "$1" PING)" = PONG ]; }

# The master has so many replicas online.
has_replicas() {
	[ "$(ask "$1" INFO replication | grep -c '^slave[0-9]*:.*state=online')" -eq "$2" ]
}

# A sentinel knows the other two and both replicas, and thinks well of them.
knows_all() {
	local state
	state=$(ask "$1" SENTINEL MASTER main | paste -sd' ')
	[[ $state == *" num-slaves 2 "* && $state == *" num-other-sentinels 2 "* && $state == *" flags master "* ]] &&
		! ask "$1" SENTINEL REPLICAS main | grep -qE '^(s_down|o_down|slave,.*|s_down,.*)$'
}

# The port of the master, as a sentinel says.
master_port() {
	ask "$(sentinel_port "${1:-1}")" SENTINEL GET-MASTER-ADDR-BY-NAME main | tail -n 1
}

# Below the range from which the kernel takes ports for outgoing connections; nobody listens there.
choose_ports() {
	local attempt i
	for attempt in {1..50}; do
		SET_PORT=$((20000 + 20 * (RANDOM % 590)))
		for i in 1 2 3 4 5 11 12 13 14; do
			(exec 3<>"/dev/tcp/127.0.0.1/$((SET_PORT + i))") 2>/dev/null && continue 2
		done
		return 0
	done
	return 1
}

start_set() {
	local i attempt
	for attempt in 1 2 3 4; do
		SET_DIR=$(mktemp -d "${TMPDIR:-/tmp}/dlock-set.XXXXXX") || return 1
		choose_ports || return 1
		export SET_DIR SET_PORT
		launch_node 1
		launch_node 2 --replicaof 127.0.0.1 "$(node_port 1)"
		launch_node 3 --replicaof 127.0.0.1 "$(node_port 1)"
		poll_for 20000 has_replicas "$(node_port 1)" 2 && break
		# Somebody took a port meanwhile.
		if [ "$attempt" = 4 ] || ! grep -qi 'address already in use' "$SET_DIR"/*.log; then
			cat "$SET_DIR"/*.log >&2
			return 1
		fi
		stop_set
	done
	for i in 1 2 3; do
		{
			echo "port $(sentinel_port "$i")"
			echo "bind 127.0.0.1"
			echo "dir $SET_DIR"
			echo "sentinel monitor main 127.0.0.1 $(node_port 1) 2"
			echo "sentinel down-after-milliseconds main 500"
			echo "sentinel failover-timeout main 4000"
			echo "sentinel parallel-syncs main 2"
		} >"$SET_DIR/sentinel$i.conf"
		launch_sentinel "$i"
	done
	SET_URL=redis+sentinel://127.0.0.1:$(sentinel_port 1),127.0.0.1:$(sentinel_port 2),127.0.0.1:$(sentinel_port 3)/main
	DLOCK_SERVER=$SET_URL
	export SET_URL DLOCK_SERVER
	for i in 1 2 3; do
		poll_for 15000 knows_all "$(sentinel_port "$i")" || { cat "$SET_DIR"/*.log >&2; return 1; }
	done
}

# All run, and agree; whatever a test before has stopped or killed.
mend_set() {
	local i pid port
	for i in 1 2 3; do
		if pid=$(pid_in_set "node$i"); then kill -CONT "$pid"; else launch_node "$i"; fi
		if pid=$(pid_in_set "sentinel$i"); then kill -CONT "$pid"; else launch_sentinel "$i"; fi
	done
	wait_until 30s set_is_whole
	port=$(master_port)
	ask "$port" FLUSHALL >/dev/null
}

set_is_whole() {
	local i port
	port=$(master_port 1)
	[ -n "$port" ] && [ "$port" = "$(master_port 2)" ] && [ "$port" = "$(master_port 3)" ] &&
		has_replicas "$port" 2 || return 1
	for i in 1 2 3; do
		knows_all "$(sentinel_port "$i")" || return 1
	done
}

# The number of the node that has that port.
node_of() {
	echo $(($1 - SET_PORT))
}

# signal_node SIGNAL PORT
signal_node() {
	kill "-$1" "$(pid_in_set "node$(node_of "$2")")"
}

signal_sentinel() {
	kill "-$1" "$(pid_in_set "sentinel$2")"
}

# another_master PORT: the sentinels agree on a master that is not at PORT.
another_master() {
	local port
	port=$(master_port 1)
	[ -n "$port" ] && [ "$port" != "$1" ] && [ "$port" = "$(master_port 2)" ]
}

stop_set() {
	local name pid
	for name in sentinel1 sentinel2 sentinel3 node1 node2 node3; do
		pid=$(pid_in_set "$name") || continue
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	[[ "$SET_DIR" != */dlock-set.* ]] || rm -rf "$SET_DIR"
}
