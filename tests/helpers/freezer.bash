#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A control group that stops time for all processes in it at one instant: what a suspended machine
# looks like to them (but for the clocks, which go on).
#
#   make_freezer           FREEZER is its directory
#   start "${in_freezer[@]}" COMMAND...       (or LAUNCHER=("${in_freezer[@]}")): COMMAND runs in it
#   freeze; thaw
#
# The teardown removes it, before it kills: what is frozen cannot be killed.
#
# Neither hierarchy there, or not allowed to use it: an error, never a skip.
#
# shellcheck disable=SC2034 # variables are for the caller

make_freezer() {
	local dir
	# shellcheck disable=SC2016 # for the shell inside
	in_freezer=(sh -c 'echo $$ >"$FREEZER/cgroup.procs" && exec "$@"' sh)
	for dir in ${DLOCK_TEST_FREEZER:-/sys/fs/cgroup/unified /sys/fs/cgroup /sys/fs/cgroup/freezer}; do
		export FREEZER=$dir/dlock-test.$BASHPID.$RANDOM
		mkdir "$FREEZER" 2>/dev/null || continue
		at_teardown remove_freezer
		[ ! -e "$FREEZER/cgroup.freeze" ] && [ ! -e "$FREEZER/freezer.state" ] || return 0
		rmdir "$FREEZER"
	done
	FREEZER=
	echo "no control group freezer, neither v1 nor v2: this test needs one" >&2
	return 1
}

# freezer_is 1|0: everything in it stands still, or nothing does.
freezer_is() {
	if [ -e "$FREEZER/cgroup.freeze" ]; then
		grep -qx "frozen $1" "$FREEZER/cgroup.events"
	else
		[ "$(cat "$FREEZER/freezer.state")" = "$([ "$1" = 1 ] && echo FROZEN || echo THAWED)" ]
	fi
}

freeze() {
	if [ -e "$FREEZER/cgroup.freeze" ]; then
		echo 1 >"$FREEZER/cgroup.freeze"
	else
		echo FROZEN >"$FREEZER/freezer.state"
	fi
	wait_until 2s freezer_is 1
}

thaw() {
	if [ -e "$FREEZER/cgroup.freeze" ]; then
		echo 0 >"$FREEZER/cgroup.freeze"
	else
		echo THAWED >"$FREEZER/freezer.state"
	fi
}

# Nobody lives in it; zombies do not count. Without a fork.
freezer_empty() {
	local pid
	! read -r pid <"$FREEZER/cgroup.procs"
}

remove_freezer() {
	local pid
	[ -n "${FREEZER:-}" ] && [ -d "$FREEZER" ] || return 0
	while read -r pid; do
		kill -KILL "$pid" 2>/dev/null || true
	done <"$FREEZER/cgroup.procs"
	thaw
	poll_for 2000 freezer_empty || true
	rmdir "$FREEZER" || true
	FREEZER=
}
