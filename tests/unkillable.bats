#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Processes that do not die of KILL, or that may not be killed: bounded, and never claimed dead.
#
# shellcheck disable=SC2016 # dollars for the other shell

load helpers/common
load helpers/freezer

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
	nap=$(unique_sleep)
}
teardown() {
	[ -z "${SETUID_DIR:-}" ] || rm -rf "$SETUID_DIR"
	common_teardown
}

# freezer_of v1|v2: make_freezer in that hierarchy, the one of FACTS.md's machine or a usual one.
freezer_of() {
	local dir
	for dir in $([ "$1" = v1 ] && echo /sys/fs/cgroup/freezer || echo /sys/fs/cgroup/unified /sys/fs/cgroup); do
		DLOCK_TEST_FREEZER=$dir make_freezer && return
	done
	return 1
}

is_sleep() {
	[ "$(comm_of "$1")" = sleep ]
}

# The only line that says something of processes, and that the lock was left.
assert_stuck() {
	grep -qE "^dlock: processes of 'job' $1 \(pid [0-9]+ is one\): the lock is left to its TTL\$" "$DLOCK_LOG" ||
		{ cat "$DLOCK_LOG"; return 1; }
	! grep -iE 'released|has been ended' "$DLOCK_LOG"
}

@test "what does not die (a D state) is waited for 10 s, reported, and the key is not deleted (S84)" {
	local before
	[ -x "$DLOCK_TEST_BUILD" ]
	before=$(boottime)
	DLOCK=$DLOCK_TEST_BUILD DLOCK_TEST_HOOKS=unkillable start_dlock -v --report r -t 30s --max-hold 2s -k 100ms \
		job bash -c "trap '' TERM; (trap '' TERM; exec setsid sleep $nap) & sleep $nap"
	wait_until 2s argv_count "$nap" 2
	exit_status_of "$OUTER" 18s
	assert_between 11000 16000 "$(elapsed_ms "$before")" 'bound'
	[ "$STATUS" -eq 124 ]
	held job
	assert_stuck 'do not die'
	grep -q '"outcome":"max-hold","status":124.*"reason":"processes of it do not die' r
	# RUNNER's end has not freed it either; only the one with a parent died with that.
	argv_count "$nap" 1 || argv_count "$nap" 2
}

# What is killed does not die for ten seconds here, so that RUNNER is killing all the time. Its own
# timer would wake it from the first stop only, and not from one that comes before it has read of it.
@test "RUNNER stopped again and again while it kills: it is not kept from it (S31)" {
	local stops
	[ -x "$DLOCK_TEST_BUILD" ]
	DLOCK=$DLOCK_TEST_BUILD DLOCK_TEST_HOOKS=unkillable start_dlock -t 30s --max-hold 500ms -k 0 job sleep "$nap"
	wait_until 2s running "$OUTER"
	sleep 0.8
	for stops in {1..3000}; do kill -STOP "$RUNNER"; done
	echo "$stops stops"
	wait_until 2s state_is S "$RUNNER"
	sleep 0.2
	run -1 state_is T "$RUNNER"
}

@test "a child that is frozen in a v1 cgroup: bounded, and told when it does not die (S85)" {
	local before
	freezer_of v1
	start_dlock -t 30s --max-hold 2s -k 100ms --report r job \
		sh -c 'echo $$ >"$FREEZER/cgroup.procs"; exec sleep 900'
	wait_until 2s running "$OUTER"
	wait_until 1s is_sleep "$COMMAND"
	wait_until 1s grep -qx "$COMMAND" "$FREEZER/cgroup.procs"
	freeze
	before=$(boottime)
	exit_status_of "$OUTER" 15s
	[ "$STATUS" -eq 124 ]
	assert_between 0 13000 "$(elapsed_ms "$before")" 'bound'
	# Kernels before 6 leave it; newer ones let KILL through.
	if alive "$COMMAND"; then
		held job
		assert_stuck 'do not die'
	else
		free job
		grep -q 'has been ended' "$DLOCK_LOG"
	fi
}

@test "a child that is frozen in a v2 cgroup dies (S85)" {
	freezer_of v2
	start_dlock -t 30s --max-hold 2s -k 100ms job \
		sh -c 'echo $$ >"$FREEZER/cgroup.procs"; exec sleep 900'
	wait_until 2s running "$OUTER"
	wait_until 1s is_sleep "$COMMAND"
	wait_until 1s grep -qx "$COMMAND" "$FREEZER/cgroup.procs"
	freeze
	exit_status_of "$OUTER" 6s
	[ "$STATUS" -eq 124 ]
	gone "$COMMAND"
	free job
}

# as_nobody COMMAND...: with $BECOME, a setpriv that is set-user-ID root.
as_nobody() {
	SETUID_DIR=$(mktemp -d /var/tmp/dlock-setuid.XXXXXX)
	BECOME=$SETUID_DIR/become
	chmod 755 "$SETUID_DIR"
	chmod 777 "$WORK"
	cp "$(command -v setpriv)" "$BECOME"
	chmod 4755 "$BECOME"
	chmod 711 "$REDIS_DIR"
	chmod 777 "$REDIS_SOCK"
	export BECOME
	start setpriv --reuid nobody --clear-groups "$@" 2>>"$DLOCK_LOG"
	OUTER=$STARTED
}

@test "COMMAND becomes another user's: warned of once, early (S40)" {
	as_nobody "$DLOCK" -t 30s job sh -c '"$BECOME" --reuid 0 --clear-groups sleep 3; exit 4'
	wait_until 2900ms grep -q "^dlock: 1 process of 'job' may not be signalled by this user (pid [0-9]*): should the lock be lost, it will not be ended\$" "$DLOCK_LOG"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 4 ]
	[ "$(wc -l <"$DLOCK_LOG")" -eq 1 ]
}

@test "a set-user-ID program that may be signalled all the same is not warned of" {
	# Its real user is still the caller: kill(2) may.
	as_nobody "$DLOCK" -t 30s job sh -c '"$BECOME" sleep 2; exit 4'
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 4 ]
	[ ! -s "$DLOCK_LOG" ]
}

@test "--max-hold and a process that may not be killed: told, 124, the key is left to its TTL (S40)" {
	as_nobody "$DLOCK" -t 30s --max-hold 1s -k 100ms job sh -c '"$BECOME" --reuid 0 --clear-groups sleep 20 & wait'
	exit_status_of "$OUTER" 16s
	[ "$STATUS" -eq 124 ]
	held job
	assert_stuck 'may not be killed by this user'
}
