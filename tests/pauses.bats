#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 5, promise 1, and section 8: a whole machine that pauses and wakes. All of dlock and
# its command stand still (helpers/freezer), the clock goes on. What runs first on waking is the kill.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/witness
load helpers/proxy
load helpers/freezer

setup() {
	common_setup
	start_redis
}

# wake: A goes on. Its tree dies at once, and nothing of A goes out before that. (A renewal from before
# the pause may have got to the proxy, and into its log, during it.)
wake() {
	local thawed pid boot real first dead=0
	thawed=$(boottime)
	thawed=${thawed/./}
	thaw
	wait_until 2s witnesses_gone
	for pid in "${WITNESSES[@]}"; do
		read -r boot real < <(last_stamps "$pid")
		[ $((boot - thawed)) -lt 200000000 ] || fail "$pid ran on for $(((boot - thawed) / 1000000)) ms"
		[ "$boot" -lt "$dead" ] || dead=$boot
	done
	assert_lost
	first=$(awk -v thawed="$thawed" '$1 > thawed && $4 !~ /^!/ { print $1; exit }' "$PROXY_LOG")
	[ -z "$first" ] || [ "$first" -gt "$dead" ] || fail "A spoke to the server before its tree was dead"
}

# A machine sleeps for two TTLs, another takes over, the first wakes.
@test "laptop wakes from standby: its command is killed before any I/O, 79, the next holder is untouched (P10)" {
	local second token fence
	make_freezer
	start_proxy
	LAUNCHER=("${in_freezer[@]}")
	start_witnessed --ttl 2s job
	LAUNCHER=()
	settle job
	event
	freeze
	# B goes to the server directly: what comes through the proxy is A's.
	start env DLOCK_SERVER="$URL_UNIX" "$DLOCK" -q --ttl 2s job \
		sh -c 'echo "$DLOCK_TOKEN $DLOCK_FENCE" >second; until [ -e go ]; do sleep 0.02; done; exit 23' 2>second.log
	second=$STARTED
	wait_until 5s test -s second
	sleep 2 # B began when A's lease was over, and renews: two TTLs in all
	alive "$second"
	read -r token fence <second
	wake
	[ "$(redis GET lock:job)" = "$token" ]
	[ "$(redis GET "$(fence_key_of job)")" = "$fence" ]
	alive "$second"
	: >go
	exit_status_of "$second"
	[ "$STATUS" -eq 23 ] || fail "B ended with $STATUS: $(<second.log)"
	[ ! -s second.log ]
	free job
}

@test "after a pause of the whole machine the kill comes first, before any I/O (R46, S82, R75)" {
	make_freezer
	start_proxy
	LAUNCHER=("${in_freezer[@]}")
	start_witnessed --ttl 2s job
	settle job
	event
	freeze
	wait_until 4s free job
	redis SET lock:job another-holder PX 60000
	wake
	[ "$(redis GET lock:job)" = another-holder ]
	[ -z "$(find "$WORK" -name 'core*')" ]
}

@test "a pause of the whole machine with the server frozen too: no renewal past the deadline (S82)" {
	make_freezer
	start_proxy
	LAUNCHER=("${in_freezer[@]}")
	start_witnessed --ttl 2s job
	settle job
	event
	kill -STOP "$REDIS_PID"
	freeze
	sleep 4 # two TTLs: what must pass here is time itself
	kill -CONT "$REDIS_PID"
	thaw
	wait_until 2s witnesses_gone
	assert_lost
	[ "$(confirmed_count)" -eq "$CONFIRMED" ]
	wait_until 1s free job
}

@test "a holder that wakes late changes nothing: another's lock is not renewed and not released (P70, R34)" {
	make_freezer
	LAUNCHER=("${in_freezer[@]}")
	start_witnessed --ttl 2s job
	settle job
	freeze
	local token second=$OUTER log=$DLOCK_LOG
	DLOCK_LOG=$WORK/second.log
	start_dlock --ttl 30s -w 5s job sleep 900
	second=$STARTED
	wait_until 5s running "$second"
	token=$(redis GET lock:job)
	thaw
	wait_until 2s witnesses_gone
	OUTER=$(ps -o ppid= -p "$RUNNER" | tr -d ' ')
	[ "$(redis GET lock:job)" = "$token" ]
	run dlock -n job true
	assert_failure 75
	kill -TERM "$second"
	wait_until 2s free job
	grep -qF "dlock: lost 'job': " "$log"
}
