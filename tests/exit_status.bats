#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 2: dlock ends as COMMAND ended, its death by a signal included.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

# ended_as EXPECTED COMMAND...: how wait(2) saw COMMAND end.
ended_as() {
	local expected=$1 how
	shift
	"$TOOLS/waitstatus" "$WORK/how" "$@"
	how=$(<"$WORK/how")
	[ "$how" = "$expected" ] || { echo "$*: $how, not $expected" >&2; return 1; }
}

@test "the exit status is COMMAND's own, all 256 (S61 S69 P28 P30)" {
	local code got wrong=
	for code in {0..255}; do
		got=0
		dlock job sh -c "test -n \"\$DLOCK_TOKEN\" && exit $code; kill -KILL \$\$" 2>>err || got=$?
		[ "$got" = "$code" ] || wrong+=" $code->$got"
	done
	[ -z "$wrong" ] || fail "$wrong"
	[ ! -s err ] || fail "dlock spoke: $(<err)"
	free job
}

@test "exit 2 is 2 and not 0, exit 143 is no death by a signal (P30 S63)" {
	ended_as 'exit 2' "$DLOCK" job sh -c 'exit 2'
	ended_as 'exit 143' "$DLOCK" job sh -c 'exit 143'
	ended_as 'exit 130' "$DLOCK" job sh -c 'exit 130'
	ended_as 'exit 79' "$DLOCK" job sh -c 'exit 79'
}

@test "dlock dies of the very signal that COMMAND died of, each of them (P31 S63 S69)" {
	local number wrong=
	for number in {1..64}; do
		case $number in
		17 | 18 | 23 | 28) continue ;; # CHLD CONT URG WINCH: ignored by default
		19 | 20 | 21 | 22) continue ;; # STOP TSTP TTIN TTOU: stop, do not end
		esac
		ended_as "signal $number" "$DLOCK" job "$TOOLS/killself" "$number" 2>>wrong ||
			wrong+=" $number"
		free job || wrong+=" $number(the key is left)"
	done
	[ -z "$wrong" ] || fail "$wrong: $(<wrong)"
}

@test "a shell shows 128+N, also for KILL (P31)" {
	run -137 dlock job sh -c 'kill -KILL $$'
	assert_output ''
	run -143 dlock job sh -c 'kill -TERM $$'
	assert_output ''
}

@test "when COMMAND dumps core dlock does not dump its own" {
	local number
	cd "$WORK" || return 1
	"$TOOLS/waitstatus" -r how "$TOOLS/killself" 6
	# A machine that dumps no core at all shows less: say so.
	[ "$(<how)" = 'signal 6 core' ] || echo '# no core dumps on this machine' >&3
	for number in 3 4 5 6 7 8 11 24 25 31; do
		"$TOOLS/waitstatus" -r how "$DLOCK" job "$TOOLS/killself" "$number"
		[ "$(<how)" = "signal $number" ] || fail "signal $number: $(<how)"
	done
}

@test "a signal to the group leaves bash's loop, for dlock dies of it (S63)" {
	# In a session of its own, or kill 0 would reach bats.
	cat >loop <<-'END'
		for i in 1 2 3; do
			"$DLOCK" L sh -c 'echo once >>ran; kill -INT 0; sleep 1'
		done
		echo end
	END
	start setsid env --default-signal=INT,QUIT bash loop >out 2>err
	wait_until 10s gone "$STARTED"
	run cat ran
	assert_output once
	[ ! -s out ] || fail "the loop went on: $(<out)"
	free L
}

@test "as PID 1 dlock exits 128+N, and 0 in a pid namespace is no orphanage (S37)" {
	run -0 unshare -pf "$DLOCK" L true
	assert_output ''
	run -3 unshare -pf --mount-proc "$DLOCK" L sh -c 'exit 3'
	assert_output ''
	ended_as 'exit 143' unshare -pf --mount-proc "$DLOCK" L sh -c 'kill -TERM $$'
	ended_as 'exit 137' unshare -pf "$DLOCK" L sh -c 'kill -KILL $$'
	free L
	# Not as process 1, but below one whose /proc is the caller's.
	run -4 unshare -pf sh -c '"$DLOCK" L sh -c "exit 4"; exit $?'
	assert_output ''
	free L
}

@test "in a pid namespace with the caller's /proc a lost lock still ends COMMAND (S37)" {
	local nap
	nap=$(unique_sleep)
	start unshare -pf "$DLOCK" -t 2s -k 200ms L sh -c "sleep $nap & sleep $nap" 2>err
	wait_until 2s argv_count "$nap" 2
	steal L
	wait_until 2s argv_gone "$nap"
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 79 ] || fail "status $STATUS: $(<err)"
}

@test "COMMAND is forked by RUNNER's main thread: PDEATHSIG fires when a thread ends (S39)" {
	start_dlock -S "$URL_TCP" L sleep 60
	wait_until 2s running "$OUTER"
	# The kernel lists children by the thread that forked them.
	[[ " $(<"/proc/$RUNNER/task/$RUNNER/children")" == *" $COMMAND "* ]] || fail 'by another thread'
	[[ " $(<"/proc/$OUTER/task/$OUTER/children")" == *" $RUNNER "* ]] || fail 'by another thread'
	# And a reconnect, with whatever thread resolves names, disturbs nobody.
	redis CLIENT KILL TYPE normal SKIPME yes >/dev/null
	redis CLIENT KILL TYPE pubsub >/dev/null
	wait_until 20s reconnected
	assert_alive "$COMMAND" "$RUNNER" "$OUTER"
}

reconnected() {
	[ "$(redis CLIENT LIST | grep -c name=dlock)" -ge 1 ]
}

@test "a lost lock has its own status, whatever ended COMMAND (S64 P39)" {
	local ending
	for ending in 'trap "exit 0" TERM' 'trap "exit 5" TERM' 'trap "" TERM' ':'; do
		: >ready
		start_dlock -t 2s -k 100ms L sh -c "$ending; echo >>ready; while :; do sleep 0.01; done"
		wait_until 2s test -s ready
		held L
		steal L
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 79 ] || fail "$ending: $STATUS"
		redis DEL lock:L >/dev/null
	done
}

@test "lock not had and command failed are told apart by -E (P34)" {
	start_dlock L sleep 60
	wait_until 2s running "$OUTER"
	run -75 dlock -n L true
	run -99 dlock -n -E 99 L true
	run -0 dlock -n -E 0 L true
	run -255 dlock -n --conflict-exit-code 255 L true
	run -99 dlock -w 0.1 -E 99 L true
	run -7 dlock -n -E 99 other sh -c 'exit 7'
}

@test "a COMMAND that is not found is told how it would be" {
	mkdir bin && printf '#!/bin/sh\n' | tee beside-me >bin/found && chmod +x beside-me bin/found
	PATH=$PWD/bin:$PATH run -0 dlock job found
	run -127 dlock job beside-me
	assert_output "dlock: command not found: 'beside-me' (the one in this directory is ./beside-me)"
	run -127 dlock job 'found | cat'
	assert_output "dlock: command not found: 'found | cat' (a line for the shell goes after -c)"
	run -127 dlock job 'found --now'
	assert_output --partial "(a line for the shell goes after -c)"
	run -127 dlock job nowhere
	assert_output "dlock: command not found: 'nowhere'"
	run -127 dlock job ./nowhere
	assert_output "dlock: command not found: './nowhere'"
	mkdir folder
	run -127 dlock job folder
	assert_output "dlock: command not found: 'folder'"
}
