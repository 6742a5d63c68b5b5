#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# A dlock inside a dlock that holds the same lock: refused at once, because it would wait for itself;
# with --reentrant its COMMAND runs under the lock that is held already.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2153,SC2154 # dollars for the shell inside

load helpers/common
load helpers/proxy

setup_file() { start_redis; }
teardown_file() { stop_redis; }

setup() {
	common_setup
	redis FLUSHALL >/dev/null
}

# --- refused ---

# refused STATUS ARG...: `dlock ARG...` below a dlock that holds L is refused: with that status, at
# once, with one line that says who holds it and what would help.
refused() {
	local wanted=$1
	shift
	WANTED=$wanted run --separate-stderr "$DLOCK" L bash -c '
		from=$EPOCHREALTIME
		"$@" 2>line
		status=$?
		to=$EPOCHREALTIME
		cat /proc/$PPID/stat | cut -d " " -f 4
		[ "$status" = "$WANTED" ] || echo "status $status"
		(((${to/./} - ${from/./}) / 1000 < 1000)) || echo "late"' bash "$@"
	assert_success
	assert_equal "${#lines[@]}" 1
	assert_equal "$(sed "s/^dlock: ':L'/dlock: 'L'/" line)" "dlock: 'L' is held by the dlock above, root@$(hostname) pid ${lines[0]} bash, for $(
		sed 's/.*, for \([0-9.]*s\): .*/\1/' line): waiting for it would never end (--reentrant runs under its lock)"
}

@test "a lock that a dlock above holds is refused at once: without limit, with -n, with -w" {
	refused 75 "$DLOCK" L true
	refused 75 "$DLOCK" -n L true
	refused 75 "$DLOCK" -w 60s L true
	refused 9 "$DLOCK" -E 9 L true
	refused 0 "$DLOCK" -E 0 L false
	run "$DLOCK" L "$DLOCK" -q L true
	assert_failure 75
	assert_output ''
}

@test "refused also from further below, and whatever the server is called" {
	refused 75 "$DLOCK" M "$DLOCK" L true
	refused 75 "$DLOCK" -S "$URL_TCP" L true
	refused 75 "$DLOCK" --prefix lock --label x :L true
	refused 75 setsid -w "$DLOCK" L true
	refused 75 unshare -n "$DLOCK" L true
	refused 75 unshare -pf "$DLOCK" L true
	refused 75 unshare -pf --mount-proc "$DLOCK" L true
}

@test "not refused: another lock, another server, a lock that the one above has lost" {
	permit_keys 'p:*'
	run -0 "$DLOCK" L "$DLOCK" M true
	run -0 "$DLOCK" L "$DLOCK" --prefix p: L true
	run -0 "$DLOCK" L "$DLOCK" -S "redis://127.0.0.1:$REDIS_PORT/1" L true
	run "$DLOCK" L bash -c 'redis-cli -s "$REDIS_SOCK" SET lock:L other PX 60000 >/dev/null
		trap "" TERM
		"$DLOCK" -n L true'
	assert_failure 79
	assert_line --partial "'L' is held by an unknown client (token other)"
}

@test "not refused: who has the same DLOCK_HELD but does not descend from the holder waits for its turn" {
	start_dlock L sh -c 'echo "$DLOCK_HELD" >value; until [ -e go ]; do sleep 0.01; done'
	wait_until 3s test -s value
	run env DLOCK_HELD="$(cat value)" "$DLOCK" -n L true
	assert_failure 75
	assert_output --partial "'L' is held by root@"
	refute_output --partial above
	start env DLOCK_HELD="$(cat value)" "$DLOCK" --reentrant L touch ran 2>waiter.log
	local waiter=$STARTED
	wait_until 5s grep -F "waiting for 'L'" waiter.log
	[ ! -e ran ]
	touch go
	exit_status_of "$waiter"
	assert_equal "$STATUS" 0
	[ -e ran ]
}

@test "not refused: the number of the holder is that of an ancestor, but another process had it (a DLOCK_HELD from elsewhere)" {
	# As it is it names the holder; with another start time, or a RUNNER that cannot be asked, nobody.
	run "$DLOCK" L bash -c '
		IFS=: read -r pid started address token key <<<"$DLOCK_HELD"
		try() { DLOCK_HELD=$1 "$DLOCK" -n L true 2>&1 | grep -c "held by the dlock above"; }
		try "$pid:$started:$address:$token:$key"
		try "$pid:$started:0000000000000001:$token:$key"
		try "$pid:$((started - 500)):$address:$token:$key"
		try "$pid:$((started - 500)):0000000000000001:$token:$key"
		try "$pid:$((started + 500)):0000000000000001:$token:$key"
		try "1:$started:0000000000000001:$token:$key"
		try "$pid:$started:$address:00000000-0000-4000-8000-000000000000:$key"'
	assert_output $'1\n1\n1\n0\n0\n0\n0'
}

@test "--report tells a refusal, and a run under an ancestor's lock" {
	run -0 "$DLOCK" L bash -c '
		"$DLOCK" -q --report report L true
		"$DLOCK" --report report --reentrant L sh -c "exit 3"
		echo "$DLOCK_FENCE" >fence'
	run sed -E 's/.*"outcome":"([a-z]+)","status":([0-9]+),.*"fence":"?([0-9a-z]+).*/\1 \2 \3/' report
	assert_output "$(printf 'conflict 75 null\nran 3 %s' "$(cat fence)")"
}

@test "a DLOCK_HELD that makes no sense is passed over, and replaced for COMMAND" {
	run -0 env DLOCK_HELD='1:2:3 4' "$DLOCK" -v L sh -c 'echo "$DLOCK_HELD"; "$DLOCK" --held'
	assert_line 'dlock: DLOCK_HELD in the environment makes no sense: passed over'
	assert_line --regexp '^[0-9]+:[0-9]+:[0-9a-f]{16}:[0-9a-f-]{36}:lock:L$'
}

@test "locks nest 32 deep; one more is refused before anything is sent" {
	cat >nest <<-'END'
		[ "$1" -eq 0 ] && exec "$DLOCK" --held L1
		exec "$DLOCK" "L$1" sh nest $(($1 - 1))
	END
	run -0 sh nest 32
	assert_output ''
	run -64 sh nest 33
	assert_output "dlock: 'L1' would be the lock of a dlock below 32 others: that is too deep, does its command start itself?"
	[ "$(redis EXISTS 'lock:L1#fence{lock:L1}')" = 1 ] # of the first run
	redis FLUSHALL
	run -64 sh nest 33
	[ "$(redis EXISTS 'lock:L1#fence{lock:L1}')" = 0 ]
}

# --- --reentrant ---

@test "--reentrant: COMMAND runs under the lock that is held, which stays as it is" {
	run --separate-stderr "$DLOCK" L bash -c '
		env | grep ^DLOCK_ | sort >outer
		redis-cli -s "$REDIS_SOCK" GET lock:L >key
		"$DLOCK" -v --reentrant L sh -c "env | grep ^DLOCK_ | sort >inner; $DLOCK --held && $DLOCK --held L"
		echo $?
		redis-cli -s "$REDIS_SOCK" GET lock:L >>key
		"$DLOCK" --held && echo held'
	assert_success
	assert_output $'0\nheld'
	assert_equal "$stderr" "dlock: 'L' is held by the dlock above: its command runs under that lock, fence $(
		sed -n 's/^DLOCK_FENCE=//p' outer)"
	grep -q '^DLOCK_TOKEN=' outer
	diff outer inner
	assert_equal "$(sort -u key)" "$(sed -n 's/^DLOCK_TOKEN=//p' outer)"
	free L
}

@test "--reentrant: under the lock that NAME is, also when another is nearer (P48)" {
	run -0 --separate-stderr "$DLOCK" A sh -c 'echo "$DLOCK_NAME $DLOCK_KEY $DLOCK_TOKEN $DLOCK_FENCE"
		exec "$DLOCK" B sh -c "echo \"\$DLOCK_HELD\"; exec \"$DLOCK\" --reentrant A sh -c '\''
			echo \"\$DLOCK_NAME \$DLOCK_KEY \$DLOCK_TOKEN \$DLOCK_FENCE\"; echo \"\$DLOCK_HELD\"'\''"'
	assert_equal "${lines[0]%% *}" A
	assert_equal "${lines[2]}" "${lines[0]}"
	assert_equal "${lines[3]}" "${lines[1]}"
	[[ ${lines[1]} == *':lock:A '*':lock:B' ]]
}

@test "--reentrant: with no ancestor that holds NAME it is an ordinary run" {
	run -0 --separate-stderr "$DLOCK" -v --reentrant L sh -c 'redis-cli -s "$REDIS_SOCK" GET lock:L; echo "$DLOCK_TOKEN"'
	assert_equal "${lines[0]}" "${lines[1]}"
	[[ $stderr == *"acquired 'L'"*"released 'L'"* ]]
	run -0 "$DLOCK" M "$DLOCK" --reentrant L sh -c 'redis-cli -s "$REDIS_SOCK" EXISTS lock:L lock:M'
	assert_output 2
	start_dlock L sleep 60
	wait_until 3s held L
	run -75 "$DLOCK" M "$DLOCK" -n --reentrant L true
	free M
	printf 'reentrant = yes\n' >config
	run -0 "$DLOCK" M "$DLOCK" --config config M echo ran
	assert_output ran
}

@test "--reentrant: statuses, signals and missing commands as in any run" {
	local status
	for status in 0 1 75 79 200; do
		run -$status "$DLOCK" L "$DLOCK" --reentrant L sh -c "exit $status"
		assert_output ''
	done
	run -137 "$DLOCK" L bash -c '"$DLOCK" --reentrant L sh -c "kill -KILL \$\$"'
	run -127 "$DLOCK" L "$DLOCK" --reentrant L "$WORK/missing"
	start_dlock L bash -c '"$DLOCK" --reentrant L bash -c "
		trap \"echo TERM >>caught; exit 5\" TERM
		echo \$PPID >runner; while :; do sleep 0.01; done" & echo $! >inner; wait $!; echo $? >status'
	wait_until 3s test -s runner
	kill -TERM "$(cat inner)"
	wait_until 3s test -s status
	assert_equal "$(cat status caught)" $'5\nTERM'
}

@test "--reentrant: when the lock is lost the nested COMMAND dies with its tree: daemons too" {
	local nap
	nap=$(unique_sleep)
	start_dlock --ttl 2s L "$DLOCK" --reentrant L bash -c "trap '' TERM; (setsid sleep $nap &); sleep $nap & wait; sleep $nap"
	wait_until 3s argv_count "$nap" 2
	steal L
	exit_status_of "$OUTER"
	assert_equal "$STATUS" 79
	argv_gone "$nap"
	[ "$(redis GET lock:L)" = stolen-by-the-test ]
}

@test "--reentrant: --max-hold and --descendants bound the nested COMMAND, and the lock stays" {
	run --separate-stderr "$DLOCK" L bash -c '
		"$DLOCK" --reentrant --max-hold 300ms L sleep 900
		echo $?
		"$DLOCK" --reentrant --descendants kill L bash -c "sleep 900 & echo \$! >left"
		echo $?
		kill -0 "$(cat left)" 2>/dev/null || echo gone
		"$DLOCK" --held && echo held'
	assert_success
	assert_output $'124\n0\ngone\nheld'
}

@test "--reentrant: 79, and COMMAND does not run, when the ancestor cannot confirm its lock" {
	start_proxy
	start_dlock --ttl 6s L bash -c '
		export DLOCK_SERVER=unix://$REDIS_SOCK
		until [ -e go ]; do sleep 0.01; done
		"$DLOCK" --report report --reentrant L touch ran 2>line
		echo $? >status
		sleep 60'
	wait_until 3s held L
	proxy blackhole
	touch go
	wait_until 5s test -s status
	assert_equal "$(cat status)" 79
	grep -F "dlock: 'L' cannot be confirmed: no answer" line
	grep -F '"outcome":"lost","status":79,' report
	[ ! -e ran ]
	assert_alive "$OUTER"
}

@test "--reentrant: 79, and COMMAND does not run, while the ancestor is ending" {
	run -137 "$DLOCK" -k 5s L bash -c '
		(trap "\$DLOCK --reentrant L touch ran; echo \$? >status; exit" TERM
			touch ready; for i in {1..500}; do sleep 0.01; done) &
		for i in {1..500}; do [ -e ready ] && break; sleep 0.01; done
		kill -KILL $$'
	assert_equal "$(cat status)" 79
	[ ! -e ran ]
}

@test "--reentrant: a signal ends it while it waits for the ancestor's word (P18)" {
	# Out of a pid namespace nobody can wake the ancestor's RUNNER, which answers only when it is.
	start_dlock --ttl 120s L bash -c '
		kill -STOP "$PPID"
		unshare -pf --kill-child "$DLOCK" --reentrant L touch ran &
		echo $! >unshare
		wait $!
		echo $? >status
		kill -CONT "$PPID"
		sleep 60'
	wait_until 3s test -s unshare
	local inner=
	find_inner() { inner=$(children_of "$(cat unshare)") && [ -n "$inner" ] && state_is S "$inner"; }
	wait_until 3s find_inner
	sleep 0.2
	start_clock
	kill -TERM "$inner"
	wait_until 2s test -s status
	assert_between 0 600 "$(clock_ms)" milliseconds
	assert_equal "$(cat status)" 143
	[ ! -e ran ]
}
