#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Failovers through sentinels: planned ones, masters that freeze and wake, writes that are lost. There
# are never two living commands, whatever server each of them believes in.

load ../helpers/common
load ../helpers/line
load ../helpers/sentinel

setup_file() { start_set; }
teardown_file() { stop_set; }

setup() {
	common_setup
	mend_set
}

# A command that knows whether it is alone: it holds a flock(1) of this machine for as long as it lives,
# and its fencing number must be higher than the last.
write_command() {
	cat >alone.sh <<'END'
#!/bin/bash
exec 9>>alone
if ! flock -n 9; then
	echo "$DLOCK_FENCE" >>overlaps
fi
read -r last <fence 2>/dev/null || last=0
[ "$DLOCK_FENCE" -gt "$last" ] || echo "$last, then $DLOCK_FENCE" >>overlaps
echo "$DLOCK_FENCE" >fence
echo "$EPOCHREALTIME" >>runs
sleep "${1:-0.3}"
END
	chmod +x alone.sh
	: >overlaps
	: >runs
}

# contend TTL SECONDS: takes the lock again and again, each time for so long.
contend() {
	start bash -c 'while [ ! -e enough ]; do "$DLOCK" -t "$1" -w 20s job ./alone.sh "$2" 2>>contenders.log; done' \
		contender "$@"
}

nobody_overlapped() {
	[ ! -s overlaps ] || { echo "overlaps: $(cat overlaps)"; tail -n 50 contenders.log; return 1; }
}

runs() {
	wc -l <runs
}

more_runs_than() {
	[ "$(runs)" -gt "$1" ]
}

planned_failover() {
	[ "$(ask "$(sentinel_port 1)" SENTINEL FAILOVER main)" = OK ]
}

@test "20 planned failovers while a lock is held and others try: never two living commands, fences rise" {
	local i old before gaps=() worst=0
	write_command
	contend 6s 0.3
	contend 6s 2
	contend 6s 0.05
	wait_until 10s more_runs_than 3
	for i in {1..20}; do
		wait_until 60s set_is_whole
		old=$(master_port)
		wait_until 5s planned_failover
		start_clock
		wait_until 20s another_master "$old"
		before=$(runs)
		wait_until 40s more_runs_than $((before + 2))
		gaps+=("$(clock_ms)")
		nobody_overlapped
	done
	touch enough
	echo "# ms from SENTINEL FAILOVER to two more runs: ${gaps[*]}; $(runs) runs" >&3
	for i in "${gaps[@]}"; do
		[ "$i" -le "$worst" ] || worst=$i
	done
	[ "$worst" -lt 25000 ]
}

@test "a master that freezes and wakes as a second master: it convinces nobody" {
	local i old
	write_command
	contend 6s 0.3
	contend 6s 2
	contend 6s 0.05
	wait_until 10s more_runs_than 3
	for i in 1 2 3 4; do
		wait_until 60s set_is_whole
		old=$(master_port)
		signal_node STOP "$old"
		wait_until 20s another_master "$old"
		signal_node CONT "$old"
		wait_until 40s more_runs_than $(($(runs) + 3))
		nobody_overlapped
	done
	touch enough
}

@test "a failover that loses the last writes: the old holder is told, and the next fence is higher" {
	local old port first
	write_command
	old=$(master_port)
	# No replica has what comes now; dlock is told to be content with that.
	for port in 1 2 3; do
		[ "$(node_port "$port")" = "$old" ] || signal_node STOP "$(node_port "$port")"
	done
	# What a stopped process's socket has taken would be read when it goes on.
	ask "$old" CLIENT KILL TYPE replica
	start_dlock -t 12s --wait-replicas 0 -w 5s job ./alone.sh 61.72
	wait_until 6s test -s runs
	first=$(cat fence)
	signal_node KILL "$old"
	for port in 1 2 3; do
		[ "$(node_port "$port")" = "$old" ] || signal_node CONT "$(node_port "$port")"
	done
	wait_until 20s another_master "$old"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	grep -q 'lost' "$DLOCK_LOG"
	run dlock -w 20s job ./alone.sh 0
	assert_success
	[ "$(cat fence)" -gt "$first" ]
	nobody_overlapped
}

@test "R28: replicas go while a lock is held: unconfirmed renewals end it by its deadline" {
	local i before
	start_dlock -t 5s -k 500ms --wait-replicas 2 job sleep 61.73
	wait_until 5s running "$OUTER"
	before=$(boottime)
	for i in 1 2 3; do
		[ "$(node_port "$i")" = "$(master_port)" ] || signal_node STOP "$(node_port "$i")"
	done
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	assert_between 2000 5500 "$(elapsed_ms "$before")" 'ms until it was ended'
	grep -q 'too few to count' "$DLOCK_LOG"
}

@test "R33: the master becomes a replica while the sentinels are slow: few connects, renewed or dead in time" {
	local old new connects
	old=$(master_port)
	start_dlock -vv -t 9s job sleep 61.74
	wait_until 5s running "$OUTER"
	signal_sentinel STOP 1
	signal_sentinel STOP 2
	signal_sentinel STOP 3
	connects=$(ask "$old" INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
	new=$(node_port 1)
	[ "$new" != "$old" ] || new=$(node_port 2)
	ask "$new" REPLICAOF NO ONE
	ask "$old" REPLICAOF 127.0.0.1 "$new"
	start_clock
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	assert_between 0 9500 "$(clock_ms)" 'ms until it was ended'
	connects=$(($(ask "$old" INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p') - connects))
	# Less than five a second, the questions of this test included.
	assert_between 0 45 "$connects" connects
}

@test "a command whose master and sentinel are cut off from the others is ended by its deadline" {
	local master=$((SET_PORT + 4)) sentinel=$((SET_PORT + 14)) replica=$((SET_PORT + 5)) before
	launch_in_set stranger redis-server --port "$master" --bind 127.0.0.1 --dir "$SET_DIR" --save ""
	wait_until 3s answers "$master"
	launch_in_set follower redis-server --port "$replica" --bind 127.0.0.1 --dir "$SET_DIR" --save "" \
		--repl-diskless-sync-delay 0 --replicaof 127.0.0.1 "$master"
	wait_until 20s has_replicas "$master" 1
	printf '%s\n' "port $sentinel" "bind 127.0.0.1" "dir $SET_DIR" \
		"sentinel monitor main 127.0.0.1 $master 2" "sentinel down-after-milliseconds main 500" >"$SET_DIR/cut.conf"
	launch_in_set cut redis-server "$SET_DIR/cut.conf" --sentinel
	wait_until 15s replica_is "$sentinel" slave
	# The other two sentinels of the URL are out of reach, now as then; nobody is missed yet.
	start_dlock -vv -t 5s -S "redis+sentinel://127.0.0.1:$sentinel,127.0.0.1:1,127.0.0.1:2/main" job sleep 61.75
	wait_until 5s running "$OUTER"
	before=$(boottime)
	kill -KILL "$(pid_in_set follower)"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	assert_between 2000 5500 "$(elapsed_ms "$before")" 'ms until it was ended'
	grep -q 'too few sentinels can be asked' "$DLOCK_LOG"
	kill -KILL "$(pid_in_set cut)" "$(pid_in_set stranger)"
}

# The one replica that a sentinel lists has those flags.
replica_is() {
	[ "$(ask "$1" SENTINEL REPLICAS main | sed -n '/^flags$/{n;p}')" = "$2" ]
}

@test "renewals that no replica has, of those that the sentinels call alive, end the command by its deadline" {
	local i before
	for i in 1 2 3; do
		ask "$(sentinel_port "$i")" SENTINEL SET main down-after-milliseconds 60000
	done
	start_dlock -t 4s job sleep 7.76
	wait_until 5s running "$OUTER"
	before=$(boottime)
	for i in 1 2 3; do
		[ "$(node_port "$i")" = "$(master_port)" ] || signal_node STOP "$(node_port "$i")"
	done
	exit_status_of "$OUTER"
	for i in 1 2 3; do
		ask "$(sentinel_port "$i")" SENTINEL SET main down-after-milliseconds 500
	done
	[ "$STATUS" -eq 79 ]
	assert_between 1500 4500 "$(elapsed_ms "$before")" 'ms until it was ended'
	grep -q '0 of 2 replicas have it in time' "$DLOCK_LOG"
}

# What helpers/line calls.
redis() {
	ask "$(master_port)" "$@"
}

@test "shared locks, slots, and the order of those who wait, with every replica's word" {
	local i
	line_setup
	hold -v job
	for i in first second; do
		wait_in_line "$i" job
	done
	run -0 dlock --status job
	assert_line --partial 'held by'
	assert_line --partial '2 waiting'
	let_go
	wait "$HOLDER" "${WAITER[first]}" "${WAITER[second]}"
	assert_order first second
	run -0 dlock -s shared "$DLOCK" -n -S "$DLOCK_SERVER" -s shared true
	run -75 dlock -s shared "$DLOCK" -n -S "$DLOCK_SERVER" shared true
	run -0 dlock --slots 2 slots "$DLOCK" -n -S "$DLOCK_SERVER" --slots 2 slots sh -c 'echo "slot $DLOCK_SLOT"'
	assert_output 'slot 1'
	start_dlock -t 10s broken sleep 61.72
	run -0 dlock --list
	assert_output --partial broken
	run -0 dlock --break broken
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}
