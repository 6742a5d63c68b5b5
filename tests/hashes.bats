#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Scripts that the server knows are named by their hashes (EVALSHA), others are sent as text.

load helpers/common
load helpers/line

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# scripts_sent FILE: how the scripts of dlock were sent, a word a script.
scripts_sent() {
	sed -nE 's/^[0-9.]+ \[[0-9]+ [^]l][^]]*\] "(EVAL|EVALSHA)".*/\1/p' "$1" | tr '\n' ' '
}

@test "the first run after a server's start sends texts, the next ones hashes, until SCRIPT FLUSH" {
	local rounds
	redis SCRIPT FLUSH >/dev/null
	monitor first
	run -0 "$DLOCK" job true
	assert_output ''
	end_monitor first
	assert_equal "$(scripts_sent first)" 'EVAL EVAL '

	# Nobody was handed the lock so far: the script that confirms is sent as text.
	monitor handed
	start_dlock job sh -c 'until [ -e go ]; do sleep 0.01; done'
	wait_until 2s held job
	start "$DLOCK" job true
	wait_until 2s in_line job 1
	: >go
	exit_status_of "$STARTED" 5s
	assert_equal "$STATUS" 0
	end_monitor handed
	assert_equal "$(scripts_sent handed)" 'EVALSHA EVALSHA EVALSHA EVAL EVALSHA '

	for rounds in 1 2; do
		rm -f go
		monitor flushed
		start_dlock job sh -c 'until [ -e go ]; do sleep 0.01; done'
		wait_until 2s held job
		start "$DLOCK" job true
		wait_until 2s in_line job 1
		[ "$rounds" = 1 ] || redis SCRIPT FLUSH >/dev/null
		: >go
		exit_status_of "$STARTED" 5s
		assert_equal "$STATUS" 0
		wait_until 2s free job
		end_monitor flushed
		case $rounds in
		1) assert_equal "$(scripts_sent flushed)" 'EVALSHA EVALSHA EVALSHA EVALSHA EVALSHA ' ;;
		# Each that is not known is asked once, and from then on texts are sent.
		2) assert_equal "$(scripts_sent flushed)" 'EVALSHA EVALSHA EVALSHA EVAL EVALSHA EVAL EVAL ' ;;
		esac
	done
}

@test "who may not name scripts by hash, or not ask which are known, sends texts and says nothing" {
	local right
	for right in -evalsha '-script|exists' -script; do
		redis ACL SETUSER other reset on nopass '~*' '&*' +@all "$right" >/dev/null
		redis SCRIPT FLUSH >/dev/null
		for _ in 1 2 3; do
			run "$DLOCK" -S "redis://other@127.0.0.1:$REDIS_PORT" job true
			[ "$status:$output" = 0: ] || fail "$right: $status $output"
			run "$DLOCK" -n -S "redis://other@127.0.0.1:$REDIS_PORT" job true
			[ "$status:$output" = 0: ] || fail "-n, $right: $status $output"
		done
	done
}
