#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A server that is no Redis, or a Redis gone mad (tests/tools/hostile_server.c): each kind of hostility
# at each step of what dlock asks a server. Whatever comes, dlock ends in time, uses little memory,
# says one line that drives no terminal, and never takes it for a yes.
#
# shellcheck disable=SC2016,SC2034,SC2153

load helpers/common

TTL_MS=2000
AT_ONCE=16       # dlocks that run at the same time
PEAK_MAX_KB=8192 # of OUTER, RUNNER and COMMAND, each

# serve STEP [once]: PORTS has the port of each hostility, HOSTILITIES their names.
serve() {
	local name port
	STEP=$1
	HOSTILITIES=()
	declare -gA PORTS=()
	mkdir -p server
	start "$TOOLS/hostile_server" "$WORK/server" "$@" >ports
	wait_until 3s grep -q ready ports
	while read -r name port; do
		[ -n "$port" ] || continue
		HOSTILITIES+=("$name")
		PORTS[$name]=$port
	done <ports
	[ "${#HOSTILITIES[@]}" -ge 40 ]
}

# assault CHECK ARG...: a dlock for each hostility, in its own directory, where it leaves `result` and
# `err`; then CHECK NAME STATUS MILLISECONDS, which prints what is wrong. ARG... is what dlock gets
# behind its usual options.
assault() {
	local check=$1 i name
	shift
	: >wrong
	for ((i = 0; i < ${#HOSTILITIES[@]}; i += AT_ONCE)); do
		for name in "${HOSTILITIES[@]:i:AT_ONCE}"; do
			mkdir -p "$name/stamps"
			(
				cd "$name" || exit 1
				exec env HERE="$WORK/$name" "$TOOLS/measure" result "$DLOCK" -n --ttl "${TTL_MS}ms" \
					--connect-timeout 500ms -S "redis://:hush@127.0.0.1:${PORTS[$name]}/3" "$@" \
					2>err 3>&- 4>&- </dev/null
			) 3>&- 4>&- &
			track "$!"
		done
		for name in "${HOSTILITIES[@]:i:AT_ONCE}"; do
			wait_until 10s test -e "$name/result"
		done
	done
	for name in "${HOSTILITIES[@]}"; do
		examine "$name" "$check" >said
		[ ! -s said ] || printf '%s, %s: %s\n' "$STEP" "$name" "$(<said)" >>wrong
	done
	[ ! -s wrong ] || { cat wrong >&2; return 1; }
	no_marked_dlock
}

# What holds for all. No process is started here: there are hundreds of rows.
examine() {
	local name=$1 check=$2 status ms peak err log LC_ALL=C
	read -r status ms peak <"$name/result"
	err=$(<"$name/err")
	log=$(<"server/$name")
	[[ $log == *' hostile'* ]] || echo "the server was never hostile"
	[ -n "${DLOCK_SANITIZED:-}" ] || [ "$peak" -le "$PEAK_MAX_KB" ] || echo "$peak kB of memory"
	[[ $err != *[!$'\n'\ -~]* ]] || echo "it says what a terminal obeys: ${err@Q}"
	[[ $err != *hush* ]] || echo "it says the password"
	[ "${#err}" -le 2100 ] || echo "it says too much"
	"$check" "$name" "$status" "$ms"
}

# says NAME LINES: so many lines, each of dlock's.
says() {
	local lines line
	mapfile -t lines <"$1/err"
	[ "${#lines[@]}" -eq "$2" ] || echo "it should say $2 lines, not: $err"
	for line in "${lines[@]}"; do
		[[ $line == 'dlock: '?* ]] || echo "not in its own name: $line"
	done
}

# count_connects: in `log`.
count_connects() {
	local others=${log//' connect'/}
	echo $(((${#log} - ${#others}) / 8))
}

# --- at acquire ---

# An answer that is the right one at that step, or does not matter.
is_harmless() {
	case $STEP/$1 in
	auth/ok | select/ok | setname/ok | setname/error-that-drives-a-terminal) return 0 ;;
	esac
	return 1
}

check_refused() {
	if is_harmless "$1"; then
		[ "$2" -eq 0 ] && [ -e "$1/ran" ] || echo "status $2, though that does no harm"
		says "$1" 0
		return
	fi
	[ "$2" -eq 69 ] || echo "status $2"
	[ ! -e "$1/ran" ] || echo "COMMAND ran"
	# Login within --connect-timeout; an acquire in doubt is asked once more, each T/6; 80 ms to undo.
	[ "$3" -le 1800 ] || echo "took $3 ms"
	says "$1" 1
}

@test "hostile from the first byte on: 69 in time, one line, little memory, COMMAND never runs" {
	serve connect
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to AUTH: 69 likewise" {
	serve auth
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to SELECT: 69 likewise" {
	serve select
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to CLIENT SETNAME: 69, but for an error, which does not matter" {
	serve setname
	assault check_refused job touch ran
}

@test "hostile in the place of the answer to TIME: 69 likewise" {
	serve time
	assault check_refused job touch ran
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
	[ "$1" = error-that-drives-a-terminal ] || [ "$(count_connects)" -ge 2 ] ||
		echo "nothing was tried on a new connection"
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
