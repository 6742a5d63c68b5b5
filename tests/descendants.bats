#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --descendants: what becomes of processes that outlive COMMAND's normal exit. After a death by a
# signal they are always killed first.
#
# shellcheck disable=SC2016,SC2034,SC2154 # dollars for the other shell; names for ${!}; run's stderr

load helpers/common
load helpers/signals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
	nap=$(unique_sleep)
}

# leaver SCRIPT...: a COMMAND that exits with 3 and leaves behind what SCRIPT put there.
leaver() {
	# What is left must not keep the pipe of `run` open.
	printf '%s\n' 'exec >/dev/null 2>&1' "$@" 'exit 3' >leaver
}

# One left in the group, one that called setsid, one that forked twice as well.
leave_three() {
	leaver "sleep $nap & setsid sleep $nap & setsid sh -c 'sleep $nap & exit 0' &" \
		"until [ \"\$(pgrep -fxc 'sleep $nap')\" = 3 ]; do sleep 0.01; done"
}

# lingers: RUNNER is there, and COMMAND, the shell that ran `leaver`, has ended.
lingers() {
	local pid runner
	runner=$(runner_of "$OUTER") || return 1
	for pid in $(find_argv leaver); do
		[ "$pid" = "$OUTER" ] || [ "$pid" = "$runner" ] || return 1
	done
}

# --- leave

@test "--descendants leave, the default: they go on, the lock is free, one line counts them (S76 P27)" {
	local how
	leave_three
	for how in '' '--descendants leave'; do
		# shellcheck disable=SC2086 # words
		run --separate-stderr -3 dlock $how job sh leaver 3>&-
		argv_count "$nap" 3
		free job
		[ "${#stderr_lines[@]}" -eq 1 ]
		[[ "$stderr" =~ ^"dlock: the command of 'job' has ended and left 3 processes running (pid "[0-9]+" is one)"$ ]] ||
			fail "$stderr"
		# shellcheck disable=SC2046 # a word a pid
		kill -KILL $(find_argv "$nap")
		wait_until 1s argv_gone "$nap"
	done
	run --separate-stderr -3 dlock -q job sh leaver 3>&-
	[ -z "$stderr" ]
	argv_count "$nap" 3
}

@test "a daemon started under dlock keeps neither the lock nor a descriptor of its (S72 S78 P27)" {
	local agent fd
	run --separate-stderr -0 dlock job sh -c 'eval "$(ssh-agent -a "$PWD/agent")" >&2; echo "$SSH_AGENT_PID"' 3>&-
	agent=${lines[-1]}
	track "$agent"
	assert_alive "$agent"
	free job
	run -0 dlock -n job true
	# Its own listening socket, at most.
	for fd in /proc/"$agent"/fd/*; do
		[[ "$(readlink "$fd")" != *dlock* ]] || fail "$(readlink "$fd")"
	done
	[ "$(find "/proc/$agent/fd" -lname 'socket:*' | wc -l)" -le 1 ]
	kill -TERM "$agent"
}

# --- wait

@test "--descendants wait: held and renewed until the last has ended, the status is COMMAND's (S76)" {
	leaver "(sleep 1.5; touch one) & setsid sh -c '(sleep 2.5; touch two) & exit 0' &"
	start_dlock -t 1s -k 100ms --descendants wait job sh leaver
	wait_until 2s held job
	while held job; do :; done
	[ -e one ] && [ -e two ]
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 3 ]
}

@test "--descendants wait: nothing is said for a second, then one line; none with -q" {
	leaver 'sleep 0.5 &'
	run --separate-stderr -3 dlock --descendants wait job sh leaver 3>&-
	[ -z "$stderr" ]
	leaver 'sleep 1.5 &'
	run --separate-stderr -3 dlock --descendants wait job sh leaver 3>&-
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ "$stderr" =~ ^"dlock: the command of 'job' has ended and left 1 process running (pid "[0-9]+"): waiting for it"$ ]] ||
		fail "$stderr"
	run --separate-stderr -3 dlock -q --descendants wait job sh leaver 3>&-
	[ -z "$stderr" ]
}

@test "--descendants wait: with nobody left it ends at once" {
	local before
	before=$(boottime)
	run -0 dlock --descendants wait job echo ran
	assert_between 0 900 "$(elapsed_ms "$before")" 'wall time'
	assert_output ran
}

@test "--descendants wait: the lock lost meanwhile, they are killed, 79" {
	leave_three
	start_dlock -t 1s -k 200ms --descendants wait job sh leaver
	wait_until 3s argv_count "$nap" 3
	wait_until 2s lingers
	redis DEL lock:job
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	argv_gone "$nap"
	grep -q "lost 'job': the key is gone" "$DLOCK_LOG"
}

@test "--descendants wait: --max-hold bounds it, 124" {
	leave_three
	start_dlock -k 200ms --max-hold 2s --descendants wait job sh leaver
	wait_until 3s argv_count "$nap" 3
	exit_status_of "$OUTER" 6s
	[ "$STATUS" -eq 124 ]
	argv_gone "$nap"
	free job
	assert_equal "$(tail -n 1 "$DLOCK_LOG")" \
		"dlock: 'job' was held for its --max-hold of 2.0s: its command has been ended"
}

@test "--descendants wait: a signal for dlock reaches each that is left once, in the group or not" {
	local name
	for name in TERM USR1 HUP; do
		leaver "'$TOOLS/sigcount' inside 300 & setsid '$TOOLS/sigcount' outside 300 &" \
			"until grep -q ready inside && grep -q ready outside; do sleep 0.01; done"
		start_dlock --descendants wait job sh leaver
		wait_until 3s has_line inside ready
		wait_until 3s has_line outside ready
		wait_until 2s lingers
		kill -"$name" "$OUTER"
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 3 ]
		each_once inside "$name"
		each_once outside "$name"
		free job
		rm inside outside
	done
}

@test "--descendants wait: what the group got already is not repeated, and who left it gets it" {
	leaver "'$TOOLS/sigcount' inside 300 & setsid '$TOOLS/sigcount' outside 300 &" \
		"until grep -q ready inside && grep -q ready outside; do sleep 0.01; done"
	start setsid env --default-signal=INT,QUIT "$DLOCK" --descendants wait job sh leaver 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 3s has_line inside ready
	wait_until 3s has_line outside ready
	wait_until 2s lingers
	kill -INT -- -"$OUTER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 3 ]
	each_once inside INT
	each_once outside INT
}

@test "--descendants wait: signals sent while COMMAND runs are COMMAND's alone, as ever" {
	leaver "setsid '$TOOLS/sigcount' outside 400 &" \
		"trap 'touch command-got' USR1" \
		"until grep -q ready outside; do sleep 0.01; done" \
		"touch up; until [ -e command-got ]; do sleep 0.01; done"
	start_dlock --descendants wait job bash leaver
	wait_until 3s test -e up
	kill -USR1 "$OUTER"
	wait_until 2s test -e command-got
	wait_until 2s lingers
	kill -USR2 "$OUTER"
	exit_status_of "$OUTER"
	each_once outside USR2
}

@test "--descendants wait: kill -9 of OUTER or of RUNNER, they are killed" {
	local which
	for which in OUTER RUNNER; do
		leave_three
		start_dlock -t 2s -k 100ms --descendants wait job sh leaver
		wait_until 3s argv_count "$nap" 3
		wait_until 2s lingers
		RUNNER=$(runner_of "$OUTER")
		kill -KILL "${!which}"
		wait_until 1500ms argv_gone "$nap"
		wait_until 1s no_marked_dlock
		redis DEL lock:job >/dev/null
	done
}

@test "--descendants wait: Ctrl-Z suspends the job also when COMMAND has ended, fg resumes it (S42)" {
	printf 'echo up\n(until test -e go; do sleep 0.02; done; touch done) &\nexit 7\n' >worker
	export PS1='ready> ' HISTFILE='' TERM=dumb
	start "$TOOLS/ptyrun" "$WORK/how" 'expect:ready> ' \
		'send:"$DLOCK" -t 1s -k 100ms --descendants wait job bash worker\n' 'expect:up' \
		'expect:waiting for it' 'send:\x1a' 'expect:Stopped' 'expect:ready> ' 'run:sleep 1.5' \
		'send:redis-cli -s "$REDIS_SOCK" GET lock:job | wc -c\n' 'expect:37' 'run:: >go' \
		'send:fg; echo now=$?\n' 'expect:now=7' 'send:exit 0\n' end \
		-- bash --norc --noprofile -i >screen 2>error
	exit_status_of "$STARTED" 60s
	[ "$STATUS" -eq 0 ] || fail "$(<error)"$'\n'"$(<screen)"
	assert_equal "$(<how)" 'exit 0'
	[ -e "done" ]
	free job
}

@test "--descendants wait: in the background, what is left reads the terminal: the job stops, fg resumes it (S46)" {
	printf 'sleep 0.2\n(touch reading; read x </dev/tty; echo "got <$x>") &\nexit 7\n' >worker
	export PS1='ready> ' HISTFILE='' TERM=dumb
	start "$TOOLS/ptyrun" "$WORK/how" 'expect:ready> ' \
		'send:"$DLOCK" --descendants wait job bash worker &\n' 'expect:ready> ' \
		'run:i=0; until [ -e reading ] || [ $i -gt 300 ]; do i=$((i+1)); sleep 0.01; done; sleep 0.5' \
		'send:jobs\n' 'expect:Stopped' 'expect:ready> ' 'send:fg\n' 'run:sleep 0.5' 'send:hello\n' \
		'expect:got <hello>' 'expect:ready> ' 'send:exit 0\n' end \
		-- bash --norc --noprofile -i >screen 2>error
	exit_status_of "$STARTED" 60s
	[ "$STATUS" -eq 0 ] || fail "$(<error)"$'\n'"$(<screen)"
	free job
}

@test "--descendants wait: one by one they are seen to end, also behind a stopped RUNNER" {
	leave_three
	start_dlock -t 2s -k 100ms --descendants wait job sh leaver
	wait_until 3s argv_count "$nap" 3
	wait_until 2s lingers
	kill -STOP "$(runner_of "$OUTER")"
	# shellcheck disable=SC2046 # a word a pid
	kill -TERM $(find_argv "$nap")
	exit_status_of "$OUTER" 4s
	[ "$STATUS" -eq 3 ]
	free job
}

# --- kill

@test "--descendants kill: the first signal to all, the release after the last, COMMAND's status (S79)" {
	leaver "bash -c 'trap \"sleep 0.3; echo inside >>got; exit\" TERM; touch up1; while :; do sleep 0.02; done' &" \
		"setsid bash -c 'trap \"sleep 0.3; echo outside >>got; exit\" TERM; touch up2; while :; do sleep 0.02; done' &" \
		"until [ -e up1 ] && [ -e up2 ]; do sleep 0.01; done"
	start_dlock --descendants kill -k 5s job sh leaver
	wait_until 3s test -e up2
	while held job; do :; done
	assert_equal "$(sort got)" "$(printf 'inside\noutside')"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 3 ]
	[ ! -s "$DLOCK_LOG" ] || fail "$(<"$DLOCK_LOG")"
}

@test "--descendants kill: KILL after the grace for who ignores the first signal (S79 S21)" {
	local before
	leaver "trap '' TERM; sleep $nap & setsid sleep $nap &"
	before=$(boottime)
	run -3 dlock --descendants kill -k 400ms job bash leaver 3>&-
	assert_between 390 1500 "$(elapsed_ms "$before")" 'wall time'
	argv_gone "$nap"
	free job
}

@test "--descendants kill: a daemon that forked twice and called setsid is gone (S72 S78)" {
	run -0 dlock --descendants kill job sh -c 'eval "$(ssh-agent -a "$PWD/agent")" >&2; echo "$SSH_AGENT_PID"' 3>&-
	assert_gone "${lines[-1]}"
	free job
}

@test "--descendants kill: --signal is the first signal" {
	leaver "bash -c 'trap \"echo hup >>got; exit\" HUP; touch up; while :; do sleep 0.02; done' &" \
		"until [ -e up ]; do sleep 0.01; done"
	run -3 dlock --signal HUP --descendants kill job sh leaver 3>&-
	assert_equal "$(<got)" hup
}

@test "--descendants kill: kill -9 of OUTER in the grace, they die and the lock is freed" {
	leaver "bash -c 'trap \"touch told\" TERM; touch up; sleep $nap & wait; sleep $nap' &" \
		"until [ -e up ]; do sleep 0.01; done"
	start_dlock --descendants kill -k 500ms job sh leaver
	wait_until 3s test -e told
	kill -KILL "$OUTER"
	wait_until 1500ms argv_gone "$nap"
	wait_until 1s free job
}

@test "--descendants kill and wait: a process that re-forks itself with setsid is gone before the key (S21)" {
	local how now
	for how in kill wait; do
		rm -f generations
		leaver "'$TOOLS/refork' generations $([ $how = kill ] && echo 10 || echo 2) &" \
			"until '$TOOLS/refork' -n generations | grep -qE '^[0-9]{3,} '; do sleep 0.01; done"
		start_dlock --descendants "$how" -k 20ms job sh leaver
		wait_until 3s test -s generations
		wait_until 6s free job
		now=$("$TOOLS/refork" -n generations)
		sleep 0.05
		assert_equal "$("$TOOLS/refork" -n generations)" "$now"
		[ "${now%% *}" -ge 100 ]
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 3 ]
	done
}

# --- always

@test "after a death by signal they are killed first, whatever --descendants says" {
	local how
	for how in leave wait kill; do
		start_dlock --descendants "$how" -k 200ms job bash -c "
			trap '' USR1; setsid bash -c 'trap \"\" TERM; sleep $nap; :' & sleep $nap & touch up; exec sleep $nap"
		wait_until 2s argv_count "$nap" 3
		wait_until 2s running "$OUTER"
		kill -KILL "$COMMAND"
		while held job; do :; done
		argv_gone "$nap"
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 137 ]
	done
}

@test "processes that were there before dlock are no descendants, whatever is wanted" {
	local how
	for how in wait kill; do
		run -4 sh -c "sleep $nap >/dev/null 2>&1 & exec \"$DLOCK\" --descendants $how job sh -c 'exit 4'" 3>&-
		argv_count "$nap" 1
		free job
		# shellcheck disable=SC2046 # a word a pid
		kill -KILL $(find_argv "$nap")
		wait_until 1s argv_gone "$nap"
	done
}

@test "--descendants works the same in a run without a lock" {
	leave_three
	run -3 dlock -S unix://"$WORK/nobody" --if-unreachable run --descendants kill job sh leaver 3>&-
	argv_gone "$nap"
	leaver '(sleep 0.4; touch done) &'
	run -3 dlock -S unix://"$WORK/nobody" --if-unreachable run --descendants wait job sh leaver 3>&-
	[ -e "done" ]
}

@test "--descendants: a bad value is a usage error that names it" {
	run -64 dlock --descendants keep job true
	assert_output "dlock: --descendants: none of 'leave', 'wait' and 'kill': 'keep'"
}
