#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# System calls that fail for want of the kernel's memory, in either process, at the worst moment
# (SPEC.md section 5: a lock is not left behind, no run on a guess). strace counts the calls of each
# process for itself.

# shellcheck disable=SC2154

load helpers/common

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

# failing CALL ERROR N COMMAND...: the Nth CALL of each process fails.
failing() {
	strace -f -qq -o trace -e "trace=$1" -e "inject=$1:error=$2:when=$3" "${@:4}"
}

@test "poll fails once for want of memory, at any moment, in either process: nothing is disturbed" {
	local n seen=0
	for n in {1..8}; do
		run -42 failing poll ENOMEM "$n" "$DLOCK" --report report job sh -c 'exit 42'
		assert_output ''
		run redis EXISTS lock:job
		assert_output 0
		seen=$((seen + $(grep -c INJECTED trace || true)))
	done
	[ "$seen" -ge 8 ]
	[ "$(grep -c '"outcome":"ran","status":42' report)" -eq 8 ]
}

@test "no timer for either process: 71, COMMAND does not run, the lock is not left behind" {
	local n
	for n in 1 2; do
		run -71 failing timerfd_create ENOMEM "$n" "$DLOCK" job touch ran
		assert_output --partial 'Cannot allocate memory'
		assert_equal "${#lines[@]}" 1
		[ ! -e ran ]
		grep -q INJECTED trace
		run redis EXISTS lock:job
		assert_output 0
	done
}

@test "--report: no memory, or no descriptor, to open it with: an error of the system" {
	local error
	for error in ENOMEM EMFILE ENFILE; do
		run -71 strace -qq -o trace -P "$PWD/report" -e "inject=openat:error=$error" \
			"$DLOCK" --report "$PWD/report" job true
		grep -q INJECTED trace
		assert_output --partial "dlock: --report: cannot append to '$PWD/report': "
	done
}

@test "a kernel that cannot choose the signal of a descriptor: no other one ends dlock" {
	local n
	for n in {1..20}; do # the how many-th call of OUTER it is
		rm -f trace.*
		run strace -ff -qq -o trace -e trace=fcntl -e "inject=fcntl:error=EINVAL:when=$n" \
			"$DLOCK" job sh -c 'exit 42'
		! grep -q 'F_SETSIG.*INJECTED' trace.* || break
	done
	grep -q 'F_SETSIG.*INJECTED' trace.*
	[ "$status" -eq 42 ]
}
