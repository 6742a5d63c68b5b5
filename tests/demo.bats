#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# scripts/demo shows what it says, in time, and leaves nothing behind, also when it is interrupted.
#
# shellcheck disable=SC2153 # exit_status_of sets STATUS

load helpers/common

setup() {
	common_setup
	mkdir tmp
	export TMPDIR=$WORK/tmp DEMO_PACE=0
}

# Directories of control groups that a demo of this test has made.
demo_cgroups() {
	find /sys/fs/cgroup -maxdepth 2 -type d -name 'dlock-demo.*' 2>/dev/null | while read -r group; do
		[ -e "$WORK/seen" ] && grep -qxF "${group##*/}" "$WORK/seen" && echo "$group"
	done
	return 0
}

# The private redis-server of a demo of this test: it works in a directory below TMPDIR.
demo_servers() {
	find /proc -maxdepth 2 -path '/proc/[0-9]*/cwd' -lname "$TMPDIR/*" 2>/dev/null || true
}

nothing_left() {
	[ -z "$(ls -A "$TMPDIR")" ] && [ -z "$(demo_servers)" ] && [ -z "$(marked_dlocks)" ] &&
		[ -z "$(demo_cgroups)" ]
}

# start_demo: in a session of its own, so that a signal to its group is what Ctrl-C would be; the
# name of its directory is noted, the control group has the same.
start_demo() {
	start env --default-signal=INT,QUIT setsid "$ROOT_DIR/scripts/demo" >output 2>&1
	DEMO=$STARTED
}

note_directory() {
	ls "$TMPDIR" >"$WORK/seen"
	[ -s "$WORK/seen" ]
}

demo_says() {
	grep -q -- "$1" output
}

show_demo() {
	start_clock
	run env "$@" "$ROOT_DIR/scripts/demo"
	TOOK=$(clock_ms)
	assert_success
	assert_output --regexp '[AB]\| dlock: .nightly. is held by .* pid [0-9]+ nightly-report, for [0-9]'
	assert_output --regexp '[AB] was told who has it, and ended with exit status 75'
	assert_output --regexp 'store\| REFUSED: [0-9]+ is older than [0-9]+'
	assert_output --regexp 'A\| dlock: lost .accounts.: '
	assert_output --partial 'ended with exit status 79'
	assert_output --partial "The balance is 50: the write of B stands."
	# The fencing numbers, in the order in which the locks were had.
	grep -oE 'fencing number [0-9]+$' <<<"$output" | grep -oE '[0-9]+' >fences
	assert_equal "$(wc -l <fences)" 5
	assert_equal "$(sort -nu fences)" "$(cat fences)"
	nothing_left
}

@test "the demo runs to its end in less than 20 s, with a control group where there can be one" {
	show_demo DEMO_PACE=1
	assert_between 0 20000 "$TOOK" milliseconds
}

@test "the demo shows the same without a control group" {
	show_demo DEMO_FREEZER=no
	assert_output --partial 'machine A is cut off from Redis'
}

@test "interrupted by Ctrl-C in any part, the demo leaves nothing behind" {
	local mark
	for mark in 'nightly-report runs' 'dlock -w 10s nightly' 'machine A \(freezes\|is cut off\)'; do
		: >output
		start_demo
		wait_until 20s demo_says "$mark"
		wait_until 1s note_directory
		kill -INT -- "-$DEMO"
		exit_status_of "$DEMO" 10s
		assert_equal "$STATUS" 130
		wait_until 1s nothing_left
	done
}

@test "ended by TERM while it makes its directory, the demo leaves nothing behind" {
	mkdir bin
	printf '#!/bin/sh\n%s "$@"\nsleep 0.5\n' "$(command -v mktemp)" >bin/mktemp
	chmod +x bin/mktemp
	PATH=$WORK/bin:$PATH start_demo
	wait_until 2s note_directory
	kill -TERM "$DEMO"
	exit_status_of "$DEMO" 10s
	assert_equal "$STATUS" 143
	wait_until 1s nothing_left
}

@test "ended by TERM right after its start, the demo leaves nothing behind" {
	for delay in 0.02 0.05 0.1 0.3; do
		start_demo
		sleep "$delay"
		kill -TERM "$DEMO"
		exit_status_of "$DEMO" 10s
		# Sooner than its trap is set it simply dies.
		assert_equal "$STATUS" 143
		wait_until 1s nothing_left
	done
}
