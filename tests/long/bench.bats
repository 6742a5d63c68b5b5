#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# `make bench` measures what it says, judges it as it says, and leaves nothing behind. How fast dlock is
# is not the question here: other tests run at the same time.

load ../helpers/common

setup() {
	common_setup
	mkdir tmp
	export TMPDIR=$WORK/tmp BENCH_OUT=$WORK/latest.tsv BENCH_ROUNDS=10 BENCH_WAITERS=5 BENCH_WAIT_SECONDS=1
	BENCH=$ROOT_DIR/tests/bench/run
	RACE=$ROOT_DIR/build/bench/race
	TAB=$'\t'
}

# What a bench of this test runs: it works in, or was told of, a directory below TMPDIR.
bench_servers() {
	local pid
	for pid in $(pgrep -x 'redis-server|redis-cli|etcd|race|handoff|consul'); do
		{ readlink "/proc/$pid/cwd"; tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null |
			grep -qF "$TMPDIR/" && echo "$pid"
	done
	return 0
}

nothing_left() {
	[ -z "$(ls -A "$TMPDIR")" ] && [ -z "$(bench_servers)" ] && [ -z "$(marked_dlocks)" ]
}

# --- the race ---

@test "race: every contender runs in every EVERYth round, and once before to warm up" {
	printf '%s\n' "a${TAB}often${TAB}1${TAB}/bin/sh${TAB}-c${TAB}echo x >>often; echo to stdout" \
		"b${TAB}seldom${TAB}4${TAB}/bin/sh${TAB}-c${TAB}echo x >>seldom" >contenders
	run -0 "$RACE" 8 contenders
	assert_line --index 0 --regexp "^a${TAB}often${TAB}8(${TAB}[0-9]+\.[0-9]){4}$"
	assert_line --index 1 --regexp "^b${TAB}seldom${TAB}2(${TAB}[0-9]+\.[0-9]){4}$"
	assert_equal "${#lines[@]}" 2
	assert_equal "$(wc -l <often)" 9
	assert_equal "$(wc -l <seldom)" 3
}

@test "race: least, median and 99th percentile are those of the time that was taken" {
	# 20 runs: nineteen of 20 ms, and one of 300.
	cat >step <<-'END'
		#!/bin/sh
		echo x >>count
		[ "$(wc -l <count)" = 5 ] && exec sleep 0.3
		exec sleep 0.02
	END
	chmod +x step
	printf '%s\n' "a${TAB}step${TAB}1${TAB}./step" >contenders
	run -0 "$RACE" 20 contenders
	read -r _ _ runs least median late worked <<<"$output"
	assert_equal "$runs" 20
	awk -v least="$least" -v median="$median" -v late="$late" -v worked="$worked" 'BEGIN {
		exit !(least >= 20000 && median >= least && median < 300000 && late >= 300000 && worked < median)
	}' || fail "$output"
}

@test "race: a contender that fails, or is not there, ends it by name" {
	printf '%s\n' "a${TAB}good${TAB}1${TAB}/bin/true" "b${TAB}bad${TAB}1${TAB}/bin/false" >contenders
	run -1 "$RACE" 3 contenders
	assert_output 'race: bad: its command failed'
	printf '%s\n' "a${TAB}absent${TAB}1${TAB}/no/such" >contenders
	run -1 "$RACE" 3 contenders
	assert_output 'race: /no/such: No such file or directory'
	for line in '' "a${TAB}b" "a${TAB}b${TAB}0${TAB}/bin/true" "a${TAB}b${TAB}1"; do
		printf '%s\n' "$line" >contenders
		run -1 "$RACE" 3 contenders
		assert_output --partial 'wants KIND, NAME, EVERY'
	done
}

# --- the whole ---

@test "the bench measures side by side, and says with what" {
	run env BENCH_MEASURES='start memory' "$BENCH" flock dlock-unix dlock-tcp dlock-tls \
		dlock-sentinel dlock-cluster redis-cli redis-py
	# 1: an aim was missed by far, as it may be on a machine that has other work.
	[ "$status" -le 1 ] || fail "$output"
	for line in "date: $(date -u +%Y)" "machine: $(uname -sr), $(nproc) CPUs" 'dlock: dlock [0-9]' \
		'flock: .*util-linux' 'redis-server: .*v=' 'bash: ' 'redis-cli: ' 'python3: ' 'redis-py: [0-9]'; do
		assert_output --regexp "(^|
)$line"
	done
	for line in 'no lock at all' 'flock\(1\)' 'dlock, Unix socket' 'dlock, TCP' 'bash and redis-cli'; do
		assert_line --regexp "^  $line +(10|5) +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$"
	done
	for line in 'dlock, TLS' 'dlock, Sentinel' 'dlock, Cluster'; do
		assert_line --regexp "^  $line +[23] +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+$"
	done
	assert_line --regexp "^  redis-py's Lock +1 "
	assert_equal "$(grep -cE '^  (PASS|MISS) ' <<<"$output")" 3
	# All of a holder's processes are counted: OUTER and RUNNER, python with all that it has.
	assert_equal "$(grep -c '^pss' latest.tsv)" 8
	assert_equal "$(grep -c '^waiting' latest.tsv)" 7
	awk -F '\t' '/^(pss|waiting)/ && $4 < 50 { exit 1 }
		/^(pss|waiting).*redis-py/ && $4 < 3000 { exit 1 }' latest.tsv || fail "$(<latest.tsv)"
	nothing_left || fail "left: $(ls -A "$TMPDIR") $(bench_servers)"
}

# all_but NAME...: a PATH with all that is installed but these.
all_but() {
	local name directory
	mkdir bin
	for directory in /usr/sbin /usr/bin; do
		ln -sf "$directory"/* bin/
	done
	for name; do
		rm -f "bin/$name"
	done
	PATH=$WORK/bin
}

@test "a peer that is not there is named; one that must be there is a failure" {
	all_but etcd etcdctl consul cronlock
	export BENCH_MEASURES='start memory'
	run "$BENCH" flock dlock-tcp redis-cli consul cronlock
	[ "$status" -le 1 ]
	assert_line 'not measured: consul lock (no consul in PATH)'
	assert_line 'not measured: cronlock (no cronlock in PATH)'
	# With nothing but etcdctl missing, and aims that cannot be missed.
	run -1 env BENCH_ROUNDS=4 "$BENCH" flock dlock-tcp redis-cli etcdctl
	assert_line 'not measured: etcdctl lock (no etcd in PATH)'
}

@test "a peer that is there is run, and named when it does not work" {
	all_but consul cronlock
	cat >bin/consul <<-'END'
		#!/bin/bash
		case $1 in
		agent) exec sleep 3218 ;;
		lock) while [ "$1" != bench ]; do shift; done; shift; "$@" ;;
		esac
	END
	printf '#!/bin/sh\necho "cronlock: no luck"\nexit 7\n' >bin/cronlock
	chmod +x bin/consul bin/cronlock
	run env BENCH_MEASURES='start memory' "$BENCH" flock dlock-tcp consul cronlock
	assert_line --regexp '^  consul lock +1 +[0-9.]+'
	assert_line 'not measured: cronlock (its first run failed: cronlock: no luck)'
	[ -z "$(pgrep -f '^sleep 3218$')" ]
	nothing_left
}

@test "several servers beside one: all well, one that stands still, one that is not there" {
	run env BENCH_MEASURES=quorum BENCH_ROUNDS=20 "$BENCH" dlock-unix
	[ "$status" -le 1 ] || fail "$output"
	for line in 'one server' '3 nodes' '3 nodes, one stands still' '3 nodes, one is not there' '5 nodes' \
		'5 nodes, one stands still' '5 nodes, one is not there'; do
		assert_line --regexp "^  $line +2 +[0-9.]+ +[0-9.]+ +[0-9.]+ "
	done
	nothing_left || fail "left: $(ls -A "$TMPDIR") $(bench_servers)"
}

@test "nonsense is refused" {
	run -1 "$BENCH" flock no-such
	assert_output --partial "no contender 'no-such'; there are: flock dlock-unix"
	run -1 env BENCH_ROUNDS=x "$BENCH" flock
	assert_output "bench: BENCH_ROUNDS is a number, not 'x'"
	run -1 env BENCH_WAITERS=0 "$BENCH" flock
	assert_output "bench: BENCH_WAITERS is a number, not '0'"
	run -1 env BENCH_MEASURES='start stop' "$BENCH" flock
	assert_output "bench: no measure 'stop'; there are: start handoff memory crowd quorum"
	run -1 env DLOCK=/no/such "$BENCH" flock
	assert_output --partial "run 'make bench'"
}

# start_bench MEASURE: in a session of its own, so that a signal to its group is what Ctrl-C would be.
start_bench() {
	start env --default-signal=INT,QUIT BENCH_ROUNDS=100000 BENCH_WAIT_SECONDS=600 BENCH_MEASURES="$1" \
		setsid "$BENCH" flock dlock-tcp >output 2>&1
	BENCHING=$STARTED
	wait_until 20s "busy_with_$1"
}

busy_with_start() {
	[ "$(bench_servers | wc -l)" = 2 ] # redis-server and the race
}

busy_with_handoff() {
	[ "$(bench_servers | wc -l)" = 2 ] && [ "$(marked_dlocks | wc -l)" -ge 1 ]
}

busy_with_crowd() {
	[ "$(marked_dlocks | wc -l)" -ge 7 ] # OUTER, RUNNER and five who wait
}

@test "Ctrl-C and TERM leave nothing behind" {
	local how measure
	for measure in start handoff crowd; do
		for how in "INT -" 'TERM '; do
			start_bench "$measure"
			kill -"${how% *}" -- "${how#* }$BENCHING"
			wait_until 10s gone "$BENCHING"
			STATUS=0
			wait "$BENCHING" || STATUS=$?
			case $how in INT*) assert_equal "$STATUS" 130 ;; *) assert_equal "$STATUS" 143 ;; esac
			wait_until 3s nothing_left
			assert_equal "$(grep -v '^bench: ' output)" ''
		done
	done
}

@test "killed, the bench leaves no server behind, and no dlock" {
	local measure
	none_runs() { [ -z "$(bench_servers)" ] && [ -z "$(marked_dlocks)" ]; }
	for measure in start handoff crowd; do
		start_bench "$measure"
		kill -KILL "$BENCHING"
		wait_until 10s none_runs
	done
}
