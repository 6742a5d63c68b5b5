#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# dlock --held (held.bats) when many ask, or one asks without end: that costs the server little, and
# RUNNER neither descriptors nor renewals nor promise 1.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 # dollars for the shell inside

load helpers/common
load helpers/witness

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	kill -CONT "$REDIS_PID"
	redis FLUSHALL >/dev/null
	export HELD="$DLOCK --held"
}

@test "--held: many who ask at once are all told, by few renewals" {
	local before after
	before=$(scripts_run)
	run --separate-stderr "$DLOCK" --ttl 60s L bash -c '
		for i in {1..60}; do ($HELD; echo $? >>statuses) & done; wait'
	assert_success
	after=$(scripts_run)
	assert_equal "$(sort statuses | uniq -c | tr -s ' ')" ' 60 0'
	# Acquire, release, and at most twenty renewals a second.
	assert_between 3 30 $((after - before)) 'scripts run'
}

@test "--held: asking again and again costs the server at most twenty renewals a second" {
	local before after
	before=$(scripts_run)
	run --separate-stderr "$DLOCK" --ttl 60s L bash -c '
		from=$EPOCHREALTIME
		for i in {1..20}; do $HELD || exit; done
		to=$EPOCHREALTIME
		echo $(((${to/./} - ${from/./}) / 1000))'
	assert_success
	after=$(scripts_run)
	assert_between 2 $((output / 50 + 4)) $((after - before)) "scripts run in $output ms"
}

# hammer_at PID KIND SOCKETS SECONDS: at the RUNNER of that COMMAND, in the background.
hammer_at() {
	local value
	value=$(tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^DLOCK_HELD=//p')
	IFS=: read -r _ _ ADDRESS TOKEN _ <<<"$value"
	start "$TOOLS/hammer" "$2" "$ADDRESS" "$TOKEN" "$3" "$4" >"hammer.$2"
}

descriptors_of() {
	find "/proc/$1/fd" -mindepth 1 | wc -l
}

@test "--held: RUNNER keeps its descriptors and its renewals under a flood of everything, and still answers" {
	local fds before after kind
	start_dlock --ttl 2s L bash -c 'while :; do
		[ -e go ] || { sleep 0.01; continue; }
		mv go went; $HELD; echo $? >asked; done'
	wait_until 3s running "$OUTER"
	fds=$(descriptors_of "$RUNNER")
	for kind in junk questions descriptors nameless; do
		hammer_at "$COMMAND" "$kind" 1000 30
		sleep 0.3
		touch go
		wait_until 3s test -s asked
		assert_equal "$kind $(cat asked)" "$kind 0"
		rm asked
		# One more while it answers.
		assert_between "$fds" $((fds + 1)) "$(descriptors_of "$RUNNER")" "descriptors under $kind"
		before=$(scripts_run)
		sleep 1
		after=$(scripts_run)
		assert_between 0 6 $((after - before)) "scripts run in a second of $kind"
		kill "$STARTED"
	done
	assert_alive "$OUTER" "$RUNNER" "$COMMAND"
}

@test "promise 1 holds while a thousand sockets hammer at RUNNER: dead before free" {
	local try
	start_witnessed --ttl 5s job
	hammer_at "$COMMAND" questions 1000 20
	# The machine is busy: a renewal may come between what settle reads and the stop.
	for try in 1 2 3 4 5; do
		settle job
		event
		kill -STOP "$REDIS_PID"
		sleep 0.1
		! assert_nothing_confirmed_since_settle || break
		kill -CONT "$REDIS_PID"
	done
	assert_dead_in_time 5000 "hammered at"
	exit_status_of "$OUTER"
	assert_equal "$STATUS" 79
	# It went on to the end, and got through.
	wait_until 15s test -s hammer.questions
	assert_between 1000 1000000000 "$(cat hammer.questions)" 'questions taken'
}
