#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# redis+sentinel://: a lock at whatever server is the master. What takes longer is in
# tests/long/sentinel.bats.

load helpers/common
load helpers/sentinel

setup_file() { start_set; }
teardown_file() { stop_set; }

setup() {
	common_setup
	mend_set
}

# The place in the URL of a sentinel.
at() {
	echo "127.0.0.1:$(sentinel_port "$1")"
}

fence_of() {
	ask "$(master_port)" GET "lock:$1#fence{lock:$1}"
}

@test "a lock through sentinels: run, conflict, views, and nothing is left at any server" {
	run dlock -v job sh -c 'echo "$DLOCK_FENCE"; '"$DLOCK"' -n -S "$DLOCK_SERVER" other true'
	assert_success
	assert_line "dlock: the sentinels name 127.0.0.1:$(master_port) as the master of 'main'"
	start_dlock -t 10s job sleep 61.71
	wait_until 3s running "$OUTER"
	run dlock -n job true
	assert_failure 75
	run dlock --status job
	assert_success
	assert_output --partial 'held by'
	run dlock --list
	assert_output --partial job
	run dlock --break job
	assert_success
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	run dlock --status job
	assert_failure 1
}

@test "one sentinel is dead, one hangs: it costs next to nothing" {
	signal_sentinel STOP 1
	run dlock -S "redis+sentinel://127.0.0.1:1,$(at 1),$(at 2),$(at 3),127.0.0.1:2/main" -n job true
	assert_success
	start_clock
	run dlock -S "redis+sentinel://$(at 1),$(at 2)/main" -n job true
	assert_success
	assert_between 0 2000 "$(clock_ms)" 'milliseconds with one of two that hangs'
	# All of them: bounded.
	start_clock
	run dlock -S "redis+sentinel://$(at 1)/main" -n --connect-timeout 400ms job touch ran
	assert_failure 69
	assert_output --partial 'no answer'
	assert_between 300 1500 "$(clock_ms)" 'milliseconds with none'
	run dlock -S "redis+sentinel://127.0.0.1:1,127.0.0.1:2/main" -n job touch ran
	assert_failure 69
	assert_output --partial 'no sentinel names a master: 127.0.0.1:1: Connection refused, and the others no better'
	[ ! -e ran ]
}

@test "what is no such service, no sentinel, no master: one clear line each" {
	run dlock -S "redis+sentinel://$(at 1),$(at 2)/nain" -n job touch ran
	assert_failure 69
	assert_output --partial "it knows no service 'nain'"
	run dlock -S "redis+sentinel://127.0.0.1:$(master_port)/main" -n job touch ran
	assert_failure 69
	assert_output --partial 'it is no sentinel'
	run dlock -S "redis://$(at 1)" -n job touch ran
	assert_failure 69
	[ ! -e ran ]
}

@test "a sentinel that lies is found out: the server that it names must be a master, or be known to the others" {
	local stranger=$((SET_PORT + 4)) liar=$((SET_PORT + 14))
	# It knows another server by that name.
	launch_in_set stranger redis-server --port "$stranger" --bind 127.0.0.1 --dir "$SET_DIR" --save ""
	printf '%s\n' "port $liar" "bind 127.0.0.1" "dir $SET_DIR" \
		"sentinel monitor main 127.0.0.1 $stranger 1" >"$SET_DIR/liar.conf"
	wait_until 3s answers "$stranger"
	launch_in_set liar redis-server "$SET_DIR/liar.conf" --sentinel
	wait_until 3s answers "$liar"
	run dlock -v -S "redis+sentinel://127.0.0.1:$liar,$(at 1),$(at 2)/main" -n job true
	assert_success
	refute_output --partial "127.0.0.1:$stranger"
	# Alone it is believed: nobody says otherwise.
	run dlock -v -S "redis+sentinel://127.0.0.1:$liar/main" -n job true
	assert_success
	assert_output --partial "127.0.0.1:$stranger"
	# (Not of the master: the set would remember it as a third replica.)
	ask "$stranger" REPLICAOF 127.0.0.1 1
	run dlock -S "redis+sentinel://127.0.0.1:$liar/main" -n --connect-timeout 700ms job touch ran
	assert_failure 69
	assert_output --partial "127.0.0.1:$stranger: it is no master: its role is"
	[ ! -e ran ]
	kill -KILL "$(pid_in_set liar)" "$(pid_in_set stranger)"
}

# cut_off PORT...: a server out of the set, and a sentinel that calls it the master, with replicas at
# those ports, where there is nothing. CUT_OFF is the sentinel's place.
cut_off() {
	local port=$((SET_PORT + 14)) replica
	launch_in_set stranger redis-server --port "$((SET_PORT + 4))" --bind 127.0.0.1 --dir "$SET_DIR" --save ""
	{
		printf '%s\n' "port $port" "bind 127.0.0.1" "dir $SET_DIR" \
			"sentinel monitor main 127.0.0.1 $((SET_PORT + 4)) 2" "sentinel down-after-milliseconds main 500"
		for replica; do echo "sentinel known-replica main 127.0.0.1 $replica"; done
	} >"$SET_DIR/cut.conf"
	wait_until 3s answers "$((SET_PORT + 4))"
	launch_in_set cut redis-server "$SET_DIR/cut.conf" --sentinel
	wait_until 3s all_away "$port" "$#"
	CUT_OFF=127.0.0.1:$port
}

all_away() {
	[ "$(ask "$1" SENTINEL REPLICAS main | grep -c s_down)" = "$2" ]
}

@test "a sentinel alone that misses replicas may be cut off with an old master: nothing there counts" {
	# More than 22 are more than a thousand items; sets whose replicas change address remember each.
	cut_off {40001..40040}
	# Who names no other sentinel says that there is none.
	run dlock -n -S "redis+sentinel://$CUT_OFF/main" job true
	assert_success
	run dlock -n -S "redis+sentinel://$CUT_OFF,127.0.0.1:1,127.0.0.1:2/main" job touch ran
	assert_failure 69
	assert_output --partial 'too few sentinels can be asked, and they miss a replica'
	[ "$(ask "$((SET_PORT + 4))" EXISTS lock:job)" = 0 ]
	[ ! -e ran ]
	run dlock -n --wait-replicas 0 -S "redis+sentinel://$CUT_OFF,127.0.0.1:1,127.0.0.1:2/main" job true
	assert_success
	kill -KILL "$(pid_in_set cut)" "$(pid_in_set stranger)"
}

@test "the master is killed -9 while a lock is held, and while one waits: nobody is disturbed, fences rise" {
	local old first second third
	old=$(master_port)
	start_dlock -vv -t 12s job sh -c 'echo "$DLOCK_FENCE" >first; until [ -e go ]; do sleep 0.05; done; touch ended'
	local holder=$OUTER
	wait_until 3s test -s first
	start_dlock -vv -t 12s job sh -c 'echo "$DLOCK_FENCE" >second'
	local one=$OUTER
	wait_until 3s line_is 1
	start_dlock -vv -t 12s job sh -c 'echo "$DLOCK_FENCE" >third'
	local two=$OUTER
	wait_until 3s line_is 2
	signal_node KILL "$old"
	wait_until 10s another_master "$old"
	# In line there; who has not come back yet would be passed over, for the moment.
	wait_until 6s both_listen
	touch go
	exit_status_of "$holder"
	[ "$STATUS" -eq 0 ]
	[ -e ended ]
	exit_status_of "$one"
	[ "$STATUS" -eq 0 ]
	exit_status_of "$two"
	[ "$STATUS" -eq 0 ]
	first=$(cat first)
	second=$(cat second)
	third=$(cat third)
	[ "$second" -gt "$first" ]
	[ "$third" -gt "$second" ]
}

both_listen() {
	[ "$(ask "$(master_port)" PUBSUB CHANNELS 'lock:job*' | grep -c .)" = 2 ]
}

# So many wait.
line_is() {
	[ "$(ask "$(master_port)" ZCARD 'lock:job#queue{lock:job}')" = "$1" ]
}

@test "P100, R28: too few replicas: not acquired, the key is gone, 69; with -w it is tried until then" {
	run dlock -n --wait-replicas 3 job touch ran
	assert_failure 69
	assert_output --partial '2 of 3 replicas have it in time, too few to count (--wait-replicas)'
	[ "$(ask "$(master_port)" EXISTS lock:job)" = 0 ]
	start_clock
	run dlock -w 1s --wait-replicas 3 job touch ran
	assert_failure 69
	assert_between 900 3500 "$(clock_ms)" 'milliseconds of -w 1s'
	[ "$(ask "$(master_port)" EXISTS lock:job)" = 0 ]
	[ ! -e ran ]
	run dlock -n --wait-replicas 2 job true
	assert_success
	run dlock -n --wait-replicas 0 job true
	assert_success
}

@test "a user of sentinels with a password of their own; that of the server is not given to them" {
	local i
	needs_server 6.2 'users of sentinels'
	for i in 1 2 3; do
		ask "$(sentinel_port "$i")" ACL SETUSER locker on '>hush-hush' +sentinel +subscribe +unsubscribe '&+switch-master' >/dev/null
		ask "$(sentinel_port "$i")" ACL SETUSER default -subscribe >/dev/null
	done
	run dlock -n -S "$SET_URL?sentinel-user=locker&sentinel-password=hush-hush" job sh -c 'cat "/proc/$PPID/cmdline"'
	assert_success
	refute_output --partial hush
	echo hush-hush >secret
	run dlock -n -S "$SET_URL?sentinel-user=locker&sentinel-password-file=$PWD/secret" job true
	assert_success
	DLOCK_SENTINEL_PASSWORD=hush-hush run dlock -n -S "$SET_URL?sentinel-user=locker" job sh -c 'env; cat /proc/$PPID/environ'
	assert_success
	refute_output --partial hush
	run dlock -n -S "$SET_URL?sentinel-user=locker&sentinel-password=rush" job touch ran
	assert_failure 77
	assert_output --partial WRONGPASS
	refute_output --partial rush
	DLOCK_PASSWORD=hush-hush run dlock -n -S "$SET_URL?sentinel-user=locker" job touch ran
	assert_failure 77
	[ ! -e ran ]
	for i in 1 2 3; do
		ask "$(sentinel_port "$i")" ACL SETUSER default +subscribe >/dev/null
		ask "$(sentinel_port "$i")" ACL DELUSER locker >/dev/null
	done
}

@test "--check tells of the sentinels, the quorum and the replicas" {
	run dlock --check
	assert_success
	assert_line "sentinels: 3 of 3 name 127.0.0.1:$(master_port); there are 3, quorum 2; replicas alive: 2 of 2"
	run dlock --check --json
	assert_success
	assert_output --partial '"sentinels":3,"sentinels_agreeing":3,"sentinels_known":3,"quorum":2,"replicas_known":2,"replicas_alive":2'
	run dlock --check -S "redis+sentinel://$(at 1),127.0.0.1:1/main"
	assert_success
	assert_output --partial '1 of the 2 sentinels in the URL do not answer, or name another master'
}

# fail_over FROM: sentinels give a failover up whose replica is late, on a busy machine: then once more.
fail_over() {
	local try
	for try in 1 2; do
		wait_until 10s begins_failover
		start_clock
		! poll_for 10000 another_master "$1" || return 0
		echo "# failover $try from $1 was given up"
	done
	return 1
}

begins_failover() {
	[ "$(ask "$(sentinel_port 1)" SENTINEL FAILOVER main)" = OK ]
}

taken() {
	dlock -n -t 6s probe true 2>>probes
}

@test "a planned failover while a lock is held: not disturbed, and somebody new gets one as soon as there is a new master" {
	local old
	old=$(master_port)
	start_dlock -vv -t 12s job sh -c 'until [ -e go ]; do sleep 0.05; done'
	wait_until 3s running "$OUTER"
	fail_over "$old"
	wait_until 8s taken
	# The old master is one still, by its own word. It takes Sentinel more than eight seconds to end that.
	if [ "$(clock_ms)" -lt 7000 ]; then
		[ "$(ask "$old" ROLE | head -n 1)" = master ]
	fi
	assert_between 0 8000 "$(clock_ms)" 'ms until somebody new had a lock'
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	# Both; again where replicas are late to turn to the new one (in Redis 6.0 by a second), and it is left for that.
	[ "$(grep -c 'name 127.0.0.1:.* as the master' "$DLOCK_LOG")" -ge 2 ]
}
