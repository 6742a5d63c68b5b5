#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 7: waiting is quiet. What it costs the server: scripts, connections, keys.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/line

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	line_setup
}

@test "three scripts at most for each acquisition, two without a wait, and nothing is left (R39)" {
	local i order=()
	monitor alone
	for i in {1..100}; do
		dlock job true
	done
	end_monitor alone
	[ "$(scripts_in alone)" -eq 200 ]
	assert_no_trace job
	hold job
	monitor contended
	for i in {1..12}; do
		wait_in_line "$i" job
		order+=("$i")
	done
	let_go
	all_end
	end_monitor contended
	assert_order "${order[@]}"
	# 12 times enqueued, confirmed, released, and the holder's release. Who has waited for more than
	# 5 s may have asked meanwhile.
	assert_between 37 40 "$(scripts_in contended)" "scripts"
	assert_no_trace job
}

@test "KEYS are the lock's key and its siblings, and nothing else is touched (R19)" {
	monitor said
	hold job
	wait_in_line 1 job
	wait_in_line 2 job
	wait_in_line 3 job
	wait_in_line 4 job
	run -75 dlock -n job true
	run -75 dlock -w 0.3 job true
	kill -TERM "${WAITER[2]}"
	exit_status_of "${WAITER[2]}"
	kill -KILL "${WAITER[3]}"
	redis CLIENT KILL TYPE pubsub
	wait_until 2s listening job 2
	let_go
	all_end 1 4
	dlock --at-least 50ms -t 3s job true
	dlock job true
	end_monitor said
	run -0 "$TESTS_DIR/helpers/declared_keys.py" said lock:job
	[ "${output%% *}" -ge 12 ]
}

@test "one connection for a holder, one for a waiter" {
	local i
	hold job
	wait_until 2s connections_are 1
	for i in 1 2 3; do
		wait_in_line "$i" job
	done
	connections_are 4
	VISIT=hold wait_in_line last job
	make_gate last
	connections_are 5
	let_go
	all_end 1 2 3
	wait_until 2s visited last
	wait_until 2s connections_are 1
	let_go_of last
	all_end
	connections_are 0
}

@test "no key of a lock is ever without an expiry" {
	local key i keys=()
	mapfile -t keys < <(echo lock:job; info_key_of job; queue_key_of job; fence_key_of job)
	for key in "${keys[@]}"; do
		start "$TOOLS/pttl_sampler" "$REDIS_SOCK" "$key" "$WORK/stop" >"sampled.$STARTED.$key"
	done
	hold job
	for i in 1 2 3 4 5 6; do
		wait_in_line "$i" job
	done
	kill -KILL "${WAITER[2]}"
	kill -TERM "${WAITER[4]}"
	let_go
	all_end 1 3 5 6
	dlock --at-least 100ms job true
	: >stop
	wait_until 2s samplers_done "${#keys[@]}"
	for i in sampled.*; do
		grep -q ', eternal 0$' "$i" || fail "$i: $(<"$i")"
		! grep -q 'expiring 0,' "$i" || fail "$i: $(<"$i")"
	done
}

samplers_done() {
	[ "$(cat sampled.* | grep -c eternal)" -eq "$1" ]
}

@test "a hundred waiters ask for next to nothing, and one release is answered by the first alone (R85)" {
	local i before quiet busy said=
	hold job
	for i in 1 2 3; do
		make_gate "w$i"
		VISIT=hold enter_line "w$i" job
		wait_until 2s in_line job "$i"
	done
	for i in {1..97}; do
		start_dlock job true
	done
	wait_until 20s in_line job 100
	connections_are 101
	# The first dozen ask after 5 s and more, in their turn: of three times one is without that.
	for i in 1 2 3; do
		before=$(scripts_run)
		sleep 1
		quiet=$(($(scripts_run) - before))
		before=$(scripts_run)
		if [ "$i" = 1 ]; then let_go; else let_go_of "w$((i - 1))"; fi
		wait_until 2s visited "w$i"
		sleep 1
		busy=$(($(scripts_run) - before))
		[ "$busy" -ge 2 ] # it is let go, and confirmed
		said+=" $quiet, then $busy;"
		[ "$quiet" -gt 3 ] || [ "$busy" -gt 5 ] || return 0
	done
	fail "scripts in a second, before and after a release:$said"
}
