#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A part of tests/bench/run: `true` under a free lock that is kept by one server, by three and by five, with
# all of them well, one that stands still, one that is not there. Over Unix sockets.
#
# Who stands still accepts nothing, and the kernel keeps some 500 connections for it: so these run in a
# tenth of the rounds.
#
# shellcheck disable=SC2154 # variables are run's

launch_node() {
	serve "node$node" redis-server --port 0 --unixsocket "$dir/node$node.sock" --dir "$dir" \
		--dbfilename "node$node.rdb" --save '' --daemonize no
}

ready_node() {
	[ "$(redis-cli -s "$dir/node$node.sock" PING)" = PONG ]
}

# quorum_row NAME NODE...
quorum_row() {
	local name=$1 which urls=()
	shift
	for which; do
		urls+=(-S "unix://$dir/node$which.sock")
	done
	[ "$#" = 1 ] || urls+=(--quarantine 0)
	tabbed dlock "$name" 10 "$dlock" "${urls[@]}" bench true >>"$dir/race"
}

measure_quorum() {
	local node
	for node in 1 2 3 4 5 still; do
		start_server node || fail 'a node did not start'
	done
	kill -STOP "${pids[-1]}"
	[ "$rounds" -ge 10 ] || fail 'BENCH_ROUNDS is at least 10 for these'
	tabbed floor 'no lock at all' 1 "$(type -P true)" >"$dir/race"
	quorum_row 'one server' 1
	quorum_row '3 nodes' 1 2 3
	quorum_row '3 nodes, one stands still' 1 still 3
	quorum_row '3 nodes, one is not there' 1 none 3
	quorum_row '5 nodes' 1 2 3 4 5
	quorum_row '5 nodes, one stands still' 1 2 still 4 5
	quorum_row '5 nodes, one is not there' 1 2 none 4 5
	finish times "$programs/race" "$rounds" "$dir/race" || fail "the race broke off"
	sed 's/^/quorum\t/' "$dir/times" >>"$out"
	kill -CONT "${pids[-1]}"
}
