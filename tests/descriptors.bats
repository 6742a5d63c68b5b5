#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# SPEC.md section 4: no descriptor too many, none too few, closed ones stay closed.

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL
}

# descriptors_in FILE: the descriptor lines of a showstate list.
descriptors_in() {
	grep '^descriptor ' "$1" || true
}

@test "COMMAND has the same descriptors with and without dlock (S70)" {
	echo 0123456789 >data
	exec 5<data 6>>log 17<>both
	read -r -n 3 <&5
	"$TOOLS/showstate" plain
	dlock job "$TOOLS/showstate" under
	exec 5<&- 6>&- 17>&-
	run descriptors_in plain
	assert_line --regexp '^descriptor 17 '
	[ "$(descriptors_in under)" = "$output" ] || fail "$(diff plain under)"
	# The report's own words: ls -l /proc/self/fd.
	ls /proc/self/fd >plain
	dlock job ls /proc/self/fd >under
	run diff plain under
	assert_output ''
}

@test "COMMAND and its children have no socket to the server, also after a reconnect (S70)" {
	local link url
	for url in "$URL_UNIX" "$URL_TCP"; do
		start_dlock -S "$url" -t 1s job sh -c '
			while ! test -e go; do sleep 0.01; done
			"$TOOLS/showstate" later; sleep 60'
		wait_until 2s running "$OUTER"
		cp "/proc/$COMMAND/status" .
		for link in /proc/"$COMMAND"/fd/*; do
			[[ "$(readlink "$link")" != socket:* ]] || fail "$link is a socket"
		done
		redis CLIENT KILL TYPE normal >/dev/null
		redis CLIENT KILL TYPE pubsub >/dev/null
		wait_until 3s reconnected
		: >go
		wait_until 2s test -s later
		run descriptors_in later
		refute_output --partial socket:
		refute_output --partial 'anon_inode'
		kill -KILL "$OUTER"
		wait_until 2s free job
		rm go later
	done
}

reconnected() {
	[ "$(redis CLIENT LIST | grep -c name=dlock)" -ge 1 ]
}

@test "a daemon that COMMAND leaves does not keep the lock (S72)" {
	local nap
	nap=$(unique_sleep)
	run dlock L sh -c "setsid sleep $nap >/dev/null 2>&1 & exit 0"
	assert_success
	free L
	argv_count "$nap" 1
	run -0 dlock -n L true
	# Nor does it keep the caller's pipe or anything else of dlock's open.
	for link in /proc/"$(find_argv "$nap")"/fd/*; do
		[[ "$(readlink "$link")" != socket:* ]] || fail "$link is a socket"
	done
}

@test "the lock is free when a daemon with inherited descriptors lives on (S72)" {
	type ssh-agent >/dev/null 2>&1 || skip 'no ssh-agent here'
	# ssh-agent forks a daemon that keeps what it does not know.
	dlock L sh -c 'ssh-agent >agent'
	local agent
	agent=$(sed -n 's/^SSH_AGENT_PID=\([0-9]*\);.*/\1/p' agent)
	track "$agent"
	assert_alive "$agent"
	free L
}

@test "closed 0, 1 and 2 in all eight combinations stay closed (S73)" {
	# By TCP and a name, so that a helper which looks it up has its part in it.
	local combination closing wrong=
	export DLOCK_SERVER=redis://localhost:$REDIS_PORT
	for combination in {0..7}; do
		closing=
		((combination & 1)) && closing+=' <&-'
		((combination & 2)) && closing+=' >&-'
		((combination & 4)) && closing+=' 2>&-'
		rm -f plain under
		eval "\"\$TOOLS/showstate\" plain $closing"
		eval "\"\$DLOCK\" job\$combination \"\$TOOLS/showstate\" under $closing" ||
			wrong+=" $combination:status-$?"
		[ "$(descriptors_in plain)" = "$(descriptors_in under)" ] ||
			wrong+=" $combination: $(diff plain under)"
		# The lock worked, and nothing but its own keys came into being.
		free "job$combination" || wrong+=" $combination:key-left"
		[ "$(redis EXISTS "$(fence_key_of "job$combination")")" = 1 ] || wrong+=" $combination:no-fence"
	done
	[ -z "$wrong" ] || fail "$wrong"
	run redis --scan
	refute_line --regexp '^lock:job[0-7]$'
	[ "${#lines[@]}" -eq 8 ] || fail "odd keys: $output"
}

@test "closed 0, 1 and 2 in all eight combinations: renewals and signals work (S73)" {
	local combination closing pids=()
	for combination in {0..7}; do
		closing=
		((combination & 1)) && closing+=' <&-'
		((combination & 2)) && closing+=' >&-'
		((combination & 4)) && closing+=' 2>&-'
		eval "start env --default-signal \"\$DLOCK\" -t 1s -k 100ms job\$combination \
			\"\$TOOLS/sigcount\" got\$combination 1200 5 $closing"
		pids[combination]=$STARTED
	done
	for combination in {0..7}; do
		wait_until 2s test -s "got$combination"
		kill -USR1 "${pids[combination]}"
	done
	for combination in {0..7}; do
		exit_status_of "${pids[combination]}"
		[ "$STATUS" -eq 5 ] || fail "$combination: status $STATUS"
		[ "$(grep -c '^USR1 ' "got$combination")" -eq 1 ] || fail "$combination: $(<"got$combination")"
		free "job$combination"
	done
}

@test "dlock keeps no inherited descriptor open: one that COMMAND closes is closed (S70)" {
	mkfifo pipe
	start sh -c 'cat <pipe >/dev/null; echo eof >eof'
	start "$DLOCK" job sh -c 'exec 7>&-; echo >ready; sleep 60' 7>pipe
	wait_until 2s test -e ready
	wait_until 2s test -s eof
	assert_alive "$STARTED"
}

@test "with 0, 1 and 2 closed a lost lock still kills and says 79 (S73)" {
	local nap
	nap=$(unique_sleep)
	start "$DLOCK" -t 2s -k 200ms L sh -c "sleep $nap; :" <&- >&- 2>&-
	wait_until 2s argv_count "$nap" 1
	steal L
	wait_until 2s argv_gone "$nap"
	exit_status_of "$STARTED"
	[ "$STATUS" -eq 79 ]
}

@test "with stderr closed a conflict writes into nobody's file (S73)" {
	start_dlock L sleep 60
	wait_until 2s running "$OUTER"
	echo untouched >file
	run -75 sh -c 'exec 2>&- "$0" -n L true <>file' "$DLOCK"
	run -75 sh -c 'exec <&- >&- 2>&- "$0" -n L true' "$DLOCK"
	run cat file
	assert_output untouched
	[ "$(redis EXISTS lock:L)" = 1 ]
}

# limited LIMIT ARG...: dlock with so many descriptors at most, bats' own closed.
limited() {
	(
		close_descriptors
		ulimit -n "$1" && shift && exec "$DLOCK" "$@"
	)
}

@test "whose limit of open files is lowered while it waits ends with 71 and says so" {
	redis SET lock:L another PX 60000
	start_dlock -w 50s L touch ran
	wait_until 5s queued L
	prlimit --pid "$OUTER" --nofile=1:
	[ "$(redis CLIENT KILL TYPE pubsub)" = 1 ]
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 71 ]
	[ ! -e ran ]
	grep -qx "dlock: cannot wait for 'L': Too many open files" "$DLOCK_LOG"
}

queued() {
	[ "$(redis ZCARD "lock:$1#queue{lock:$1}")" = 1 ]
}

@test "short of descriptors dlock says 71 and runs nothing, or it works" {
	local limit worked=0 refused=0
	for limit in {4..20}; do
		# With fewer than the dynamic linker needs nothing starts at all.
		limited "$limit" -V || continue
		run limited "$limit" L touch ran
		case $status in
		0)
			[ -e ran ] && rm ran
			worked=1
			;;
		71)
			assert_output --partial 'dlock: '
			[ ! -e ran ]
			refused=1
			;;
		*) fail "$limit descriptors: status $status: $output" ;;
		esac
		free L || fail "$limit descriptors: the key is left"
	done
	((worked && refused))
}

@test "a lost lock in a pipeline kills neither the pipe's other end nor the shell (S24)" {
	local nap
	nap=$(unique_sleep)
	cat >script <<-END
		"\$DLOCK" -t 2s -k 200ms a sh -c 'echo begun; sleep $nap; :' | { cat >piped; echo "cat \$?" >cat; }
		echo "shell \${PIPESTATUS[0]}" >shell
	END
	start bash script 2>err
	wait_until 2s argv_count "$nap" 1
	steal a
	wait_until 3s test -s shell
	run cat piped cat shell
	assert_output "$(printf 'begun\ncat 0\nshell 79')"
	argv_gone "$nap"
}
