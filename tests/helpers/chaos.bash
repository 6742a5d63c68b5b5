#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# Failures at random between several dlocks and their server, and an oracle that needs no timing: a
# flock(1) around each command says when two run at once, and each run leaves its name and number.
#
#   load helpers/common; load helpers/proxy; load helpers/ambiguity; load helpers/chaos
#   watch_all
#   chaos MILLISECONDS CONTENDERS     runs them; then all is well again
#   assert_chaos_survived
#
# shellcheck disable=SC2034 # variables are for the caller

# contend NAME END: one run after the other until END (now_ms); a line `ID STATUS` each in `statuses`.
contend() {
	local i=0 status
	while [ "$(now_ms)" -lt "$2" ]; do
		i=$((i + 1))
		status=0
		# shellcheck disable=SC2016 # for the shell inside
		ID=$1.$i "$DLOCK" -q -w 3s --ttl 2s -k 100ms job flock -n -E 99 gate \
			sh -c 'echo "$DLOCK_FENCE $ID" >>ran; sleep 0.02' 2>>"$DLOCK_LOG" || status=$?
		echo "$1.$i $status" >>statuses
	done
}

# One failure after the other, at whatever request comes next.
disturb() {
	local phases=(ACQUIRE ACQUIRE RENEW RELEASE RELEASE CLIENT) failures=(drop half cut end late keep orphan freeze)
	local failure
	while [ "$(now_ms)" -lt "$1" ]; do
		failure=${failures[RANDOM % ${#failures[@]}]}
		LATE_MS=$((RANDOM % 900)) strike_next "${phases[RANDOM % ${#phases[@]}]}" "$failure"
		sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
		kill -CONT "$REDIS_PID"
		((RANDOM % 3)) || proxy pass
	done
}

chaos() {
	local end i
	end=$(($(now_ms) + $1))
	: >ran
	for ((i = 1; i <= $2; i++)); do
		start contend "$i" "$end"
	done
	disturb "$end"
	proxy pass
	kill -CONT "$REDIS_PID"
	# shellcheck disable=SC2046 # one word a pid
	wait_until 20s gone $(cut -d' ' -f1 "$TRACKED" | tail -n "$2")
}

assert_chaos_survived() {
	local id status count
	echo "# $(cut -d' ' -f2 statuses | sort | uniq -c | tr -s ' \n' ' ')" >&3
	# Never two at once, nor a status that nothing explains.
	! grep -v -e ' 0$' -e ' 69$' -e ' 75$' -e ' 79$' statuses
	# Who had the lock later has the higher number.
	cut -d' ' -f1 ran | sort -n -c -u
	while read -r id status; do
		count=$(grep -cx "[0-9]* $id" ran) || true
		case $status in
		0) [ "$count" -eq 1 ] || fail "$id ended well and ran $count times" ;;
		69 | 75) [ "$count" -eq 0 ] || fail "$id ran without the lock" ;;
		79) [ "$count" -le 1 ] || fail "$id ran $count times" ;;
		esac
	done <statuses
	[ "$(redis PTTL lock:job)" -le 2000 ] && [ "$(redis PTTL lock:job)" -ne -1 ]
	run dlock -w 3s --ttl 2s job true
	assert_success
	free job
	# Not all was disturbed to death.
	grep -q ' 0$' statuses
}
