#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Everything that dlock asks a server for, as one user, in a few seconds: to be run with the rights in
# question. The tests' own redis-cli is somebody else.

# live URL: 0 when all went as it should; what dlocks say goes to stderr. Database 1 is used, the lock
# is acl. It stops at the first thing that goes wrong, and says which.
live() {
	local url=$1 step
	redis -n 1 FLUSHDB >/dev/null
	for step in live_alone live_in_line live_together live_seen live_lost; do
		"$step" -S "$url" || { echo "went wrong: $step"; return 1; }
	done
} >&2

# status_is N COMMAND...
status_is() {
	local wanted=$1 status=0
	shift
	"$@" || status=$?
	[ "$status" -eq "$wanted" ] || { echo "status $status instead of $wanted: $*"; return 1; }
}

live_alone() {
	"$DLOCK" "$@" -t 1s -k 100ms acl sleep 0.5 || return
	status_is 9 "$DLOCK" "$@" -n acl "$DLOCK" "$@" -n -E 9 other-acl "$DLOCK" "$@" -n -E 9 acl true || return
	"$DLOCK" "$@" --fence counter --at-least 100ms acl true || return
	"$DLOCK" "$@" -w 5s --min-fence 99 acl "$DLOCK" --held acl
}

# in_line N: so many wait.
in_line() {
	[ "$(redis -n 1 ZCARD 'lock:acl#queue{lock:acl}')" = "$1" ]
}

live_in_line() {
	local holder pids
	redis -n 1 DEL lock:acl >/dev/null
	start_dlock "$@" -t 5s acl sh -c 'until [ -e go ]; do sleep 0.02; done; rm go'
	holder=$OUTER
	poll_for 3000 eval '[ "$(redis -n 1 EXISTS lock:acl)" = 1 ]' || return
	start "$DLOCK" "$@" -w 10s acl true
	pids=("$STARTED")
	poll_for 3000 in_line 1 || return
	start "$DLOCK" "$@" -w 10s --slots 2 acl true
	pids+=("$STARTED")
	poll_for 3000 in_line 2 || return
	status_is 75 "$DLOCK" "$@" -q --max-waiters 1 acl true || return
	# One that leaves the line.
	status_is 75 "$DLOCK" "$@" -q -w 100ms acl true || return
	: >go
	for holder in "$holder" "${pids[@]}"; do
		exit_status_of "$holder" 10s || return
		[ "$STATUS" -eq 0 ] || return
	done
	# Behind a foreigner, whose DEL tells nobody.
	redis -n 1 SET lock:acl by-hand PX 60000 >/dev/null
	start "$DLOCK" "$@" -w 10s acl true
	poll_for 3000 in_line 1 || return
	redis -n 1 DEL lock:acl >/dev/null
	exit_status_of "$STARTED" 10s
	[ "$STATUS" -eq 0 ]
}

live_together() {
	local kind
	for kind in --shared --slots=2; do
		"$DLOCK" "$@" "$kind" -t 1s -k 100ms acl "$DLOCK" "$@" "$kind" --at-least 50ms -n other-acl sleep 0.5 || return
		start_dlock "$@" "$kind" acl sh -c 'until [ -e go ]; do sleep 0.02; done; rm go'
		poll_for 3000 eval '[ "$(redis -n 1 EXISTS lock:acl)" = 1 ]' || return
		"$DLOCK" "$@" "$kind" --at-least 50ms -n acl true || return
		status_is 75 "$DLOCK" "$@" -q -n acl true || return
		: >go
		exit_status_of "$OUTER" 5s
		[ "$STATUS" -eq 0 ] || return
		status_is 0 "$DLOCK" "$@" -w 5s acl true || return
	done
}

live_seen() {
	local kind
	for kind in --exclusive --shared --slots=2; do
		start_dlock "$@" "$kind" -t 2s -k 100ms acl sleep 60
		poll_for 3000 eval '[ "$(redis -n 1 EXISTS lock:acl)" = 1 ]' || return
		status_is 1 "$DLOCK" "$@" --status acl other || return
		"$DLOCK" "$@" --status --json acl || return
		"$DLOCK" "$@" --list | grep -q acl || return
		"$DLOCK" "$@" --break acl || return
		exit_status_of "$OUTER" 5s
		[ "$STATUS" -eq 79 ] || return
	done
	redis -n 1 LPUSH lock:acl x >/dev/null
	status_is 69 "$DLOCK" "$@" -n acl true || return
	"$DLOCK" "$@" --break --force acl || return
	status_is 1 "$DLOCK" "$@" --status acl
}

live_lost() {
	local kind
	for kind in --exclusive --shared; do
		start_dlock "$@" "$kind" --watch -t 5s -k 100ms acl sleep 60
		poll_for 3000 eval '[ "$(redis -n 1 EXISTS lock:acl)" = 1 ]' || return
		# It watches once it has been running for a renewal's period.
		poll_for 5000 eval 'redis CLIENT LIST | grep -q " flags=[A-Za-z]*P[A-Za-z]* "' || return
		redis -n 1 DEL lock:acl 'lock:acl#members{lock:acl}' >/dev/null
		exit_status_of "$OUTER" 5s
		[ "$STATUS" -eq 79 ] || return
	done
}

# -- the rights that the man page lists

# As arguments of redis-cli.
listed_rights() {
	sed -n '/^ACL SETUSER dlock on/,/^\.Ed/p' "$ROOT_DIR/man/dlock.1" |
		sed -e 's/^ACL SETUSER dlock //' -e '/^\.Ed/d' | tr -s '\n ' ' '
}

listed_commands() {
	listed_rights | tr ' ' '\n' | sed -n 's/^+//p' | sort
}

# make_user [RULE...]: a user who has them, and then the RULEs; USER_URL is his.
# shellcheck disable=SC2034 # USER_URL is for the caller
make_user() {
	local rights
	read -ra rights <<<"$(listed_rights)"
	[ "${#rights[@]}" -ge 20 ] || return
	[ "$(redis ACL SETUSER dlock reset "${rights[@]}" "$@")" = OK ] || return
	redis ACL LOG RESET >/dev/null
	USER_URL=redis://dlock:secret@127.0.0.1:$REDIS_PORT/1
}

# used_by_commands <MONITOR: what came over TCP, as dlock's does; subcommands as ACLs write them.
used_by_commands() {
	sed -nE 's/^[^"]* 127\.0\.0\.1:[0-9]+\] "([A-Za-z]+)"( "([A-Za-z]+)")?.*/\1 \3/p' | tr '[:upper:]' '[:lower:]' |
		awk '$1 != "auth" { print $1 ($1 == "client" || $1 == "pubsub" || $1 == "script" ? "|" $2 : "") }' | sort -u
}

# Without those that are for waiters in a cluster alone.
used_by_scripts() {
	grep -ohE "(redis\.p?call|\blook)\('[A-Z]+'(, '(SHARD)?NUMSUB')?" "$ROOT_DIR"/src/store/lua/*.lua |
		sed -E "s/.*\('([A-Z]+)'(, '([A-Z]+)')?/\1|\3/; s/\|\$//" | tr '[:upper:]' '[:lower:]' |
		grep -vxF -e spublish -e 'pubsub|shardnumsub' -e cluster | sort -u
}
