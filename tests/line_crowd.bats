#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 7, with many: killed waiting, killed holding, nobody stuck, order kept.

load helpers/common
load helpers/line

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	line_setup
}

@test "36 waiters, 8 killed waiting, 5 killed holding: the others have the lock in the order in which they came" {
	crowd 36 8 5 -t 2s -k 100ms
}

@test "many at once, with -n and -w among them: no two at once, nobody is stuck, nothing is left" {
	local i pids=()
	# -w 0.02 may well be over before the server has said a word: 69.
	for i in {1..12}; do
		start bash -c 'for i in 1 2 3 4 5; do
			"$DLOCK" -q -n job ./visit "n$1.$i"
			case $? in 0 | 75) ;; *) echo "status $? of -n" >>visits ;; esac
			"$DLOCK" -q -w 0.02 job ./visit "w$1.$i"
			case $? in 0 | 75 | 69) ;; *) echo "status $? of -w" >>visits ;; esac
			"$DLOCK" -q job ./visit "l$1.$i" || echo "status $?" >>visits
			done' - "$i" 2>>"$DLOCK_LOG"
		pids+=("$STARTED")
	done
	for i in "${pids[@]}"; do
		exit_status_of "$i" 30s
	done
	nothing_wrong || fail "$(tail -n 20 "$DLOCK_LOG")"
	[ "$(grep -c '^l' visits)" -eq 60 ]
	assert_no_trace job
}
