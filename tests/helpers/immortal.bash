#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The two loops of tests/immortality.bats, which tests/long runs for longer.

# spin MICROSECONDS: passes that time to the point, without a fork.
spin() {
	local end=$((${EPOCHREALTIME/./} + $1))
	while [ "${EPOCHREALTIME/./}" -lt "$end" ]; do :; done
}

# kill_at_random ROUNDS: kill -9 of a starting dlock after a random time of 0 to 7 ms, of OUTER alone
# and of its whole group by turns, while a sampler looks at the key. Both must have happened often:
# killed before the lock was had, and while it was held.
kill_at_random() {
	local round held_then=0 free_then=0 sampler nap exists
	nap=$(unique_sleep)
	echo "$nap" >nap
	start "$TOOLS/pttl_sampler" "$REDIS_SOCK" lock:job "$WORK/enough" >samples
	sampler=$STARTED
	for ((round = 0; round < $1; round++)); do
		# shellcheck disable=SC2016 # for the shell inside
		start setsid "$DLOCK" --ttl 1s job sh -c 'exec sleep "$(cat nap)"' 2>>"$DLOCK_LOG"
		OUTER=$STARTED
		disown "$OUTER" # else the shell tells of every kill
		spin $((RANDOM % 7000))
		if [ $((round % 2)) = 0 ]; then
			kill -KILL "$OUTER"
		else
			kill -KILL -- "-$OUTER" 2>/dev/null || kill -KILL "$OUTER"
		fi
		exists=$(redis EXISTS lock:job)
		if [ "$exists" = 1 ]; then held_then=$((held_then + 1)); else free_then=$((free_then + 1)); fi
		# What lives on after OUTER kills the tree and releases.
		poll_for 2000 no_marked_dlock || { echo "round $round: a dlock lives on" >&2; show_scene >&2; return 1; }
		poll_for 500 argv_gone "$nap" || { echo "round $round: COMMAND lives on" >&2; show_scene >&2; return 1; }
		redis DEL lock:job >/dev/null
	done
	touch enough
	exit_status_of "$sampler" 5s
	echo "# key there after $held_then kills, not there after $free_then; $(cat samples)" >&3
	[ "$STATUS" -eq 0 ] || { echo "the key was there without an expiry, or nobody looked" >&2; return 1; }
	[ "$held_then" -ge $(($1 / 20)) ] && [ "$free_then" -ge $(($1 / 20)) ]
	[ "$(sed 's/.*expiring \([0-9]*\).*/\1/' samples)" -gt "$1" ]
}

# term_at_random ROUNDS: TERM to dlock after a random time of 0 to 30 ms of a run of some 40 ms.
# Soon after the end there is no key, whatever the status; and that is a death by TERM or, where the
# run was over, or COMMAND took the signal, its own.
term_at_random() {
	local round early=0 died=0
	for ((round = 0; round < $1; round++)); do
		# Not by `start`, which takes its own time; and not in this shell's group: dlock waits 100 ms
		# before it passes on what a member of its group sent, 10 ms else.
		setsid "$DLOCK" --ttl 30s job sleep 0.03 2>>"$DLOCK_LOG" 3>&- &
		OUTER=$!
		spin $((RANDOM % 30000))
		kill -TERM "$OUTER" 2>/dev/null || early=$((early + 1))
		exit_status_of "$OUTER" 3s
		case $STATUS in
		0) ;;
		143) died=$((died + 1)) ;;
		*) echo "round $round: status $STATUS" >&2; return 1 ;;
		esac
		poll_for 500 free job || { echo "round $round: the key is still there" >&2; show_scene >&2; return 1; }
	done
	echo "# $died of $1 died of TERM, $early were over" >&3
	[ "$died" -ge $(($1 / 5)) ]
}
