#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --if-unreachable: what becomes of COMMAND when no server answers at first contact. A server that
# answers, be it with a refusal, is never taken for an unreachable one.
#
# shellcheck disable=SC2016,SC2154 # dollars for the other shell; stderr is set by run

load helpers/common
load helpers/proxy

setup() {
	common_setup
	NOBODY=redis://127.0.0.1:$(closed_port)
}

# A port that nobody listens on: below those that the kernel gives away.
closed_port() {
	local port
	for port in 19873 19874 19875 19876; do
		! (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null || continue
		echo "$port"
		return
	done
	return 1
}

# A server that takes connections and says nothing, or says what it is told to.
start_mute() {
	start_redis
	start_proxy
	proxy blackhole
}

@test "--if-unreachable fail, the default: 69 and one line, even with -q (P36)" {
	local how
	for how in '' '--if-unreachable fail' '--if-unreachable=fail'; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr -69 dlock -q $how -S "$NOBODY" job touch ran
		[ ! -e ran ]
		[ -z "$output" ]
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ "$stderr" == "dlock: cannot lock 'job' at $NOBODY: "*refused* ]] || fail "$stderr"
	done
}

@test "--if-unreachable skip: 0, COMMAND does not run, one line says so, none with -q" {
	run --separate-stderr -0 dlock --if-unreachable skip -S "$NOBODY" job touch ran
	[ ! -e ran ]
	[ -z "$output" ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ "$stderr" == "dlock: skipped the command of 'job': no server answers at $NOBODY: "*refused* ]] ||
		fail "$stderr"
	run -0 dlock -q --if-unreachable skip -S "$NOBODY" job touch ran
	[ -z "$output" ]
	[ ! -e ran ]
}

@test "--if-unreachable run: COMMAND runs, with a loud warning also with -q" {
	for quiet in -v -q; do
		run --separate-stderr -3 dlock "$quiet" --if-unreachable run -S "$NOBODY" job sh -c 'echo ran; exit 3'
		assert_output ran
		[ "${#stderr_lines[@]}" -eq 1 ] || fail "$stderr"
		[[ "$stderr" == "dlock: WARNING: the command of 'job' runs WITHOUT A LOCK: no server answers at $NOBODY: "*refused* ]] ||
			fail "$stderr"
	done
}

@test "--if-unreachable run: no lock variables, inherited ones neither, and DLOCK_UNLOCKED=1" {
	export DLOCK_NAME=stale DLOCK_KEY=stale DLOCK_TOKEN=stale DLOCK_FENCE=7 DLOCK_SLOT=2 DLOCK_HELD=stale
	DLOCK_UNLOCKED=stale OTHER=kept run --separate-stderr -0 dlock --if-unreachable run -S "$NOBODY" job env
	refute_line --regexp '^DLOCK_(NAME|KEY|TOKEN|FENCE|SLOT|HELD)='
	assert_line DLOCK_UNLOCKED=1
	assert_line OTHER=kept
	[ "$(grep -c ^DLOCK_UNLOCKED= <<<"$output")" = 1 ]
}

@test "under a lock an inherited DLOCK_UNLOCKED and DLOCK_SLOT are removed" {
	start_redis
	DLOCK_UNLOCKED=1 DLOCK_SLOT=4 run -0 dlock --if-unreachable run job env
	refute_line --regexp '^DLOCK_(UNLOCKED|SLOT)='
	assert_line DLOCK_NAME=job
}

@test "a run without a lock is supervised: signals, the whole tree, exit by signal" {
	local nap
	nap=$(unique_sleep)
	start_dlock --if-unreachable run -S "$NOBODY" job sh -c "setsid sleep $nap & exec sleep $nap"
	wait_until 2s argv_count "$nap" 2
	kill -TERM "$OUTER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 143 ]
	argv_gone "$nap"
}

@test "a run without a lock: kill -9 of either process kills the tree" {
	local nap which
	for which in OUTER RUNNER; do
		nap=$(unique_sleep)
		start_dlock --if-unreachable run -S "$NOBODY" -k 100ms job sh -c "setsid sleep $nap & exec sleep $nap"
		wait_until 2s argv_count "$nap" 2
		wait_until 2s running "$OUTER"
		kill -KILL "${!which}"
		wait_until 1s argv_gone "$nap"
		wait_until 1s no_marked_dlock
	done
	grep -qx "dlock: ended the command of 'job': the process of dlock that watched over it was killed" "$DLOCK_LOG"
	run ! grep lost "$DLOCK_LOG"
}

@test "--if-unreachable: a look-up that hangs is over with --connect-timeout, and nothing of it stays" {
	local before
	export SLOW_RESOLVER_FLAG=$WORK/hang ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	touch hang
	before=$(boottime)
	run -0 env LD_PRELOAD="$TOOLS/slow_resolver_preload.so" "$DLOCK" --if-unreachable run \
		--connect-timeout 300ms -S redis://slow.example job sh -c 'echo "unlocked $DLOCK_UNLOCKED"'
	assert_line 'unlocked 1'
	assert_between 290 3000 "$(elapsed_ms "$before")" wait
	[ -s hang.calls ]
	wait_until 1s no_marked_dlock
}

@test "a run without a lock: a stopped RUNNER is woken, and passes COMMAND's status on" {
	start_dlock --if-unreachable run -S "$NOBODY" job sh -c 'sleep 0.5; exit 7'
	wait_until 2s running "$OUTER"
	kill -STOP "$RUNNER"
	exit_status_of "$OUTER" 15s
	[ "$STATUS" -eq 7 ]
}

@test "a run without a lock: a server that comes up meanwhile changes nothing" {
	start_redis
	stop_redis_only
	start_dlock --if-unreachable run job sleep 1
	wait_until 2s running "$OUTER"
	restart_redis
	[ -z "$(redis KEYS '*')" ]
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	[ -z "$(redis KEYS '*')" ]
	[ "$(redis INFO stats | tr -d '\r' | sed -n 's/^total_connections_received://p')" -lt 100 ]
	! redis CLIENT LIST | grep name=dlock || return 1
}

# Ends the server, keeps its directory.
stop_redis_only() {
	kill -KILL "$REDIS_PID"
	wait_until 2s gone "$REDIS_PID"
	wait "$REDIS_PID" || true
}

@test "--if-unreachable: a name that does not resolve, a socket that is not there" {
	local url
	for url in redis://no-such-host.invalid unix://"$WORK/no-such-socket"; do
		run -0 dlock --if-unreachable skip -S "$url" job touch ran
		assert_output --partial skipped
		run -0 dlock --if-unreachable run -S "$url" job sh -c 'echo "unlocked $DLOCK_UNLOCKED"'
		assert_output --partial 'unlocked 1'
	done
	[ ! -e ran ]
}

@test "--if-unreachable: a server that accepts and does not answer is unreachable after --connect-timeout, or -w" {
	local before
	start_mute
	before=$(boottime)
	run -0 dlock --if-unreachable skip --connect-timeout 300ms job touch ran
	assert_between 290 1000 "$(elapsed_ms "$before")" wait
	before=$(boottime)
	run -0 dlock --if-unreachable run -w 0.2 job echo ran
	assert_line ran
	assert_between 190 900 "$(elapsed_ms "$before")" wait
	[ ! -e ran ]
}

@test "--if-unreachable: a refusal is no unreachable server, whatever is wanted" {
	local how
	start_redis
	redis CONFIG SET requirepass secret
	for how in skip run; do
		run -77 dlock --if-unreachable "$how" job touch ran
		assert_output --partial NOAUTH
		run -77 dlock -S "redis://:wrong@127.0.0.1:$REDIS_PORT" --if-unreachable "$how" job touch ran
		assert_output --partial WRONGPASS
	done
	[ ! -e ran ]
}

@test "--if-unreachable: READONLY, WRONGTYPE and a conflict are answers" {
	local how
	start_redis
	redis HSET lock:hash a 1
	redis SET lock:taken other PX 60000
	for how in skip run; do
		run -69 dlock --if-unreachable "$how" hash touch ran
		run -75 dlock -n --if-unreachable "$how" taken touch ran
	done
	redis REPLICAOF 127.0.0.1 1
	for how in skip run; do
		run -69 dlock --if-unreachable "$how" job touch ran
		assert_output --partial READONLY
		# With -w it is asked again, and was an answer all the same: also when it goes meanwhile.
		run -69 dlock --if-unreachable "$how" -w 300ms job touch ran
		assert_output --partial READONLY
	done
	start_dlock --if-unreachable run -w 4s job touch ran
	wait_until 3s grep -q READONLY "$DLOCK_LOG"
	kill -KILL "$REDIS_PID"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 69 ]
	[ ! -e ran ]
}

@test "--if-unreachable: somebody who answers with something else than Redis is not unreachable" {
	local port=$((21000 + RANDOM % 9000)) how
	start python3 -c '
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
while True:
    c, _ = s.accept()
    c.recv(4096)
    c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    c.close()' "$port"
	wait_until 3s listens "$port"
	for how in skip run; do
		run -69 dlock --if-unreachable "$how" -S "redis://127.0.0.1:$port" job touch ran
	done
	[ ! -e ran ]
}

listens() {
	(: </dev/tcp/127.0.0.1/"$1") 2>/dev/null
}

@test "--if-unreachable: once the server has answered, its absence is no first contact" {
	start_redis
	redis SET lock:job other PX 60000
	start_dlock --if-unreachable run -w 2s job touch ran
	wait_until 2s waiting_there
	kill -KILL "$REDIS_PID"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 69 ]
	[ ! -e ran ]
}

waiting_there() {
	redis CLIENT LIST | grep -q 'name=dlock.*cmd=exec'
}

@test "--if-unreachable: an acquire that was sent and not answered is no first contact" {
	local how
	start_redis
	start_proxy
	# The login is answered, the script is not.
	for how in skip run; do
		proxy pass
		proxy 'on EVAL drop'
		run -69 dlock -n --if-unreachable "$how" --connect-timeout 300ms job touch ran
	done
	[ ! -e ran ]
}

@test "--if-unreachable: a bad value is a usage error that names it" {
	run -64 dlock --if-unreachable maybe -S "$NOBODY" job true
	assert_output "dlock: --if-unreachable: none of 'fail', 'skip' and 'run': 'maybe'"
	[ "${#lines[@]}" -eq 1 ]
}

@test "--if-unreachable run with --at-least returns at once and leaves nothing" {
	local before
	before=$(boottime)
	run -0 dlock -v --if-unreachable run --at-least 20s -S "$NOBODY" job echo ran
	assert_between 0 1500 "$(elapsed_ms "$before")" 'wall time'
	assert_line ran
	refute_output --partial 'kept'
}
