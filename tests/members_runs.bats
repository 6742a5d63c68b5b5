#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The options of a run with -s and --slots, and dlocks inside each other: what one member does is its
# own business, as far as it can be.
#
# shellcheck disable=SC2016,SC2030,SC2031,SC2154,SC2086 # dollars for the shell inside; `how` is an option and its value

load helpers/common
load helpers/shared

setup_file() { start_redis; }
teardown_file() { stop_redis; }
setup() { shared_setup; }

# --- --at-least ---

@test "--at-least, shared: dlock returns at once, the others may share, a writer may not" {
	local token
	enter a -s
	start_clock
	run -3 dlock -s --at-least 1500ms job sh -c 'echo "$DLOCK_TOKEN"; exit 3'
	assert_between 0 1400 "$(clock_ms)" "milliseconds"
	token=$output
	run -1 is_member "$token"
	is_member "dlock!done:$token"
	leave a
	# Nobody works any more, and yet it is held.
	[ "$(redis GET lock:job)" = 'dlock!shared' ]
	conflict
	assert_output --partial "finished, held until "
	run -0 dlock -n -s job true
	queue w
	wait_until 5s is_in w
	assert_between 1400 4500 "$(clock_ms)" "milliseconds until the writer had it"
	leave w
	no_trace
}

@test "--at-least, slots: the slot stays taken for so long, and no longer" {
	enter a --slots 2
	start_clock
	run -0 dlock --slots 2 --at-least 1500ms job sh -c 'echo "$DLOCK_SLOT"'
	assert_output 1
	conflict --slots 2
	queue b --slots 2
	wait_until 5s is_in b
	assert_between 1400 4000 "$(clock_ms)" "milliseconds until the slot was free"
	[ "$(slot_of b)" = 1 ]
	leave a
	leave b
	no_trace
}

@test "--at-least longer than the TTL: the key lasts as long as the last of them, and what is kept ends by itself" {
	local how
	for how in -s '--slots 3'; do
		run -0 dlock $how -t 1s -k 100ms --at-least 60s job true
		assert_between 55000 60000 "$(redis PTTL lock:job)" "PTTL of the key"
		run -0 dlock $how -t 2s job true
		assert_between 50000 60000 "$(redis PTTL lock:job)" "PTTL of the key"
		run -0 dlock $how -t 1s -k 100ms --at-least 1s job true
		assert_between 50000 60000 "$(redis PTTL lock:job)" "PTTL of the key"
		assert_between 50000 62000 "$(redis PTTL "$(members_key_of job)")" "PTTL of the members"
		redis FLUSHALL
		run -0 dlock $how -t 30s --at-least 1s job true
		assert_between 100 1000 "$(redis PTTL lock:job)" "PTTL of the key"
		wait_until 3s free job
		no_trace
	done
}

# --- ends ---

@test "--max-hold ends one member, and the others go on" {
	local how
	for how in -s '--slots 2'; do
		enter a $how
		run -124 dlock $how --max-hold 300ms job sleep 60
		members_are 1
		undisturbed a
		leave a
		no_trace
	done
}

@test "a member's statuses: COMMAND's own, a death by signal, not found; its place is free afterwards" {
	local how
	for how in -s '--slots 2'; do
		run -7 dlock $how job sh -c 'exit 7'
		no_trace
		run -143 dlock $how job sh -c 'kill -TERM $$'
		no_trace
		run -127 dlock $how job no-such-command
		free job
		run -126 dlock $how job /etc/passwd
		free job
	done
}

@test "kill -9 of a member's dlock alone frees its place at once" {
	local how
	for how in -s '--slots 2'; do
		enter a $how
		enter b $how
		kill -KILL "${OUTERS[a]}"
		disown "${OUTERS[a]}" || true
		wait_until 3s members_are 1
		is_member "$(token_of b)"
		undisturbed b
		leave b
		no_trace
	done
}

@test "-E, -q and --max-waiters as ever" {
	enter w
	run -9 dlock -n -s -E 9 job true
	run -0 dlock -n --slots 2 -q -E 0 job touch ran
	[ -z "$output" ]
	queue a -s
	run -75 dlock -n -s job touch ran
	assert_output --regexp "^dlock: 'job' is held by .*, and 1 waits\$"
	run -75 dlock --max-waiters 1 -s job touch ran
	assert_output --regexp "^dlock: 'job' is held by .*, and 1 waits already\$"
	run -75 dlock --max-waiters 1 --slots 2 job touch ran
	[ ! -e ran ]
	leave w
	wait_until 2s is_in a
	leave a
}

@test "--min-fence and --fence counter, shared and slots" {
	run dlock --fence counter -s job sh -c 'echo "$DLOCK_FENCE"'
	assert_output 1
	run dlock --fence counter --slots 2 job sh -c 'echo "$DLOCK_FENCE"'
	assert_output 2
	run dlock --fence counter -s --min-fence 41 job sh -c 'echo "$DLOCK_FENCE"'
	assert_output 42
	run dlock --fence counter job sh -c 'echo "$DLOCK_FENCE"'
	assert_output 43
	enter a --slots 2 --min-fence 8000000000000000
	enter b --slots 2
	[ "$(fence_of a) $(fence_of b)" = '8000000000000001 8000000000000002' ]
	leave a
	leave b
}

@test "--held, shared and slots: yes while it is a member, 79 when it is not" {
	local how
	cat >ask <<-'END'
		"$DLOCK" --held || exit 1
		"$DLOCK" --held job || exit 2
		redis-cli -s "$REDIS_SOCK" ZREM "$DLOCK_KEY#members{$DLOCK_KEY}" "$DLOCK_TOKEN" >/dev/null
		trap "" TERM
		"$DLOCK" --held
		echo $? >said
	END
	for how in -s '--slots 2'; do
		enter a $how
		rm -f said
		run -79 dlock $how job sh ask
		[ "$(<said)" = 79 ]
		undisturbed a
		leave a
	done
}

@test "--report of a member" {
	run -0 dlock -s --report r job sh -c 'echo "$DLOCK_FENCE"'
	grep -qF '"outcome":"ran","status":0,' r
	grep -qF "\"fence\":\"$output\"" r
	rm r
	run -3 dlock --slots 2 --report r job sh -c 'exit 3'
	grep -qF '"outcome":"ran","status":3,' r
	rm r
	enter a --slots 2
	run -75 dlock -n -s --report r job true
	grep -qF '"outcome":"conflict","status":75,' r
	rm r
	run -69 dlock -n --slots 17 --report r job true
	grep -qF '"status":69,' r
	leave a
}

@test "--descendants wait and kill, and a lost member's whole tree" {
	local nap
	nap=$(unique_sleep)
	enter a -s
	run -0 dlock -q -s --descendants kill job sh -c "sleep $nap & echo started"
	argv_gone "$nap"
	members_are 1
	start_dlock -s -t 1s -k 100ms job sh -c "setsid sleep $nap & sleep $nap"
	wait_until 3s argv_count "$nap" 2
	redis ZREMRANGEBYSCORE "$(members_key_of job)" -inf $(($(server_ms) + 5000))
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 79 ]
	argv_gone "$nap"
	undisturbed a
	leave a
	no_trace
}

# --- inside each other ---

ABOVE="is held by the dlock above, root@"

@test "shared inside shared, when nobody waits: both are members" {
	run -0 dlock -s job "$DLOCK" -n -s job sh -c 'redis-cli -s "$REDIS_SOCK" ZCARD "$DLOCK_KEY#members{$DLOCK_KEY}"'
	assert_output 2
	no_trace
	run -0 dlock -s job "$DLOCK" -s job "$DLOCK" -s job echo ran
	assert_output ran
	no_trace
}

@test "slots inside slots: as long as there is one, then refused" {
	run -0 dlock --slots 2 job "$DLOCK" --slots 2 job printenv DLOCK_SLOT
	assert_output 1
	run -75 dlock --slots 1 job "$DLOCK" --slots 1 job touch ran
	assert_output --partial "$ABOVE"
	run -75 dlock --slots 2 job "$DLOCK" --slots 2 job "$DLOCK" -w 30 --slots 2 job touch ran
	assert_output --partial "$ABOVE"
	[ ! -e ran ]
	no_trace
}

@test "what would wait for its own ancestor is refused at once: exclusive in shared, shared in exclusive and the rest" {
	local outer inner
	for outer in -x -s '--slots 2'; do
		for inner in -x -s '--slots 2'; do
			[ "$outer" != "$inner" ] || [ "$outer" = -x ] || continue
			start_clock
			run --separate-stderr dlock $outer job "$DLOCK" -w 30 $inner job touch ran
			[ "$status" -eq 75 ] || fail "$inner in $outer: $status: $stderr"
			assert_between 0 3000 "$(clock_ms)" "milliseconds, $inner in $outer"
			[ "${#stderr_lines[@]}" -eq 1 ] || fail "$inner in $outer: $stderr"
			[[ $stderr == "dlock: 'job' $ABOVE"*"waiting for it would never end"* ]] ||
				fail "$inner in $outer: $stderr"
			no_trace
		done
	done
	[ ! -e ran ]
}

@test "an ancestor among other members is recognised too" {
	enter a -s
	enter b -s
	run -75 dlock -s job "$DLOCK" -w 30 job touch ran
	assert_output --partial "$ABOVE"
	waiting_are 0
	[ ! -e ran ]
	leave a
	leave b
	no_trace
}

@test "shared inside shared with a writer in line would wait for itself: refused, at once" {
	start_dlock -s job sh -c 'echo in >in.outer
		until [ -e go ]; do sleep 0.02; done
		"$DLOCK" -w 30 -s job touch ran 2>inner
		echo $? >status'
	wait_until 3s test -s in.outer
	queue w
	start_clock
	touch go
	wait_until 5s test -s status
	assert_between 0 3000 "$(clock_ms)" "milliseconds"
	[ "$(<status)" = 75 ]
	grep -qF "$ABOVE" inner
	[ ! -e ran ]
	wait_until 2s is_in w
	leave w
	no_trace
}

@test "--reentrant, shared and slots: no place is taken beside the ancestor's, though there is room" {
	local how
	for how in -s '--slots 2'; do
		run -0 dlock $how job "$DLOCK" --reentrant $how job sh -c '
			echo "$DLOCK_SLOT" $(redis-cli -s "$REDIS_SOCK" ZCARD "$DLOCK_KEY#members{$DLOCK_KEY}")'
		[ "${output##* }" = 1 ] || fail "$how: $output"
		[ "$how" = -s ] || [ "$output" = '0 1' ] || fail "$how: $output"
		no_trace
	done
	# Whose DLOCK_HELD comes from elsewhere has a place of its own.
	enter a -s
	start_dlock -s job sh -c 'echo "$DLOCK_HELD" >value; until [ -e go ]; do sleep 0.02; done'
	wait_until 3s test -s value
	run -0 env DLOCK_HELD="$(<value)" "$DLOCK" -w 3 --reentrant -s job sh -c '
		redis-cli -s "$REDIS_SOCK" ZCARD "$DLOCK_KEY#members{$DLOCK_KEY}"'
	assert_output 3
	touch go
	exit_status_of "$OUTER"
	[ "$STATUS" -eq 0 ]
	leave a
	no_trace
}

@test "--reentrant, shared and slots: COMMAND runs under the ancestor's place, also when a writer waits" {
	local how
	for how in -s '--slots 1' '--slots 2'; do
		rm -f go in.outer inner
		start_dlock $how job sh -c 'echo "$DLOCK_TOKEN $DLOCK_FENCE ${DLOCK_SLOT-none}" >in.outer
			until [ -e go ]; do sleep 0.02; done
			HOW=$0
			"$DLOCK" other "$DLOCK" -w 30 $HOW --reentrant job sh -c '\''
				echo "$DLOCK_TOKEN $DLOCK_FENCE ${DLOCK_SLOT-none}"; "$DLOCK" --held job'\'' >inner' "$how"
		wait_until 3s test -s in.outer
		queue w
		touch go
		exit_status_of "$OUTER"
		[ "$STATUS" -eq 0 ] || fail "$how: $STATUS"
		diff in.outer inner
		wait_until 2s is_in w
		leave w
	done
}

@test "--reentrant: a shared lock above, or slots, is no cover for exclusive work; an exclusive one is for any" {
	local how
	for how in -s '--slots 2'; do
		run -75 --separate-stderr dlock $how job "$DLOCK" --reentrant job touch ran
		[[ $stderr == *'but not as it is wanted here'* ]] || fail "$stderr"
		[ ! -e ran ]
		run -0 dlock job "$DLOCK" --reentrant $how job echo covered
		assert_output covered
	done
	run -75 --separate-stderr dlock -s job "$DLOCK" --reentrant --slots 2 job touch ran
	[ ! -e ran ]
	no_trace
}
