#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 4: job control is as without dlock: Ctrl-Z, fg, bg, a background job that reads; and a
# suspended job keeps its lock.
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

@test "Ctrl-Z for twice the TTL: the lock is kept and renewed meanwhile, fg resumes, the status is right (S42)" {
	cat >worker <<-'END'
		echo up
		until test -e go; do sleep 0.02; done
		exit 7
	END
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	session 'send:"$DLOCK" -t 1s -k 100ms job bash worker\n' \
		'expect:up' 'send:\x1a' 'expect:Stopped' 'expect:ready> ' \
		"$(LOCK_IS 1)" 'run:: >monitor' 'run:sleep 2.2' "$(LOCK_IS 1)" 'run:cp monitor renewals' 'run:: >go' \
		'send:fg; echo now=$?\n' 'expect:now=7' "$(LOCK_IS 0)"
	# Every third of a second, from RUNNER, who is not stopped.
	[ "$(grep -ciF 'lua] "pexpire" "lock:job"' renewals)" -ge 4 ]
}

@test "a suspended job whose lock is lost dies, and the shell learns of it" {
	session 'send:"$DLOCK" -t 1s job sh sleeper\n' \
		'expect:up' 'send:\x1a' 'expect:Stopped' 'expect:ready> ' 'send:jobs -p >job\n' 'expect:ready> ' \
		"run:redis-cli -s '$REDIS_SOCK' DEL lock:job" \
		"$(until_true '! kill -0 "$(cat job)"')" 'send:\n' 'expect:Exit 79'
	wait_until 2s no_marked_dlock
}

@test "a waiter is suspended and resumed, and has its turn then (S42)" {
	redis SET lock:job another PX 60000 >/dev/null
	session 'send:"$DLOCK" job sh -c "exit 6"\n' 'expect:waiting for' 'send:\x1a' 'expect:Stopped' \
		'expect:ready> ' "run:redis-cli -s '$REDIS_SOCK' DEL lock:job" 'run:sleep 0.3' "$(LOCK_IS 0)" \
		'send:fg; echo now=$?\n' 'expect:now=6' "$(LOCK_IS 0)"
}

@test "a pipeline with dlock in it is stopped and resumed as one (S42)" {
	printf 'echo up >&2\nuntil test -e go; do sleep 0.02; done\necho result\n' >worker
	session 'send:"$DLOCK" job bash worker | cat; echo now=${PIPESTATUS[*]}\n' 'expect:up' \
		'send:\x1a' 'expect:Stopped' 'expect:ready> ' "$(LOCK_IS 1)" 'run:: >go' 'send:fg\n' \
		'expect:result' 'expect:ready> ' "$(LOCK_IS 0)"
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
		'send:\n' 'expect:Stopped' 'send:bg; wait %1; echo now=$?\n' 'expect:worker &' 'run:: >go' \
		'expect:now=7' "$(LOCK_IS 0)"
}

@test "dlock in the background that reads is Stopped (tty input); the shell keeps the terminal; fg lets it read (S46)" {
	printf 'read -r x\necho "got $x"\nexit 3\n' >reader
	session 'send:"$DLOCK" job bash reader &\n' "$(LOCK_IS 1)" 'send:jobs -p >job\n' \
		"$(until_true 'grep -q "^State:.T" "/proc/$(cat job)/status"')" 'send:jobs -l\n' \
		'expect:Stopped (tty input)' 'send:echo mine; read -r -a stat </proc/$$/stat; echo "${stat[4]} ${stat[7]}" >foreground\n' 'expect:mine' \
		"$(LOCK_IS 1)" 'send:fg; echo now=$?\n' 'expect:reader' 'run:sleep 0.1' 'send:hello\n' \
		'expect:got hello' 'expect:now=3' "$(LOCK_IS 0)"
	read -r one other <foreground
	[ "$one" = "$other" ]
}

@test "and TERM ends it while it is stopped (S46)" {
	session 'send:"$DLOCK" job cat &\n' "$(LOCK_IS 1)" 'send:jobs -p >job\n' \
		"$(until_true 'grep -q "^State:.T" "/proc/$(cat job)/status"')" 'send:\n' 'expect:Stopped' \
		'send:kill -TERM %1; wait; jobs\n' 'expect:ready> ' "$(LOCK_IS 0)"
}

# A Ctrl-C that is typed in the instant in which bash shows its prompt may get no new one before the next
# key, with dlock or without: no reader is as fast.
@test "a shell as COMMAND has its own job control, and Ctrl-C at its prompt ends nothing" {
	session 'send:"$DLOCK" -v job bash --norc --noprofile -i\n' 'expect:ready> ' \
		'send:bash sleeper\n' 'expect:up' 'send:\x1a' 'expect:Stopped' 'expect:ready> ' \
		"$(LOCK_IS 1)" 'send:jobs -p >job; fg\n' \
		"$(until_true 'test -s job && ! grep -q "^State:.T" "/proc/$(cat job)/status"')" \
		'run:sleep 0.1' 'send:\x03' 'expect:ready> ' \
		'run:sleep 0.3' 'send:half a line\x03' 'expect:ready> ' \
		'send:echo inner=$?\n' 'expect:inner=130' "$(LOCK_IS 1)" \
		'send:exit 6\n' "$(LOCK_IS 0)" 'send:echo now=$?\n' 'expect:now=6'
}

@test "messages from the background do not stop the job, stty tostop or not" {
	session 'send:stty tostop\n' 'expect:ready> ' \
		'send:"$DLOCK" -v job sh -c "exit 4" &\n' 'expect:released' \
		'send:wait %1; echo now=$?\n' 'expect:now=4' "$(LOCK_IS 0)" 'send:stty -tostop\n'
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

@test "as session leader, ssh -t like: a password prompt, Ctrl-Z ignored, the status COMMAND's (S43 P25)" {
	printf 'read -rsp "Password: " x </dev/tty\necho\necho "got $x"\nuntil test -e go; do sleep 0.02; done\nexit 9\n' >asker
	terminal 'expect:Password: ' 'run:sleep 0.1' 'send:pw\n' 'expect:got pw' 'send:\x1a' 'run:sleep 0.3' \
		"$(LOCK_IS 1)" 'run:: >go' end -- "$DLOCK" job bash asker
	[ "$how" = 'exit 9' ] || fail "$how"
	free job
}

@test "COMMAND in the background that writes under stty tostop is Stopped (tty output), as without dlock" {
	printf 'echo out"put"\nexit 3\n' >writer
	session 'send:stty tostop\n' 'expect:ready> ' 'send:"$DLOCK" job bash writer &\n' "$(LOCK_IS 1)" \
		'send:jobs -p >job\n' "$(until_true 'grep -q "^State:.T" "/proc/$(cat job)/status"')" \
		'send:jobs -l\n' 'expect:Stopped (tty output)' "$(LOCK_IS 1)" 'send:fg; echo now=$?\n' \
		'expect:output' 'expect:now=3' "$(LOCK_IS 0)" 'send:stty -tostop\n'
}
