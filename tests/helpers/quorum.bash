#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Several private servers, nodes of a quorum, numbered from 1.
#
#   start_quorum N [redis-server OPTION...]
#
# sets and exports NODES (N), NODE_DIRS, DLOCK_SERVER (their URLs, a blank between two: Unix sockets) and
# DLOCK_CONFIG, a file by which a node votes from its start on (quarantine = 0). In setup_file it serves the
# whole file (stop_quorum in teardown_file, fresh_quorum in each test); in a test, that test alone. An option of
# redis-server may be given for all of them; for one, restart_node has room.
#
#   node K COMMAND...    one command to it          url_of_node K, tcp_url_of_node K
#   freeze_node K        it stops; thaw_node K
#   kill_node K          it is gone, with all that it knew; restart_node K [OPTION...]: it is back, empty
#   forget_node K        the same at once           cut_node K: its clients are cut off, nothing else
#   on_nodes COUNT NAME  for wait_until: so many nodes have the key of NAME, no more and no fewer
#   start_node_proxy K   tests/tools/flaky_proxy before it: url_of_proxy K, tell_proxy K ORDER...
#
# NODE_CLOCKS=(LINE...) start_quorum: what tests/tools/server_clock_preload.c reads, for each node; it is in
# $(dir_of_node K).clock.
#
# shellcheck disable=SC2034 # variables are for the caller

start_quorum() {
	local k clock dirs=()
	NODES=$1
	shift
	NODE_URLS=
	for ((k = 1; k <= NODES; k++)); do
		if [ -n "${NODE_CLOCKS[*]:-}" ]; then
			clock=$(mktemp "${TMPDIR:-/tmp}/dlock-clock.XXXXXX")
			echo "${NODE_CLOCKS[k - 1]}" >"$clock"
			SERVER_CLOCK=$clock LD_PRELOAD=$TOOLS/server_clock_preload.so start_redis "$@"
			ln -s "$clock" "$REDIS_DIR.clock"
		else
			start_redis "$@"
		fi
		echo "$REDIS_PID $REDIS_SINCE" >"$REDIS_DIR/pid"
		echo "$REDIS_PORT" >"$REDIS_DIR/port"
		dirs+=("$REDIS_DIR")
		NODE_URLS+="${NODE_URLS:+ }$URL_UNIX"
		REDIS_PID=
	done
	NODE_DIRS=${dirs[*]}
	REDIS_OF_TEST=
	[ -z "${BATS_TEST_NAME:-}" ] || at_teardown stop_quorum
	DLOCK_SERVER=$NODE_URLS
	DLOCK_CONFIG=${dirs[0]}/conf
	echo 'quarantine = 0' >"$DLOCK_CONFIG"
	export NODES NODE_DIRS NODE_URLS DLOCK_SERVER DLOCK_CONFIG REDIS_PID
}

dir_of_node() {
	local dirs
	read -ra dirs <<<"$NODE_DIRS"
	echo "${dirs[$1 - 1]}"
}

url_of_node() {
	echo "unix://$(dir_of_node "$1")/s"
}

tcp_url_of_node() {
	echo "redis://127.0.0.1:$(<"$(dir_of_node "$1")/port")"
}

node() {
	local dir
	dir=$(dir_of_node "$1")
	shift
	known_rights "$@"
	redis-cli -s "$dir/s" --raw "${RIGHTS[@]}"
}

# Prints the pid; 1: it does not run.
pid_of_node() {
	local pid since
	read -r pid since <"$(dir_of_node "$1")/pid"
	[ "$(start_time_of "$pid")" = "$since" ] && alive "$pid" && echo "$pid"
}

node_is_gone() {
	! pid_of_node "$1" >/dev/null
}

freeze_node() {
	kill -STOP "$(pid_of_node "$1")"
	wait_until 2s is_stopped "$(pid_of_node "$1")"
}

is_stopped() {
	[[ $(ps -o stat= -p "$1") == T* ]]
}

thaw_node() {
	kill -CONT "$(pid_of_node "$1")"
}

kill_node() {
	local pid
	pid=$(pid_of_node "$1") || return 0
	kill -KILL "$pid"
	wait_until 2s node_is_gone "$1"
	wait_until 2s node_refuses "$1" # its socket is closed a moment later
}

node_refuses() {
	[[ "$(node "$1" PING 2>&1)" == *refused* ]]
}

node_answers() {
	[ "$(node "$1" PING 2>/dev/null)" = PONG ]
}

# With what it was started with is not kept: the same socket and port, and the options given.
restart_node() {
	local dir k=$1
	dir=$(dir_of_node "$k")
	shift
	kill_node "$k"
	rm -f "$dir/s"
	(
		cd "$dir" || exit 1
		close_descriptors
		exec env --default-signal redis-server --port "$(<port)" --bind 127.0.0.1 \
			--unixsocket "$dir/s" --dir "$dir" --save "" --daemonize no "$@"
	) >>"$dir/log" 2>&1 </dev/null &
	echo "$! $(start_time_of "$!")" >"$dir/pid"
	wait_until 5s node_answers "$k"
}

# As a crash without persistence does, in a moment: also a restart's other run id.
forget_node() {
	restart_node "$1"
}

cut_node() {
	node "$1" CLIENT KILL TYPE normal SKIPME yes >/dev/null
}

# All run, are empty, and have no clients left.
fresh_quorum() {
	local k
	for ((k = 1; k <= NODES; k++)); do
		if pid_of_node "$k" >/dev/null; then
			thaw_node "$k"
		else
			restart_node "$k"
		fi
		wait_until 5s node_answers "$k"
		node "$k" FLUSHALL >/dev/null
	done
	REDIS_SOCK=$(dir_of_node 1)/s # for show_scene
	export DLOCK_CONFIG=${REDIS_SOCK%/s}/conf
}

stop_quorum() {
	local k pid dir
	for ((k = 1; k <= NODES; k++)); do
		dir=$(dir_of_node "$k")
		if pid=$(pid_of_node "$k"); then
			kill -KILL "$pid" 2>/dev/null || true
			poll_for 2000 node_is_gone "$k" || true
		fi
		[ ! -L "$dir.clock" ] || rm -f "$(readlink "$dir.clock")" "$dir.clock"
		[[ "$dir" != */dlock-redis.* ]] || rm -rf "$dir"
	done
}

start_node_proxy() {
	local dir
	dir=$(mktemp -d "${TMPDIR:-/tmp}/dlock-proxy.XXXXXX") || return 1
	NODE_PROXIES[$1]=$dir
	at_teardown remove_node_proxies
	start "$TOOLS/flaky_proxy" "$dir/control" "$dir/log" "unix:$(dir_of_node "$1")/s" >"$dir/port"
	wait_until 3s test -s "$dir/port"
}

remove_node_proxies() {
	rm -rf "${NODE_PROXIES[@]}"
}

url_of_proxy() {
	echo "redis://127.0.0.1:$(<"${NODE_PROXIES[$1]}/port")"
}

tell_proxy() {
	local dir=${NODE_PROXIES[$1]}
	shift
	"$TOOLS/flaky_proxy" tell "$dir/control" "$*"
}

rfence_key_of() {
	echo "lock:$1#rfence{lock:$1}"
}

# What stands at NAME on each node that answers, a line each.
values_on_nodes() {
	local k
	for ((k = 1; k <= NODES; k++)); do
		pid_of_node "$k" >/dev/null || continue
		is_stopped "$(pid_of_node "$k")" || node "$k" GET "lock:$1"
	done
}

on_nodes() {
	[ "$(values_on_nodes "$2" | grep -c .)" = "$1" ]
}

# strictly_increasing FILE: a number a line, each greater than the one before; their count otherwise.
strictly_increasing() {
	[ -s "$1" ] || { echo "no numbers" >&2; return 1; }
	LC_ALL=C sort -n -u -c "$1" || { cat "$1" >&2; return 1; }
}
