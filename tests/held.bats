#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# dlock --held [NAME]: from inside COMMAND, is the lock still ours? 0 confirmed just now, 79 lost or
# not confirmed, 64 not below a dlock that holds it; and one line on stderr where it is not 0.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 # dollars for the shell inside

load helpers/common

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	kill -CONT "$REDIS_PID"
	redis FLUSHALL >/dev/null
	export HELD="$DLOCK --held"
}

# asked STATUS TEXT: what `run --separate-stderr dlock ...` of a COMMAND that asks has to give: that
# status, nothing on stdout, and one line from dlock that holds TEXT (no line for 0).
asked() {
	assert_failure_or_success "$1"
	assert_output ''
	if [ "$1" = 0 ]; then
		assert_equal "$stderr" ''
	else
		assert_equal "${#stderr_lines[@]}" 1
		[[ ${stderr_lines[0]} == 'dlock: '*"$2"* ]] || { echo "stderr: $stderr"; return 1; }
	fi
}

assert_failure_or_success() {
	[ "$status" -eq "$1" ] || { echo "status $status instead of $1: ${stderr:-}"; return 1; }
}

# --- 0 ---

@test "--held: 0 from inside COMMAND, and nothing is said (P96)" {
	run --separate-stderr "$DLOCK" L "$DLOCK" --held
	asked 0
	run --separate-stderr "$DLOCK" L "$DLOCK" --held L
	asked 0
	run --separate-stderr "$DLOCK" L sh -c '"$DLOCK" -v --held'
	assert_success
	[[ $stderr == "dlock: 'L' is held, confirmed just now" ]]
}

@test "--held: needs no server, no password, and no other setting that makes sense" {
	printf 'server = nonsense\nttl = never\nno-such-option = 1\n' >config
	run --separate-stderr "$DLOCK" L env -u DLOCK_SERVER "$DLOCK" --held
	asked 0
	run --separate-stderr "$DLOCK" L env DLOCK_SERVER=nonsense: DLOCK_TTL=x REDIS_URL=x DLOCK_CONFIG="$WORK/config" \
		"$DLOCK" --held L
	asked 0
	# The same settings, where they count.
	run --separate-stderr env DLOCK_TTL=x "$DLOCK" L true
	assert_failure 78
	run --separate-stderr "$DLOCK" L env DLOCK_CONFIG="$WORK/config" "$DLOCK" M true
	assert_failure 78
}

@test "--held: the lease is renewed for the question, not before it" {
	dlock --ttl 60s L bash -c '
		pttl() { redis-cli -s "$REDIS_SOCK" PTTL lock:L; }
		sleep 0.3
		pttl >before
		$HELD
		pttl >after'
	assert_between 50000 59710 "$(cat before)" "PTTL before"
	assert_between 59900 60000 "$(cat after)" "PTTL after"
}

@test "--held: from descendants in the background, in another session, after a double fork" {
	dlock L bash -c '
		echo "$PPID" >runner
		setsid bash -c "$HELD; echo \$? >session" &
		(setsid bash -c "
			until [ -e orphan ]; do sleep 0.01; done
			grep ^PPid: /proc/\$\$/status >parent
			$HELD; echo \$? >daemon" &)
		touch orphan
		for i in {1..1000}; do [ -s session ] && [ -s daemon ] && exit; sleep 0.01; done'
	assert_equal "$(cat session daemon)" $'0\n0'
	assert_equal "$(cat parent)" "PPid:	$(cat runner)" # RUNNER has adopted it
}

@test "--held: from a pid namespace made by COMMAND, with and without a /proc of its own" {
	run --separate-stderr "$DLOCK" L unshare -pf "$DLOCK" --held
	asked 0
	run --separate-stderr "$DLOCK" L unshare -pf --mount-proc "$DLOCK" --held L
	asked 0
	run --separate-stderr "$DLOCK" L unshare -pf --mount-proc unshare -pf --mount-proc sh -c '"$DLOCK" --held; echo "$? $$"'
	assert_output '0 1'
	run --separate-stderr "$DLOCK" L unshare -Urpf --mount-proc "$DLOCK" --held
	asked 0
}

@test "--held: dlock itself in a pid namespace whose /proc is another's" {
	run --separate-stderr unshare -pf "$DLOCK" L sh -c '"$DLOCK" --held; echo $?'
	assert_output 0
	run --separate-stderr unshare -pf "$DLOCK" L sh -c '(setsid "$DLOCK" --held; echo $? >status) & wait; exit $(cat status)'
	asked 0
	run --separate-stderr unshare -pf "$DLOCK" L unshare -pf "$DLOCK" --held
	asked 0
}

@test "--held: from two hundred levels below; who is further down than 256 counts as a stranger" {
	run --separate-stderr "$DLOCK" L "$TOOLS/chain" 200 sh -c '"$DLOCK" --held; echo $? >status'
	assert_equal "$(cat status)" 0
	run --separate-stderr "$DLOCK" L "$TOOLS/chain" 280 sh -c '"$DLOCK" --held; echo $? >status'
	assert_equal "$(cat status)" 64
}

@test "--held: 0 while what COMMAND left is waited for with the lock held (--descendants wait)" {
	run --separate-stderr "$DLOCK" --descendants wait L bash -c '
		bash -c "while kill -0 $$ 2>/dev/null; do sleep 0.01; done; \$HELD; echo \$? >status" &'
	assert_success
	assert_equal "$(cat status)" 0
}

@test "--held: 79 when --max-hold is over" {
	run --separate-stderr "$DLOCK" --max-hold 300ms L bash -c '
		trap "\$HELD 2>line; echo \$? >status; exit" TERM
		while :; do sleep 0.01; done'
	assert_failure 124
	assert_equal "$(cat status)" 79
	grep -F "'L' is about to be released" line
}

# --- which lock ---

@test "--held: of nested dlocks the innermost, or the one that holds NAME (P48)" {
	run --separate-stderr "$DLOCK" A "$DLOCK" B sh -c '
		redis-cli -s "$REDIS_SOCK" DEL lock:A >/dev/null
		"$DLOCK" --held && "$DLOCK" --held B && "$DLOCK" -v --held'
	# A is not asked: its loss is not B's.
	[[ $stderr == *"'B' is held"* ]]
	run --separate-stderr "$DLOCK" A "$DLOCK" B "$DLOCK" --held A
	asked 0
	run --separate-stderr "$DLOCK" A sh -c '"$DLOCK" B true; "$DLOCK" --held && "$DLOCK" --held A'
	asked 0
	run --separate-stderr "$DLOCK" A sh -c '"$DLOCK" B true; "$DLOCK" --held B'
	asked 64 "no dlock above holds 'B' (key 'lock:B'); those above hold 'lock:A'"
}

@test "--held NAME: the key decides, that is prefix and NAME, from wherever the prefix comes" {
	permit_keys 'p:*' 'e:*' 'f:*'
	run --separate-stderr "$DLOCK" --prefix p: L "$DLOCK" --held
	asked 0
	run --separate-stderr "$DLOCK" --prefix p: L "$DLOCK" --held L
	asked 64 "no dlock above holds 'L' (key 'lock:L'); those above hold 'p:L'"
	run --separate-stderr "$DLOCK" --prefix p: L "$DLOCK" --prefix p: --held L
	asked 0
	run --separate-stderr "$DLOCK" --prefix p: L "$DLOCK" --prefix '' --held p:L
	asked 0
	run --separate-stderr env DLOCK_PREFIX=e: "$DLOCK" L "$DLOCK" --held L
	asked 0
	printf 'server = nonsense\nprefix = f:\n' >config
	run --separate-stderr "$DLOCK" --prefix f: L "$DLOCK" --config config --held L
	asked 0
	run --separate-stderr "$DLOCK" 'a b%:é' "$DLOCK" --held 'a b%:é'
	asked 0
}

# --- 64 ---

@test "--held: 64 outside any dlock, and with a DLOCK_HELD that makes no sense" {
	run --separate-stderr "$DLOCK" --held
	asked 64 'not below a dlock (DLOCK_HELD is not set)'
	run --separate-stderr env DLOCK_HELD= "$DLOCK" --held L
	asked 64 'not below a dlock (DLOCK_HELD is not set)'
	local value
	for value in x 1 ' ' ':::' "$(printf '%70000s' x)" 1:1:-:0:lock:L; do
		run --separate-stderr env DLOCK_HELD="$value" "$DLOCK" --held
		asked 64 'makes no sense'
	done
	run --separate-stderr "$DLOCK" --held A B
	asked 64 'one NAME at most'
	run --separate-stderr "$DLOCK" L "$DLOCK" --held ''
	asked 64 NAME
}

@test "--held: 64 where DLOCK_HELD was carried to a process that is not below that dlock" {
	start_dlock L sh -c 'echo "$DLOCK_HELD" >value; sleep 60'
	wait_until 3s test -s value
	run --separate-stderr env DLOCK_HELD="$(cat value)" "$DLOCK" --held
	asked 64 "'lock:L' (pid $(runner_of "$OUTER")) is not above this process"
	# Nor is it above its own OUTER, or above itself.
	run --separate-stderr "$DLOCK" M env DLOCK_HELD="$(cat value)" "$DLOCK" --held
	asked 64 'is not above this process'
}

# --- 79 ---

@test "--held: 79 when the key was stolen or deleted, and COMMAND is signalled at once, not at the next renewal" {
	local what
	for what in 'SET lock:L other' 'DEL lock:L'; do
		rm -f term asked
		redis DEL lock:L
		run --separate-stderr "$DLOCK" --ttl 60s L bash -c '
			trap "echo \$EPOCHREALTIME >term; exit 0" TERM
			redis-cli -s "$REDIS_SOCK" '"$what"' >/dev/null
			(trap "" TERM; $HELD; echo "$? $EPOCHREALTIME" >asked) &
			while :; do sleep 0.01; done'
		assert_failure 79
		[[ ${stderr_lines[0]} == "dlock: 'L' is lost"* ]] || [[ ${stderr_lines[1]} == "dlock: 'L' is lost"* ]]
		[[ $stderr == *"dlock: lost 'L': "* ]]
		local answered term
		read -r status answered <asked
		assert_equal "$status" 79
		term=$(cat term)
		assert_between -900 900 $(((${term/./} - ${answered/./}) / 1000)) 'milliseconds from the answer to TERM'
	done
}

@test "--held: 79 within its limit while the server is frozen, and COMMAND is not disturbed (R1)" {
	run --separate-stderr "$DLOCK" -v --ttl 6s L bash -c '
		trap "echo TERM >term" TERM
		kill -STOP "$REDIS_PID"
		from=$EPOCHREALTIME
		$HELD 2>line
		echo $?
		to=$EPOCHREALTIME
		kill -CONT "$REDIS_PID"
		echo $(((${to/./} - ${from/./}) / 1000))
		for i in {1..200}; do $HELD 2>/dev/null && break; sleep 0.01; done && echo again'
	assert_success
	assert_line --index 0 79
	# T = 6 s: two tries of 500 ms.
	assert_between 900 2500 "${lines[1]}" 'milliseconds'
	assert_line --index 2 again
	grep -F "dlock: 'L' cannot be confirmed: no answer" line
	[ ! -e term ]
}

@test "--held: a stopped RUNNER is woken by the question, and COMMAND gets no CONT of it (S31)" {
	run --separate-stderr "$DLOCK" --ttl 120s L bash -c '
		trap "echo CONT >cont" CONT
		kill -STOP "$PPID"
		for i in {1..500}; do [ "$(ps -o stat= -p "$PPID" | cut -c 1)" = T ] && break; sleep 0.01; done
		ps -o stat= -p "$PPID" | cut -c 1
		from=$EPOCHREALTIME
		$HELD
		echo $?
		to=$EPOCHREALTIME
		echo $(((${to/./} - ${from/./}) / 1000))'
	assert_success
	assert_line --index 0 T
	assert_line --index 1 0
	assert_between 50 2000 "${lines[2]}" 'milliseconds'
	[ ! -e cont ]
}

@test "--held: 79 after 3 s when RUNNER does not answer" {
	# From a pid namespace nobody can wake it; its own timer does that after 40 s.
	run --separate-stderr "$DLOCK" --ttl 120s L bash -c '
		kill -STOP "$PPID"
		from=$EPOCHREALTIME
		unshare -pf "$DLOCK" --held
		echo $?
		to=$EPOCHREALTIME
		kill -CONT "$PPID"
		echo $(((${to/./} - ${from/./}) / 1000))'
	assert_line --index 0 79
	assert_between 2900 5000 "${lines[1]}" 'milliseconds'
	[[ $stderr == "dlock: 'L' cannot be confirmed: the dlock that holds it (pid "*") does not answer" ]]
}

@test "--held: what outlives COMMAND gets 79, never 0, also while --at-least keeps the lock" {
	local option
	for option in --at-least=0 --at-least=60s; do
		rm -f asked
		"$DLOCK" -q "$option" L bash -c 'setsid bash -c "
			until [ -e ended ]; do sleep 0.01; done
			\$HELD 2>asked.line; echo \$? >asked" &'
		touch ended
		wait_until 5s test -s asked
		rm ended
		assert_equal "$(cat asked)" 79
		grep -F "dlock: 'L' is not held any more: the dlock that held it (pid " asked.line
		redis DEL lock:L >/dev/null
	done
}

@test "--held: what outlives an inner COMMAND gets 79 for its lock, and 0 for the outer one" {
	run --separate-stderr "$DLOCK" A bash -c '
		"$DLOCK" -q B bash -c "setsid bash -c \"
			until [ -e ended ]; do sleep 0.01; done
			\\\$HELD 2>/dev/null; echo \\\$? >inner
			\\\$HELD A; echo \\\$? >outer\" &"
		touch ended
		for i in {1..500}; do [ -s outer ] && break; sleep 0.01; done'
	assert_success
	assert_equal "$(cat inner outer)" $'79\n0'
}

@test "--held: 79 while RUNNER ends COMMAND's tree, though the lock is still held" {
	run --separate-stderr "$DLOCK" -k 5s L bash -c '
		(trap "trap \"\" TERM; \$HELD 2>line; echo \$? >asked; exit" TERM
			touch ready; for i in {1..500}; do sleep 0.01; done) &
		for i in {1..500}; do [ -e ready ] && break; sleep 0.01; done
		kill -KILL $$'
	assert_failure 137
	assert_equal "$(cat asked)" 79
	grep -F "dlock: 'L' is about to be released" line
}

@test "--held: 79 while RUNNER releases the lock of a COMMAND that has ended" {
	start_dlock L bash -c 'setsid bash -c "
			until [ -e go ]; do sleep 0.01; done
			\$HELD 2>line; echo \$? >asked" & kill -STOP "$REDIS_PID"'
	wait_until 3s grep -F "has ended and left" "$DLOCK_LOG"
	alive "$OUTER" # it tries for two seconds
	touch go
	wait_until 2s test -s asked
	kill -CONT "$REDIS_PID"
	assert_equal "$(cat asked)" 79
	grep -F "dlock: 'L' is about to be released" line
	wait_until 5s gone "$OUTER"
}

@test "--held: another user is refused, in COMMAND's tree too; the same user and root are not" {
	local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	local dlock=$REDIS_DIR/dlock # the tree may lie where another user sees nothing
	redis CONFIG SET unixsocketperm 777 >/dev/null
	chmod 777 "$REDIS_DIR" "$REDIS_SOCK" "$WORK"
	cp "$DLOCK" "$dlock"
	run --separate-stderr "$DLOCK" L "${nobody[@]}" "$dlock" --held
	asked 79 'answers its own user and root only'
	run --separate-stderr "${nobody[@]}" "$dlock" L "$dlock" --held
	asked 0
	# Root, below a dlock of nobody's: a program with the set-user-id bit brings it there.
	cp "$(command -v setpriv)" "$REDIS_DIR/become"
	chmod 4755 "$REDIS_DIR/become"
	run --separate-stderr "${nobody[@]}" "$dlock" L "$REDIS_DIR/become" --reuid 0 "$dlock" --held
	asked 0
}

@test "--held: who is turned away is told nothing, of what others were told neither" {
	start_dlock nightly-backup bash -c '$HELD && echo "$DLOCK_HELD" >held; while :; do sleep 0.01; done'
	wait_until 3s test -s held
	IFS=: read -r _ _ ADDRESS TOKEN _ <held
	run -0 /usr/bin/python3 "$TESTS_DIR/helpers/ask_held.py" "$ADDRESS" "$TOKEN"
	assert_line --index 0 'verdict 4' # a stranger
	refute_output --partial backup
	refute_output --partial "${TOKEN#?}"
}

@test "--held: from another network namespace RUNNER cannot be asked: 79, and it says so" {
	run --separate-stderr "$DLOCK" L unshare -n "$DLOCK" --held
	asked 79 'cannot be asked from here (is this another network namespace?)'
}

@test "--held: where RUNNER may not listen COMMAND runs all the same, and cannot ask" {
	local deaf=(env LD_PRELOAD="$TOOLS/no_listening_preload.so")
	export ASAN_OPTIONS=verify_asan_link_order=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
	run -0 --separate-stderr "${deaf[@]}" "$DLOCK" -v L sh -c 'echo "$DLOCK_HELD"'
	assert_output --regexp '^[0-9]+:[0-9]+:-:[0-9a-f-]{36}:lock:L$'
	[[ $stderr == *"dlock: --held cannot ask about 'L': Permission denied"* ]]
	run --separate-stderr "${deaf[@]}" "$DLOCK" L "$DLOCK" --held
	asked 79 'cannot be asked'
	run --separate-stderr "${deaf[@]}" "$DLOCK" L "$DLOCK" L true
	asked 75 'is held by the dlock above'
	run --separate-stderr "${deaf[@]}" "$DLOCK" L "$DLOCK" --reentrant L touch ran
	asked 79 'cannot be asked'
	[ ! -e ran ]
}

@test "--held: the same statuses with stdout, stdin or stderr closed" {
	run -0 "$DLOCK" L sh -c '"$DLOCK" --held >&-; echo $?; "$DLOCK" --held <&- >&- 2>&-; echo $?'
	assert_output $'0\n0'
	run "$DLOCK" L sh -c 'redis-cli -s "$REDIS_SOCK" DEL lock:L >/dev/null
		trap "" TERM
		"$DLOCK" --held >&-; echo $?; "$DLOCK" --held <&- >&- 2>&-; echo $?'
	assert_line --index 0 --partial "'L' is lost"
	assert_equal "$(grep -c '^79$' <<<"$output")" 2
}

@test "--held NAME: a key that cannot be is 78 where the prefix was configured, else 64" {
	echo 'prefix = {' >config
	run --separate-stderr "$DLOCK" --config config --held L
	asked 78 'are no hash tag'
	run --separate-stderr env DLOCK_PREFIX='{' "$DLOCK" --held L
	asked 78 'are no hash tag'
	run --separate-stderr "$DLOCK" --prefix '{' --held L
	asked 64 'are no hash tag'
	run --separate-stderr env DLOCK_PREFIX='p:' "$DLOCK" --held '{'
	asked 64 'are no hash tag'
}
