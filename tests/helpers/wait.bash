#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Waiting for something to become true, never for some time to pass. Every wait has a limit, and one
# that ran out shows what there was to see.

# now_ms: milliseconds of a clock for measuring; only differences mean anything.
now_ms() {
	local us=${EPOCHREALTIME/[.,]/}
	echo $((us / 1000))
}

# boottime: CLOCK_BOOTTIME as SECONDS.NANOSECONDS, comparable with `confirmed t0=` of dlock -vv.
boottime() {
	"$TOOLS/boottime"
}

# elapsed_ms BOOT0 [BOOT1]: milliseconds (rounded down) between two values of boottime; BOOT1 is
# now where it is not given.
elapsed_ms() {
	local from=$1 to=${2:-$(boottime)}
	local from_ns=$((10#${from%.*} * 1000000000 + 10#${from#*.}))
	local to_ns=$((10#${to%.*} * 1000000000 + 10#${to#*.}))
	echo $(((to_ns - from_ns) / 1000000))
}

# start_clock, then clock_ms: milliseconds since start_clock.
start_clock() {
	CLOCK_STARTED=$(now_ms)
}

clock_ms() {
	echo $(($(now_ms) - CLOCK_STARTED))
}

# assert_between LOW HIGH VALUE [WHAT]: numbers, bounds included; VALUE may have a sign and zeros before
# it. What is no number is not between them.
assert_between() {
	if ! [[ $3 =~ ^-?[0-9]+$ ]] || ((${3%%[0-9]*}10#${3#-} < $1 || ${3%%[0-9]*}10#${3#-} > $2)); then
		echo "${4:-value}: $3 is not between $1 and $2" >&2
		return 1
	fi
}

# pause SECONDS: sleep, without a process: at a fifo that nobody writes to. Whoever polls with sleep(1) uses
# a third of a processor, and other tests wait for that.
PAUSES=$BATS_RUN_TMPDIR/pauses
pause() {
	[ -p "$PAUSES" ] || mkfifo "$PAUSES" 2>/dev/null || [ -p "$PAUSES" ]
	# 128 and more: the time is over.
	read -rt "$1" <>"$PAUSES" || [ "$?" -gt 128 ]
}

# untraced FUNCTION...: bats notes each command that is run, for the line of a failure, at the price of a
# dozen commands. Here what FUNCTION does is noted as one.
untraced() {
	local -
	set +T
	"$@"
}

# poll_for MILLISECONDS COMMAND...: 0 as soon as COMMAND succeeds, 1 when the time is over. Quiet.
poll_for() {
	untraced poll_until $((${EPOCHREALTIME/[.,]/} + $1 * 1000)) "${@:2}"
}

poll_until() {
	local end=$1
	shift
	until "$@"; do
		[ "${EPOCHREALTIME/[.,]/}" -lt "$end" ] || return 1
		pause 0.01
	done
}

# wait_until DURATION COMMAND...: poll_for with a limit such as 2s or 500ms; when the time is over it
# prints the processes, the server's keys and dlock's messages, and fails.
wait_until() {
	local limit=$1
	shift
	case $limit in
	*ms) limit=${limit%ms} ;;
	*s) limit=$((${limit%s} * 1000)) ;;
	*) limit=$((limit * 1000)) ;;
	esac
	poll_for "$limit" "$@" && return 0
	{
		echo "waited $limit ms in vain for: $*"
		show_scene
	} >&2
	return 1
}

# The processes of this test, the server's keys, dlock's messages.
show_scene() {
	local pids
	echo "--- processes"
	pids=$(marked_pids)
	# shellcheck disable=SC2086 # one word a pid
	[ -z "$pids" ] || ps -o pid,ppid,pgid,sid,stat,comm,args -p ${pids//$'\n'/,} | cut -c 1-200 | head -n 60
	echo "--- keys"
	if [ -n "${REDIS_SOCK:-}" ]; then
		timeout 2 redis-cli -s "$REDIS_SOCK" --raw EVAL "
			local out = {}
			for _, k in ipairs(redis.call('KEYS', '*')) do
				out[#out + 1] = k .. ' pttl=' .. redis.call('PTTL', k) ..
					(redis.call('TYPE', k).ok == 'string' and ' ' .. redis.call('GET', k) or '')
			end
			return out" 0 2>&1 || true
	fi
	echo "--- dlock's messages"
	[ ! -s "${DLOCK_LOG:-}" ] || cat "$DLOCK_LOG"
}
