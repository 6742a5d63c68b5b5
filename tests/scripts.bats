#!/usr/bin/env bats
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The scripts themselves (src/store/lua): random schedules against an oracle (tests/walk), and that they
# touch no key but those that they are given.

load helpers/common
load helpers/walk

setup_file() { start_walk_server; }
teardown_file() { stop_redis; }

@test "20,000 random steps of the scripts keep what is promised" {
	needs_still_clock
	run walk --steps 20000
	assert_success
	assert_line --regexp '^[0-9]+ steps, seeds .*, all kept$'
	# A walk that never gets anywhere proves nothing.
	went_everywhere
}

@test "a flaw in a script is found" {
	needs_still_clock
	assert_flaws_found "${FLAWS[@]}"
}

@test "every command in the scripts names a key that the script was given (P93 R19)" {
	local calls count good
	# A key, one of them in a loop or as a function's argument; a channel that is named after one.
	good="KEYS\\[([1-5]|i)\\]|key\\b|lock\\b|info\\b|queue\\b|members\\b|channel_of\\(token\\)"
	good="\\(('TIME'\\)|'PUBSUB', '(SHARD)?NUMSUB', |'CLUSTER', 'SLOTS'|'[A-Z]+', ($good)[,)])"
	# SCAN finds keys, and reads none.
	good="redis.pcall\\(\\.\\.\\.\\)|redis.call\\('SCAN', cursor, |(redis\\.p?call|look)$good"
	calls=$(grep -hE "(redis\.p?call|\blook)\(" "$ROOT_DIR"/src/store/lua/*.lua | grep -v '^local function look(')
	count=$(grep -oE "(redis\.p?call|\blook)\(" <<<"$calls" | wc -l)
	[ "$count" -ge 60 ]
	run grep -oE "$good" <<<"$calls"
	[ "${#lines[@]}" -eq "$count" ] || fail "$(grep -vE "$good" <<<"$calls")"
}

@test "no script names a key beyond those that it says it has, nor does what it includes (P93 R19)" {
	local file declared most
	for file in "$ROOT_DIR"/src/store/lua/*.lua; do
		# survey.lua has four of each of several locks; holder.lua, describe.lua and rfence.lua are no scripts.
		declared=$(sed -n 's/^-- KEYS: //p' "$file")
		[[ -n $declared && $declared != none* && $declared != *several* ]] || continue
		declared=$(tr -cd , <<<"$declared" | wc -c)
		most=$("$ROOT_DIR/scripts/embed-lua" "$file" | grep -oE 'KEYS\[[0-9]+\]' | tr -cd '0-9\n' | sort -n | tail -n 1)
		[ "${most:-0}" -le $((declared + 1)) ] || fail "${file##*/}: KEYS[$most] of $((declared + 1))"
		echo "${file##*/}"
	done >checked
	# All that take keys, but for survey.lua.
	diff <(sort checked) <(printf '%s.lua\n' acquire break check confirm node_accept node_release node_take queue \
		release release_alone renew renew_alone renew_member rfence status)
}

@test "what scripts do at the server is with keys that they were given: one lock's (P93 R19)" {
	needs_still_clock
	start redis-cli -s "$REDIS_SOCK" MONITOR >monitor
	wait_until 2s grep -q OK monitor
	walk --steps 1500
	# The walk's own look at the keys declares them too.
	run "$TESTS_DIR/helpers/monitor_keys.py" lock: <monitor
	assert_success
	assert_output --regexp '^[0-9]{4} scripts, [0-9]{5} commands: .*\bpublish\b'
}

@test "a confirmation that comes too late prolongs no claim" {
	echo true >"$SERVER_CLOCK"
	redis FLUSHALL
	run -0 python3 "$TESTS_DIR/walk/late_confirm.py" "$REDIS_SOCK" "$ROOT_DIR/build/gen/lua_scripts.h"
	assert_output $'UNUSUAL as it was\nOWNED prolonged'
	redis FLUSHALL
}
