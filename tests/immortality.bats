#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 4: no lock without an expiry; and none that a dead dlock leaves behind.
# ROUNDS of kill -9 (150) and TERMS (100): tests/long takes more.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/immortal

setup_file() {
	start_redis
}

teardown_file() {
	stop_redis
}

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

@test "at no instant does the key exist with PTTL -1: 150 times kill -9 at a random instant of the start" {
	kill_at_random 150
}

@test "TERM at random moments, 100 times: never a leftover key (P19)" {
	term_at_random 100
}

@test "two runs have different tokens, and the release of one never frees the other (R51)" {
	local first second i
	start_dlock --ttl 5s job sh -c 'echo "$DLOCK_TOKEN" >first; until [ -e go ]; do sleep 0.01; done'
	wait_until 2s test -s first
	first=$(cat first)
	[ "$(redis GET lock:job)" = "$first" ]
	# The first holder's lease is taken away; a second one holds; the first ends.
	redis DEL lock:job >/dev/null
	DLOCK_LOG=$WORK/second.log
	local holder=$OUTER
	start_dlock -n --ttl 5s job sh -c 'echo "$DLOCK_TOKEN" >second; sleep 900'
	wait_until 1s test -s second
	second=$(cat second)
	[ "$first" != "$second" ]
	touch go
	exit_status_of "$holder"
	[ "$(redis GET lock:job)" = "$second" ]
	# Started at one instant, from one shell, the tokens are different too.
	for i in {1..8}; do
		start "$DLOCK" --ttl 5s "many$i" sh -c 'echo "$DLOCK_TOKEN" >>tokens'
	done
	wait_until 5s eight_tokens
	[ "$(sort -u tokens | wc -l)" -eq 8 ]
	run grep -vE '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$' tokens
	assert_failure
}

eight_tokens() {
	[ -e tokens ] && [ "$(wc -l <tokens)" -eq 8 ]
}

@test "the server, out of memory, takes no lock and leaves no trace without an expiry" {
	redis CONFIG SET maxmemory 1 >/dev/null
	run dlock -n job true
	redis CONFIG SET maxmemory 0 >/dev/null
	assert_failure 69
	[ -z "$(redis KEYS '*' | while read -r key; do [ "$(redis PTTL "$key")" != -1 ] || echo "$key"; done)" ]
	free job
}
