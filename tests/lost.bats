#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5: a lock that the server has given away or forgotten is noticed at the next
# renewal (TTL/3), COMMAND's tree is signalled at once and killed after the grace, dlock exits 79.
# And a lost lock is never touched again, nor recreated.
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load helpers/common

setup_file() {
	start_redis
}

teardown_file() {
	stop_redis
}

setup() {
	common_setup
	kill -CONT "$REDIS_PID" # a test that stopped it may have failed
	redis FLUSHALL >/dev/null
}

# start_trapper NAME STATUS [DLOCK-OPTION...]: a COMMAND that writes the time of its first TERM to
# NAME.term and ends with STATUS. Its dlock's pid is in OUTERS[NAME], its messages in NAME.log.
declare -gA OUTERS=()
start_trapper() {
	local name=$1 status=$2
	shift 2
	DLOCK_LOG=$WORK/$name.log
	: >"$DLOCK_LOG"
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -vv --ttl 2s "$@" "$name" bash -c '
		trap "echo \$EPOCHREALTIME >$1.term; exit $2" TERM
		echo $$ >"$1.pid"
		while :; do sleep 900 & wait $!; done' bash "$WORK/$name" "$status"
	OUTERS[$name]=$OUTER
	wait_until 3s test -s "$WORK/$name.pid"
}

# assert_detected NAME SINCE: TERM came within TTL/3 + 100 ms of SINCE (EPOCHREALTIME just after the
# event), dlock exited with 79 in reasonable time, nothing is left.
assert_detected() {
	local name=$1 since=${2/./} term
	DLOCK_LOG=$WORK/$name.log
	exit_status_of "${OUTERS[$name]}"
	[ "$STATUS" -eq 79 ] || { echo "$name: status $STATUS instead of 79" >&2; show_scene >&2; return 1; }
	assert_gone "$(cat "$WORK/$name.pid")"
	if [ -e "$WORK/$name.term" ]; then
		term=$(cat "$WORK/$name.term")
		assert_between -20 767 $(((${term/./} - since) / 1000)) "$name: milliseconds from the event to TERM"
		echo "# $name: TERM after $(((${term/./} - since) / 1000)) ms" >&3
	fi
}

@test "lost at the next renewal: key deleted, overwritten, replaced by another type; 79 whatever COMMAND returns (P1, P39, R52, S27)" {
	local after
	start_trapper deleted 0
	start_trapper overwritten 7
	start_trapper retyped 75
	start_trapper expired 0
	redis EVAL "redis.call('DEL', KEYS[1])
		redis.call('SET', KEYS[2], 'other', 'XX')
		redis.call('DEL', KEYS[3]) redis.call('HSET', KEYS[3], 'a', '1')
		redis.call('PEXPIRE', KEYS[4], 1)" 4 lock:deleted lock:overwritten lock:retyped lock:expired
	after=$EPOCHREALTIME
	assert_detected deleted "$after"
	assert_detected overwritten "$after"
	assert_detected retyped "$after"
	assert_detected expired "$after"
	[ -e deleted.term ] && [ -e overwritten.term ] && [ -e retyped.term ] && [ -e expired.term ]
	grep -F "dlock: lost 'deleted': the key is gone" deleted.log
	grep -F "dlock: lost 'expired': the key is gone" expired.log
	grep -F "dlock: lost 'overwritten': another holder has it" overwritten.log
	grep -F "dlock: lost 'retyped': " retyped.log
	# Never touched again.
	[ "$(redis GET lock:overwritten)" = other ]
	[ "$(redis PTTL lock:overwritten)" = -1 ]
	[ "$(redis TYPE lock:retyped)" = hash ]
	[ "$(redis EXISTS lock:deleted lock:expired)" = 0 ]
}

@test "lost at the next renewal: FLUSHALL (P9)" {
	local after
	start_trapper one 0
	start_trapper two 3
	redis FLUSHALL >/dev/null
	after=$EPOCHREALTIME
	assert_detected one "$after"
	assert_detected two "$after"
	[ "$(redis EXISTS lock:one lock:two)" = 0 ]
}

@test "the whole tree is dead within the grace, not only the shell: children of sh, background jobs (P1, P22, S18)" {
	local a b c
	a=$(unique_sleep) b=$(unique_sleep) c=$(unique_sleep)
	DLOCK_LOG=$WORK/a.log
	start_dlock --ttl 2s a sh -c "sleep $a; :"
	OUTERS[a]=$OUTER
	DLOCK_LOG=$WORK/b.log
	start_dlock --ttl 2s b sh -c "sleep $b & sleep $b"
	OUTERS[b]=$OUTER
	DLOCK_LOG=$WORK/c.log
	start_dlock --ttl 2s c sh -c "(setsid sleep $c &); yes >/dev/null & echo \$! >yes.pid; wait"
	OUTERS[c]=$OUTER
	wait_until 3s argv_count "$a" 1
	wait_until 3s argv_count "$b" 2
	wait_until 3s argv_count "$c" 1
	wait_until 3s test -s yes.pid
	steal a
	steal b
	redis DEL lock:c
	wait_until 2s gone "${OUTERS[@]}"
	argv_gone "$a"
	argv_gone "$b"
	argv_gone "$c"
	assert_gone "$(cat yes.pid)"
	for name in a b c; do
		exit_status_of "${OUTERS[$name]}"
		[ "$STATUS" -eq 79 ]
	done
}

@test "KILL comes a grace after the first signal, not with it and not before (P24, S19)" {
	local asked
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -vv --ttl 3s --kill-after 1s job bash -c '
		trap "echo \$EPOCHREALTIME >>term" TERM
		echo $$ >pid
		while :; do sleep 0.01; done'
	wait_until 3s test -s pid
	steal job
	wait_until 2s test -s term
	asked=$(head -n 1 term)
	wait_until 2s gone "$(cat pid)"
	assert_between 900 1150 $((($(date +%s%6N) - ${asked/./}) / 1000)) "milliseconds from TERM to KILL"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "--kill-after 0: KILL at once; --signal: the first signal is another one" {
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 2s --kill-after 0 job bash -c 'trap "echo >term" TERM; echo $$ >pid; while :; do sleep 0.01; done'
	wait_until 3s test -s pid
	redis DEL lock:job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	[ ! -e term ]
	assert_gone "$(cat pid)"

	# shellcheck disable=SC2016 # for the shell inside
	start_dlock --ttl 2s --signal USR1 other bash -c 'trap "echo >usr1; exit 0" USR1; trap "echo >term" TERM
		echo $$ >pid2; while :; do sleep 0.01; done'
	wait_until 3s test -s pid2
	redis DEL lock:other
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	[ -e usr1 ] && [ ! -e term ]
}

@test "--on-lost signal: the signal is sent once, the command ends by itself, 79 all the same" {
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -v --ttl 1s --on-lost signal job bash -c '
		trap "echo \$EPOCHREALTIME >>term" TERM
		echo $$ >pid
		until [ -e term ]; do sleep 0.01; done
		end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do sleep 0.05; done
		echo >ended'
	wait_until 3s test -s pid
	redis DEL lock:job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	[ -e ended ]
	[ "$(wc -l <term)" -eq 1 ]
}

@test "a lost lock is never recreated, and never two run (P7)" {
	local nap end
	nap=$(unique_sleep)
	start_dlock --ttl 1s job sleep "$nap"
	wait_until 3s running "$OUTER"
	steal job
	redis DEL lock:job >/dev/null
	end=$((SECONDS + 4))
	while [ "$SECONDS" -lt "$end" ]; do
		free job || { show_scene >&2; return 1; }
		sleep 0.02
	done
	argv_gone "$nap"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
}

@test "another's lock is never renewed: its PTTL never rises (R73)" {
	local left last=5001 outer_gone=0
	start_dlock --ttl 2s job sleep 900
	wait_until 3s running "$OUTER"
	redis SET lock:job other PX 5000
	until [ "$outer_gone" = 1 ]; do
		! gone "$OUTER" || outer_gone=1
		left=$(redis PTTL lock:job)
		[ "$left" -gt 0 ] && [ "$left" -le "$last" ]
		last=$left
		sleep 0.01
	done
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	[ "$(redis GET lock:job)" = other ]
}

@test "release never deletes another's lock, also when the loss is noticed only there: 79 (R34)" {
	start_dlock --ttl 30s job sh -c 'until [ -e go ]; do sleep 0.01; done'
	wait_until 3s running "$OUTER"
	redis SET lock:job other PX 60000
	touch go
	exit_status_of "$OUTER"
	[ "$(redis GET lock:job)" = other ]
	[ "$STATUS" -eq 79 ]
}

@test "release of a lock that is gone is not tried for ever (R45)" {
	local evals
	start_dlock -vv --ttl 2s job sh -c 'trap "exit 0" TERM; while :; do sleep 0.01; done'
	wait_until 3s running "$OUTER"
	redis DEL lock:job
	evals=$(scripts_run)
	start_clock
	exit_status_of "$OUTER"
	assert_between 0 1667 "$(clock_ms)" "milliseconds until the exit"
	[ "$STATUS" -eq 79 ]
	# The renewal that finds it gone, and two to release at most.
	assert_between 1 3 $(($(scripts_run) - evals)) "scripts after the loss"
}

@test "the server cut off, COMMAND ends on TERM just before its KILL: 79 (P40)" {
	local before
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -vv --ttl 4s job bash -c 'trap "sleep 0.6; echo >ended; exit 0" TERM; echo $$ >pid; while :; do sleep 0.01; done'
	wait_until 3s test -s pid
	before=$(boottime)
	kill -STOP "$REDIS_PID"
	exit_status_of "$OUTER"
	kill -CONT "$REDIS_PID"
	assert_between 2000 6000 "$(elapsed_ms "$before")" "milliseconds until dlock ended"
	[ -e ended ]
	[ "$STATUS" -eq 79 ]
	grep -F "dlock: lost 'job': could not be confirmed for" "$DLOCK_LOG"
	run grep -i exclusiv "$DLOCK_LOG"
	assert_failure
}

@test "the server cut off, --on-lost signal, COMMAND ends after the expiry: dlock says for how long exclusivity may have been broken (P40)" {
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -vv --ttl 1s --on-lost signal job bash -c '
		trap : TERM
		echo $$ >pid
		end=$((SECONDS + 4)); while [ $SECONDS -lt $end ]; do sleep 0.01; done'
	wait_until 3s test -s pid
	kill -STOP "$REDIS_PID"
	exit_status_of "$OUTER"
	kill -CONT "$REDIS_PID"
	[ "$STATUS" -eq 79 ]
	grep -E "dlock: .*exclusiv.* [0-9.]+s" "$DLOCK_LOG"
}

@test "a lost lock kills neither the other end of the pipe nor the calling shell (S24)" {
	# shellcheck disable=SC2016 # for the shell inside
	start bash -c '"$DLOCK" --ttl 1s job sh -c "echo held; trap \"\" TERM; while :; do sleep 0.01; done" | { cat; echo "cat is done"; } >out
		echo "${PIPESTATUS[0]} ${PIPESTATUS[1]}" >status' 2>err
	wait_until 3s grep -q held out
	redis DEL lock:job
	wait_until 4s test -s status
	[ "$(cat status)" = "79 0" ] || { cat status out err; return 1; }
	[ "$(tail -n 1 out)" = "cat is done" ]
}

@test "a holder whose lease another has taken over says who: another holder has it" {
	local first
	start_dlock --ttl 2s job sleep 900
	first=$OUTER
	wait_until 3s running "$first"
	redis DEL lock:job
	DLOCK_LOG=$WORK/second.log
	start_dlock -n --ttl 2s job sleep 900
	wait_until 1s running "$OUTER"
	STATUS=
	exit_status_of "$first"
	[ "$STATUS" -eq 79 ]
	grep -F "dlock: lost 'job': another holder has it" "$WORK/dlock.log"
	assert_alive "$OUTER" "$COMMAND"
	held job
}
