#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md sections 1 and 7: -s and -x, who goes with whom and who is next. What becomes of a member
# that crashes or loses its place is in tests/members.bats.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154,SC2086 # dollars for the shell inside; `how` is an option and its value

load helpers/common
load helpers/shared

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() { shared_setup; }

@test "-s: several hold it at once; the key holds a marker, the members their tokens" {
	local id now
	enter a -s
	enter b --shared -t 20s
	enter c -s
	[ "$(redis GET lock:job)" = 'dlock!shared' ]
	members_are 3
	now=$(server_ms)
	for id in a b c; do
		is_member "$(token_of "$id")"
		[ "$(scored_slot_of "$(token_of "$id")")" = 0 ]
		[ "$(slot_of "$id")" = none ]
	done
	assert_between $((now + 15000)) $((now + 20000)) "$(expiry_of "$(token_of b)")" "expiry of b"
	assert_between $((now + 25000)) $((now + 30000)) "$(expiry_of "$(token_of c)")" "expiry of c"
	[ "$(token_of a)" != "$(token_of b)" ] && [ "$(token_of b)" != "$(token_of c)" ]
	(($(fence_of a) < $(fence_of b) && $(fence_of b) < $(fence_of c)))
	leave b
	leave a
	members_are 1
	[ "$(redis GET lock:job)" = 'dlock!shared' ]
	undisturbed c
	leave c
	no_trace
}

@test "-x, -e and --exclusive are the exclusive lock; of them and -s the last one counts, as with flock(1)" {
	local form
	show() {
		run dlock "$@" job sh -c 'redis-cli -s "$REDIS_SOCK" GET lock:job; echo "$DLOCK_TOKEN"'
		assert_success
	}
	for form in -x -e --exclusive '-s -x' '-s -e' '--shared --exclusive'; do
		show $form
		[ "${lines[0]}" = "${lines[1]}" ] || fail "$form: $output"
	done
	for form in -s --shared '-x -s' '-e -s' '--exclusive --shared' -xs; do
		show $form
		[ "${lines[0]}" = 'dlock!shared' ] || fail "$form: $output"
	done
}

@test "exclusive waits for all that share" {
	enter a -s
	enter b -s
	conflict
	conflict -x -w 0
	queue w
	leave a
	is_out w
	conflict
	leave b
	wait_until 2s is_in w
	[ "$(redis GET lock:job)" = "$(token_of w)" ]
	leave w
	no_trace
}

@test "shared waits for exclusive" {
	enter w
	conflict -s
	queue a -s
	queue b -s
	leave w
	wait_until 2s all_in a b
	leave a
	leave b
	no_trace
}

@test "the line of a conflict names one that shares it" {
	enter a -s --label 'the label'
	conflict
	assert_output --regexp "root@$(uname -n) pid ${OUTERS[a]} sh, .*the label"
	leave a
	enter b
	conflict -s
	assert_output --partial "pid ${OUTERS[b]} sh, "
	leave b
}

@test "the line of a wait names one that shares it" {
	enter a -s
	queue w
	wait_until 4s test -s log.w
	grep -qE "^dlock: waiting for 'job', held by root@.* pid ${OUTERS[a]} sh, " log.w
	[ "$(wc -l <log.w)" -eq 1 ]
	leave a
	wait_until 2s is_in w
	leave w
}

@test "12 at once with -n that go together: none is in another's way" {
	local how i pids
	for how in -s '--slots 12'; do
		pids=()
		for i in {1..12}; do
			start "$DLOCK" -n $how job sh -c 'echo "$DLOCK_FENCE" >>fences; sleep 0.1'
			pids+=("$STARTED")
		done
		for i in "${pids[@]}"; do
			exit_status_of "$i"
			[ "$STATUS" -eq 0 ] || fail "$how: $STATUS"
		done
	done
	[ "$(sort -u fences | wc -l)" -eq 24 ]
	no_trace
}

@test "foreign clients see held: SET NX fails, redis-py's Lock is excluded and cannot release it" {
	local how
	for how in -s '--slots 2'; do
		enter a $how
		[ -z "$(redis SET lock:job by-hand NX PX 1000)" ]
		run /usr/bin/python3 -c '
import os, redis
lock = redis.Redis(unix_socket_path=os.environ["REDIS_SOCK"]).lock("lock:job", timeout=20)
assert lock.locked()
assert not lock.acquire(blocking=False)
assert not lock.acquire(blocking=True, blocking_timeout=0.2)
for attempt in (lock.release, lambda: lock.extend(50)):
    lock.local.token = b"some-other-token"
    try:
        attempt()
        print("went through")
    except redis.exceptions.LockError:
        pass
print("excluded")'
		assert_output excluded
		undisturbed a
		leave a
		run /usr/bin/python3 -c '
import os, redis
lock = redis.Redis(unix_socket_path=os.environ["REDIS_SOCK"]).lock("lock:job", timeout=20)
assert lock.acquire(blocking=False)
lock.release()
print("had it")'
		assert_output 'had it'
	done
}

@test "a foreign holder excludes shared and slots, which have their turn when it is gone" {
	redis SET lock:job another PX 60000
	conflict -s
	assert_output --partial "an unknown client (token another)"
	conflict --slots 2
	assert_output --partial "an unknown client (token another)"
	[ "$(redis GET lock:job)" = another ]
	redis PEXPIRE lock:job 700
	queue a -s
	wait_until 5s is_in a
	leave a
	redis SET lock:job another PX 700
	queue b --slots 2
	wait_until 5s is_in b
	leave b
	no_trace
}

@test "ten that wait to share start together when the writer leaves; who shares and came after another writer waits for that" {
	local i
	enter w1
	begin_all 10 r -s
	queue w2
	queue late -s
	leave w1
	wait_until 5s all_in r{0..9}
	members_are 10
	waiting_are 2
	# All ten have it, and none of those behind.
	all_out w2 late
	for i in {0..8}; do
		echo 23 1<>"go.r$i"
	done
	wait_until 3s members_are 1
	all_out w2 late
	leave r9
	wait_until 2s is_in w2
	is_out late
	leave w2
	wait_until 2s is_in late
	leave late
	no_trace
}

@test "nobody that shares overtakes a writer in line, not with -n and not with -w" {
	enter a -s
	queue w
	conflict -s
	run dlock -w 0.3 -s job touch ran
	assert_failure 75
	[ ! -e ran ]
	waiting_are 1
	queue b -s
	leave a
	wait_until 2s is_in w
	is_out b
	leave w
	wait_until 2s is_in b
	# With no writer left, again at once.
	run -0 dlock -n -s job true
	leave b
}

@test "when a writer at the head gives up, those behind it that share are let in at once" {
	enter a -s
	queue w
	queue b -s
	queue c -s
	kill -TERM "${OUTERS[w]}"
	wait_until 1s all_in b c
	undisturbed a
	begin x -w 1s
	wait_until 2s waiting_are 1
	queue d -s
	wait_until 3s is_in d
	leave a
	leave b
	leave c
	leave d
	no_trace
}

@test "a writer that was killed at the head of the line keeps nobody out that comes" {
	enter a -s
	queue w
	queue b -s
	kill -KILL "${OUTERS[w]}"
	wait_until 2s gone "${OUTERS[w]}"
	# Who comes finds out, for all of them.
	run -0 dlock -w 2 -s job true
	wait_until 2s is_in b
	leave a
	leave b
	no_trace
}

@test "dead waiters in line do not separate those that share" {
	enter w
	queue a -s
	queue x
	queue b -s
	queue y -s
	queue c -s
	kill -KILL "${OUTERS[x]}" "${OUTERS[y]}"
	wait_until 2s gone "${OUTERS[x]}" "${OUTERS[y]}"
	leave w
	wait_until 3s all_in a b c
	leave a
	leave b
	leave c
	no_trace
}

@test "writers do not starve: 16 readers hammering, a writer gets in within one reader's hold" {
	local i queued='' began waited pids=()
	hammer() {
		until [ -e enough ]; do record s 0.3 -q || echo "$?" >>failures; done
	}
	for i in {1..16}; do
		start hammer
		pids+=("$STARTED")
	done
	wait_until 10s lines_of ran 16
	# Readers stand in line only behind a writer, who is in it for 300 ms at most: seen in one of three.
	for i in 1 2 3; do
		start record x 0.05
		if poll_for 1000 somebody_waits; then
			queued=${EPOCHREALTIME/[.,]/}
			break
		fi
		exit_status_of "$STARTED" 20s
		rm ran
		wait_until 10s lines_of ran 16
	done
	[ -n "$queued" ]
	exit_status_of "$STARTED" 20s
	[ "$STATUS" -eq 0 ]
	touch enough
	for i in "${pids[@]}"; do
		exit_status_of "$i" 20s
	done
	[ ! -e failures ]
	assert_compatible "$(wc -l <ran)"
	[ "$(most_at_once s)" -ge 4 ]
	# Of those launched when the writer was in line none began before it.
	began=$(awk '$1 == "x" { print $5 }' ran)
	awk -v queued="$queued" -v writer="$began" '
		$1 == "s" && $4 > queued && $5 < writer { print "overtook: " $0; wrong = 1 }
		END { exit wrong }' ran
	waited=$(((began - queued) / 1000))
	echo "# the writer had it after $waited ms, one reader has it for 300" >&3
	[ "$waited" -lt 1500 ]
}

somebody_waits() {
	[ "$(waiting)" -gt 0 ]
}

lines_of() {
	[ "$(wc -l 2>/dev/null <"$1")" -ge "$2" ]
}

@test "-w bounds the wait to share; a wait that ran out leaves no trace and a signal neither" {
	local how
	enter w
	for how in -s '--slots 2'; do
		start_clock
		run dlock -w 0.4 $how job touch ran
		assert_failure 75
		assert_between 400 2000 "$(clock_ms)" "milliseconds"
		waiting_are 0
		queue a $how
		start_clock
		kill -TERM "${OUTERS[a]}"
		wait_until 2s gone "${OUTERS[a]}"
		assert_between 0 1000 "$(clock_ms)" "milliseconds until the signal had ended it"
		exit_status_of "${OUTERS[a]}"
		[ "$STATUS" -eq 143 ]
		waiting_are 0
		[ "$(redis HKEYS "$(info_key_of job)")" = "$(token_of w)" ]
	done
	[ ! -e ran ]
	undisturbed w
	leave w
	no_trace
}

@test "all who mix -s, -x and slots at random: nobody with whom it excludes, fences strictly increase" {
	local i pids=()
	hammer() {
		local modes=(x s s 3 3) i
		RANDOM=$1
		for i in {1..5}; do
			record "${modes[RANDOM % 5]}" "0.0$((RANDOM % 6))" -q || echo "$?" >>failures
		done
	}
	watch_expiries
	for i in {1..8}; do
		start hammer "$i"
		pids+=("$STARTED")
	done
	for i in "${pids[@]}"; do
		exit_status_of "$i" 60s
	done
	stop_watching
	[ ! -e failures ]
	assert_compatible 40
	[ "$(most_at_once s)" -ge 2 ]
	[ "$(most_at_once 3)" -ge 2 ]
	no_trace
}
