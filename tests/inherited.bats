#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 4: what COMMAND inherits is just what dlock got. showstate lists it, once run
# directly and once by dlock; the two lists must be equal.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

# same_state [LAUNCHER ARG...]: with LAUNCHER in front (env --block-signal=..., sh -c '...; exec "$@"' -)
# showstate says the same with and without dlock. Leaves the lists in $WORK/plain and $WORK/under.
same_state() {
	"$@" "$TOOLS/showstate" "$WORK/plain" || return 1
	"$@" "$DLOCK" job "$TOOLS/showstate" "$WORK/under" || return 1
	# The parent-death signal is dlock's seat belt and its own affair.
	sed -i '/^parent-death-signal/d' "$WORK/plain" "$WORK/under"
	diff "$WORK/plain" "$WORK/under" >&2
}

# launch SCRIPT: same_state after a line of shell, such as `umask 027`.
launch() {
	same_state sh -c "$1; exec \"\$@\"" -
}

state_has() {
	grep -q -- "$1" "$WORK/under" || { echo "no $1 in:"; cat "$WORK/under"; return 1; } >&2
}

@test "directory, umask, limits, priority, group and session are the caller's" {
	same_state
	launch 'umask 027; cd /usr/bin'
	state_has '^umask 027'
	state_has '^directory /usr/bin'
	launch 'ulimit -S -n 99; ulimit -c 0; ulimit -S -s 4096; ulimit -S -f 1000000'
	state_has '^limit nofile 99 '
	same_state nice -n 7
	state_has "^nice $(($(nice) < 12 ? $(nice) + 7 : 19))\$"
	mkdir gone && cd gone && rmdir ../gone
	"$DLOCK" job true
	cd "$WORK"
}

@test "where a child may not share its parent's memory COMMAND has the same (qemu's user mode)" {
	same_state "$TOOLS/deny_clone"
	run -7 "$TOOLS/deny_clone" "$DLOCK" job sh -c 'exit 7'
	run -126 "$TOOLS/deny_clone" "$DLOCK" job "$WORK/plain"
	chmod +x "$WORK/plain" && echo '#!/no/such' >"$WORK/plain"
	run -127 "$TOOLS/deny_clone" "$DLOCK" job "$WORK/plain"
}

@test "the group is the caller's, also as a group and session leader of its own" {
	local pid
	start setsid "$DLOCK" job "$TOOLS/showstate" "$WORK/under"
	pid=$STARTED
	wait_until 5s gone "$pid"
	state_has "^group $pid\$"
	state_has "^session $pid\$"
}

@test "the signal mask is the caller's, for five start masks (S54)" {
	same_state env --default-signal
	same_state env --block-signal=TERM
	state_has '^SigBlk:.*4000$'
	same_state env --block-signal=CHLD
	state_has '^SigBlk:.*10000$'
	same_state env --block-signal=HUP,INT,USR1,PIPE,CONT,RTMIN
	same_state env --block-signal
	state_has '^SigBlk:.*f.*f'
}

@test "ignored signals stay ignored, others are default (S55 S57)" {
	same_state env --default-signal
	# Signals 32 and 33 are glibc's own: its posix_spawn, which make uses, leaves them ignored.
	state_has '^SigIgn:.*[08]0000000$'
	same_state env --ignore-signal=HUP
	state_has '^SigIgn:.*[08]0000001$'
	same_state env --ignore-signal=CHLD
	state_has '^SigIgn:.*[08]0010000$'
	same_state env --ignore-signal=PIPE,TERM,TTOU,TSTP,CONT,USR1
	same_state env --ignore-signal
	state_has '^SigIgn:.*f.*f'
}

@test "nohup dlock: a hang-up disturbs neither dlock nor COMMAND (S55)" {
	start nohup "$DLOCK" job sleep 60 2>/dev/null
	wait_until 2s running "$STARTED"
	kill -HUP "$STARTED" "$RUNNER" "$COMMAND"
	kill -USR1 "$COMMAND"
	exit_status_of "$STARTED"
	[ "$STATUS" -eq $((128 + 10)) ]
	free job
}

@test "started with CHLD ignored dlock knows COMMAND's status (S57)" {
	run -3 env --ignore-signal=CHLD "$DLOCK" L sh -c 'exit 3'
	run -137 env --ignore-signal=CHLD "$DLOCK" L sh -c 'kill -KILL $$'
	free L
}

@test "started with all signals blocked: status right, lost lock still kills (S58)" {
	local nap
	run -5 env --block-signal "$DLOCK" L sh -c 'exit 5'
	nap=$(unique_sleep)
	start env --block-signal "$DLOCK" -t 2s -k 200ms L sh -c "sleep $nap & sleep $nap" 2>err
	wait_until 2s argv_count "$nap" 2
	held L
	steal L
	wait_until 2s argv_gone "$nap"
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 79 ] || fail "status $STATUS: $(<err)"
}

@test "started with ALRM and CHLD blocked or ignored -w still ends the wait (S58)" {
	start_dlock L sleep 60
	wait_until 2s running "$OUTER"
	start_clock
	run -75 env --block-signal=ALRM,CHLD "$DLOCK" -w 0.2 L true
	run -75 env --ignore-signal=ALRM,CHLD "$DLOCK" -w 0.2 L true
	assert_between 400 2000 "$(clock_ms)" 'two waits of 0.2 s'
}

@test "stdin is COMMAND's (P46 S75)" {
	run dlock L cat <<<hi
	assert_output hi
	run timeout 5 "$DLOCK" L cat </dev/null
	assert_success
	assert_output ''
	# dlock reads nothing of it: what one COMMAND leaves the next one gets.
	printf 'one\ntwo\nthree\n' >lines
	exec 5<lines
	run dlock L sh -c 'read a; echo "$a"' <&5
	run dlock L cat <&5
	exec 5<&-
	head -c 300000 /dev/urandom >big
	dlock L cat <big >copy
	cmp copy big
}

@test "a pipe's other end sees end of file and a broken pipe as without dlock" {
	# What COMMAND closes is closed: dlock keeps no copy of its stdout or stdin.
	mkfifo out in
	start sh -c 'cat <out >/dev/null; echo eof >eof'
	start_dlock L sh -c 'exec >/dev/null; echo >ready; sleep 60' >out
	wait_until 2s test -e ready
	wait_until 2s test -s eof
	assert_alive "$OUTER"
	# And a writer into COMMAND's stdin gets its broken pipe once COMMAND closed it.
	start sh -c 'trap "" PIPE; exec >in; while echo x 2>/dev/null; do sleep 0.005; done; echo broken >broken'
	start_dlock other sh -c 'exec <&-; echo >ready2; sleep 60' <in
	wait_until 2s test -s ready2
	wait_until 2s test -s broken
	assert_alive "$OUTER"
}

@test "COMMAND gets dlock's environment and the lock variables, nothing else" {
	# _ is the shell's, and names what it started.
	env | grep -v '^_=' | sort >before
	dlock L env | grep -v '^_=' | sort >after
	run diff before after
	refute_line --regexp '^< '
	run sort <(sed -n 's/^> \([A-Z_]*\)=.*/\1/p' <(diff before after))
	assert_output "$(printf '%s\n' DLOCK_FENCE DLOCK_HELD DLOCK_KEY DLOCK_NAME DLOCK_TOKEN)"
	run dlock a:b sh -c 'echo "$DLOCK_NAME $DLOCK_KEY"'
	assert_output 'a:b lock:a:b'
	run dlock L sh -c 'test "$(redis-cli -s "$REDIS_SOCK" GET lock:L)" = "$DLOCK_TOKEN" && echo same'
	assert_output same
	run dlock L sh -c 'test "$(redis-cli -s "$REDIS_SOCK" GET "lock:L#fence{lock:L}")" = "$DLOCK_FENCE" && echo same'
	assert_output same
}

@test "lock variables of the caller are replaced, not doubled; DLOCK_PASSWORD is not passed on" {
	redis ACL SETUSER me on '>secret' '~*' '&*' +@all >/dev/null
	run env DLOCK_NAME=x DLOCK_TOKEN=y DLOCK_FENCE=7 DLOCK_KEY=z DLOCK_SLOT=3 DLOCK_UNLOCKED=1 \
		DLOCK_PASSWORD=secret "$DLOCK" -S "redis://me@127.0.0.1:$REDIS_PORT" L env
	assert_success
	assert_line DLOCK_NAME=L
	assert_line DLOCK_KEY=lock:L
	refute_line --regexp '^DLOCK_(NAME=x|TOKEN=y|FENCE=7|KEY=z|PASSWORD=)'
	[ "$(grep -c '^DLOCK_TOKEN=' <<<"$output")" -eq 1 ]
}

@test "a nested run sees the innermost lock's values (P48)" {
	run dlock A "$DLOCK" B sh -c 'echo $DLOCK_NAME $DLOCK_KEY $DLOCK_TOKEN $DLOCK_FENCE
		redis-cli -s "$REDIS_SOCK" GET lock:B; redis-cli -s "$REDIS_SOCK" GET "lock:B#fence{lock:B}"
		redis-cli -s "$REDIS_SOCK" EXISTS lock:A'
	assert_success
	assert_line --index 0 "B lock:B ${lines[1]} ${lines[2]}"
	assert_line --index 3 1
	free A
	free B
}

@test "from cron: no HOME, USER, TERM, and SHELL neither (P49)" {
	run env -i PATH=/usr/bin:/bin "$DLOCK" -S "$URL_UNIX" L true
	assert_success
	assert_output ''
	run env -i "$DLOCK" -S "$URL_UNIX" L /bin/true
	assert_success
	assert_output ''
	run env -i "$DLOCK" -S "$URL_UNIX" L -c 'exit 3'
	assert_failure 3
}
