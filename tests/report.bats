#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# --report FILE: one line of JSON for each run, on every way out, whichever process is left.
#
# shellcheck disable=SC2016,SC2154 # dollars for the other shell; stderr is set by run

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() {
	common_setup
	redis FLUSHALL >/dev/null
	NOBODY=unix://$WORK/nobody
}

# report EXPRESSION: FILE r has exactly one line, which is a JSON object with all keys; EXPRESSION, of
# Python with the object as r, is true. The line is printed when not.
report() {
	/usr/bin/python3 - "${2:-r}" "$1" <<-'END'
		import json, re, sys
		text = open(sys.argv[1], encoding="utf-8", errors="strict").read()
		assert text.endswith("\n") and text.count("\n") == 1, "not one line: %r" % text
		r = json.loads(text)
		keys = ["name", "outcome", "status", "signal", "reason", "fence", "waited_ms", "held_ms",
			"max_hold_ms", "server", "key", "started", "host", "pid", "command", "label"]
		assert list(r) == keys, list(r)
		assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", r["started"]), r["started"]
		assert type(r["pid"]) is int
		assert eval(sys.argv[2]), text
	END
}

no_report() {
	[ ! -s r ]
}

@test "--report: a run under the lock: status, fence as text, times in ms, server, key" {
	run -3 dlock --report r --label 'the label' job sh -c 'echo "$DLOCK_FENCE"; sleep 0.2; exit 3'
	report 'r["name"] == "job" and r["outcome"] == "ran" and r["status"] == 3 and r["signal"] is None'
	report 'r["reason"] is None and r["key"] == "lock:job" and r["command"] == "sh" and r["label"] == "the label"'
	report "r['fence'] == '$output' and r['server'] == '$DLOCK_SERVER' and r['host'] == '$(uname -n)'"
	report '200 <= r["held_ms"] < 2000 and 0 <= r["waited_ms"] < 1000 and r["max_hold_ms"] is None'
	[ "$(stat -c %a r)" = 644 ]
}

@test "--report: COMMAND died of a signal" {
	run -143 dlock --report r job sh -c 'kill -TERM $$'
	report 'r["outcome"] == "ran" and r["status"] is None and r["signal"] == "TERM"'
}

@test "--report: each line is appended, what was there stays" {
	echo before >r
	run -0 dlock --report r job true
	run -1 dlock --report r job false
	[ "$(wc -l <r)" -eq 3 ]
	[ "$(head -n 1 r)" = before ]
	[ "$(grep -c '"outcome":"ran"' r)" -eq 2 ]
}

@test "--report: the wait is counted" {
	redis SET lock:job other PX 500
	run -0 dlock --report r job true
	report '400 <= r["waited_ms"] < 3000 and r["held_ms"] < 400'
}

@test "--report: a conflict, with who has it; its status is that of -E" {
	redis SET lock:job other PX 50000
	run -75 dlock -n --report r job true
	report 'r["outcome"] == "conflict" and r["status"] == 75 and "other" in r["reason"] and r["fence"] is None'
	report 'r["held_ms"] is None and r["waited_ms"] >= 0'
	rm r
	run -0 dlock -w 0.2 -E 0 -q --report r job true
	report 'r["outcome"] == "conflict" and r["status"] == 0 and r["waited_ms"] >= 150'
}

@test "--report: the lock was lost, and why" {
	start_dlock -t 1s --report r job sleep 60
	wait_until 2s running "$OUTER"
	redis DEL lock:job
	exit_status_of "$OUTER"
	report 'r["outcome"] == "lost" and r["status"] == 79 and r["reason"] == "the key is gone" and r["fence"]'
	rm r
	run -79 dlock -t 1s --report r job redis-cli -s "$REDIS_SOCK" SET lock:job other PX 5000
	report 'r["outcome"] == "lost" and "no longer ours" in r["reason"]'
}

@test "--report: --max-hold" {
	run -124 dlock --max-hold 200ms --report r job sleep 60
	report 'r["outcome"] == "max-hold" and r["status"] == 124 and r["max_hold_ms"] == 200 and r["held_ms"] >= 200'
}

@test "--report: COMMAND not found, not executable, an interpreter that is missing" {
	run -127 dlock --report r job no-such-command
	report 'r["outcome"] == "not-executed" and r["status"] == 127 and "no-such-command" in r["reason"]'
	rm r
	run -126 dlock --report r job /etc/passwd
	report 'r["outcome"] == "not-executed" and r["status"] == 126'
	rm r
	printf '#!/no/such/interpreter\n' >script
	chmod +x script
	run -127 dlock --report r job ./script
	report 'r["outcome"] == "not-executed" and r["status"] == 127 and "interpreter" in r["reason"]'
}

@test "--report: unreachable, skipped, unlocked" {
	run -69 dlock -S "$NOBODY" --report r job true
	report "r['outcome'] == 'unreachable' and r['status'] == 69 and r['reason'] and r['server'] == '$NOBODY'"
	rm r
	run -0 dlock -S "$NOBODY" --if-unreachable skip --report r job true
	report 'r["outcome"] == "skipped" and r["status"] == 0 and r["reason"]'
	rm r
	run -4 dlock -S "$NOBODY" --if-unreachable run --report r job sh -c 'exit 4'
	report 'r["outcome"] == "unlocked" and r["status"] == 4 and r["reason"] and r["fence"] is None and r["held_ms"] is None'
}

@test "--report: refused, denied; the server without its password" {
	redis HSET lock:job a 1
	run -69 dlock --report r job true
	report 'r["outcome"] == "refused" and r["status"] == 69 and "hash" in r["reason"]'
	rm r
	run -77 dlock -S "redis://:hush@127.0.0.1:$REDIS_PORT" --report r job true
	report 'r["outcome"] == "denied" and r["status"] == 77 and "hush" not in json.dumps(r) and ":***@" in r["server"]'
}

@test "--report: a signal while waiting" {
	redis SET lock:job other PX 50000
	start_dlock --report r job true
	wait_until 2s waiting
	kill -INT "$OUTER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 130 ]
	report 'r["outcome"] == "interrupted" and r["status"] is None and r["signal"] == "INT"'
}

waiting() {
	redis CLIENT LIST | grep -q name=dlock
}

@test "--report: RUNNER killed, OUTER reports" {
	local nap
	nap=$(unique_sleep)
	start_dlock --report r job sh -c "setsid sleep $nap & exec sleep $nap"
	wait_until 2s argv_count "$nap" 2
	wait_until 2s running "$OUTER"
	kill -KILL "$RUNNER"
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	report 'r["outcome"] == "lost" and r["status"] == 79 and "killed" in r["reason"] and r["fence"] and r["held_ms"] >= 0'
	argv_gone "$nap"
}

@test "--report: OUTER killed, RUNNER reports" {
	start_dlock --report r job sleep 60
	wait_until 2s running "$OUTER"
	kill -KILL "$OUTER"
	wait_until 2s no_marked_dlock
	report 'r["outcome"] == "interrupted" and r["status"] is None and "killed" in r["reason"] and r["fence"]'
}

@test "--report: both killed, nothing" {
	start setsid "$DLOCK" --report r job sleep 60 2>>"$DLOCK_LOG"
	OUTER=$STARTED
	wait_until 2s running "$OUTER"
	kill -KILL -- -"$OUTER"
	wait_until 2s no_marked_dlock
	no_report
	[ -e r ]
}

@test "--report: one line each when kill -9 hits OUTER, RUNNER or neither at random moments of the end" {
	local i victim
	for i in 1 2 3 4 5 6 7 8 9 10; do
		rm -f r go
		start_dlock --report r job sh -c 'until [ -e go ]; do sleep 0.01; done'
		wait_until 2s running "$OUTER"
		case $((i % 3)) in 0) victim=$OUTER ;; 1) victim=$RUNNER ;; 2) victim= ;; esac
		touch go
		sleep "0.0$((10 + RANDOM % 30))"
		[ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null || true
		wait_until 3s no_marked_dlock
		report 'r["outcome"] in ("ran", "lost", "interrupted")'
		redis DEL lock:job >/dev/null
	done
}

runner_is_there() {
	RUNNER=$(runner_of "$OUTER")
}

@test "--report: RUNNER killed between its last word and its report: OUTER has both, with that status" {
	local how
	for how in 'exit 3' 'kill -USR1 $$'; do
		rm -f r
		DLOCK=$DLOCK_TEST_BUILD DLOCK_TEST_HOOKS=slow-report=1500 start_dlock --report r job sh -c "touch up; $how"
		wait_until 3s runner_is_there
		wait_until 2s test -e up
		wait_until 2s free job # it has been released, the last word is noted
		sleep 0.2
		no_report
		kill -KILL "$RUNNER"
		exit_status_of "$OUTER" 1s
		case $how in
		exit*) [ "$STATUS" -eq 3 ] && report 'r["outcome"] == "ran" and r["status"] == 3' ;;
		*) [ "$STATUS" -eq $((128 + $(kill -l USR1))) ] && report 'r["outcome"] == "ran" and r["signal"] == "USR1"' ;;
		esac
		rm up
	done
}

# Who claimed the line before there is room for it would take it along. It waits for 100 ms, so there
# are some tries.
@test "--report: RUNNER killed while it waits for room in a FIFO: OUTER reports" {
	local line=
	mkfifo full
	exec 7<>full
	for _ in {1..5}; do
		dd if=/dev/zero bs=65536 count=1 >&7 2>/dev/null
		rm -f up
		start_dlock --report full job sh -c 'touch up; sleep 0.1; exit 3' 7>&-
		wait_until 3s runner_is_there
		wait_until 2s test -e up
		wait_until 2s free job
		# It does not wait for ever: on a busy machine we may be too late.
		kill -KILL "$RUNNER" 2>/dev/null || true
		head -c 65536 <&7 >/dev/null
		! read -r -t 1 line <&7 || break
	done
	exec 7>&-
	echo "$line" >r
	report 'r["outcome"] == "ran" and r["status"] == 3'
}

@test "--report: OUTER killed at that moment: RUNNER reports, once" {
	DLOCK=$DLOCK_TEST_BUILD DLOCK_TEST_HOOKS=slow-report=700 start_dlock --report r job sh -c "touch up; exit 3"
	wait_until 2s test -e up
	wait_until 2s free job
	kill -KILL "$OUTER"
	wait_until 3s no_marked_dlock
	report 'r["outcome"] == "ran" and r["fence"]'
}

@test "--report: any bytes in NAME and label: valid JSON, and as messages show them" {
	permit_keys '*'
	local name=$'q"b\\s/ \x01\x1f\x7f \xff\xc3( \xc2\x85 \xe2\x82\xac {x} \n\t'
	run -0 dlock --report r --label $'l"\xfe' "$name" true
	report 'r["name"] == "q\"b\\s/ \x01\x1f\x7f \\xff\\xc3( \x85 € {x} \n\t" and r["label"] == "l\"\\xfe"'
	rm r
	# As long as can be, each byte the worst.
	name=$(printf '\001%.0s' {1..512})
	run -0 dlock --report r --prefix "$name" --label "$(printf '\002%.0s' {1..255})" "$name" true
	report 'r["name"] == "\x01" * 512 and len(r["key"]) == 1024'
}

@test "--report: a file that cannot be opened is a usage error, and nothing is sent" {
	local before
	before=$(redis INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')
	run -64 dlock --report /no/such/directory/r job touch ran
	assert_output "dlock: --report: cannot append to '/no/such/directory/r': No such file or directory"
	run -64 dlock --report "$WORK" job touch ran
	mkfifo fifo
	run -64 dlock --report fifo job touch ran
	assert_output "dlock: --report: cannot append to 'fifo': nobody reads from it"
	run -64 setsid -w "$DLOCK" --report /dev/tty job touch ran
	assert_output "dlock: --report: cannot append to '/dev/tty': No such device or address"
	run -64 dlock --report '' job touch ran
	[ ! -e ran ]
	[ "$(redis INFO stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')" -eq $((before + 1)) ]
}

@test "--report: a FIFO with a reader, and one whose reader does not read" {
	mkfifo fifo full
	start cat fifo >r
	run -0 dlock --report fifo job true
	exit_status_of "$STARTED"
	report 'r["outcome"] == "ran"'
	exec 7<>full
	dd if=/dev/zero bs=65536 count=1 >&7 2>/dev/null
	local before
	before=$(boottime)
	run -5 dlock --report full job sh -c 'exit 5'
	exec 7>&-
	assert_between 0 2000 "$(elapsed_ms "$before")" 'wall time'
	assert_output "dlock: cannot append to the report 'full': it takes nothing"
}

@test "--report /dev/stderr and /dev/stdout: a pipe, a file, a socket, one that is closed" {
	run --separate-stderr -0 dlock --report /dev/stderr job true
	echo "$stderr" >r
	report 'r["outcome"] == "ran"'
	run --separate-stderr -0 dlock --report /dev/stdout job echo hi
	echo "${lines[1]}" >r
	report 'r["outcome"] == "ran"'
	# With a message before it: nothing is overwritten.
	redis SET lock:held other PX 50000
	run -75 sh -c '"$DLOCK" -n --report /dev/stderr held true 2>both'
	[ "$(wc -l <both)" -eq 2 ]
	head -n 1 both | grep -q "^dlock: 'held' is held by"
	tail -n 1 both >r
	report 'r["outcome"] == "conflict"'
	/usr/bin/python3 - <<-'END' >r
		import os, socket, subprocess
		a, b = socket.socketpair()
		subprocess.run([os.environ["DLOCK"], "--report", "/dev/stderr", "job", "true"], stderr=b, check=True)
		b.close()
		print(a.recv(65536).decode(), end="")
	END
	report 'r["outcome"] == "ran"'
	run -64 sh -c '"$DLOCK" --report /dev/stderr job true 2>&-'
}

@test "--report: a full disk is one warning, the status stays" {
	run -6 dlock --report /dev/full job sh -c 'exit 6'
	assert_output "dlock: cannot append to the report '/dev/full': No space left on device"
	run -75 sh -c 'redis-cli -s "$REDIS_SOCK" SET lock:job other PX 9000 >/dev/null; "$DLOCK" -qn --report /dev/full job true'
	[ "${#lines[@]}" -eq 1 ]
	# A limit of the size of files.
	redis DEL lock:job
	head -c 2048 /dev/zero >big
	run -0 sh -c 'ulimit -f 1; "$DLOCK" --report big job true'
	[ "${#lines[@]}" -eq 1 ]
	assert_output --partial "File too large"
}

@test "--report: many at one time: every line is whole" {
	local i pids=()
	for i in {1..20}; do
		start "$DLOCK" --report all --label "$(printf 'x%.0s' {1..200})" "job$((i % 4))" true 2>>"$DLOCK_LOG"
		pids+=("$STARTED")
	done
	for i in "${pids[@]}"; do exit_status_of "$i"; done
	[ "$(wc -l <all)" -eq 20 ]
	/usr/bin/python3 -c 'import json; assert len({json.loads(l)["pid"] for l in open("all")}) == 20'
}

@test "--report and --max-hold in the config file; a file that cannot be opened is an error of it" {
	printf 'report = %s/r\nmax-hold = 200ms\n' "$WORK" >conf
	run -124 dlock --config conf job sleep 60
	report 'r["outcome"] == "max-hold" and r["max_hold_ms"] == 200'
	echo 'report = /no/such/r' >conf
	run -78 dlock --config conf job true
	assert_output --partial "/no/such/r"
	[ "${#lines[@]}" -eq 1 ]
}

@test "--report: COMMAND inherits no descriptor of it" {
	run -0 dlock --report r job ls -l /proc/self/fd
	refute_output --partial "$WORK/r"
	report 'r["outcome"] == "ran"'
}

@test "--report as process 1 of a pid namespace: the status it exits with" {
	run -143 unshare -pf --mount-proc "$DLOCK" --report r job sh -c 'kill -TERM $$'
	report 'r["status"] == 143 and r["signal"] == "TERM" and r["pid"] == 1'
}
