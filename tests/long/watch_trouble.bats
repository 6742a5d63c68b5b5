#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --watch when things are not as they should be: what is wrong with the second connection, or sent on
# it, costs neither the lock nor time, and it comes back.
#
# shellcheck disable=SC2030,SC2031,SC2034,SC2153

load ../helpers/common
load ../helpers/life
load ../helpers/watched

setup() {
	common_setup
	start_redis
}

# flood TIMES COMMAND...: one after the other.
flood() {
	local i times=$1
	shift
	for ((i = 0; i < times; i++)); do
		echo "$@"
	done | redis >/dev/null
}

# assert_undisturbed BEFORE-CPU BEFORE-LOOKS BEFORE-MS: since then RUNNER has looked 20 times a second at the
# most, and has used little time of the processor.
assert_undisturbed() {
	local ms=$(($(now_ms) - $3))
	assert_between 1 $((ms / 50 + 5)) $(($(looks) - $2)) "looks in $ms ms"
	assert_between 0 $((ms / 4 + 50)) $(($(cpu_ms "$RUNNER") - $1)) "milliseconds of the processor in $ms"
	echo "# $(($(looks) - $2)) looks, $(($(cpu_ms "$RUNNER") - $1)) ms of the processor in $ms ms" >&3
	running "${OUTERS[job]}"
	[ ! -e job.term ]
	run grep -F 'lost' job.log
	assert_failure
}

@test "told at once: the key is evicted (R54)" {
	local since i
	stop_redis
	start_redis --maxmemory 4mb --maxmemory-policy allkeys-lru
	start_watched job
	for ((i = 0; i < 2000; i++)); do
		held job || break
		since=$EPOCHREALTIME
		redis EVAL "for i = 1, 10 do redis.call('SET', 'fill:' .. ARGV[1] .. ':' .. i, string.rep('x', 10000)) end" \
			0 "$i" >/dev/null
	done
	free job
	[ "$i" -gt 0 ]
	told_within 500 "$since" job
	grep -F "dlock: lost 'job': the key is gone" job.log
}

@test "10,000 times the same token written anew: no loss, 20 looks a second, little work" {
	local token cpu looked ms evals told
	start_watched job
	RUNNER=$(runner_of "${OUTERS[job]}")
	token=$(redis GET lock:job)
	evals=$(scripts_run) cpu=$(cpu_ms "$RUNNER") looked=$(looks) ms=$(now_ms)
	flood 10000 SET lock:job "$token" KEEPTTL
	assert_undisturbed "$cpu" "$looked" "$ms"
	assert_between 0 $((1 + ($(now_ms) - ms) / 9000)) $(($(scripts_run) - evals)) "renewals that were due"
	wait_until 2s watched job
	told=$EPOCHREALTIME
	redis DEL lock:job >/dev/null
	told_within 300 "$told" job
}

@test "invented pushes, 3,000 one by one and 10,000 at one blow: no loss, 20 looks a second, little work" {
	local cpu looked ms evals told
	start_watched job
	RUNNER=$(runner_of "${OUTERS[job]}")
	evals=$(scripts_run) cpu=$(cpu_ms "$RUNNER") looked=$(looks) ms=$(now_ms)
	flood 3000 PUBLISH lock:job invented
	assert_undisturbed "$cpu" "$looked" "$ms"
	assert_between 0 $((1 + ($(now_ms) - ms) / 9000)) $(($(scripts_run) - evals)) "renewals that were due"
	redis EVAL "for i = 1, 10000 do redis.call('PUBLISH', KEYS[1], 'invented') end" 1 lock:job >/dev/null
	# That was too much for one connection; there is another one.
	wait_until 5s watched job
	sleep 0.2
	wait_until 5s watched job
	assert_undisturbed "$cpu" "$looked" "$ms"
	told=$EPOCHREALTIME
	redis DEL lock:job >/dev/null
	told_within 300 "$told" job
}

@test "the second connection is cut: it comes back, says so with -v, and tells of a loss" {
	local told
	start_watched job
	redis CLIENT KILL TYPE pubsub
	wait_until 5s grep -F "the second connection" job.log
	wait_until 5s watched job
	[ "$(grep -c 'second connection' job.log)" = 1 ]
	told=$EPOCHREALTIME
	redis DEL lock:job >/dev/null
	told_within 300 "$told" job
}

@test "what happens while the second connection is cut is found when it is back" {
	local told
	start_watched job
	told=$EPOCHREALTIME
	redis EVAL "redis.call('SET', KEYS[1], 'other', 'KEEPTTL')" 1 lock:job >/dev/null &
	redis CLIENT KILL TYPE pubsub >/dev/null
	told_within 1000 "$told" job
	[ "$(redis GET lock:job)" = other ]
}

@test "the server is restarted with its data: the lock is held on, the second connection comes back" {
	local told
	stop_redis
	start_redis --appendonly yes --appendfsync always
	start_watched job
	kill -KILL "$REDIS_PID"
	wait "$REDIS_PID" || true
	restart_redis
	wait_until 10s watched job
	running "${OUTERS[job]}"
	held job
	told=$EPOCHREALTIME
	redis DEL lock:job >/dev/null
	told_within 300 "$told" job
}

@test "the server is gone: what the clock says is not put off by the second connection" {
	local before
	start_watched job --ttl 2s
	before=$(boottime)
	kill -STOP "$REDIS_PID"
	exit_status_of "${OUTERS[job]}"
	kill -CONT "$REDIS_PID"
	[ "$STATUS" -eq 79 ]
	assert_between 500 2100 "$(elapsed_ms "$before")" "milliseconds until dlock ended"
	grep -F "dlock: lost 'job': could not be confirmed for" job.log
}

@test "a server that closes idle connections leaves the second one open" {
	local id
	redis CONFIG SET timeout 1 >/dev/null
	start_watched job
	id=$(redis CLIENT LIST TYPE pubsub | cut -d ' ' -f 1)
	sleep 2.5 # idle for longer than that
	wait_until 2s watched job
	[ "$(redis CLIENT LIST TYPE pubsub | cut -d ' ' -f 1)" = "$id" ]
	running "${OUTERS[job]}"
}

@test "a user without the right is told once, and runs without" {
	redis ACL SETUSER few on '>pw' '~lock:*' '&lock:*' +@all -@dangerous '-client|tracking' >/dev/null
	local before
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -S "redis://few:pw@127.0.0.1:$REDIS_PORT" --watch --ttl 1s job bash -c 'until [ -e go ]; do sleep 0.05; done'
	wait_until 5s grep -F "dlock: cannot watch 'lock:job'" "$DLOCK_LOG"
	before=$(scripts_run)
	wait_until 5s eval '[ "$(scripts_run)" -ge $((before + 3)) ]'
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" = 0 ]
	[ "$(wc -l <"$DLOCK_LOG")" = 1 ]
	grep -F "NOPERM" "$DLOCK_LOG"
	run grep -F 'pw' "$DLOCK_LOG"
	assert_failure
}

@test "a user with all rights to locks and their channels but the dangerous ones may watch" {
	local told
	redis ACL SETUSER some on '>pw' '~lock:*' '&lock:*' +@all -@dangerous >/dev/null
	start_watched job -S "redis://some:pw@127.0.0.1:$REDIS_PORT"
	told=$EPOCHREALTIME
	redis DEL lock:job >/dev/null
	told_within 300 "$told" job
}

@test "a user with the rights that dlock(1) names, and no more, may watch" {
	local told
	make_user
	start_watched job -S "$USER_URL"
	told=$EPOCHREALTIME
	redis -n 1 DEL lock:job >/dev/null
	told_within 300 "$told" job
	start_watched job -s -S "$USER_URL"
	told=$EPOCHREALTIME
	redis -n 1 DEL lock:job >/dev/null
	told_within 300 "$told" job
}

@test "the password is asked for again, for the second connection" {
	local told
	redis CONFIG SET requirepass hush >/dev/null
	export REDISCLI_AUTH=hush
	start_watched job --password-command "echo asked >>$WORK/asked; echo hush"
	[ "$(wc -l <asked)" = 2 ]
	told=$EPOCHREALTIME
	redis DEL lock:job >/dev/null
	told_within 300 "$told" job
	run grep -F hush job.log
	assert_failure
}

@test "a server that is looked up by name: who looks it up is no process of COMMAND's" {
	local told
	start_watched job -S "redis://localhost:$REDIS_PORT" --descendants kill
	redis CLIENT KILL TYPE pubsub
	wait_until 5s watched job
	told=$EPOCHREALTIME
	redis DEL lock:job >/dev/null
	told_within 300 "$told" job
}
