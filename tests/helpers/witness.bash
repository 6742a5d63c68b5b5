#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The oracle of promise 1: a tree of three processes that stamp the time every 5 ms until they die.
#
#   load helpers/common; load helpers/witness
#   start_witnessed --ttl 2s job      a dlock -vv whose COMMAND is that tree; waits for the tree
#   settle job                        a renewal has just been confirmed: EXPIRES is when, by the
#                                     server's own word, the key ends
#   event; kill -STOP "$REDIS_PID"    from here on nothing but the clock can save the promise
#   assert_dead_in_time 2000          the last stamps lie before t0 + T and before EXPIRES
#
# The three: a shell that waits, its background job, and a process that has left by a double fork
# and setsid. They ignore TERM, INT and HUP unless WITNESS_TRAP says otherwise, so that only KILL
# ends them. For several trees in one test set W (a directory) and DLOCK_LOG before each
# start_witnessed. LAUNCHER is put before dlock, say nsenter.
#
# shellcheck disable=SC2034 # variables are for the caller

LAUNCHER=()
WITNESS_TRAP='trap "" TERM INT HUP'

# The tree, as COMMAND. The duration comes from a file, so that dlock has it not among its own
# arguments, by which the sleeps are looked for.
witness_script() {
	# shellcheck disable=SC2016 # for the shell inside
	echo "$WITNESS_TRAP"'
		read nap <"$W/nap"
		( setsid sh -c "echo \$\$ >\$W/daemon; exec sleep $nap" & )
		sleep "$nap" &
		echo $! >"$W/job"
		echo $$ >"$W/shell"
		wait'
}

start_witnessed() {
	: "${W:=$WORK/witness}"
	mkdir -p "$W/stamps"
	NAP=$(unique_sleep)
	echo "$NAP" >"$W/nap"
	start env --default-signal=INT,QUIT "${LAUNCHER[@]}" "$DLOCK" -vv "$@" \
		env LD_PRELOAD="$TOOLS/witness_preload.so" WITNESS_DIR="$W/stamps" W="$W" \
		sh -c "$(witness_script)" 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 5s witness_complete
	RUNNER=$(runner_of "$OUTER")
	COMMAND=$SHELL_PID
	[ "$(ps -o ppid= -p "$SHELL_PID" | tr -d ' ')" = "$RUNNER" ]
	[ "$(ps -o sid= -p "$DAEMON_PID")" != "$(ps -o sid= -p "$SHELL_PID")" ]
}

# The three processes live, below RUNNER, and each has stamped at least four times.
witness_complete() {
	local pid
	SHELL_PID=$(cat "$W/shell" 2>/dev/null) && JOB_PID=$(cat "$W/job" 2>/dev/null) &&
		DAEMON_PID=$(cat "$W/daemon" 2>/dev/null) || return 1
	for pid in "$SHELL_PID" "$JOB_PID" "$DAEMON_PID"; do
		[ -n "$pid" ] && alive "$pid" || return 1
		[ "$(wc -l 2>/dev/null <"$W/stamps/$pid")" -ge 4 ] || return 1
	done
	WITNESSES=("$SHELL_PID" "$JOB_PID" "$DAEMON_PID")
	[ "$(descendants "$OUTER" | grep -cxF -e "$SHELL_PID" -e "$JOB_PID" -e "$DAEMON_PID")" = 3 ]
}

witnesses_gone() {
	gone "${WITNESSES[@]}" && argv_gone "$NAP"
}

# confirmed_count, last_confirmed: what dlock -vv said of its confirmed requests: how many, and t0
# (nanoseconds of CLOCK_BOOTTIME) of the last.
confirmed_count() {
	grep -c 'confirmed t0=' "$DLOCK_LOG" || true
}

last_confirmed() {
	sed -n 's/.*confirmed t0=\([0-9]*\)\.\([0-9]\{9\}\) ttl=.*/\1\2/p' "$DLOCK_LOG" | tail -n 1
}

confirmed_more_than() {
	[ "$(confirmed_count)" -gt "$1" ]
}

# expires_at NAME: the instant at which the key will end, by the server's clock, in milliseconds.
# (PEXPIRETIME, but that came with 7.0.)
expires_at() {
	redis EVAL "local t, left = redis.call('TIME'), redis.call('PTTL', KEYS[1])
		if left < 0 then return left end
		return t[1] * 1000 + math.floor(t[2] / 1000) + left" 1 "$(key_of "$1")"
}

# watch_server, before the dlock is started, where the server stays well. lock_end is then the instant
# (milliseconds, the server's clock) at which the key ended or will end: by what it says now or, if the
# key is gone, by what it executed: a release, or nothing since the last renewal.
watch_server() {
	start redis-cli -s "$REDIS_SOCK" MONITOR >"$WORK/monitor"
	wait_until 2s grep -q OK "$WORK/monitor"
}

# deleted_at NAME: when the server executed the DEL of a release (microseconds), by its own log. Exact
# where a poll with redis-cli would come late.
deleted_at() {
	local line
	wait_until 5s grep -qiF "lua] \"del\" \"$(key_of "$1")\"" "$WORK/monitor"
	line=$(grep -iF "lua] \"del\" \"$(key_of "$1")\"" "$WORK/monitor" | tail -n 1)
	line=${line%% *}
	echo "${line/./}"
}

lock_end() {
	local end
	end=$(expires_at "$1")
	if [ "$end" -lt 0 ]; then
		# 1796049362.211655 [0 lua] "PEXPIRE" "lock:job" "2000"
		end=$(awk -v key="\"$(key_of "$1")\"" '
			$3 != "lua]" || $5 != key { next }
			{ ms = int($1 * 1000); last = $NF; gsub(/"/, "", last) }
			toupper($4) ~ /"(SET|PEXPIRE)"/ { end = ms + last }
			toupper($4) ~ /"DEL"/ { end = ms }
			END { printf "%.0f\n", end }' "$WORK/monitor")
		[ "$end" -gt 0 ] || { echo "the server has seen nothing of $1" >&2; return 1; }
	fi
	echo "$end"
}

settle() {
	wait_until 5s confirmed_more_than "$(confirmed_count)"
	EXPIRES=$(expires_at "$1")
	CONFIRMED=$(confirmed_count)
}

# event: the instant, for assert_dead_in_time: the stamps must have gone on beyond it.
event() {
	EVENT_NS=$(boottime)
	EVENT_NS=${EVENT_NS/./}
}

# last_stamps PID: BOOTTIME and REALTIME of its last complete line, nanoseconds.
last_stamps() {
	awk 'NF == 2 && length($2) == 19 { boot = $1; real = $2 } END { print boot, real }' "$W/stamps/$1"
}

# dead_in_time TTL_MS: the processes are gone, none has stamped at or after t0 + T (dlock's word) or
# EXPIRES (the server's word), all have stamped after the event. Sets MARGIN (milliseconds, by
# dlock's t0) and SERVER_MARGIN, the smallest of the three. Says on stderr what is wrong.
dead_in_time() {
	local t0 pid boot real left status=0
	t0=$(last_confirmed)
	MARGIN=999999
	SERVER_MARGIN=999999
	witnesses_gone || { echo "of the tree ${WITNESSES[*]} something still lives" >&2; status=1; }
	for pid in "${WITNESSES[@]}"; do
		read -r boot real < <(last_stamps "$pid")
		# The event's instant was taken up to a few steps of 5 ms before what it names.
		[ "$boot" -ge "$((EVENT_NS - 50000000))" ] || { echo "$pid was dead before the event" >&2; status=1; }
		left=$(((t0 + $1 * 1000000 - boot) / 1000000))
		[ "$left" -ge "$MARGIN" ] || MARGIN=$left
		left=$((EXPIRES - real / 1000000))
		[ "$left" -ge "$SERVER_MARGIN" ] || SERVER_MARGIN=$left
	done
	((MARGIN > 0 && SERVER_MARGIN > 0)) || { echo "overrun: margin $MARGIN ms, $SERVER_MARGIN ms" >&2; status=1; }
	return "$status"
}

# assert_dead_in_time TTL_MS [LABEL]: waits until the tree is gone, then dead_in_time; prints the
# margin. Where the server was out of reach of this test too, settle has read EXPIRES before, and
# nothing may have been confirmed since then.
assert_dead_in_time() {
	wait_until 10s witnesses_gone
	dead_in_time "$1" || { show_scene >&2; return 1; }
	echo "# margin $MARGIN ms (by the server $SERVER_MARGIN ms) ${2:-}" >&3
}

assert_nothing_confirmed_since_settle() {
	[ "$(confirmed_count)" -eq "$CONFIRMED" ] || { echo "a renewal came between: the case is invalid" >&2; return 1; }
}

# What a lost lock ends with: 79, and a line that says why.
assert_lost() {
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ] || { echo "status $STATUS instead of 79" >&2; show_scene >&2; return 1; }
	grep -qF "dlock: lost 'job': " "$DLOCK_LOG"
}
