#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 1: options, names and servers that are taken. What is refused is in bad_input.bats,
# where settings come from in config.bats.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

# taken OPTION...: with these dlock runs its command.
taken() {
	run -0 dlock "$@" job echo ran
	assert_output ran
}

@test "a TTL of 1s to 30d is taken (P66)" {
	taken -t 1s -k 100ms
	taken -t 30d
	taken -t 1000ms -k 100ms
}

@test "a grace that leaves room for a renewal and a retry is taken" {
	taken -t 30s -k 5s
	taken -t 3s -k 0
}

@test "numbers and signals to the last one that is right" {
	local good
	taken --min-fence 9007199254740991
	for good in TERM SIGTERM term 15 INT SIGUSR1 KILL; do
		taken --signal "$good"
	done
}

@test "options of flock(1) that mean nothing here are accepted" {
	taken -x -e -o --exclusive --close
	taken -xeo
	taken -xn
}

@test "a NAME of 512 bytes is taken, and one with a hash tag" {
	run -0 dlock "$(printf 'x%.0s' {1..512})" echo ran
	assert_output ran
	run dlock 'a{tag}b' sh -c 'echo "$DLOCK_KEY"'
	assert_success
	assert_output 'lock:a{tag}b'
	run redis --scan
	assert_line 'lock:a{tag}b#fence'
}

@test "a NAME may have any other byte, and does not drive the terminal" {
	local name=$'a b\tc\n\e[31m\xff*?"$(x)'
	run dlock "$name" sh -c 'printf %s "$DLOCK_NAME"'
	assert_output "$name"
	start_dlock "$name" sleep 60
	wait_until 2s running "$OUTER"
	run -75 dlock -n "$name" true
	[ "${#lines[@]}" -eq 1 ]
	[[ "$output" != *[$'\e\t\xff']* ]] || fail "unescaped: $(cat -v <<<"$output")"
}

@test "a database is chosen in either form of URL" {
	run dlock -S "$URL_TCP/3" job redis-cli -s "$REDIS_SOCK" -n 3 EXISTS lock:job
	assert_output 1
	run dlock -S "$URL_UNIX?db=4" job redis-cli -s "$REDIS_SOCK" -n 4 EXISTS lock:job
	assert_output 1
	run dlock job redis-cli -s "$REDIS_SOCK" -n 0 EXISTS lock:job
	assert_output 1
}

@test "-h and -V are for stdout, status 0, and need no server" {
	local option
	for option in -h --help -V --version; do
		run --separate-stderr env -u DLOCK_SERVER "$DLOCK" "$option"
		assert_success
		[ -n "$output" ]
		[ -z "$stderr" ]
	done
}

@test "the help fits a terminal of 80 columns, what an option does in a column of its own" {
	"$DLOCK" --help >help
	run grep -nE '.{81}' help
	assert_output ''
	# An option, or more of what the one above does.
	run sed -n '/^  -n/,/^  -c/p' help
	assert [ "${#lines[@]}" -ge 30 ]
	for line in "${lines[@]}"; do
		[[ $line =~ ^\ \ (-[A-Za-z]|\ \ \ \ --) || $line =~ ^\ {30}[^\ ] ]] || fail "not in its column: $line"
		[[ $line =~ \ [a-z]+(\|[a-z]+)+$ || ${line:28:2} = '  ' && ${line:30:1} != ' ' ]] || fail "not in its column: $line"
	done
}

@test "the help is whole: after each option the variable that stands for it" {
	local variable
	"$DLOCK" --help >help
	for variable in $(grep -ohE '\{"DLOCK_[A-Z]+"' "$ROOT_DIR/src/cli/table.c" | tr -d '{"'); do
		grep -qF "[$variable]" help || fail "$variable is not in --help: $(<help)"
	done
	[ "$(grep -c '\[DLOCK_' help)" -ge 4 ]
}

@test "--help and --version for a reader that has gone: SIGPIPE, as of any program, or a message" {
	local option
	for option in --help --version; do
		run -141 bash -c 'exec 3> >(:); wait $!; "$DLOCK" "$1" >&3' - "$option"
		assert_output ''
		run -71 bash -c 'trap "" PIPE; exec 3> >(:); wait $!; "$DLOCK" "$1" >&3' - "$option"
		assert_output 'dlock: cannot write to stdout: Broken pipe'
		run -71 bash -c '"$DLOCK" "$1" >/dev/full' - "$option"
		assert_output 'dlock: cannot write to stdout: No space left on device'
	done
}

@test "long options may be given as usual: =, abbreviated, before NAME" {
	permit_keys 'y:*'
	run -0 dlock --ttl=5s --label=x --prefix=y: job sh -c 'echo "$DLOCK_KEY"'
	assert_output y:job
	taken --nonb
}

# mode_of OPTION...: what stands at the key while dlock runs with these, and DLOCK_SLOT.
mode_of() {
	run -0 dlock "$@" job sh -c 'value=$(redis-cli -s "$REDIS_SOCK" GET lock:job)
		[ "$value" != "$DLOCK_TOKEN" ] || value=exclusive
		echo "$value ${DLOCK_SLOT-none}"'
}

@test "exclusive, shared and slots, by each of their names; the last of those on the line counts" {
	local option
	for option in '' -x -e --exclusive '-s -x' '--slots 3 -e' -sx '--shared --exclusive'; do
		# shellcheck disable=SC2086 # words
		mode_of $option
		assert_output 'exclusive none'
	done
	for option in -s --shared --shar '-x -s' -xs '-s --shared'; do
		# shellcheck disable=SC2086
		mode_of $option
		assert_output 'dlock!shared none'
	done
	for option in '--slots 3' --slots=3 '-x --slots 3' '--slots 1000 --slots 3'; do
		# shellcheck disable=SC2086
		mode_of $option
		assert_output 'dlock!slots:3 0'
	done
	mode_of --slots 1
	assert_output 'dlock!slots:1 0'
	mode_of --slots 1000
	assert_output 'dlock!slots:1000 0'
}

@test "a DLOCK_SLOT of somebody else is not passed on as ours" {
	DLOCK_SLOT=7 mode_of
	assert_output 'exclusive none'
	DLOCK_SLOT=7 mode_of -s
	assert_output 'dlock!shared none'
	run -0 env DLOCK_SLOT=7 "$DLOCK" --slots 2 job "$DLOCK" other sh -c 'echo "${DLOCK_SLOT-none}"'
	assert_output none
}

@test "--max-waiters N: a conflict at once behind N others; 0 means -n" {
	taken --max-waiters 0
	taken --max-waiters 1000000
	taken --max-waiters 0 -w 1m
	start_dlock job sleep 60
	wait_until 2s running "$OUTER"
	run -75 timeout 10 "$DLOCK" --max-waiters 0 job true
	assert_output --partial "'job' is held by"
	run -75 timeout 10 "$DLOCK" --max-waiters 0 -w 1m job true
	run -9 timeout 10 "$DLOCK" -E 9 --max-waiters 0 job true
	# Nobody waits yet: the first may, and the second may not.
	run -75 timeout 10 "$DLOCK" --max-waiters 1 -w 0.2 job true
	start "$DLOCK" -w 1m job true
	wait_until 5s in_line 1
	run -75 timeout 10 "$DLOCK" --max-waiters 1 -w 1m job true
	[ "$(redis ZCARD "$(queue_key_of job)")" -eq 1 ]
	start "$DLOCK" --max-waiters 2 -w 1m job true
	wait_until 5s in_line 2
}

queue_key_of() {
	echo "lock:$1#queue{lock:$1}"
}

# in_line N: so many wait for the lock.
in_line() {
	[ "$(redis ZCARD "$(queue_key_of job)")" -eq "$1" ]
}

@test "--watch is taken, with any mode" {
	taken --watch
	taken --watch -s
	taken --watch --slots 2
}
