#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What every engine does, in one table: the same cases, word for word, wherever a lock may live. tests/engines.bats
# runs them at a Redis and at PostgreSQL, tests/long/engines.bats through Sentinel and in a cluster.
#
#   on_every_engine CASE       with DLOCK_SERVER at each of ENGINES, and a lock of its own in JOB. Where they are
#                              URL_OF_redis, URL_OF_postgres and so on say.
#
# shellcheck disable=SC2034,SC2154 # variables are for the caller, or of bats

on_every_engine() {
	local engine
	for engine in $ENGINES; do
		echo "# at $engine"
		mkdir "$WORK/$engine"
		cd "$WORK/$engine" || return 1
		JOB=$1-$engine
		: >"$DLOCK_LOG"
		local url=URL_OF_$engine
		export DLOCK_SERVER=${!url}
		"$1" "$engine" # not in a condition: each of its commands may fail the test
	done
}

# is_state STATE: what --status says of JOB.
is_state() {
	[ "$("$DLOCK" --status --json "$JOB" | jq_state)" = "$1" ]
}

jq_state() {
	python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["state"])'
}

# field EXPRESSION: of the first object of a report on stdin, which is `lock`.
field() {
	python3 -c 'import json, sys; lock = json.load(sys.stdin)[0]; print(eval(sys.argv[1]))' "$1"
}

ends_with() {
	local status=0
	wait "$2" || status=$?
	[ "$status" = "$1" ] || { echo "status $status, not $1" >&2; return 1; }
}

exclusive() {
	start_dlock --label mine "$JOB" sleep 71
	wait_until 5s is_state held
	run -75 dlock -n "$JOB" touch ran
	assert_output --regexp "^dlock: '$JOB' is held by [^ ]+@[^ ]+ pid $OUTER sleep, for [0-9.]+s, label mine\$"
	run -75 dlock -w .2 "$JOB" touch ran
	run -3 dlock -n -E 3 -q "$JOB" touch ran
	assert_output ''
	[ ! -e ran ]
	kill "$OUTER"
	ends_with 143 "$OUTER"
	run -0 dlock -n "$JOB" true
}

status_and_fence() {
	local last=0
	for _ in 1 2 3; do
		run -7 dlock "$JOB" sh -c 'echo "$DLOCK_FENCE $DLOCK_NAME $DLOCK_KEY ${DLOCK_TOKEN:?} ${DLOCK_HELD:?}" | cut -d" " -f 1-3; exit 7'
		[[ "$output" == *" $JOB lock:$JOB" ]]
		[ "${output%% *}" -gt "$last" ]
		last=${output%% *}
	done
	run -0 dlock --min-fence "$((last - 1))" "$JOB" sh -c 'echo $DLOCK_FENCE'
	[ "$output" -gt "$last" ]
}

waiting() {
	start_dlock "$JOB" sh -c 'while [ ! -e go ]; do sleep .1; done'
	wait_until 5s is_state held
	start "$DLOCK" -w 60 "$JOB" sh -c 'echo mine >mine'
	local waiter=$STARTED
	wait_until 5s waits 1
	touch go
	wait_until 5s test -s mine
	ends_with 0 "$waiter"
	start_dlock "$JOB" sleep 71
	wait_until 5s is_state held
	start "$DLOCK" -w 60 "$JOB" true
	waiter=$STARTED
	wait_until 5s waits 1
	run -75 dlock --max-waiters 1 "$JOB" true
	assert_output --partial 'and 1 waits'
	kill "$waiter"
	ends_with 143 "$waiter"
	wait_until 3s waits 0
	kill "$OUTER"
	ends_with 143 "$OUTER"
}

waits() {
	[ "$("$DLOCK" --status --json "$JOB" | field 'len(lock["waiters"])')" = "$1" ]
}

several() {
	start_dlock -s "$JOB" sleep 71
	local reader=$OUTER
	wait_until 5s is_state shared
	run -0 dlock -n -s "$JOB" true
	run -75 dlock -n "$JOB" true
	kill "$reader"
	ends_with 143 "$reader"
	start_dlock --slots 2 "$JOB" sh -c 'echo $DLOCK_SLOT >slot; exec sleep 71'
	reader=$OUTER
	wait_until 5s is_state slots
	run -0 dlock -n --slots 2 "$JOB" sh -c 'echo $DLOCK_SLOT; dlock=$1; "$dlock" -n --slots 2 -q "$2" true; echo $?' sh "$DLOCK" "$JOB"
	wait_until 3s test -s slot
	[ "$(printf '%s\n' "$(cat slot)" "${lines[0]}" | sort | paste -sd' ')" = '0 1' ]
	run -75 dlock -n "$JOB" true
	run -69 dlock -n --slots 3 "$JOB" true
	assert_output --partial 'must give the same --slots'
	run -75 dlock -n -s "$JOB" true
	kill "$reader"
	ends_with 143 "$reader"
	run -0 dlock -n "$JOB" true
}

reports() {
	run -1 dlock --status "$JOB"
	assert_output "$JOB: free"
	start_dlock -t 3s --label mine "$JOB" sleep 71
	wait_until 5s is_state held
	run -0 dlock --status "$JOB"
	assert_output --regexp "^$JOB: held by [^ ]+@[^ ]+ pid $OUTER sleep, for [0-9.]+s, label mine, fence [0-9]+"
	run -0 dlock --list "$JOB*"
	assert_output --regexp "^$JOB  held     [^ ]+@[^ ]+ pid $OUTER sleep, for [0-9.]+s, label mine, fence [0-9]+"
	[ "${#lines[@]}" = 1 ]
	run -0 dlock --list 'other*'
	assert_output ''
	run -0 dlock --list --json 'other*'
	assert_output '[]'
	local holder
	holder=$("$DLOCK" --status --json "$JOB" | field 'sorted(lock["holders"][0])')
	[ "$holder" = "['broken_by', 'command', 'fence', 'host', 'label', 'mode', 'pid', 'since', 'slot', 'state', 'token', 'ttl_ms', 'user']" ]
	[ "$("$DLOCK" --status --json "$JOB" | field '[lock["holders"][0][x] for x in ("command", "label", "mode", "pid", "state")]')" = \
		"['sleep', 'mine', 'exclusive', $OUTER, 'held']" ]
	run -1 dlock --break --token none "$JOB"
	assert_output --partial "is not held by token 'none'"
	run -0 dlock --break --json --token "$("$DLOCK" --status --json "$JOB" | field 'lock["holders"][0]["token"]')" "$JOB"
	[ "$(grep '^\[' <<<"$output" | field '[lock["result"], lock["taken"], lock["taken_from"][0]["pid"]]')" = "['broken', 1, $OUTER]" ]
	assert_output --partial "broke '$JOB', held by"
	# The one at its next renewal, the other at once.
	ends_with_loss
	wait_until 5s is_state free
	run -1 dlock --break "$JOB"
	assert_output --partial "'$JOB' is free: there is nothing to break"
}

ends_with_loss() {
	poll_for 5000 gone "$OUTER"
	ends_with 79 "$OUTER"
	grep -q "lost '$JOB'" "$DLOCK_LOG"
}

inside() {
	run -0 dlock "$JOB" sh -c '"$1" --held && "$1" --held "$2" && "$1" --reentrant "$2" sh -c "echo \$DLOCK_FENCE" && "$1" -n "$2" true; echo $?' sh "$DLOCK" "$JOB"
	[[ "${lines[0]}" =~ ^[0-9]+$ ]]
	assert_line --partial 'is held by the dlock above'
	assert_line 75
}

report() {
	run -0 dlock --report out "$JOB" true
	run -75 dlock -n --report out "$JOB" "$DLOCK" -n --report out "$JOB" true
	python3 - out "$JOB" <<-'PYTHON'
		import json, sys
		rows = [json.loads(line) for line in open(sys.argv[1])]
		assert [row["outcome"] for row in rows] == ["ran", "conflict", "ran"], rows
		assert [row["status"] for row in rows] == [0, 75, 75], rows
		assert int(rows[2]["fence"]) > int(rows[0]["fence"]), rows
		assert rows[0]["key"] == "lock:" + sys.argv[2], rows
		assert "127.0.0.1" in rows[0]["server"], rows
	PYTHON
}

check() {
	run -0 dlock --check
	assert_output --regexp 'works: locks, waiting, messages'
	assert_output --regexp 'verdict: (good|works but)'
	run -0 dlock --check --json
	[ "$(field '[f["feature"] for f in lock["features"] if f["works"] is False]' <<<"$output")" = '[]' ]
	run -0 dlock --list 'dlock-check-*'
	assert_output ''
}

unreachable() {
	local url=redis://127.0.0.1:1
	[ "$1" != postgres ] || url=postgresql://127.0.0.1:1/
	run -69 dlock -S "$url" "$JOB" touch ran
	assert_output --partial 'Connection refused'
	run -0 dlock -S "$url" --if-unreachable skip "$JOB" touch ran
	[ ! -e ran ]
	run -0 dlock -S "$url" --if-unreachable run "$JOB" sh -c 'echo "${DLOCK_UNLOCKED:-} ${DLOCK_FENCE:-none}"'
	assert_line '1 none'
	run -69 dlock -S "$url" --status "$JOB"
	run -69 dlock -S "$url" --check
	assert_line --partial 'reached: no: '
}
