#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What --status, --list and --break have in common: how they fail, what stdout gets, how they end.
#
# shellcheck disable=SC2016,SC2154 # dollars for another shell; output, lines, stderr are set by run

load helpers/common
load helpers/proxy
load helpers/sights

setup() {
	common_setup
	start_redis
	redis SET lock:job abc PX 600000 >/dev/null
}

# each_of FUNCTION ARG...: calls FUNCTION with the words of each report behind ARG...
each_of() {
	"$@" --status job
	"$@" --list
	"$@" --break job
}

@test "no server: 69, a line that says why, nothing on stdout" {
	unreachable() {
		run -69 --separate-stderr dlock -S "unix://$WORK/nobody" "$@"
		[ -z "$output" ]
		[[ "$stderr" =~ ^"dlock: cannot "(look at \'job\'|list the locks|break \'job\')" at unix://$WORK/nobody: ".*"No such file or directory"$ ]]
	}
	each_of unreachable
	each_of unreachable --json
}

@test "a server that accepts and says nothing: 69 within the time limit" {
	silent() {
		start_clock
		run -69 dlock --connect-timeout 300ms "$@"
		[[ "$output" == *'no answer to the login in time' ]]
		assert_between 200 5000 "$(clock_ms)"
	}
	kill -STOP "$REDIS_PID"
	each_of silent
}

@test "a server that stops between login and answer: 69, after two seconds" {
	start_proxy
	stops() {
		proxy on EVAL here drop
		start_clock
		run -69 --separate-stderr dlock "$@"
		[ -z "$output" ]
		[[ "$stderr" == *': no answer in time'* ]]
		assert_between 1900 8000 "$(clock_ms)"
	}
	stops --status job
	stops --list
}

@test "a server that goes away half way: 69, and nothing on stdout" {
	make_waiters job 1000
	start_proxy
	redis SET lock:a x PX 600000 >/dev/null
	# The second answer is cut; the first was good.
	proxy on EVAL here cut
	run -69 --separate-stderr dlock --status a job
	[ -z "$output" ]
}

@test "a password is needed, or wrong, or permissions are: 77" {
	redis CONFIG SET requirepass s3cret >/dev/null
	denied() {
		run -77 dlock "$@"
		[[ "$output" == *'NOAUTH'*'(give a password: '* ]]
		DLOCK_PASSWORD=wrong run -77 dlock "$@"
		[[ "$output" == *'WRONGPASS'* ]]
	}
	each_of denied
	export REDISCLI_AUTH=s3cret
	run -0 dlock --status job
	redis ACL SETUSER ann on '>pw' '~other:*' '&*' +@all >/dev/null
	unset REDISCLI_AUTH
	refused() {
		DLOCK_PASSWORD=pw run -77 dlock -S "redis://ann@127.0.0.1:$REDIS_PORT" "$@"
		[[ "$output" == *'under Access control'* ]]
	}
	refused --status job
	refused --break job
	refused --list
}

@test "no password where it was to come from: 78" {
	unset_password() {
		run -78 dlock --password-file "$WORK/none" "$@"
		[[ "$output" == *"the file '$WORK/none'"* || "$output" == *"'$WORK/none'"* ]]
	}
	each_of unset_password
}

@test "a user who may only read can look, with the rights that the manual lists, and not break" {
	mapfile -t rules < <(sed -n '/^ACL SETUSER viewer /,/^\.Ed/p' "$ROOT_DIR/man/dlock.1" |
		sed -e 's/^ACL SETUSER viewer //' -e '/^\.Ed/d' | tr -s ' ' '\n' | grep .)
	[ "${#rules[@]}" -gt 8 ]
	redis ACL SETUSER viewer reset "${rules[@]}" >/dev/null
	make_members pool 'dlock!slots:3' 2
	make_waiters pool 2
	export DLOCK_PASSWORD=secret DLOCK_SERVER=redis://viewer@127.0.0.1:$REDIS_PORT
	run -0 dlock --json --status pool job
	shown 'len(l["holders"]) == 2 and len(l["waiters"]) == 2 and a[1]["state"] == "foreign"'
	run -0 dlock --list
	[ "${#lines[@]}" -eq 2 ]
	run -77 dlock --break job
	# None of them is there for nothing.
	for rule in "${rules[@]}"; do
		[[ "$rule" == +* && "$rule" != '+client|setname' && "$rule" != +select && "$rule" != '+pubsub|numsub' ]] || continue
		redis ACL SETUSER viewer reset "${rules[@]}" "-${rule#+}" >/dev/null
		run dlock --list
		list=$status
		run dlock --status pool
		[ "$list $status" != '0 0' ] || fail "$rule is not needed"
	done
}

@test "a replica is looked at as any server, and refuses to break" {
	# One that has nobody to follow keeps what it had.
	redis CONFIG SET replica-serve-stale-data yes >/dev/null
	redis REPLICAOF 127.0.0.1 1 >/dev/null
	run -0 dlock --status job
	run -0 dlock --list
	run -69 dlock --force --break job
	[[ "$output" == *READONLY* ]]
}

@test "no memory left on the server: one can look; --break says so, --force frees" {
	start_dlock held sleep 97
	wait_until 5s held held
	redis CONFIG SET maxmemory 1 >/dev/null
	run -0 dlock --status held
	run -0 dlock --list
	run -69 dlock --break held
	[[ "$output" == *OOM* ]]
	run -0 dlock --force --break held
	free held
}

@test "stdout that is full: 71 and a message; whose reader has gone: SIGPIPE, as of any program" {
	full() {
		run -71 bash -c '"$DLOCK" "$@" >/dev/full' - "$@"
		assert_output 'dlock: cannot write to stdout: No space left on device'
		run -71 bash -c '"$DLOCK" "$@" >&-' - "$@"
		assert_output 'dlock: cannot write to stdout: Bad file descriptor'
		run -141 bash -c 'exec 3> >(:); wait $!; "$DLOCK" "$@" >&3' - "$@"
		assert_output ''
		run -71 bash -c 'trap "" PIPE; exec 3> >(:); wait $!; "$DLOCK" "$@" >&3' - "$@"
		assert_output 'dlock: cannot write to stdout: Broken pipe'
	}
	full --status job
	full --list
	full --json --list
}

@test "| head: what it reads is whole lines, and dlock ends" {
	redis EVAL "for i = 1, 3000 do redis.call('SET', 'lock:l' .. i, 'x', 'PX', 600000) end" 0 >/dev/null
	run -0 bash -c '"$DLOCK" --list | head -n 2'
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[1]}" == 'l1     foreign  an unknown client '* ]]
}

@test "a reader that is slow gets all of it; INT ends dlock while the pipe is full" {
	redis EVAL "for i = 1, 3000 do redis.call('SET', 'lock:l' .. i, 'x', 'PX', 600000) end" 0 >/dev/null
	run -0 bash -c '"$DLOCK" --list | { sleep 0.5; wc -l; }'
	[ "$output" = 3001 ]
	mkfifo pipe
	exec 7<>pipe
	start env --default-signal=INT "$DLOCK" --list >&7
	wait_until 5s has_filled
	kill -INT "$STARTED"
	wait_until 2s gone "$STARTED"
	status=0
	wait "$STARTED" || status=$?
	[ "$status" -eq 130 ]
	exec 7>&-
}

# has_filled: dlock waits in a write.
has_filled() {
	[ "$(cut -d' ' -f1 "/proc/$STARTED/syscall" 2>/dev/null)" = 1 ]
}

@test "INT and TERM end it at once, whatever it waits for; nothing is left of it" {
	# A server that says nothing, and a password command that hangs.
	hangs() {
		local signal number
		for signal in INT TERM HUP; do
			start env --default-signal=INT "$DLOCK" "$@"
			wait_until 5s busy "$STARTED"
			kill "-$signal" "$STARTED"
			wait_until 2s gone "$STARTED"
			status=0
			wait "$STARTED" || status=$?
			number=$(kill -l "$signal")
			[ "$status" -eq $((128 + number)) ]
			wait_until 5s nobody_sleeps
		done
	}
	each_of hangs --connect-timeout 60s --password-command 'sleep 987.25'
}

# busy PID: it has begun to ask for the password. nobody_sleeps: that has ended.
busy() {
	[ -n "$(descendants "$1" | while read -r pid; do grep -lz '987.25' "/proc/$pid/cmdline"; done)" ]
}

nobody_sleeps() {
	[ -z "$(for pid in $(marked_pids); do grep -lz '987.25' "/proc/$pid/cmdline" 2>/dev/null; done)" ]
}

@test "a signal that was ignored at start ends nothing" {
	kill -STOP "$REDIS_PID"
	start env --ignore-signal=TERM "$DLOCK" --connect-timeout 1s --status job
	wait_until 5s test -e "/proc/$STARTED/exe"
	kill -TERM "$STARTED"
	status=0
	wait "$STARTED" || status=$?
	[ "$status" -eq 69 ]
}

@test "the server is asked once for the usual lock, twice for a list of few" {
	redis CONFIG RESETSTAT >/dev/null
	run -0 dlock --status job
	[ "$(scripts_run)" -eq 1 ]
	run -0 dlock --list
	[ "$(scripts_run)" -eq 3 ]
}
