#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What every .bats file loads: assertions, the paths of what is under test, and a teardown that
# leaves no process behind.
#
#   load helpers/common
#   setup_file() { start_redis; }           one server for the file ...
#   teardown_file() { stop_redis; }
#   setup() { common_setup; redis FLUSHALL; }
#
# or, where a test stops, cuts off or restarts the server, one for each test:
#
#   setup() { common_setup; start_redis; }  (common teardown stops it)
#
# After common_setup:
#   DLOCK_LOG      stderr of every dlock started with start_dlock
#   WORK           a directory of the test's own, the current directory too
# and every process that descends from the test carries DLOCK_TEST_MARK in its environment, which is
# how a forgotten one is found.
#
# shellcheck disable=SC2034,SC2062 # variables are for the caller; <<< is not grep's pattern

TESTS_DIR=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
ROOT_DIR=${TESTS_DIR%/*}

: "${DLOCK:=$ROOT_DIR/dlock}"
case $DLOCK in /*) ;; *) DLOCK=$PWD/$DLOCK ;; esac
: "${DLOCK_TEST_BUILD:=$ROOT_DIR/build/test/dlock}"
: "${TOOLS:=$ROOT_DIR/build/tools}"
export DLOCK DLOCK_TEST_BUILD TOOLS

bats_require_minimum_version 1.5.0
BATS_LIBS=${BATS_LIB_PATH:-/usr/lib/bats}
# Their load.bash starts a dirname for each of these, and every case loads them anew.
for file in "$BATS_LIBS"/bats-{support,assert}/src/*.bash; do
	# shellcheck source=/dev/null
	source "$file"
done
# shellcheck source=tests/helpers/wait.bash
source "$TESTS_DIR/helpers/wait.bash"
# shellcheck source=tests/helpers/tree.bash
source "$TESTS_DIR/helpers/tree.bash"
# shellcheck source=tests/helpers/server.bash
source "$TESTS_DIR/helpers/server.bash"

# The caller's own settings must not decide a test.
export DLOCK_CONFIG=/dev/null
unset DLOCK_TTL DLOCK_PREFIX DLOCK_LABEL DLOCK_PASSWORD REDISCLI_AUTH REDIS_URL
unset DLOCK_NAME DLOCK_KEY DLOCK_TOKEN DLOCK_FENCE DLOCK_SLOT DLOCK_HELD DLOCK_TEST_HOOKS

common_setup() {
	local -
	set +T # as in untraced
	[ -x "$DLOCK" ] || { echo "no dlock at $DLOCK: run make first" >&2; return 1; }
	WORK=$BATS_TEST_TMPDIR
	TRACKED=$WORK/.tracked
	AT_TEARDOWN=()
	DLOCK_LOG=$WORK/dlock.log
	export DLOCK_TEST_MARK=$WORK
	: >"$TRACKED"
	: >"$DLOCK_LOG"
	cd "$WORK" || return 1
}

# dlock ARG...: the binary under test, in the foreground.
dlock() {
	"$DLOCK" "$@"
}

# start_dlock ARG...: the same in the background; its pid is in OUTER, its stderr in $DLOCK_LOG.
# A shell without job control starts background commands with INT and QUIT ignored, and dlock
# would faithfully hand that on: env takes it back. (env execs, so the pid stays.)
start_dlock() {
	start env --default-signal=INT,QUIT "$DLOCK" "$@" 2>>"$DLOCK_LOG"
	OUTER=$STARTED
}

# at_teardown FUNCTION: for a helper that has set something up; the teardown calls it before anything
# else, the last one first.
at_teardown() {
	AT_TEARDOWN=("$1" "${AT_TEARDOWN[@]}")
}

# start COMMAND ARG...: any command in the background; its pid is in STARTED, and the teardown ends
# it and what descends from it. Redirections given to `start` go to COMMAND; without one its stdin
# is /dev/null.
start() {
	"$@" 3>&- 4>&- &
	STARTED=$!
	track "$STARTED"
}

# track PID: let the teardown kill PID and its descendants. The start time is kept too, so that a
# pid that was used again is left alone.
track() {
	local since
	since=$(start_time_of "$1") || since=gone
	echo "$1 $since" >>"$TRACKED"
}

# Pids of this test's processes that run a dlock binary (either build), zombies not counted.
marked_dlocks() {
	local pid exe
	for pid in $(marked_pids); do
		exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || continue
		case ${exe##*/} in
		dlock | 'dlock (deleted)') alive "$pid" && echo "$pid" ;;
		esac
	done
	return 0
}

# Pids of all processes that carry this test's mark. The mark goes to grep by stdin, and out of
# grep's own environment, so that grep does not find itself.
marked_pids() {
	local file
	grep -lsxzF -f - /proc/[0-9]*/environ <<<"DLOCK_TEST_MARK=$WORK" | while IFS=/ read -r _ _ file _; do
		echo "$file"
	done
	return 0
}

no_marked_dlock() {
	[ -z "$(marked_dlocks)" ]
}

# end_marked: of what carries this test's mark.
end_marked() {
	local pid left status=0
	if ! poll_for 1500 no_marked_dlock; then
		left=$(marked_dlocks)
		# shellcheck disable=SC2086 # one word a pid
		[ -z "$left" ] || { echo "dlock processes left by this test:"; ps -o pid,ppid,pgid,stat,args -p ${left//$'\n'/,}; } >&2
		status=1
	fi
	# What escaped the tree (a setsid descendant of a dlock that was killed) is ours by its mark.
	for pid in $(marked_pids); do
		[ "$pid" = "${REDIS_PID:-}" ] || kill -KILL "$pid" 2>/dev/null || true
	done
	return "$status"
}

# Ends what the test started: the tracked pids and everything below them, all at one blow (CONT is
# not needed: KILL works on the stopped). What then still runs a dlock is a defect of dlock, or of
# the test, and fails it.
common_teardown() {
	local - pid since undo pids=() status=0
	set +T # as in untraced
	[ -n "${TRACKED:-}" ] || return 0
	for undo in "${AT_TEARDOWN[@]}"; do
		"$undo" || status=1
	done
	while read -r pid since; do
		[ "$(start_time_of "$pid")" = "$since" ] || continue
		mapfile -t -O "${#pids[@]}" pids < <(descendants "$pid")
		pids+=("$pid")
	done <"$TRACKED"
	[ "${#pids[@]}" -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null || true

	[ -z "$(marked_pids)" ] || end_marked || status=1
	[ -z "${REDIS_OF_TEST:-}" ] || stop_redis || status=1
	cd / || true
	return "$status"
}

setup() {
	common_setup
}

teardown() {
	common_teardown
}
