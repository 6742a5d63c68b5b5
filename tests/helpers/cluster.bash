#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A private Redis Cluster of three masters on this machine, nothing saved.
#
#   start_cluster [--replicas N] [redis-server OPTION...]
#
# sets and exports CLUSTER_DIR, CLUSTER_PORTS, CLUSTER_PIDS (words: of node 0, 1, ...), URL_CLUSTER (which
# names two masters) and DLOCK_SERVER, the same. It takes 2 s, whatever is done: a node takes no writes before. So: one
# for a file, in setup_file, and stop_cluster in teardown_file. Failovers take 1 s from the death of a master. In an
# OPTION @PORT@ stands for the node's own port.
#
#   node N COMMAND...             redis-cli to node N
#   owner_of NAME                 the number of the node that has that lock's slot
#   replica_of N                  a replica of node N
#   at_owner NAME COMMAND...      redis-cli to the node that has it
#   move_slot NAME TO             the slot of that lock, with all its keys, to node TO, as a resharding does it
#   begin_move NAME TO            its first half: the slot is on its way; move_key KEY..., end_move
#   kill_node N; start_node N     KILL; starts it again
#   cluster_calm                  waits until all nodes agree that all is well
#
# shellcheck disable=SC2034 # variables are for the caller

start_cluster() {
	local replicas=0 attempt
	if [ "${1:-}" = --replicas ]; then
		replicas=$2
		shift 2
	fi
	# On a busy machine a node may miss what the others tell it while they meet.
	for attempt in 1 2 3; do
		if create_cluster "$replicas" "$@"; then
			return 0
		fi
		stop_cluster
	done
	return 1
}

create_cluster() {
	local replicas=$1 i count ports=()
	shift
	count=$((3 + 3 * replicas))
	CLUSTER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/dlock-cluster.XXXXXX") || return 1
	CLUSTER_PORTS='' CLUSTER_PIDS='' CLUSTER_SINCE=''
	CLUSTER_OPTIONS=
	[ $# -eq 0 ] || CLUSTER_OPTIONS=$(printf '%q ' "$@")
	export CLUSTER_DIR CLUSTER_PORTS CLUSTER_PIDS CLUSTER_SINCE CLUSTER_OPTIONS
	for ((i = 0; i < count; i++)); do
		mkdir "$CLUSTER_DIR/$i"
		launch_new_node "$i" || return 1
	done
	read -ra ports <<<"$CLUSTER_PORTS"
	redis-cli --cluster create "${ports[@]/#/127.0.0.1:}" --cluster-replicas "$replicas" \
		--cluster-yes >"$CLUSTER_DIR/create" 2>&1 ||
		{ cat "$CLUSTER_DIR/create" >&2; return 1; }
	poll_for 15000 cluster_is_calm || { echo "the cluster does not come about" >&2; node 0 CLUSTER NODES >&2; return 1; }
	URL_CLUSTER=redis+cluster://127.0.0.1:${ports[0]},127.0.0.1:${ports[1]}
	DLOCK_SERVER=$URL_CLUSTER
	export URL_CLUSTER DLOCK_SERVER
}

# The cluster's bus takes the port 10,000 above: both are to be free.
launch_new_node() {
	local attempt
	for attempt in {1..20}; do
		launch_node "$1" $((10000 + (RANDOM * 32768 + RANDOM) % 10000))
		# Who answers at the port of one that has ended is another.
		if poll_for 5000 node_is_up_or_dead "$1" && [ "$(node "$1" PING 2>/dev/null)" = PONG ] &&
			! node_has_ended "$1"; then
			return 0
		fi
		: >"$CLUSTER_DIR/$1/log"
	done
	echo "node $1 does not start (attempt $attempt)" >&2
	return 1
}

# set_word LIST N WORD: in the variable LIST.
set_word() {
	local -n list=$1
	local words
	read -ra words <<<"$list"
	words[$2]=$3
	list=${words[*]}
}

word_of() {
	local words
	read -ra words <<<"$1"
	echo "${words[$2]}"
}

node_port() {
	word_of "$CLUSTER_PORTS" "$1"
}

node_pid() {
	word_of "$CLUSTER_PIDS" "$1"
}

# launch_node N PORT
launch_node() {
	(
		cd "$CLUSTER_DIR/$1" || exit 1
		close_descriptors
		eval "set -- '$2' $CLUSTER_OPTIONS"
		port=$1
		shift
		exec env --default-signal redis-server --port "$port" --bind 127.0.0.1 --dir . --save "" \
			--daemonize no --cluster-enabled yes --cluster-node-timeout 1000 \
			--cluster-replica-validity-factor 0 --repl-diskless-sync-delay 0 "${@//@PORT@/$port}"
	) >>"$CLUSTER_DIR/$1/log" 2>&1 </dev/null &
	set_word CLUSTER_PIDS "$1" "$!"
	set_word CLUSTER_SINCE "$1" "$(start_time_of "$!" || echo gone)"
	set_word CLUSTER_PORTS "$1" "$2"
}

start_node() {
	launch_node "$1" "$(node_port "$1")"
}

node_has_ended() {
	[ "$(start_time_of "$(node_pid "$1")")" != "$(word_of "$CLUSTER_SINCE" "$1")" ] || gone "$(node_pid "$1")"
}

node_is_up_or_dead() {
	[ "$(node "$1" PING 2>/dev/null)" = PONG ] || node_has_ended "$1"
}

kill_node() {
	kill -KILL "$(node_pid "$1")"
	poll_for 2000 node_has_ended "$1"
}

# node N COMMAND...
node() {
	local at=$1
	shift
	redis-cli -p "$(node_port "$at")" --raw "$@"
}

nodes() {
	local words
	read -ra words <<<"$CLUSTER_PORTS"
	echo "${!words[@]}"
}

# node_at PORT: its number.
node_at() {
	local words i
	read -ra words <<<"$CLUSTER_PORTS"
	for i in "${!words[@]}"; do
		[ "${words[i]}" != "$1" ] || echo "$i"
	done
}

# some_node: one that answers.
some_node() {
	local i
	for i in $(nodes); do
		node_has_ended "$i" || { echo "$i"; return; }
	done
}

slot_of() {
	node "$(some_node)" CLUSTER KEYSLOT "lock:$1"
}

# owner_of NAME: as the nodes that answer have it.
owner_of() {
	local slot port
	slot=$(slot_of "$1")
	port=$(node "$(some_node)" CLUSTER NODES | awk -v slot="$slot" '
		$3 ~ /master/ && $3 !~ /fail/ {
			for (i = 9; i <= NF; i++) {
				split($i, range, "-")
				last = range[2] == "" ? range[1] : range[2]
				if ($i !~ /^\[/ && range[1] + 0 <= slot && slot <= last + 0) {
					split($2, place, /[:@]/)
					print place[2]
				}
			}
		}')
	[ -z "$port" ] || node_at "$port"
}

at_owner() {
	local owner
	owner=$(owner_of "$1")
	shift
	node "$owner" "$@"
}

id_of() {
	node "$1" CLUSTER MYID
}

replica_of() {
	local port
	port=$(node "$1" CLUSTER NODES | awk -v id="$(id_of "$1")" '$4 == id && $3 !~ /fail/ { split($2, p, /[:@]/); print p[2]; exit }')
	node_at "$port"
}

# All are up, all slots are served, every replica has a master that it hears.
cluster_is_calm() {
	local i info
	for i in $(nodes); do
		! node_has_ended "$i" || return 1
		info=$(node "$i" CLUSTER INFO 2>/dev/null) || return 1
		[[ $info == *cluster_state:ok* && $info == *"cluster_known_nodes:$(nodes | wc -w)"* ]] || return 1
		[[ $info == *cluster_slots_pfail:0* && $info == *cluster_slots_fail:0* ]] || return 1
		info=$(node "$i" INFO replication 2>/dev/null) || return 1
		[[ $info != *role:slave* || $info == *master_link_status:up* ]] || return 1
	done
	[ "$(for i in $(nodes); do agreed_map "$i"; done | sort -u | wc -l)" = 1 ]
}

# What node N thinks of who has what: a word.
agreed_map() {
	node "$1" CLUSTER NODES | sed 's/myself,//' | awk '{ print $2, $3, $4; for (i = 9; i <= NF; i++) if ($i !~ /^\[/) print $i }' |
		sort | cksum
}

cluster_calm() {
	wait_until 20s cluster_is_calm
}

cluster_flush() {
	local i
	for i in $(nodes); do
		node "$i" FLUSHALL >/dev/null 2>&1 || true # a replica refuses
	done
}

# begin_move NAME TO
begin_move() {
	MOVED_SLOT=$(slot_of "$1")
	MOVED_FROM=$(owner_of "$1")
	MOVED_TO=$2
	node "$2" CLUSTER SETSLOT "$MOVED_SLOT" IMPORTING "$(id_of "$MOVED_FROM")" >/dev/null
	node "$MOVED_FROM" CLUSTER SETSLOT "$MOVED_SLOT" MIGRATING "$(id_of "$2")" >/dev/null
}

move_key() {
	node "$MOVED_FROM" MIGRATE 127.0.0.1 "$(node_port "$MOVED_TO")" "" 0 2000 KEYS "$@" >/dev/null
}

end_move() {
	local keys id i
	mapfile -t keys < <(node "$MOVED_FROM" CLUSTER GETKEYSINSLOT "$MOVED_SLOT" 1000)
	[ "${#keys[@]}" -eq 0 ] || [ -z "${keys[0]}" ] || move_key "${keys[@]}"
	id=$(id_of "$MOVED_TO")
	node "$MOVED_TO" CLUSTER SETSLOT "$MOVED_SLOT" NODE "$id" >/dev/null
	node "$MOVED_FROM" CLUSTER SETSLOT "$MOVED_SLOT" NODE "$id" >/dev/null
	for i in $(nodes); do
		node "$i" CLUSTER SETSLOT "$MOVED_SLOT" NODE "$id" >/dev/null 2>&1 || true # a replica refuses
	done
}

move_slot() {
	begin_move "$1" "$2"
	end_move
}

# other_master NODE: one that is another.
other_master() {
	local i
	for i in $(nodes); do
		[ "$i" = "$1" ] || [[ $(node "$i" ROLE 2>/dev/null) != master* ]] || { echo "$i"; return; }
	done
}

stop_cluster() {
	local i pid
	[ -n "${CLUSTER_DIR:-}" ] || return 0
	for i in $(nodes); do
		pid=$(node_pid "$i")
		node_has_ended "$i" || kill -KILL "$pid" 2>/dev/null || true
		poll_for 2000 node_has_ended "$i" || true
		wait "$pid" 2>/dev/null || true
	done
	[[ "$CLUSTER_DIR" != */dlock-cluster.* ]] || rm -rf "$CLUSTER_DIR"
	CLUSTER_DIR=
}

# -- dlocks -----------------------------------------------------------------------------------------

# token_at_owner NAME: what stands at its key.
token_at_owner() {
	at_owner "$1" GET "lock:$1"
}

is_held() {
	[ "$(at_owner "$1" EXISTS "lock:$1")" = 1 ]
}

# listeners NAME: of the channels of who waits for it, that have one at the owner of the slot.
listeners() {
	local channels
	mapfile -t channels < <(at_owner "$1" PUBSUB SHARDCHANNELS "lock:$1#queue{lock:$1}:*")
	[ -n "${channels[0]:-}" ] || { echo 0; return; }
	at_owner "$1" PUBSUB SHARDNUMSUB "${channels[@]}" | grep -cx 1
}

# hears NAME N: so many of those who wait for it are told by the owner of the slot. Before Redis 7 it has no
# channels that move with the slot: there they ask, and so many are to be in its line.
hears() {
	if server_has 7.0; then
		[ "$(listeners "$1")" = "$2" ]
	else
		[ "$(at_owner "$1" ZCARD "lock:$1#queue{lock:$1}")" = "$2" ]
	fi
}

# within MS [N]: so many milliseconds, and where waiters ask, once a second at least, that for N (1) one after the other.
within() {
	if server_has 7.0; then echo "$1"; else echo $(($1 + 1100 * ${2:-1})); fi
}

holds() {
	start_dlock -vv "$@" sh -c 'echo "$DLOCK_FENCE" >fence; : >holding; read -r line <gate.hold' 5<>gate.hold
	HOLDER=$OUTER
	wait_until 5s test -e holding
}

# waits_for TAG NAME: stands in line, and is told by the owner of the slot where it can tell.
waits_for() {
	start "$DLOCK" -vv "${@:3}" "$2" ./visit "$1" 2>>"waiter.$1"
	WAITER[$1]=$STARTED
}
