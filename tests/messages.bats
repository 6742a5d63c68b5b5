#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 3: what dlock says, where, and when it is silent.

# shellcheck disable=SC2154 # stderr is set by run --separate-stderr
load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	HOST=$(uname -n)
}

# hold [OPTION...] NAME: a dlock that holds it with `sleep 60`.
hold() {
	start_dlock "$@" sleep 60
	wait_until 2s running "$OUTER"
}

@test "the conflict line names user, host, pid, command and age (P78)" {
	hold job
	run --separate-stderr -75 dlock -n job touch ran
	[ -z "$output" ]
	[ ! -e ran ]
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ "$stderr" =~ ^"dlock: 'job' is held by $(id -un)@$HOST pid $OUTER sleep, for "[0-9.]+(ms|s)$ ]] ||
		fail "$stderr"
}

@test "the command in it is the base name only, never its arguments; the label is there (P78)" {
	start_dlock --label 'the nightly one' job /bin/sh -c 'sleep 61; : secret-argument'
	wait_until 2s running "$OUTER"
	run -75 dlock -n job true
	[ "${#lines[@]}" -eq 1 ]
	assert_output --partial " pid $OUTER sh, for "
	assert_output --partial ', label the nightly one'
	refute_output --partial secret
	refute_output --partial /bin
	kill -TERM "$OUTER"
	wait_until 2s free job
	DLOCK_LABEL=from-environment hold job
	run -75 dlock -n job true
	assert_output --partial ', label from-environment'
}

@test "the age in it grows (P78)" {
	hold job
	sleep 1.1
	run -75 dlock -n job true
	[[ "$output" =~ ", for "[1-9][0-9.]*s$ ]] || fail "$output"
}

@test "a label cannot drive the terminal, nor can a hand-made token" {
	hold --label $'red \e[31m\nnext\x9b' job
	run -75 dlock -n job true
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" != *[$'\e\n']* ]] || fail "unescaped: $(cat -v <<<"$output")"
	redis SET lock:other $'x\e[31m\ny' PX 60000
	run -75 dlock -n other true
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" != *$'\e'* ]] || fail "unescaped: $(cat -v <<<"$output")"
}

@test "a foreign holder is an unknown client, with its token (P78)" {
	redis SET lock:job some-token PX 60000
	run -75 dlock -n job true
	assert_output --regexp "^dlock: 'job' is held by an unknown client \(token some-token"
}

@test "-q says nothing of conflicts, -w neither (P78)" {
	hold job
	run -75 dlock -q -n job true
	assert_output ''
	run -75 dlock --quiet -w 0.1 job true
	assert_output ''
	run -0 dlock -n -E 0 -q --at-least 60s job true
	assert_output ''
}

@test "a wait is silent for a second, then one line names the holder (P79)" {
	hold job
	run -75 dlock -w 0.8 job true
	[ "${#lines[@]}" -eq 1 ] || fail "$output"
	run -75 dlock -w 2 job true
	# One line for the wait, one for the conflict.
	[ "${#lines[@]}" -eq 2 ] || fail "$output"
	assert_line --index 0 --partial "pid $OUTER sleep"
	run -75 dlock -q -w 1.3 job true
	assert_output ''
}

@test "the wait's line comes after a second, not only at the end (P79)" {
	hold job
	start "$DLOCK" job true 2>said
	start_clock
	wait_until 3s test -s said
	assert_between 900 2500 "$(clock_ms)" 'the line'
	run cat said
	assert_output --partial "'job'"
	assert_output --partial "pid $OUTER sleep"
}

@test "stdout is COMMAND's alone, every line of dlock on stderr with dlock: first (P51)" {
	run --separate-stderr dlock -v L echo x
	assert_output x
	[[ "$stderr" =~ "dlock: acquired 'L' after "[0-9.]+"s, fence "[0-9]+ ]] || fail "$stderr"
	[[ "$stderr" =~ "dlock: released 'L' after "[0-9.]+"s" ]] || fail "$stderr"
	local line
	run --separate-stderr dlock -vv L sh -c 'echo x; sleep 0.1'
	assert_output x
	for line in "${stderr_lines[@]}"; do
		[[ "$line" == 'dlock: '* ]] || fail "$line"
	done
	[[ "$stderr" =~ "confirmed t0="[0-9]+\.[0-9]{9}" ttl=30000ms" ]] || fail "$stderr"
}

@test "without -v a run says nothing, and the fence in -v is COMMAND's" {
	run dlock L true
	assert_output ''
	run --separate-stderr dlock -v L sh -c 'echo "$DLOCK_FENCE"'
	[[ "$stderr" == *", fence $output"* ]] || fail "$output: $stderr"
}

@test "a lost lock is one line that says why" {
	local how
	for how in DEL SET; do
		start_dlock -t 1s -k 100ms L sleep 60
		wait_until 2s running "$OUTER"
		held L
		case $how in
		DEL) redis DEL lock:L ;;
		SET) steal L ;;
		esac
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 79 ]
		run cat "$DLOCK_LOG"
		[ "${#lines[@]}" -eq 1 ] || fail "$output"
		case $how in
		DEL) assert_output --partial "lost 'L': the key is gone" ;;
		SET) assert_output --partial "lost 'L': another holder has it" ;;
		esac
		: >"$DLOCK_LOG"
	done
}

@test "a lease that ended before COMMAND was started: COMMAND is not run" {
	# Its acquired line may block on a full pipe; a stop at that moment is the same, but not to be had.
	# Ten, for what was wrong here was a race.
	local i pids=()
	mkfifo full
	exec 5<>full
	dd if=/dev/zero of=full bs=65536 count=1 oflag=nonblock status=none
	for i in {0..9}; do
		start "$DLOCK" -v -t 1s -k 100ms --on-lost signal "L$i" touch "ran$i" 2>full
		pids[i]=$STARTED
	done
	for i in {0..9}; do
		wait_until 2s fenced "L$i"
		wait_until 3s free "L$i"
		# From the acquisition on: either it runs in time, or not at all.
		[ ! -e "ran$i" ] || pids[i]=
	done
	head -c 65536 <&5 >/dev/null
	exec 5<&-
	for i in {0..9}; do
		[ -n "${pids[i]}" ] || continue
		exit_status_of "${pids[i]}"
		[ ! -e "ran$i" ] || fail "started after its lease had ended"
	done
}

# fenced NAME: it has been acquired at some time.
fenced() {
	[ "$(redis EXISTS "$(fence_key_of "$1")")" = 1 ]
}

@test "a reader of stderr that does not read keeps no lock" {
	mkfifo full
	exec 5<>full
	start "$DLOCK" -vv L sh -c 'dd if=/dev/zero bs=65536 count=1 oflag=nonblock status=none >&2; exit 6' 2>full
	exit_status_of "$STARTED" 5s
	[ "$STATUS" -eq 6 ]
	free L
	exec 5<&-
}

@test "an error is said also with -q: unreachable is 69 (P36)" {
	run -69 dlock -q -S unix:///no/such/socket L touch ran
	[ "${#lines[@]}" -eq 1 ]
	assert_output --partial /no/such/socket
	[ ! -e ran ]
}

@test "a refusal is passed on in the server's words: 69, and 77 for the user (P37)" {
	redis HSET lock:L a 1
	run -69 dlock -n L touch ran
	assert_output --partial WRONGTYPE
	redis DEL lock:L
	redis CONFIG SET maxmemory 1
	run -69 dlock -n L touch ran
	redis CONFIG SET maxmemory 0
	assert_output --partial OOM
	redis REPLICAOF 127.0.0.1 1
	run -69 dlock -n L touch ran
	redis REPLICAOF NO ONE
	assert_output --partial READONLY
	redis ACL SETUSER weak on '>weak' '~other:*' +@all
	run -77 dlock -n -S "redis://weak:weak@127.0.0.1:$REDIS_PORT" L touch ran
	run -77 dlock -n -S "redis://weak:wrong@127.0.0.1:$REDIS_PORT" L touch ran
	assert_output --partial WRONGPASS
	[ ! -e ran ]
}

@test "a password appears in no message, and not in the arguments of a running dlock (P97)" {
	local url secret='s3cret%21word'
	redis ACL SETUSER me on '>s3cret!word' '~*' '&*' +@all
	url=redis://me:$secret@127.0.0.1:$REDIS_PORT
	start_dlock -vv -S "$url" -t 2s L sleep 60
	wait_until 2s running "$OUTER"
	local pid
	for pid in "$OUTER" "$RUNNER" "$COMMAND"; do
		run tr '\0' '\n' <"/proc/$pid/cmdline"
		refute_output --partial s3cret
	done
	kill -TERM "$OUTER"
	wait_until 2s gone "$OUTER"
	run cat "$DLOCK_LOG"
	refute_output --partial s3cret
	run -69 dlock -S "redis://me:$secret@127.0.0.1:1" L true
	refute_output --partial s3cret
	assert_output --partial '***'
	run dlock -S "redis://me:$secret@127.0.0.1:port" L true
	assert_failure 64
	refute_output --partial s3cret
	run dlock -S "http://me:$secret@host" L true
	assert_failure 64
	refute_output --partial s3cret
}
