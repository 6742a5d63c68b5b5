#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 4: under a terminal COMMAND is as without dlock: Ctrl-C once, a new size once,
# a password prompt reads, a hang-up arrives once; and the terminal is as it was afterwards.
#
# shellcheck disable=SC2016,SC2154

load helpers/common
load helpers/signals
load helpers/terminal

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	terminal_setup
}

@test "the hang-up of the terminal whose leader dlock is counts once (P15)" {
	terminal "$(until_true 'grep -q ready got')" hangup end -- \
		"$DLOCK" job "$TOOLS/sigcount" got 300 5
	[ "$how" = 'exit 5' ] || fail "$how"
	each_once got HUP CONT
	free job
}

@test "the hang-up of the terminal of an interactive shell ends dlock and frees the lock" {
	terminal 'expect:ready> ' 'send:"$DLOCK" job sh sleeper\n' 'expect:up' "$(LOCK_IS 1)" \
		hangup end -- bash --norc --noprofile -i
	wait_until 3s free job
	wait_until 2s no_marked_dlock
}

# 500 of them: tests/long/waiting.bats.
@test "COMMAND sees no stray HUP or CONT when dlock leads the session, 20 starts (S48)" {
	local i
	printf '%s\n' 'trap "echo HUP >>stray" HUP' 'trap "echo CONT >>stray" CONT' 'sleep 0.02' 'exit 5' >watcher
	for i in {1..20}; do
		terminal end -- "$DLOCK" job sh watcher
		[ "$how" = 'exit 5' ] || fail "start $i: $how"
	done
	[ ! -e stray ] || fail "$(<stray)"
}

@test "Ctrl-C arrives once (S10 P25)" {
	session 'send:"$DLOCK" job "$TOOLS/sigcount" got 300 5; echo status=$?\n' \
		"$(until_true 'grep -q ready got')" 'send:\x03' 'expect:status=5' 'expect:ready> '
	each_once got INT
	free job
}

@test "Ctrl-C and Ctrl-\\ end COMMAND and dlock of that signal, the shell goes on (S1)" {
	# Not in one line: bash leaves a list when what it ran died of INT.
	session 'send:"$DLOCK" job sh sleeper\n' 'expect:up' 'send:\x03' 'expect:ready> ' \
		'send:echo status=$?\n' 'expect:status=130' "$(LOCK_IS 0)" \
		'send:ulimit -c 0; "$DLOCK" job sh sleeper\n' 'expect:up' 'send:\x1c' 'expect:ready> ' \
		'send:echo status=$?\n' 'expect:status=131' "$(LOCK_IS 0)"
}

# Many short sleeps: Python sleeps to the end when the signal comes just before it begins to.
@test "Ctrl-C: the REPL survives, and so does the lock (S51)" {
	session 'send:"$DLOCK" job /usr/bin/python3 -q; echo status=$?\n' 'expect:>>> ' \
		'send:import time; print("sleep" + "ing"); [time.sleep(0.01) for i in range(5000)]\n' \
		'expect:sleeping' 'send:\x03' \
		'expect:KeyboardInterrupt' 'expect:>>> ' "$(LOCK_IS 1)" \
		'send:exit(9)\n' 'expect:status=9' "$(LOCK_IS 0)"
}

@test "a prompt of COMMAND reads the terminal (P25)" {
	cat >asker <<-'END'
		printf 'ask: '
		read -r x
		echo "got $x"
	END
	session 'send:"$DLOCK" job bash asker\n' 'expect:ask: ' 'send:hello\n' \
		'expect:got hello' 'expect:ready> '
}

@test "without job control COMMAND reads /dev/tty (S45)" {
	cat >script <<-'END'
		"$DLOCK" job sh -c 'echo ask; read x </dev/tty; echo "got $x"; exit 3'
		echo status=$?
	END
	terminal 'expect:ask' 'send:secret\n' 'expect:got secret' 'expect:status=3' end -- sh script
}

@test "the terminal's foreground group is the same under dlock, and afterwards (S52)" {
	cat >show <<-'END'
		"$TOOLS/showstate" "$1"
	END
	session 'send:"$TOOLS/showstate" plain\n' 'expect:ready> ' \
		'send:"$DLOCK" job "$TOOLS/showstate" under\n' 'expect:ready> ' \
		'send:"$DLOCK" job sh -c "kill -TERM \$\$"\n' 'expect:ready> ' \
		'send:"$TOOLS/showstate" after\n' 'expect:ready> '
	# Each job is a group of its own and has the terminal: group and foreground group are equal.
	local file
	for file in plain under after; do
		run sed -n -e 's/^group //p' -e 's/^terminal foreground //p' "$file"
		[ "${lines[0]}" = "${lines[1]}" ] || fail "$file: $output"
	done
	# All else is the same: mask, dispositions, descriptors, limits.
	run diff <(grep -Ev '^(group|terminal|parent-death)' plain) <(grep -Ev '^(group|terminal|parent-death)' under)
	assert_output ''
}

@test "one Ctrl-C leaves the loop of an interactive bash (S63 S10)" {
	cat >round <<-'END'
		echo round >>rounds
		echo up
		exec sleep 60
	END
	session 'send:for i in 1 2 3; do "$DLOCK" job sh round; done; echo over >over\n' 'expect:up' \
		'send:\x03' 'expect:ready> ' 'send:echo alive\n' 'expect:alive' "$(LOCK_IS 0)"
	[ "$(wc -l <rounds)" -eq 1 ]
	[ ! -e over ]
}

@test "one Ctrl-C ends a script that runs dlock in a loop (S63)" {
	printf '%s\n' 'for i in 1 2 3; do' 'echo round >>rounds' '"$DLOCK" job sh sleeper' 'done' 'echo over >over' >script
	terminal 'expect:up' 'send:\x03' end -- bash script
	[ "$how" = 'signal 2' ] || fail "$how"
	[ "$(wc -l <rounds)" -eq 1 ]
	[ ! -e over ]
	free job
}

@test "one Ctrl-C ends a waiter, and the loop it is in, and leaves no trace (S63 P18)" {
	redis SET lock:job another PX 60000 >/dev/null
	session 'send:for i in 1 2 3; do "$DLOCK" job true; done\n' 'expect:waiting for' \
		'send:\x03' 'expect:ready> ' 'send:echo status=$?\n' 'expect:status=130'
	[ "$(shown 'waiting for')" -eq 1 ]
	[ "$(redis DBSIZE)" -eq 1 ]
}

@test "a terminal's new size reaches COMMAND once" {
	session 'send:"$DLOCK" job "$TOOLS/sigcount" got 300 5; echo status=$?\n' \
		"$(until_true 'grep -q ready got')" 'size:40x100' 'expect:status=5' 'expect:ready> '
	each_once got WINCH
}

@test "a password is read from /dev/tty, without an echo, with stdin elsewhere (P25 S45)" {
	cat >asker <<-'END'
		read -rsp "Password: " x </dev/tty
		echo
		[ "$x" = s3cret ] && echo accepted
		exit 4
	END
	session 'send:stty -g >before\n' 'expect:ready> ' \
		'send:"$DLOCK" job bash asker </dev/null; echo status=$?\n' 'expect:Password: ' \
		'run:sleep 0.1' 'send:s3cret\n' 'expect:accepted' 'expect:status=4' 'expect:ready> ' \
		'send:stty -g >after\n' 'expect:ready> '
	[ "$(shown s3cret)" -eq 0 ]
	cmp before after
}

@test "nohup: a hang-up is ignored by COMMAND as it would be without dlock, the lock is kept" {
	cat >worker <<-'END'
		grep SigIgn /proc/self/status >ignored
		echo up >up
		until test -e go; do sleep 0.02; done
		exit 7
	END
	terminal "$(until_true 'test -s up')" hangup 'run:sleep 1.2' "$(LOCK_IS 1)" 'run:: >go' end -- \
		nohup "$DLOCK" -t 1s -k 100ms job sh worker
	[ "$how" = 'exit 7' ] || fail "$how"
	# The last hexadecimal digit's lowest bit is signal 1.
	[[ $(<ignored) = *[13579bdf] ]]
	free job
}

@test "nohup in the background outlives its shell and the terminal, and frees the lock at its end" {
	printf 'echo up >up\nuntil test -e go; do sleep 0.02; done\nexit 7\n' >worker
	terminal 'expect:ready> ' \
		'send:nohup sh -c "\"\$DLOCK\" -t 1s -k 100ms job sh worker; echo \$? >status" >/dev/null 2>&1 &\n' \
		"$(until_true 'test -s up')" hangup end -- bash --norc --noprofile -i
	sleep 1.2
	held job
	: >go
	wait_until 3s test -s status
	[ "$(<status)" = 7 ]
	wait_until 1s free job
	wait_until 2s no_marked_dlock
}

# Two come in any case, the shell's to its job and the kernel's to the group in the foreground, when the
# shell, which led the session, has ended: without dlock too. (They may become one on the way.)
hang_up() {
	rm -f shell runner got
	terminal 'expect:ready> ' 'send:echo $$ >shell\n' "$(until_true 'test -s shell')" \
		'send:"$DLOCK" job sh -c "echo \$PPID >runner; exec \$TOOLS/sigcount got 300"\n' \
		"$(until_true 'grep -q ready got')" "run:$1" hangup "$(until_true 'grep -q end got')" end -- bash --norc --noprofile -i
	[ "$(grep -c "^HUP from $(<shell) " got)" -le 1 ] || fail "$(<got)"
	[ "$(grep -c '^HUP from 0 ' got)" -le 1 ] || fail "$(<got)"
	[ "$(times got HUP)" -ge 1 ]
	[ "$(grep '^HUP' got | grep -cv -e "from $(<shell) " -e 'from 0 ')" -eq 0 ] || fail "$(<got)"
	wait_until 3s free job
	wait_until 2s no_marked_dlock
}

@test "HUP reaches the command of an interactive shell's job from the shell and the kernel, never once more from dlock (P15)" {
	hang_up :
}

@test "so it does when the two have become one for RUNNER, which was stopped" {
	# Not each time, because they may become one for OUTER or COMMAND too.
	for _ in 1 2 3 4; do
		hang_up 'kill -STOP "$(cat runner)"; until grep -q "^State:.T" "/proc/$(cat runner)/status"; do :; done'
	done
}

@test "foreground group and modes of the terminal are the same after any exit of dlock (S52)" {
	cat >script <<-'END'
		state() { echo "$(stty -g) $(ps -o tpgid= -p $$)"; }
		before=$(state)
		try() {
			"$@"
			echo "$?" >>statuses
			[ "$(state)" = "$before" ] || echo "changed by: $* ($(tail -n 1 statuses)): $(state), was $before" >>changed
		}
		try "$DLOCK" job true
		try "$DLOCK" job sh -c 'exit 3'
		try "$DLOCK" job sh -c 'kill -TERM $$'
		try "$DLOCK" -t 1s job sh -c 'redis-cli -s "$REDIS_SOCK" DEL lock:job; exec sleep 60'
		redis-cli -s "$REDIS_SOCK" SET lock:other x PX 60000 >other
		try "$DLOCK" -n other true
		try "$DLOCK" -w 0.1 other true
		try "$DLOCK" -S unix:///nonexistent job true
		try "$DLOCK" --no-such-option job true
		try "$DLOCK" job /nonexistent
		try "$DLOCK" second sh -c 'kill -KILL $PPID; exec sleep 60'
		try "$DLOCK" third sh -c 'kill -KILL $(ps -o ppid= -p $PPID); exec sleep 60'
		echo done
	END
	terminal 'expect:done' end -- bash script
	[ ! -e changed ] || fail "$(<changed)"
	run paste -sd' ' statuses
	assert_output '0 3 143 79 75 75 69 64 127 79 137'
}

# A shell takes the foreground for a group of its own, and reads with modes of its own.
@test "an interactive COMMAND that is killed when the lock is lost leaves the terminal as it was (S52)" {
	cat >script <<-'END'
		state() { echo "$(stty -g) $(ps -o tpgid= -p $$)"; }
		state >before
		export PS1='ready> '
		"$DLOCK" -t 1s -k 100ms job bash --norc --noprofile -i
		echo "$?" >status
		state >after
		echo done
		read -r line
		echo "read $line"
		sleep 60
	END
	terminal 'expect:ready> ' "$(LOCK_IS 1)" "run:redis-cli -s '$REDIS_SOCK' DEL lock:job" 'expect:done' \
		'send:hello\n' 'expect:read hello' 'send:\x03' end -- bash script
	[ "$how" = 'signal 2' ] || fail "$how"
	[ "$(<status)" = 79 ]
	run diff before after
	assert_output ''
}

@test "the same when RUNNER is killed (S52)" {
	cat >script <<-'END'
		state() { echo "$(stty -g) $(ps -o tpgid= -p $$)"; }
		state >before
		export PS1='ready> '
		"$DLOCK" job bash --norc --noprofile -i
		echo "$?" >status
		state >after
		echo done
	END
	terminal 'expect:ready> ' "$(LOCK_IS 1)" 'send:kill -KILL $PPID\n' 'expect:done' end -- bash script
	[ "$(<status)" = 79 ]
	run diff before after
	assert_output ''
}

@test "in an interactive shell the modes are as before when a raw COMMAND is killed for a lost lock (S52)" {
	printf 'stty raw -echo\necho up\nexec sleep 60\n' >rawer
	session 'send:stty -g >before\n' 'expect:ready> ' 'send:"$DLOCK" -t 1s job sh rawer\n' 'expect:up' \
		"run:redis-cli -s '$REDIS_SOCK' DEL lock:job" 'expect:ready> ' 'send:echo status=$?\n' \
		'expect:status=79' 'send:stty -g >after\n' 'expect:ready> '
	cmp before after
}

@test "the same when --max-hold ends it (S52)" {
	printf 'stty raw -echo\necho up\nexec sleep 60\n' >rawer
	session 'send:stty -g >before\n' 'expect:ready> ' 'send:"$DLOCK" --max-hold 0.5 job sh rawer\n' 'expect:up' \
		'expect:ready> ' 'send:echo status=$?\n' 'expect:status=124' 'send:stty -g >after\n' 'expect:ready> '
	cmp before after
}

@test "modes that COMMAND sets and leaves at its normal end stay, as without dlock" {
	session 'send:"$DLOCK" job stty -ixon\n' 'expect:ready> ' 'send:stty -a >after\n' 'expect:ready> '
	grep -q -- '-ixon' after
}
