#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# How `make bench` judges what was measured.

load helpers/common

setup() {
	common_setup
	TAB=$'\t'
}

# measured FLOCK DLOCK PEER KIB: medians in microseconds.
measured() {
	printf '%s\n' "asked${TAB}start" "asked${TAB}memory" \
		"start${TAB}local${TAB}flock(1)${TAB}9${TAB}1${TAB}$1${TAB}9${TAB}9" \
		"start${TAB}dlock${TAB}dlock, TCP${TAB}9${TAB}1${TAB}$2${TAB}9${TAB}9" \
		"start${TAB}network${TAB}slow${TAB}9${TAB}1${TAB}999999${TAB}9${TAB}9" \
		"start${TAB}network${TAB}peer${TAB}9${TAB}1${TAB}$3${TAB}9${TAB}9" \
		"pss${TAB}dlock${TAB}dlock, TCP${TAB}$4" >measured.tsv
}

# handed_on FLOCK DLOCK P99: of the hand-off, in microseconds.
handed_on() {
	printf '%s\n' "asked${TAB}handoff" \
		"handoff${TAB}local${TAB}flock(1)${TAB}9${TAB}1${TAB}$1${TAB}9${TAB}9" \
		"handoff${TAB}dlock${TAB}dlock, TCP${TAB}9${TAB}1${TAB}$2${TAB}$3${TAB}9" >measured.tsv
}

# crowded SCRIPTS_PER_SECOND OUT_OF_ORDER OVERLAPS MS SCRIPTS
crowded() {
	printf '%s\n' "asked${TAB}crowd" "figure${TAB}waiters${TAB}7" "figure${TAB}watched_seconds${TAB}3" \
		"figure${TAB}scripts_per_second${TAB}$1" "figure${TAB}out_of_order${TAB}$2" \
		"figure${TAB}overlaps${TAB}$3" "figure${TAB}ms_per_handoff${TAB}$4" \
		"figure${TAB}scripts_per_acquisition${TAB}$5" >measured.tsv
}

# judged STATUS GRADE...: of the aims, of what was measured.
judged() {
	run -"$1" "$ROOT_DIR/tests/bench/report" measured.tsv
	shift
	assert_equal "$(grep -oE '^  (PASS|MISS|MISSING) ' <<<"$output" | tr -s ' \n' ' ')" " $* "
}

@test "an aim that is met, missed, or missed by more than a quarter" {
	measured 1000 1400 1400 976
	judged 0 PASS PASS PASS
	assert_line --regexp 'dlock over TCP, times flock.*: 1\.40 of 1\.40'
	assert_line --partial 'fastest peer on a network (peer): 1.00 of 1.00'
	measured 1000 1401 1500 100
	judged 0 MISS PASS PASS
	measured 1000 1750 2000 100
	judged 0 MISS PASS PASS
	measured 1000 1751 2000 100
	judged 1 MISS PASS PASS
	measured 1000 1300 1200 100
	judged 0 PASS MISS PASS
	measured 1000 1300 1000 100
	judged 1 PASS MISS PASS
	measured 1000 1300 2000 977
	judged 0 PASS PASS MISS
	measured 1000 1300 2000 1300
	judged 1 PASS PASS MISS
}

@test "the hand-off is judged beside flock's, and its slowest by the clock" {
	handed_on 1000 1300 5000
	judged 0 PASS PASS
	assert_line --partial 'hand-off of dlock over TCP, times flock(1): 1.30 of 1.30'
	assert_line --partial 'hand-off of dlock over TCP, p99 in ms: 5.00 of 5.00'
	handed_on 1000 1620 6200
	judged 0 MISS MISS
	handed_on 1000 1630 5000
	judged 1 MISS PASS
	handed_on 1000 1300 6300
	judged 1 PASS MISS
}

@test "of a crowd one out of order, or two at once, is a failure" {
	crowded 20 0 0 2 3
	judged 0 PASS PASS PASS PASS PASS
	assert_line '7 waiters on one lock, held with a TTL of 30 s, over TCP'
	assert_line --regexp '^  scripts per second, over 3 s \(what counts is 180 s\) +20$'
	crowded 24.9 0 0 2.4 3.7
	judged 0 MISS PASS PASS MISS MISS
	crowded 25.1 0 0 2 3
	judged 1 MISS PASS PASS PASS PASS
	crowded 0 1 0 2 3
	judged 1 PASS MISS PASS PASS PASS
	crowded 0 0 1 2 3
	judged 1 PASS PASS MISS PASS PASS
	crowded 0 0 0 2.6 3
	judged 1 PASS PASS PASS MISS PASS
	crowded 0 0 0 2 3.8
	judged 1 PASS PASS PASS PASS MISS
}

@test "what was not measured is no success" {
	measured 1000 1300 2000 100
	sed -i '/^pss/d' measured.tsv
	judged 1 PASS PASS MISSING
	sed -i '/flock/d' measured.tsv
	judged 1 MISSING PASS MISSING
	sed -i '/dlock/d' measured.tsv
	judged 1 MISSING MISSING MISSING
	handed_on 1000 1300 5000
	sed -i '/dlock/d' measured.tsv
	judged 1 MISSING MISSING
	printf 'asked\tcrowd\n' >measured.tsv
	judged 1 MISSING MISSING MISSING MISSING MISSING
}
