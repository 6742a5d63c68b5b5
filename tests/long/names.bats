#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Servers have names, and a name may stand for several addresses, or for others than before: a
# managed service moves it to a new master. (Look-ups that hang: network.bats, undisturbed.bats,
# promise1.bats. Over TLS: tls_refused.bats.)
#
# shellcheck disable=SC2016,SC2034,SC2153

load ../helpers/common
load ../helpers/witness
load ../helpers/proxy
load ../helpers/names

setup() {
	common_setup
	start_redis --repl-diskless-sync-delay 0
	SERVER=redis://$NAME:$REDIS_PORT
	in_names
}

# start_named ARG...: a dlock -vv that knows the name, in the background.
start_named() {
	start "${IN_NAMES[@]}" env --default-signal=INT,QUIT "$DLOCK" -vv -S "$SERVER" "$@" 2>>"$DLOCK_LOG"
	OUTER=$STARTED
}

run_named() {
	start_clock
	run "${IN_NAMES[@]}" "$DLOCK" -S "$SERVER" "$@"
	TOOK=$(clock_ms)
}

# hold ARG...: a COMMAND that runs until `finish`; TOKEN is its lock's.
hold() {
	start_named "$@" job sh -c 'echo "$DLOCK_FENCE" >fence; until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 5s running "$OUTER"
	TOKEN=$(redis GET lock:job)
	[ -n "$TOKEN" ]
}

finish() {
	assert_alive "$COMMAND"
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 23 ] || { show_scene >&2; return 1; }
	! grep -F "lost 'job'" "$DLOCK_LOG"
}

cut_connections() {
	redis CLIENT KILL TYPE normal SKIPME yes >/dev/null
	redis CLIENT KILL TYPE pubsub >/dev/null
}

logins() {
	grep -c '"TIME"$' "$WORK/monitor" || true
}

@test "each address of a name is tried: one where nobody listens, of either family, costs nothing" {
	point_at 127.0.0.3 ::1 127.0.0.1
	run_named -n --connect-timeout 6s job echo ran
	assert_success
	assert_output ran
	assert_between 0 1500 "$TOOK" milliseconds
	# None of them, and why.
	point_at 127.0.0.3 127.0.0.4
	run_named -n --connect-timeout 6s job touch ran
	assert_failure 69
	assert_output --partial "at $SERVER: Connection refused"
	assert_between 0 1500 "$TOOK" milliseconds
	[ ! -e ran ]
}

# A network of this test's own: what is sent to ::1 is swallowed, and at 127.0.0.1 is a proxy to the
# private server. The C library puts ::1 first.
swallow() {
	start unshare -n sleep 900
	NETWORK=$STARTED
	IN_NETWORK=(nsenter -t "$NETWORK" -n)
	in_names "${IN_NETWORK[@]}"
	wait_until 2s eval '[ "$(readlink /proc/$NETWORK/ns/net)" != "$(readlink /proc/self/ns/net)" ]'
	"${IN_NETWORK[@]}" ip link set lo up
	"${IN_NETWORK[@]}" ip6tables -w -A INPUT -p tcp -j DROP
	start_proxy "${IN_NETWORK[@]}"
	SERVER=redis://$NAME:$PROXY_PORT
	point_at 127.0.0.1 ::1
}

@test "an address that swallows what is sent there does not cost the deadline, at the start and while holding" {
	local count
	swallow
	run_named -n --connect-timeout 2s job echo ran
	assert_success
	assert_output ran
	# Half of the time was the first one's.
	assert_between 950 1900 "$TOOK" milliseconds
	hold --ttl 3s
	for _ in 1 2 3; do
		count=$(confirmed_count)
		proxy reset
		wait_until 2s confirmed_more_than "$count"
	done
	[ "$(redis GET lock:job)" = "$TOKEN" ]
	finish
}

@test "a name that nobody knows any more: the addresses from before serve, holding and waiting" {
	local count waiter holder
	point_at 127.0.0.1
	hold --ttl 3s
	holder=$OUTER
	DLOCK_LOG=$WORK/waiter.log
	start_named --ttl 3s -w 20s job echo 'it waited'
	waiter=$OUTER
	wait_until 3s grep -q 'waiting for' "$DLOCK_LOG"
	DLOCK_LOG=$WORK/dlock.log
	OUTER=$holder
	point_at
	run_named -n other touch ran
	assert_failure 69
	assert_output --partial "cannot look up '$NAME'"
	[ ! -e ran ]
	for _ in 1 2; do
		count=$(confirmed_count)
		cut_connections
		wait_until 3s confirmed_more_than "$count"
	done
	[ "$(redis GET lock:job)" = "$TOKEN" ]
	finish
	exit_status_of "$waiter"
	[ "$STATUS" -eq 0 ]
}

@test "the master dies and its name moves to another: looked up again at the next try, and held through" {
	point_at 127.0.0.1
	start_replica
	hold --ttl 4s
	wait_until 4s confirmed_more_than "$(confirmed_count)"
	replica_in_step
	kill -KILL "$REDIS_PID"
	wait_until 3s redis_ended
	replica REPLICAOF NO ONE >/dev/null
	sleep 0.5 # nobody has the name moved at once
	point_at 127.0.0.2
	wait_until 4s eval '[ "$(replica PTTL lock:job)" -gt 3400 ]'
	[ "$(replica GET lock:job)" = "$TOKEN" ]
	finish
	[ "$(replica EXISTS lock:job)" = 0 ]
}

@test "a service makes another server the master, the name follows late: at most 5 logins a second at the old one, then held through, and waited through (R33)" {
	local before count waiter holder
	point_at 127.0.0.1
	start_replica
	watch_server
	hold --ttl 6s
	holder=$OUTER
	DLOCK_LOG=$WORK/waiter.log
	start_named --ttl 6s -w 30s job sh -c 'echo "$DLOCK_FENCE" >fence2'
	waiter=$OUTER
	wait_until 3s grep -q 'waiting for' "$DLOCK_LOG"
	DLOCK_LOG=$WORK/dlock.log
	OUTER=$holder
	wait_until 4s confirmed_more_than "$(confirmed_count)"
	before=$(logins)
	promote_replica
	# The next renewal, 2 s after the last, is refused; the first signal would come at 4.64 s.
	wait_until 4s grep -q READONLY "$DLOCK_LOG"
	start_clock
	sleep 0.7 # in which it may look the name up as often as it likes
	count=$(logins)
	assert_between 1 "$((2 + $(clock_ms) / 200))" "$((count - before))" "logins in $(clock_ms) ms"
	point_at 127.0.0.2
	wait_until 2s eval '[ "$(replica PTTL lock:job)" -gt 5000 ]'
	[ "$(replica GET lock:job)" = "$TOKEN" ]
	[ "$(redis ROLE | head -n 1)" = slave ]
	finish
	[ "$(replica GET lock:job)" != "$TOKEN" ]
	exit_status_of "$waiter" 15s
	[ "$STATUS" -eq 0 ]
	[ "$(<fence2)" -gt "$(<fence)" ]
	[ "$(replica EXISTS lock:job)" = 0 ]
}

@test "a name that stands for the new master and the old one: after a refusal the other address comes first" {
	point_at 127.0.0.1 127.0.0.2
	start_replica
	hold --ttl 3s
	replica_in_step
	wait_until 4s confirmed_more_than "$(confirmed_count)"
	promote_replica
	wait_until 3s grep -q READONLY "$DLOCK_LOG"
	wait_until 2s eval '[ "$(replica PTTL lock:job)" -gt 2200 ]'
	finish
	[ "$(replica EXISTS lock:job)" = 0 ]
}

@test "a look-up that hangs holds up neither who waits nor a release: the addresses from before serve (R79)" {
	local holder waiter
	export SLOW_RESOLVER_FLAG=$WORK/hang ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	point_at 127.0.0.1
	in_names env LD_PRELOAD="$TOOLS/slow_resolver_preload.so"
	hold --ttl 3s
	holder=$OUTER
	start_named --ttl 3s -w 20s job echo 'it waited'
	waiter=$OUTER
	wait_until 3s grep -q 'waiting for' "$DLOCK_LOG"
	touch hang
	cut_connections
	touch go
	start_clock
	exit_status_of "$holder"
	[ "$STATUS" -eq 23 ]
	exit_status_of "$waiter"
	[ "$STATUS" -eq 0 ]
	# Longer look-ups than a quarter of what a connection may take are not waited for.
	assert_between 0 2500 "$(clock_ms)" "milliseconds until both had ended"
	[ "$(grep -c '' hang.calls)" -ge 2 ]
	run ! grep -F "cannot release" "$DLOCK_LOG"
	free job
}

@test "who waits for a lock of the old master has it from the new one, and gives it back there" {
	point_at 127.0.0.1
	redis SET lock:job somebody PX 60000 >/dev/null
	start_replica
	start_named --ttl 3s -w 30s job sh -c 'until [ -e go ]; do sleep 0.02; done; exit 23'
	wait_until 3s grep -q 'waiting for' "$DLOCK_LOG"
	promote_replica
	point_at 127.0.0.2
	replica DEL lock:job >/dev/null
	wait_until 12s running "$OUTER"
	[ "$(replica EXISTS lock:job)" = 1 ]
	finish
	[ "$(replica EXISTS lock:job)" = 0 ]
}

@test "the name is not moved: lost by the clock, the tree dead in time, and the line says READONLY (R33)" {
	point_at 127.0.0.1
	start_replica
	LAUNCHER=("${IN_NAMES[@]}")
	start_witnessed --ttl 2s -S "$SERVER" job
	replica_in_step
	settle job
	event
	promote_replica
	assert_dead_in_time 2000 "the old master is a replica"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	grep "^dlock: lost 'job': .*READONLY" "$DLOCK_LOG"
}
