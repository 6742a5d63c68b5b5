#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What a run of dlock costs. Time is for `make bench`, on a machine that does nothing else; here are
# counted what repeats anywhere: instructions, system calls, libraries.

load helpers/common
load helpers/tls

setup_file() {
	start_redis
}

teardown_file() {
	stop_redis
}

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# Whoever has to wait waits for the event: no millisecond is slept away at the end of every run. OUTER
# looks for RUNNER's end, and finds it still there (strace sees to that, once), as it often is.
@test "nobody sleeps or waits in vain in a run that goes well" {
	run -0 strace -f -qq -o trace -e inject=wait4:retval=0:when=1 \
		-e trace=wait4,poll,ppoll,select,pselect6,epoll_wait,nanosleep,clock_nanosleep,rt_sigtimedwait \
		"$DLOCK" sleepless true
	grep -q 'wait4.*INJECTED' trace
	[ "$(grep -c poll trace)" -ge 4 ]
	run grep -E 'sleep|EAGAIN|\(Timeout\)' trace
	assert_output ''
}

# --- libraries ---

# A library is paid for by every run, used or not: libssl made a start 1.55 times as long, libpq
# eight times.
@test "what only some servers need is not linked into the start" {
	run -0 ldd "$DLOCK"
	assert_output --partial libc.so
	refute_output --regexp 'lib(ssl|crypto|pq|curl|systemd|gssapi|ldap|stdc)'
	# The C library with its loader and vdso, before glibc 2.34 librt and libpthread too, and, built
	# with STATIC=no, hiredis and uuid.
	[ "$(grep -c '\.so' <<<"$output")" -le 7 ] || fail "$output"
}

@test "libssl is loaded for a server with TLS, and for no other" {
	local url
	make_ca ca
	make_certificate server ca DNS:localhost
	start_tls_redis
	for url in "$URL_UNIX" "$URL_TCP"; do
		run -0 strace -f -qq -o trace -e trace=openat "$DLOCK" --watch -S "$url" job true
		grep -q 'libc\.so' trace
		run ! grep -E 'ssl|crypto|libpq' trace
	done
	run -0 strace -f -qq -o trace -e trace=openat "$DLOCK" --cacert ca.pem job true
	grep -q 'libssl.*= [0-9]' trace
}

# --- instructions ---

# instructions STATUS COMMAND...: sets COUNT to the instructions of all processes of dlock: of RUNNER
# up to its last word, of what becomes COMMAND up to its execve. callgrind counts from zero in a
# child, and these two calls make it write down what it has.
instructions() {
	local status=$1
	shift
	rm -f counted.*
	run -"$status" env -i PATH=/usr/bin:/bin DLOCK_SERVER="$DLOCK_SERVER" DLOCK_TEST_HOOKS=fork valgrind \
		--tool=callgrind --dump-before=send --dump-before=execve --callgrind-out-file=counted.%p "$@"
	COUNT=$(awk '/^totals:/ { sum += $2 } END { print sum + 0 }' counted.*)
	PROCESSES=$(find . -name 'counted.*' | cut -d . -f 3 | sort -u | wc -l)
}

# costs_about LIMIT WHAT: COUNT, less what /bin/true takes here, which is nearly all the loader's and the
# C library's. A limit that is far too high would let everything pass, so that is a failure too.
costs_about() {
	local cost=$COUNT
	instructions 0 /bin/true
	cost=$((cost - COUNT))
	echo "$2: $cost instructions more than /bin/true"
	[ "$COUNT" -gt 20000 ] || fail "callgrind has not counted"
	[ "$cost" -le "$1" ] || fail "more than the limit of $1: what made the start dearer?"
	[ "$cost" -ge $(($1 / 2)) ] || fail "less than half the limit of $1: lower it"
}

# Limits are a quarter above what was counted on Debian 12: 115,000, 245,000, 374,000, and with shared
# libraries 240,000, 368,000, 495,000. A third of what a run takes more than `--version` is copying and
# wiping scripts: two or three microseconds.
@test "callgrind: the start alone, a conflict, and a whole run take no more instructions than they did" {
	local limits=(144000 306000 467000)
	! ldd "$DLOCK" | grep -q libhiredis || limits=(300000 460000 619000)
	instructions 0 "$DLOCK" --version
	costs_about "${limits[0]}" 'dlock --version'

	redis SET lock:taken somebody PX 600000 >/dev/null
	instructions 75 "$DLOCK" -n -q taken true
	assert_equal "$PROCESSES" 1
	costs_about "${limits[1]}" 'a conflict'

	# The test build: valgrind knows no child that shares its parent's memory (the hook `fork`).
	instructions 0 "$DLOCK_TEST_BUILD" whole true
	assert_equal "$PROCESSES" 3
	costs_about "${limits[2]}" 'a run'
}

# --- system calls ---

# 220 more than /bin/true, 240 before Linux 6.2, and one each for the processes that wait.
@test "strace: a whole run takes no more system calls than it did" {
	local of_true of_run
	run -0 env -i PATH=/usr/bin:/bin strace -f -c -o calls /bin/true
	of_true=$(awk '$NF == "total" { print $4 }' calls)
	run -0 env -i PATH=/usr/bin:/bin strace -f -c -o calls "$DLOCK" -S "$URL_TCP" whole true
	of_run=$(awk '$NF == "total" { print $4 }' calls)
	# Two execve: dlock's, and that of COMMAND.
	assert_equal "$(awk '$NF == "execve" { print $4 }' calls)" 2
	[ "$of_true" -gt 15 ]
	[ $((of_run - of_true)) -le 285 ] || fail "$of_run, /bin/true $of_true: $(<calls)"
	[ $((of_run - of_true)) -ge 140 ] || fail "$of_run, /bin/true $of_true: lower the limit"
}
