#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Holders with --watch, whose second connection stands.
#
# shellcheck disable=SC2034 # variables are for the caller

# watched NAME: its holder has subscribed to the channel that is called as the key. For wait_until.
watched() {
	[ "$(redis PUBSUB NUMSUB "lock:$1" | tail -n 1)" = 1 ]
}

unwatched() {
	! watched "$1"
}

# start_watched NAME [DLOCK-OPTION...]: a COMMAND with a lease of 30 s that writes the time of its
# first TERM to NAME.term. Its dlock's pid is in OUTERS[NAME], its messages in NAME.log. The second
# connection comes with the first renewal: --held makes one, which else is due after 10 s.
declare -gA OUTERS=()
start_watched() {
	local name=$1
	shift
	DLOCK_LOG=$WORK/$name.log
	: >"$DLOCK_LOG"
	rm -f "$name.pid" "$name.term"
	# shellcheck disable=SC2016 # for the shell inside
	start_dlock -vv --watch --ttl 30s "$@" "$name" bash -c '
		trap "echo \$EPOCHREALTIME >$1.term; exit 0" TERM
		"$DLOCK" --held "$2" || exit
		echo $$ >"$1.pid"
		while :; do sleep 900 & wait $!; done' bash "$WORK/$name" "$name"
	OUTERS[$name]=$OUTER
	wait_until 5s test -s "$name.pid"
	wait_until 5s watched "$name"
}

# assert_lost NAME: dlock says so, and COMMAND had its TERM.
assert_lost() {
	DLOCK_LOG=$WORK/$1.log
	exit_status_of "${OUTERS[$1]}"
	[ "$STATUS" -eq 79 ] || { echo "$1: status $STATUS instead of 79" >&2; show_scene >&2; return 1; }
	[ -s "$1.term" ]
	assert_gone "$(cat "$1.pid")"
}

# told_within MILLISECONDS SINCE NAME...: TERM came so soon after SINCE (EPOCHREALTIME just before the
# event). One of several will do: the machine may be busy.
told_within() {
	local limit=$1 since=${2/./} name term ms best=999999
	shift 2
	for name in "$@"; do
		assert_lost "$name" || return
		term=$(cat "$name.term")
		ms=$(((${term/./} - since) / 1000))
		[ "$ms" -ge "$best" ] || best=$ms
		echo "# $name: TERM after $ms ms" >&3
	done
	assert_between 0 "$limit" "$best" "milliseconds from the event to TERM"
}

# cpu_ms PID: of processor time that it has used.
cpu_ms() {
	local fields
	read -r -a fields <"/proc/$1/stat"
	echo $(((fields[13] + fields[14]) * 1000 / $(getconf CLK_TCK)))
}

# looks: how many the server has answered.
looks() {
	local count
	count=$(redis INFO commandstats | sed -n 's/^cmdstat_unsubscribe:calls=\([0-9]*\),.*/\1/p')
	echo "${count:-0}"
}
