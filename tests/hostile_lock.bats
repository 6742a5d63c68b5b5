#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Each kind of hostility at each script. Whatever comes, dlock ends in time, uses little memory, says
# one line that drives no terminal, and never takes it for a yes.
#
# shellcheck disable=SC2016,SC2034,SC2153,SC2154

load helpers/common
load helpers/hostile

# --- at acquire ---

check_refused() {
	[ "$2" -eq 69 ] || echo "status $2"
	[ ! -e "$1/ran" ] || echo "COMMAND ran"
	# An acquire in doubt is asked once more and then undone, each for T/6; and a busy machine.
	[ "$3" -le 2200 ] || echo "took $3 ms"
	says "$1" 1
}

@test "hostile in the place of the answer to an acquire: 69, COMMAND never runs on a guess" {
	serve acquire
	assault check_refused job touch ran
}

# --- while holding ---

# It ignores TERM, so that its last stamp tells when it was killed.
STUBBORN='trap "" TERM; echo $$ >"$HERE/pid"; exec env LD_PRELOAD="$TOOLS/witness_preload.so" WITNESS_DIR="$HERE/stamps" sleep 900'

check_lost() {
	local last granted at word
	if [ "$1" = one-flood ]; then # yes, as often as one asks
		[ "$2" -eq 23 ] || echo "status $2"
		return
	fi
	[ "$2" -eq 79 ] || echo "status $2"
	says "$1" 1
	while read -r at word; do
		case $word in acquire | renew) granted=$at ;; esac
	done <<<"$log"
	read -r last _ < <(tail -n 1 "$1"/stamps/*)
	gone "$(<"$1/pid")" || echo "COMMAND lives"
	if [ -z "$last" ] || [ "$last" -ge $((granted + TTL_MS * 1000000)) ]; then
		echo "COMMAND stamped until $last, the key was sure until $granted and $TTL_MS ms more"
	fi
	# What says no in so many words keeps its connection.
	case $1 in
	error-that-drives-a-terminal | error-of-16-kilobytes) ;;
	*) [ "$(count_connects)" -ge 2 ] || echo "nothing was tried on a new connection" ;;
	esac
}

@test "hostile to every renewal: tried on new connections, lost by the clock, COMMAND dead before the key's end, 79" {
	serve renew
	# One is told yes for ever: it ends by itself.
	assault check_lost job sh -c 'case $HERE in */one-flood) sleep 3; exit 23;; esac; '"$STUBBORN"
}

check_undisturbed() {
	[ "$2" -eq 23 ] || echo "status $2"
	says "$1" 0
	[ "$(count_connects)" -le 30 ] || echo "reconnects without end"
}

@test "hostile to one renewal, then friendly: COMMAND is not disturbed" {
	serve renew once
	assault check_undisturbed job sh -c 'sleep 1.5; exit 23'
}

@test "hostile between the renewals, again and again: verified on a new connection, COMMAND is not disturbed" {
	serve idle
	assault check_undisturbed job sh -c 'sleep 1.5; exit 23'
}

check_lost_to_another() {
	[ "$2" -eq 79 ] || echo "status $2"
	says "$1" 1
	[ "$3" -le 2500 ] || echo "took $3 ms"
}

@test "hostile to the question who has the lock now: 79 at once all the same" {
	serve look
	assault check_lost_to_another job sleep 900
}

# --- at release ---

check_left() {
	[ "$2" -eq 23 ] || echo "status $2"
	[ "$3" -le 2800 ] || echo "took $3 ms"
	case $1 in
	one-flood) says "$1" 0 ;; # yes
	*) says "$1" 1 ;;
	esac
}

@test "hostile to every release: tried for 2 s at most, one warning, COMMAND's status" {
	serve release
	assault check_left job sh -c 'exit 23'
}

@test "hostile to one release, then friendly: released by the next try, not a word" {
	serve release once
	assault check_undisturbed job sh -c 'exit 23'
}
