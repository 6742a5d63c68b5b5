#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The torture rack for a few seconds a round (make torture is the whole), and with faults planted in dlock, in a server or
# in the store: it has to find each.

load ../helpers/common

setup_file() {
	export BATS_TEST_TIMEOUT=1800
}

@test "every promise is kept in each round of the rack, for ten seconds" {
	local round
	"$TESTS_DIR/torture/torture" --seconds 10 | tee report >&3
	[ "${PIPESTATUS[0]}" -eq 0 ]
	for round in $("$TESTS_DIR/torture/torture" --list); do
		grep -qE "^$round: [1-9][0-9]+ faults in .*, [1-9][0-9]+ commands, .* 0 violations$" report
	done
	grep -qE '^[1-9][0-9]{3} faults in all, every promise kept$' report
}

@test "the rack finds each fault that is planted" {
	local plant
	"$TESTS_DIR/torture/torture" --plant --seconds 15 | tee report >&3
	[ "${PIPESTATUS[0]}" -eq 0 ]
	for plant in $("$TESTS_DIR/torture/torture" --plant --list); do
		grep -qx "  planted $plant: found" report
	done
}

# its_base PID: the directory of the rack that this process is.
its_base() {
	local child
	child=$(pgrep -P "$1") || return
	tr '\0' '\n' <"/proc/$child/cmdline" | grep -xE '/.*/dlock-torture\.[^/]*'
}

# its_groups: the control groups of the rack at $base.
its_groups() {
	find /sys/fs/cgroup -maxdepth 2 -name "${base##*/}.*"
}

# its_frozen: whether a machine of it stands still just now.
its_frozen() {
	local group
	for group in $(its_groups); do
		grep -qsE 'FROZEN|^1$' "$group/freezer.state" "$group/cgroup.freeze" && return
	done
	return 1
}

@test "a rack that is ended by a signal leaves no process, no control group and no directory, also where a machine is frozen" {
	local name rack status base
	for name in TERM INT; do
		start env --default-signal "$TESTS_DIR/torture/torture" --seconds 60 single-paused 2>said
		rack=$STARTED
		wait_until 10s its_base "$rack"
		base=$(its_base "$rack")
		wait_until 60s its_frozen
		kill -"$name" "$rack"
		status=0
		wait "$rack" || status=$?
		[ "$status" -eq $((128 + $(kill -l "$name"))) ]
		grep -qx "torture: SIG$name: stopped" said
		[ ! -e "$base" ]
		[ -z "$(its_groups)" ]
		echo "$base" >its_name # the words of grep itself have it not
		if grep -laF -f its_name /proc/[0-9]*/cmdline 2>/dev/null; then return 1; fi
	done
}
