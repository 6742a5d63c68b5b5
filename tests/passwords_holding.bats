#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The password while COMMAND runs: asked anew at each login, so that it may change; and nothing that
# hangs there delays promise 1 (SPEC.md section 5), is taken for a part of COMMAND, or stays behind.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153

load helpers/common
load helpers/secrets
load helpers/witness

setup() {
	common_setup
	start_redis
	protect_redis
}

# Each login writes a line to `calls`; what the file `trouble` says is done before the password comes.
ask_script() {
	cat >ask <<-'END'
		echo >>calls
		[ ! -e trouble ] || . ./trouble
		cat pw
	END
}

calls() {
	grep -c '' calls 2>/dev/null || true
}

calls_more_than() {
	[ "$(calls)" -gt "$1" ] 2>/dev/null
}

hold() {
	start_dlock -vv -t 3s "$@" job sh -c 'echo "$DLOCK_TOKEN" >token; until [ -e go ]; do sleep 0.02; done; exit 7'
	wait_until 3s test -s token
	wait_until 3s running "$OUTER"
}

# The lock is still that of the first login, and COMMAND ends as it likes.
assert_kept() {
	assert_equal "$(redis GET lock:job)" "$(<token)"
	assert_alive "$COMMAND"
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 7 ] || { echo "status $STATUS instead of 7" >&2; show_scene >&2; return 1; }
	redis EXISTS lock:job | grep -qx 0
}

# rotate NEW: an operator changes the password, and the server is as good as restarted.
rotate() {
	change_password "$1"
	cut_connections
}

@test "a password that was changed: the file is read again, the lock is kept" {
	local count
	hold --password-file pw
	echo changed-once >pw
	count=$(confirmed_count)
	rotate changed-once
	wait_until 3s confirmed_more_than "$count"
	echo changed-twice >new
	mv new pw
	count=$(confirmed_count)
	rotate changed-twice
	wait_until 3s confirmed_more_than "$count"
	assert_kept
	run cat "$DLOCK_LOG"
	refute_output --partial changed-
	refute_output --partial WRONGPASS
}

@test "a password of a user that was changed: the command is run again, once a login and never for a renewal" {
	local count
	ask_script
	redis_line "ACL SETUSER ann on >$SECRET ~* &* +@all" >/dev/null
	hold -S "redis://ann@127.0.0.1:$REDIS_PORT" --password-command 'sh ask'
	wait_until 5s confirmed_more_than 3
	assert_equal "$(calls)" 1
	echo changed >pw
	redis_line "ACL SETUSER ann resetpass >changed" >/dev/null
	count=$(confirmed_count)
	cut_connections
	wait_until 3s confirmed_more_than "$count"
	assert_equal "$(calls)" 2
	assert_kept
}

@test "a server that is down is not a reason to run the command" {
	local before
	ask_script
	hold -t 10s --password-command 'sh ask'
	kill -KILL "$REDIS_PID"
	wait_until 2s redis_ended
	before=$(calls) # it may have been reached in the instant of its end
	wait_until 5s eval '[ "$(grep -c "cannot renew" "$DLOCK_LOG")" -ge 4 ]'
	assert_equal "$(calls)" "$before"
}

@test "a file that has the new password a moment too late: tried again until then, the lock is kept" {
	local count
	hold --password-file pw
	count=$(confirmed_count)
	rotate changed
	wait_until 2s grep -q WRONGPASS "$DLOCK_LOG"
	mv pw gone
	wait_until 2s grep -q "cannot read the password file 'pw': No such file" "$DLOCK_LOG"
	echo changed >pw
	wait_until 2s confirmed_more_than "$count"
	assert_kept
	assert_secret "after two failures"
}

@test "a password that stays wrong costs the lock when the clock says so, and the line says why" {
	start_witnessed --ttl 2s --password-file pw job
	settle job
	event
	rotate changed
	assert_dead_in_time 2000 "wrong password"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	grep "^dlock: lost 'job': .*WRONGPASS" "$DLOCK_LOG"
}

# --- what hangs ---

# dead_while_hanging LABEL: trouble is in the file `trouble`, the connection is cut, the tree is
# dead in time, and nothing of the password command is left.
dead_while_hanging() {
	local nap count
	nap=$(unique_sleep)
	echo "$nap" >trouble_nap
	start_witnessed --ttl 2s --password-command 'sh ask' job
	settle job
	count=$(calls)
	cp trouble.sh trouble
	event
	cut_connections
	wait_until 2s calls_more_than "$count"
	[ -z "${1:-}" ] || wait_until 2s eval '[ -n "$(find_argv "$(<trouble_nap)")" ]'
	assert_dead_in_time 2000 "${2:-}"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
		grep "^dlock: lost 'job': .*password" "$DLOCK_LOG"
	wait_until 3s argv_gone "$nap"
	wait_until 3s no_marked_dlock
}

@test "dead before free: the password command hangs, and so does what it started, deaf to TERM" {
	ask_script
	cat >trouble.sh <<-'END'
		trap '' TERM INT HUP
		nap=$(cat trouble_nap)
		(setsid sh -c "trap '' TERM; sleep $nap" &)
		while :; do sleep "$nap"; done
	END
	dead_while_hanging sleeps "command hangs"
}

@test "dead before free: the password command prints without end" {
	ask_script
	echo 'exec yes' >trouble.sh
	dead_while_hanging '' "command prints"
}

@test "dead before free: the password command fails again and again" {
	ask_script
	echo 'exit 3' >trouble.sh
	dead_while_hanging '' "command fails"
	grep "^dlock: lost 'job': .*failed with exit status 3" "$DLOCK_LOG"
}

@test "dead before free: the password command is a storm of forks" {
	ask_script
	cat >trouble.sh <<-'END'
		nap=$(cat trouble_nap)
		i=0
		while [ "$i" -lt 200 ]; do
			i=$((i + 1))
			setsid sleep "$nap" &
		done
		wait
	END
	dead_while_hanging sleeps "command forks"
}

@test "dead before free: the password file has become a pipe that nobody writes to" {
	start_witnessed --ttl 2s --password-file pw job
	settle job
	rm pw
	mkfifo pw
	event
	cut_connections
	assert_dead_in_time 2000 "file hangs"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	grep "^dlock: lost 'job': .*no password in time from the file 'pw'" "$DLOCK_LOG"
	wait_until 2s no_marked_dlock
}

@test "dead before free: the process that asks for the password is stopped" {
	ask_script
	echo 'sleep $(cat trouble_nap)' >trouble.sh
	unique_sleep >trouble_nap
	start_witnessed --ttl 2s --password-command 'sh ask' job
	settle job
	cp trouble.sh trouble
	event
	cut_connections
	wait_until 2s helper_of "$RUNNER"
	kill -STOP "$(helper_of "$RUNNER")"
	assert_dead_in_time 2000 "helper stopped"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	wait_until 3s argv_gone "$(<trouble_nap)"
	wait_until 3s no_marked_dlock
}

# --- beside COMMAND ---

@test "what the password command starts while COMMAND runs is not counted as COMMAND's, and not left" {
	local nap count
	nap=$(unique_sleep)
	echo "$nap" >nap
	ask_script
	hold --password-command 'sh ask'
	echo 'setsid sleep $(cat nap) >/dev/null 2>&1 &' >trouble
	count=$(confirmed_count)
	cut_connections
	wait_until 3s confirmed_more_than "$count"
	argv_gone "$nap"
	assert_kept
	run grep -E 'left [0-9]+ process' "$DLOCK_LOG"
	assert_failure
}

@test "COMMAND ends while the password command hangs: its status counts, nothing waits for it, nothing is left" {
	local nap count
	nap=$(unique_sleep)
	echo "$nap" >nap
	ask_script
	hold --password-command 'sh ask'
	echo 'trap "" TERM; setsid sleep $(cat nap) & sleep $(cat nap)' >trouble
	cut_connections
	wait_until 2s argv_count "$nap" 2
	touch go
	start_clock
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 7 ]
	assert_between 0 2500 "$(clock_ms)" "milliseconds until dlock ended"
	wait_until 2s argv_gone "$nap"
	run grep -E 'left [0-9]+ process' "$DLOCK_LOG"
	assert_failure
	wait_until 2s no_marked_dlock
}

@test "a COMMAND that dies of a signal while the password command runs: the sweep is for its tree alone" {
	local nap
	nap=$(unique_sleep)
	echo "$nap" >nap
	ask_script
	hold --password-command 'sh ask'
	# It comes to its end, and the release needs it.
	echo 'echo up >up; until [ -e on ]; do sleep 0.02; done' >trouble
	cut_connections
	wait_until 2s test -e up
	kill -KILL "$COMMAND"
	wait_until 2s gone "$COMMAND"
	touch on
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 137 ]
	redis EXISTS lock:job | grep -qx 0
}

@test "beside COMMAND the password command has no terminal, and the caller's priority" {
	cat >ask <<-'END'
		if (: </dev/tty) 2>/dev/null; then echo yes; else echo no; fi >>terminal
		nice >>nice
		cat pw
	END
	start "$TOOLS/ptyrun" how 'expect:ready' \
		"run:redis-cli -s $REDIS_SOCK --user admin --pass admin --no-auth-warning CLIENT KILL USER default >/dev/null; \
			i=0; until [ \"\$(wc -l <terminal)\" -ge 2 ] || [ \$i -gt 500 ]; do i=\$((i + 1)); sleep 0.01; done" \
		'send:word\n' 'expect:got word' end -- \
		"$DLOCK" -t 3s --password-command 'sh ask' job sh -c 'echo ready; read -r word; echo "got $word"' >screen
	exit_status_of "$STARTED" 20s
	assert_equal "$(<how)" 'exit 0'
	assert_equal "$(<terminal)" $'yes\nno'
	run sort -u nice
	assert_output "$(nice)"
}

@test "both processes of dlock killed at once, or its whole group: the password command and all below it end too" {
	local nap victims
	ask_script
	for victims in both group; do
		nap=$(unique_sleep)
		echo "$nap" >nap
		start setsid "$DLOCK" -t 3s --password-command 'sh ask' "$victims" sleep 900 2>>"$DLOCK_LOG"
		OUTER=$STARTED
		wait_until 3s running "$OUTER"
		echo 'trap "" TERM; setsid sleep $(cat nap) & sleep $(cat nap)' >trouble
		cut_connections
		wait_until 2s argv_count "$nap" 2
		if [ "$victims" = both ]; then
			kill -KILL "$OUTER" "$RUNNER" # the other way round OUTER begins to kill, too
		else
			kill -KILL -- "-$OUTER"
		fi
		wait_until 3s argv_gone "$nap"
		wait_until 2s no_marked_dlock
		rm trouble
	done
}
