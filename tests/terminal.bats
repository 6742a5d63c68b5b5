#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 4: under a terminal COMMAND is as without dlock: Ctrl-C once, Ctrl-Z and fg,
# a password prompt reads, a hang-up arrives once. ptyrun plays the user.

load helpers/common
load helpers/signals

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
	# Not with dash where Ctrl-Z is typed: a stop that meets its vfork stops nobody, dlock or not.
	printf 'echo up\nexec sleep 60\n' >sleeper
	export PS1='ready> ' HISTFILE='' TERM=dumb
}

# The terminal shows what is typed: what is expected must not stand in a line that is sent, hence the
# scripts in files.

# terminal ACTION... -- COMMAND...: ptyrun; what was on the screen is in $WORK/screen, how COMMAND
# ended in $WORK/how.
terminal() {
	start "$TOOLS/ptyrun" "$WORK/how" "$@" >screen 2>error
	exit_status_of "$STARTED" 60s
	[ "$STATUS" -eq 0 ] || fail "$(<error)"$'\n'"$(<screen)"
	how=$(<"$WORK/how")
}

# session ACTION...: the same with an interactive bash as COMMAND that is logged out at the end.
session() {
	terminal "expect:ready> " "$@" 'send:exit 0\n' end -- bash --norc --noprofile -i
	[ "$how" = 'exit 0' ] || fail "bash: $how"
}

# A line for sh that waits (5 s) for CONDITION, for ptyrun's run:.
until_true() {
	echo "run:i=0; until { $1; } 2>/dev/null; do i=\$((i+1)); [ \$i -lt 500 ] || exit 1; sleep 0.01; done"
}

LOCK_IS() {
	until_true "test \"\$(redis-cli -s '$REDIS_SOCK' EXISTS lock:job)\" = $1"
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

@test "COMMAND sees no stray HUP or CONT when dlock leads the session (S48)" {
	cat >watcher <<-'END'
		trap "echo HUP >>stray" HUP
		trap "echo CONT >>stray" CONT
		sleep 0.3
		exit 5
	END
	terminal end -- "$DLOCK" job sh watcher
	[ "$how" = 'exit 5' ] || fail "$how"
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

@test "Ctrl-Z stops the job, fg resumes it, the lock is kept meanwhile (S42)" {
	cat >worker <<-'END'
		echo up
		until test -e go; do sleep 0.02; done
		exit 7
	END
	session 'send:"$DLOCK" -t 1s -k 100ms job bash worker\n' \
		'expect:up' 'send:\x1a' 'expect:Stopped' 'expect:ready> ' \
		"$(LOCK_IS 1)" 'run:sleep 1.5' "$(LOCK_IS 1)" 'run:: >go' \
		'send:fg; echo now=$?\n' 'expect:now=7' "$(LOCK_IS 0)"
}

@test "COMMAND that stops itself, as less does, gives the shell its prompt (S42)" {
	cat >stopper <<-'END'
		echo up
		kill -STOP $$
		echo resumed
		exit 7
	END
	session 'send:"$DLOCK" job sh stopper\n' \
		'expect:up' 'expect:Stopped' 'expect:ready> ' "$(LOCK_IS 1)" \
		'send:fg; echo now=$?\n' 'expect:resumed' 'expect:now=7' "$(LOCK_IS 0)"
}

@test "COMMAND that stops itself by TSTP, and again after fg (S42)" {
	cat >stopper <<-'END'
		kill -TSTP $$
		echo first
		kill -TSTP $$
		echo second
		exit 8
	END
	session 'send:"$DLOCK" job bash stopper\n' \
		'expect:Stopped' 'expect:ready> ' "$(LOCK_IS 1)" \
		'send:fg\n' 'expect:first' 'expect:Stopped' 'expect:ready> ' \
		'send:fg; echo now=$?\n' 'expect:second' 'expect:now=8' "$(LOCK_IS 0)"
}

@test "kill -TSTP of dlock alone stops the job, COMMAND too; bg lets it go on" {
	cat >worker <<-'END'
		echo $$ >command
		until test -e go; do sleep 0.02; done
		exit 7
	END
	session 'send:"$DLOCK" job bash worker &\n' "$(LOCK_IS 1)" "$(until_true 'test -s command')" \
		'send:jobs -p >job; kill -TSTP %1\n' "$(until_true 'grep -q "^State:.T" "/proc/$(cat job)/status"')" \
		"$(until_true 'grep -q "^State:.T" "/proc/$(cat command)/status"')" \
		'send:\n' 'expect:Stopped' 'send:bg\n' 'run:: >go' \
		'send:wait %1; echo now=$?\n' 'expect:now=7' "$(LOCK_IS 0)"
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

@test "dlock in the background does not take the terminal (S46)" {
	session 'send:"$DLOCK" job cat &\n' "$(LOCK_IS 1)" 'send:jobs -p >job\n' \
		"$(until_true 'grep -q "^State:.T" "/proc/$(cat job)/status"')" 'send:\n' 'expect:Stopped' \
		'send:echo mine\n' 'expect:mine' \
		'send:kill -TERM %1; wait; jobs\n' 'expect:ready> ' "$(LOCK_IS 0)"
}

@test "a shell as COMMAND has its own job control" {
	session 'send:"$DLOCK" -v job bash --norc --noprofile -i\n' 'expect:ready> ' \
		'send:bash sleeper\n' 'expect:up' 'send:\x1a' 'expect:Stopped' 'expect:ready> ' \
		"$(LOCK_IS 1)" 'send:fg\n' 'run:sleep 0.1' 'send:\x03' 'expect:ready> ' \
		'send:echo inner=$?\n' 'expect:inner=130' "$(LOCK_IS 1)" \
		'send:exit 6\n' "$(LOCK_IS 0)" 'send:echo now=$?\n' 'expect:now=6'
}

@test "messages from the background do not stop the job, stty tostop or not" {
	session 'send:stty tostop\n' 'expect:ready> ' \
		'send:"$DLOCK" -v job sh -c "exit 4" &\n' 'expect:released' \
		'send:wait %1; echo now=$?\n' 'expect:now=4' "$(LOCK_IS 0)" 'send:stty -tostop\n'
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

@test "as session leader Ctrl-Z does not stop it for good, Ctrl-C still works (S43)" {
	# Nobody could continue it: the group is orphaned, so that the kernel drops a TSTP.
	terminal 'expect:up' 'send:\x1a' 'run:sleep 0.3' 'send:\x03' end -- \
		"$DLOCK" job sh -c 'echo up; sleep 60'
	[ "$how" = 'signal 2' ] || fail "$how"
	free job
}

@test "kill -9 of the shell above a stopped job: the lock is freed, nothing is left (S49)" {
	terminal 'expect:ready> ' 'send:"$DLOCK" job sh sleeper\n' 'expect:up' \
		'send:\x1a' 'expect:Stopped' "$(LOCK_IS 1)" 'run:kill -KILL $PTY_LEADER' end -- \
		bash --norc --noprofile -i
	wait_until 3s free job
	wait_until 2s no_marked_dlock
}
