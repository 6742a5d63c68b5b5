#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What the tests of waiting share: a holder that lets go when told to, waiters that are in the line
# one after the other, and the log of who had the lock and when.
#
#   line_setup                    in a test, or in setup
#   hold [OPTION...] NAME         a dlock holds NAME until let_go; HOLDER, HOLDER_COMMAND
#   wait_in_line TAG [OPTION...] NAME
#                                 a dlock waits for NAME, and is in its line when this returns;
#                                 ${WAITER[TAG]} is its pid
#   let_go                        the holder's COMMAND ends (its last act: the instant in `let-go`)
#   assert_order TAG...           the waiters had the lock in this order, and no two at once
#   started_after TAG [FROM]      ms from the instant FROM (let-go's) to the start of TAG's COMMAND
#
# shellcheck disable=SC2034 # variables are for the caller

line_setup() {
	unset WAITER
	declare -gA WAITER=()
	GATES=0
	: >visits
	# TAG [HOW]: what each waiter runs. HOW: hold, it stays until let_go_of TAG; what else there is
	# is executed.
	cat >visit <<-'END'
		#!/bin/sh
		echo "$1 $("$TOOLS/boottime")" >>visits
		mkdir "inside.$DLOCK_NAME" || echo "overlap $1" >>visits
		case $2 in
		hold) read -r line <"gate.$1" ;;
		*) eval "$2" ;;
		esac
		rmdir "inside.$DLOCK_NAME"
	END
	chmod +x visit
}

queue_key_of() {
	echo "lock:$1#queue{lock:$1}"
}

members_key_of() {
	echo "lock:$1#members{lock:$1}"
}

# make_gate NAME: a fifo to wait at; what is written stays in it until it is read, and writing never
# waits for a reader.
make_gate() {
	local fd
	rm -f "gate.$1"
	mkfifo "gate.$1"
	exec {fd}<>"gate.$1"
	printf -v "GATE_$1" %s "$fd"
}

let_go_of() {
	local fd="GATE_$1"
	echo >&"${!fd}"
}

hold() {
	GATES=$((GATES + 1))
	make_gate "$GATES"
	rm -f let-go
	start_dlock "$@" sh -c 'read -r line <"$0"; "$TOOLS/boottime" >let-go' "gate.$GATES"
	HOLDER=$OUTER
	wait_until 5s running "$HOLDER"
	HOLDER_COMMAND=$COMMAND
}

let_go() {
	let_go_of "$GATES"
}

# in_line NAME N: so many tokens are in the queue.
in_line() {
	[ "$(redis ZCARD "$(queue_key_of "$1")")" = "$2" ]
}

wait_in_line() {
	enter_line "$@"
	wait_until 5s in_line "${*: -1}" "$LINE_LENGTH"
}

# The same, in the line or not yet. HOW comes from the variable VISIT.
enter_line() {
	local tag=$1
	shift
	LINE_LENGTH=$(($(redis ZCARD "$(queue_key_of "${*: -1}")") + 1))
	start_dlock "$@" ./visit "$tag" "${VISIT:-}"
	WAITER[$tag]=$OUTER
}

# visited TAG...: their COMMANDs have been started.
visited() {
	local tag
	for tag; do
		grep -q "^$tag " visits || return 1
	done
}

started_at() {
	sed -n "s/^$1 //p" visits
}

started_after() {
	local from=${2:-$(<let-go)}
	elapsed_ms "$from" "$(started_at "$1")"
}

# all_end [TAG...]: each of these waiters (all of them) ends with 0.
all_end() {
	local tag
	[ "$#" -gt 0 ] || set -- "${!WAITER[@]}"
	for tag; do
		exit_status_of "${WAITER[$tag]}" "${ALL_END_LIMIT:-10s}" || return 1
		[ "$STATUS" -eq 0 ] || fail "waiter $tag ended with $STATUS: $(tail -n 20 "$DLOCK_LOG")"
	done
}

assert_order() {
	[ "$(cut -d' ' -f1 visits | xargs)" = "$*" ] ||
		fail "wanted: $*"$'\n'"was:    $(cut -d' ' -f1 visits | xargs)"
}

# waited_since BOOTTIME MS: for poll_for.
waited_since() {
	[ "$(elapsed_ms "$1")" -ge "$2" ]
}

# nothing_wrong: what the visitors have written says so, and that there were any.
nothing_wrong() {
	[ -s visits ] && ! grep -E 'overlap|status' visits >&2
}

# assert_no_trace NAME: of a lock that nobody has and nobody wants only the fencing number is left,
# and it expires.
assert_no_trace() {
	local keys
	keys=$(redis --scan --pattern "lock:$1*" | sort)
	[ "$keys" = "$(fence_key_of "$1")" ] || fail "left behind: $keys"
	[ "$(redis PTTL "$(fence_key_of "$1")")" -gt 0 ]
}

# kill_dead PID...: KILL, and the server has noticed: so many connections are fewer.
kill_dead() {
	local before
	before=$(connections)
	kill -KILL "$@"
	wait_until 2s gone "$@"
	wait_until 2s connections_are $((before - $#))
}

# connections: how many there are but the one that asks.
connections() {
	echo $(($(redis CLIENT LIST | grep -c .) - 1))
}

connections_are() {
	[ "$(connections)" -eq "$1" ]
}

# listening NAME N: so many of those in the line can be reached by a message.
listening() {
	local token channels=() count
	for token in $(redis ZRANGE "$(queue_key_of "$1")" 0 -1); do
		channels+=("$(queue_key_of "$1"):$token")
	done
	[ "${#channels[@]}" -ge "$2" ] && [ "$(redis PUBSUB NUMSUB "${channels[@]}" | grep -cx 1)" -eq "$2" ]
}

# monitor FILE: all that the server is told goes to FILE from now on.
monitor() {
	start redis-cli -s "$REDIS_SOCK" MONITOR >"$1"
	MONITOR=$STARTED
	wait_until 2s test -s "$1"
}

# end_monitor FILE: all that was said before is in it.
end_monitor() {
	local word
	word=end.$RANDOM$RANDOM
	redis PING "$word" >/dev/null
	wait_until 2s grep -q "$word" "$1"
	kill "$MONITOR"
	wait_until 2s gone "$MONITOR"
}

# scripts_in FILE: how many scripts were run.
scripts_in() {
	grep -cE '^[0-9.]+ \[[0-9]+ [^]l][^]]*\] "(EVAL|EVALSHA|eval|evalsha)"' "$1" || true
}

# crowd N DEATHS_WAITING DEATHS_HOLDING [OPTION...]: N waiters of job behind one holder, each in the
# line before the next one comes. Of the first, half are killed before the lock is let go, half by a
# COMMAND while the line moves; the others are killed by their own COMMANDs, one in five with RUNNER at
# one blow (its lock is free by its TTL alone), one in five RUNNER alone. Everybody else ends with 0,
# in the order of arrival, no two at once, and nothing is left.
crowd() {
	local count=$1 waiting=$2 holding=$3 i how victim order=() want
	local -A dies=()
	shift 3
	local kill_outer='read -r _ _ _ outer _ <"/proc/$PPID/stat"; rmdir "inside.$DLOCK_NAME"; kill -KILL'
	# Spread over the line, some of them neighbours.
	for ((i = 0; i < waiting; i++)); do
		dies[$((1 + i / 2 * 2 * count / waiting + i % 2))]=waiting
	done
	for ((i = 0; i < holding; i++)); do
		victim=$((4 + i * count / holding))
		while [ -n "${dies[$victim]:-}" ]; do victim=$((victim + 1)); done
		dies[$victim]=holding$((i % 5))
	done
	[ "${#dies[@]}" -eq $((waiting + holding)) ]
	hold "$@" job
	for ((i = 1; i <= count; i++)); do
		case ${dies[$i]:-} in
		holding0) how="$kill_outer \$outer \$PPID; sleep 60" ;;
		holding1) how="$kill_outer \$PPID; sleep 60" ;;
		holding*) how="$kill_outer \$outer; sleep 60" ;;
		*) how='[ ! -e "kill-at.$1" ] || kill -KILL $(cat "kill-at.$1")' ;;
		esac
		VISIT=$how wait_in_line "$i" "$@" job
		[ "${dies[$i]:-}" = waiting ] || order+=("$i")
	done
	i=0
	for victim in "${!dies[@]}"; do
		[ "${dies[$victim]}" = waiting ] || continue
		i=$((i + 1))
		if ((i % 2 == 1 || victim < 10)); then
			kill -KILL "${WAITER[$victim]}"
			continue
		fi
		# By one that comes before it, and does nothing else.
		for ((want = victim - 3; want > 1; want--)); do
			[ -n "${dies[$want]:-}" ] || break
		done
		echo "${WAITER[$victim]}" >>"kill-at.$want"
	done
	let_go
	for ((i = 1; i <= count; i++)); do
		exit_status_of "${WAITER[$i]}" 60s
		case ${dies[$i]:-} in
		'') want=0 ;;
		holding1) want=79 ;;
		*) want=137 ;;
		esac
		[ "$STATUS" -eq "$want" ] || fail "$i (${dies[$i]:-lives}) ended with $STATUS: $(tail -n 20 "$DLOCK_LOG")"
	done
	assert_order "${order[@]}"
	assert_no_trace job
}
