#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# `make bench`, of the lock that changes hands: what is measured is from the last act of the old
# command to the first of the new one, and only where somebody was waiting. How fast dlock is is not
# the question here: other tests run at the same time.

load helpers/common

setup() {
	common_setup
	mkdir tmp stamps
	export TMPDIR=$WORK/tmp BENCH_OUT=$WORK/latest.tsv
	PROGRAMS=$ROOT_DIR/build/bench
	TAB=$'\t'
	inode=$(true >>lock && stat -c %i lock)
	IN_LINE="grep -q -- '-> FLOCK .*:$inode ' /proc/locks"
}

# handoff ROUNDS: of what is in contenders.
handoff() {
	"$PROGRAMS/handoff" "$1" contenders "$WORK/stamps" "$PROGRAMS/stamp"
}

# contender NAME IN_LINE SCRIPT: a line of contenders: SCRIPT with the command in "$@".
contender() {
	tabbed() { local IFS=$TAB; echo "$*"; }
	tabbed kind "$1" 1 "$2" /bin/bash -c "$3" contender
}

stamps_of() {
	od -An -v -t d8 -w16 "$1"
}

@test "stamp: it says when it began and when it ended, in its own place" {
	local began before after
	head -c 48 /dev/zero >file
	before=$(boottime)
	"$PROGRAMS/stamp" file 1
	after=$(boottime)
	stamps_of file >seen
	awk 'NR != 2 && ($1 != 0 || $2 != 0) { exit 1 }
		NR == 2 && !($1 > 0 && $2 >= $1) { exit 1 }' seen || fail "$(<seen)"
	# No longer than the whole took: the two clocks differ by what the machine slept.
	read -r began ended < <(sed -n 2p seen)
	assert_between 0 "$(elapsed_ms "$before" "$after")" $(((ended - began) / 1000000))

	mkfifo go
	start "$PROGRAMS/stamp" file 2 go
	exec {fd}>go
	began() { stamps_of file | awk 'NR == 3 { exit !($1 > 0 && $2 == 0) }'; }
	wait_until 5s began
	printf . >&"$fd"
	wait "$STARTED"
	stamps_of file | awk 'NR == 3 { exit !($2 > $1) }'

	run -1 "$PROGRAMS/stamp" no-such 0
	run -64 "$PROGRAMS/stamp" file
}

@test "stamp: it does not outlive who would tell it to end" {
	head -c 16 /dev/zero >file
	mkfifo go
	start "$PROGRAMS/stamp" file 0 go
	exec {fd}>go
	exec {fd}>&-
	wait_until 5s gone "$STARTED"
}

@test "handoff: from the end of the old command to the start of the new one" {
	# Half of what it takes is before the lock is given back, half is after it was had.
	contender slow "$IN_LINE" 'exec 9>>lock; flock 9; sleep 0.1; "$@"; sleep 0.1' >contenders
	contender quick "$IN_LINE" 'exec 9>>lock; flock 9; "$@"' >>contenders
	run -0 handoff 3
	assert_line --index 0 --regexp "^kind${TAB}slow${TAB}3(${TAB}[0-9]+\.[0-9]){4}$"
	assert_line --index 1 --regexp "^kind${TAB}quick${TAB}3"
	assert_equal "${#lines[@]}" 2
	awk -F '\t' '/slow/ && $4 < 200000 || /quick/ && $4 >= 200000 { exit 1 }' <<<"$output" || fail "$output"
}

@test "handoff: who does not wait is no waiter" {
	local not_in_line='^handoff: (open|late): its waiter (is not in line|was let in while the lock was held)$'
	contender open true '"$@"' >contenders
	run -1 handoff 3
	assert_output --regexp "$not_in_line"
	rm -r stamps/*
	contender late true 'sleep 0.01; "$@"; sleep 0.1' >contenders
	run -1 handoff 3
	assert_output --regexp "$not_in_line"
}

@test "handoff: a contender that fails ends it by name, and nothing is left" {
	contender bad "$IN_LINE" 'exec 9>>lock; flock 9; "$@"; exit 3' >contenders
	run -1 handoff 3
	assert_output 'handoff: bad: its command failed'
	rm -r stamps/*
	contender dead "$IN_LINE" 'exit 3' >contenders
	run -1 handoff 3
	assert_output 'handoff: dead: its holder does not run the command'
	rm -r stamps/*
	contender one-sided true 'mkdir holder 2>/dev/null || exit 0; "$@"' >contenders
	run -1 handoff 3
	assert_output --regexp '^handoff: one-sided: its waiter (is not in line|did not run the command)$'
	no_stamp() { ! pgrep -f "$WORK/stamps/" >/dev/null; }
	wait_until 5s no_stamp
}

@test "crowd: who comes out of turn, and who comes while another is in, is counted" {
	# shellcheck disable=SC2034 # for crowd.bash
	dir=$WORK out=$WORK/out.tsv
	record() { echo "$2 $3" >>recorded; }
	contender() { kind=dlock name=it; }
	# shellcheck source=tests/bench/crowd.bash
	source "$ROOT_DIR/tests/bench/crowd.bash"
	mkdir crowd
	stamps() { cat made; }
	# Hand-offs of 1, 2 and 3 ms; each is in for 1 ms.
	printf '%s\n' '1000000 9000000' '10000000 11000000' '13000000 14000000' '17000000 18000000' >made
	judge_order
	assert_equal "$(<recorded)" 'out_of_order 0
overlaps 0
ms_per_handoff 2.6667'
	assert_equal "$(<out.tsv)" "drain${TAB}dlock${TAB}it${TAB}3${TAB}1000.0${TAB}2000.0${TAB}3000.0${TAB}0"
	# The second and the third changed places.
	printf '%s\n' '1000000 9000000' '10000000 11000000' '17000000 18000000' '13000000 14000000' >made
	: >recorded
	judge_order
	assert_equal "$(head -n 2 recorded)" 'out_of_order 1
overlaps 0'
	# The last was let in while the one before was in.
	printf '%s\n' '1000000 9000000' '10000000 11000000' '13000000 17000001' '17000000 18000000' >made
	: >recorded
	judge_order
	assert_equal "$(head -n 2 recorded)" 'out_of_order 0
overlaps 1'
}

@test "the hand-offs of all, and a crowd" {
	run env BENCH_MEASURES='handoff crowd' BENCH_ROUNDS=7 BENCH_WAITERS=5 BENCH_WAIT_SECONDS=1 \
		"$ROOT_DIR/tests/bench/run" flock dlock-unix dlock-tcp redis-cli redis-py etcdctl
	[ "$status" -le 1 ] || fail "$output"
	for line in 'flock\(1\)' 'dlock, Unix socket' 'dlock, TCP' "redis-py's Lock" 'etcdctl lock'; do
		assert_line --regexp "^  $line +2 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$"
	done
	assert_line --regexp '^  dlock, TCP +5 +[0-9.]+ +[0-9.]+ +- +-$'
	assert_line '5 waiters on one lock, held with a TTL of 30 s, over TCP'
	assert_line --regexp '^  scripts per second, over 1 s \(what counts is 180 s\) +[0-9.]+$'
	assert_line --regexp '^  who came out of order, of all +[0-9]+$'
	assert_line --regexp '^  who came while another was in +0$'
	assert_line --regexp '^  ms from the first to the last, per waiter +[0-9.]+$'
	# An acquire and a release are the least.
	awk -F '\t' '$2 == "scripts_per_acquisition" { exit !($3 >= 2) }' latest.tsv || fail "$(<latest.tsv)"
	assert_equal "$(grep -cE '^  (PASS|MISS) ' <<<"$output")" 7
	[ -z "$(ls -A "$TMPDIR")" ] && [ -z "$(marked_dlocks)" ]
}
