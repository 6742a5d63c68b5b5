#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The oracle of promise 1 where the lock is a session's: a tree that stamps the time until it dies
# (helpers/witness.bash), and a second dlock, which waits, and stamps the time at which it has the lock.
#
#   load helpers/common; load helpers/witness; load helpers/proxy; load helpers/postgres;
#   load helpers/postgres_trouble
#
#   start_pg_proxy                a proxy in front of PG_DIR's server; PROXY_URL
#   make_network                  a network of its own; "${IN_NETWORK[@]}" COMMAND runs in it
#   drop_packets PORT             there, from and to that port
#   start_witnessed --ttl 2s job  as in helpers/witness.bash
#   start_rival [ARG...]          the second dlock, at PG_DIR's Unix socket: waits by now; its command writes
#                                 BOOTTIME to `got` and lives on
#   event
#   assert_dead_before_rival MS [LABEL]     the tree was dead before its lease of MS milliseconds was over, and
#                                 before the rival had the lock
#   died_at                       BOOTTIME in ns of the last stamp of any of the tree
#   died_at_real                  REALTIME in ns of it
#   died_after_end [DIR]          milliseconds from when the server's log says that it ends sessions to that
#   rival_got_after NS            milliseconds from NS (BOOTTIME) to when the rival had the lock
#
#   number_of KEY, pg_holders NUMBER, pg_free NAME, pg_held NAME, pg_waiters NAME, advisory_locks
#   says VALUE QUERY              the server answers so (for wait_until)
#
# shellcheck disable=SC2034 # variables are for the caller

start_pg_proxy() {
	local server=${DLOCK_SERVER:-}
	PROXY_TARGET=$PG_PORT start_proxy "$@" || return 1
	export DLOCK_SERVER=$server
	PROXY_URL=postgresql://postgres@127.0.0.1:$PROXY_PORT/postgres
}

in_other_network() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

make_network() {
	start unshare -n sleep 900
	IN_NETWORK=(nsenter -t "$STARTED" -n)
	wait_until 5s in_other_network "$STARTED"
	"${IN_NETWORK[@]}" ip link set lo up
}

drop_packets() {
	"${IN_NETWORK[@]}" iptables -w -A INPUT -p tcp --dport "$1" -j DROP
	"${IN_NETWORK[@]}" iptables -w -A INPUT -p tcp --sport "$1" -j DROP
}

# number_of KEY [WHAT]: of its advisory lock; WHAT: of one that stands beside it.
number_of() {
	local hex
	hex=$({ printf %s "$1"; [ "$#" -lt 2 ] || printf '\0%s' "$2"; } | sha256sum)
	echo $((16#${hex:0:16}))
}

pg_holders() {
	sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND
		classid::bigint << 32 | objid::bigint = $1"
}

pg_free() {
	[ "$(pg_holders "$(number_of "lock:$1")")" = 0 ]
}

pg_held() {
	[ "$(pg_holders "$(number_of "lock:$1")")" = 1 ]
}

pg_waiters() {
	pg_holders "$(number_of "lock:$1" line)"
}

waiters_are() {
	[ "$(pg_waiters "$2")" = "$1" ]
}

advisory_locks() {
	sql "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
}

says() {
	[ "$(sql "$2")" = "$1" ]
}

RIVAL_LAUNCHER=()

start_rival() {
	local already
	already=$(pg_waiters job)
	rm -f "$WORK/got"
	# shellcheck disable=SC2016 # for the shell inside
	start "${RIVAL_LAUNCHER[@]}" env --default-signal=INT,QUIT "$DLOCK" -vv -w 120s "${@:--S$PG_URL_UNIX}" job \
		sh -c '"$TOOLS/boottime" >got.new; mv got.new got; echo "$DLOCK_FENCE" >got.fence; exec sleep 300' \
		2>"$WORK/rival.log"
	RIVAL=$STARTED
	wait_until 10s waiters_are "$((already + 1))" job
}

died_at() {
	stamps_of 1
}

died_at_real() {
	stamps_of 2
}

died_after_end() {
	local line
	line=$(grep -E 'terminating connection|immediate shutdown|was terminated by signal' "${1:-$PG_DIR}/log" | tail -n 1)
	echo "$((($(died_at_real) - $(date -d "${line%%' ['*}" +%s%N)) / 1000000))"
}

# A line that is not whole does not count.
stamps_of() {
	local pid
	for pid in "${WITNESSES[@]}"; do
		awk -v column="$1" 'NF == 2 && length($2) == 19 { last = $column } END { print last }' "$W/stamps/$pid"
	done | sort -n | tail -n 1
}

rival_got_after() {
	local got
	wait_until "${2:-30s}" test -s "$WORK/got" || { cat "$WORK/rival.log" >&2; return 1; }
	got=$(cat "$WORK/got")
	echo $(((${got/./} - $1) / 1000000))
}

assert_dead_before_rival() {
	local died margin by_clock
	wait_until 15s witnesses_gone
	died=$(died_at)
	[ "$died" -ge "$((EVENT_NS - 50000000))" ] || { echo "the tree was dead before the event" >&2; return 1; }
	by_clock=$((($(last_confirmed) + $1 * 1000000 - died) / 1000000))
	margin=$(rival_got_after "$died") || return 1
	echo "# dead $by_clock ms before the lease is over, $margin ms before another has the lock: ${2:-}" >&3
	((margin > 0 && by_clock > 0)) ||
		{ echo "overrun: by the clock $by_clock ms, by the rival $margin ms" >&2; show_scene >&2; return 1; }
}
