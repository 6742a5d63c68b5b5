#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# The random walk of the scripts (tests/walk), on a server whose clock is the walk's. A flaw is a change
# of one script: FILE TEXT REPLACEMENT, in that file once; what the walk must notice.
#
# shellcheck disable=SC2034,SC2154 # variables are for the caller, or from bats

FLAWS=(
	"acquire.lua|now > tonumber(ARGV[6])|false"
	"acquire.lua|redis.call('ZCARD', KEYS[4]) == 0 and has_room(wanted)|has_room(wanted)"
	"queue.lua|while taken[slot] do|while false do"
	"release.lua|hand_on(rank == 0)|"
)
# What `make check-long` has time for.
MORE_FLAWS=(
	"acquire.lua|ticket = score and string.format('%.0f', score)|"
	"acquire.lua|redis.call('PEXPIRE', KEYS[4], 600000)|"
	"confirm.lua|redis.pcall('GET', KEYS[1]) == token|true"
	"confirm.lua|and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2])|"
	"confirm.lua|redis.call('PEXPIRE', KEYS[1], ARGV[2])|"
	"holder.lua|if redis.call('INCR', KEYS[2]) < least then|if true then"
	"acquire.lua|if shortened then|if false then"
	"acquire.lua|and value ~= 'dlock!' .. wanted then|and false then"
	"acquire.lua|count >= most|count > most"
	"queue.lua|and redis.call('ZCARD', KEYS[5]) < tonumber(string.match(mode, '%d+'))|"
	"queue.lua|expire_no_sooner(KEYS[1], 3 * ms)|"
	"queue.lua|if tell(token, record, 'G') then|if true then"
	"queue.lua|'H:' .. time_to_wait(mode)|'H:9999'"
	"queue.lua|not way and silent <= claim|false"
	"queue.lua|redis.pcall('SPUBLISH', channel_of(token), text) ~= 0|true"
	"release.lua|elseif value == token or value == 'dlock!broken:' .. token then|elseif kind == 'exclusive' then"
	"release.lua|write_member('dlock!done:' .. token, slot, rest)|"
	"renew.lua|if holder == ARGV[1] then|if holder then"
	"renew_member.lua|math.floor(score) < now_ms|false"
	"renew_member.lua|math.max(redis.call('PTTL', key), 3 * ARGV[2])|ARGV[2]"
)

# The walk's clock stands still until it is set. Valkey 9 asks for the time once a millisecond, and adds what has
# gone by on the processor's own counter.
has_still_clock() {
	! server_has 9.0 || [ "$SERVER_PRODUCT" != Valkey ]
}

needs_still_clock() {
	has_still_clock || skip "the clock of $SERVER_PRODUCT ${SERVER_VERSION%% *} cannot be made to stand still"
}

start_walk_server() {
	export SERVER_CLOCK=$BATS_FILE_TMPDIR/clock
	echo true >"$SERVER_CLOCK"
	LD_PRELOAD=$TOOLS/server_clock_preload.so start_redis --port 0
}

# walk ARG...: with the scripts of this tree, or those of copy_scripts.
walk() {
	"$TESTS_DIR/walk/walk" --socket "$REDIS_SOCK" --clock "$SERVER_CLOCK" \
		--scripts "${WALK_SCRIPTS:-$ROOT_DIR/build/gen/lua_scripts.h}" "$@"
}

copy_scripts() {
	cp -r "$ROOT_DIR/src/store/lua" "$WORK/sound"
}

# assert_flaws_found FLAW...: the walk notices each of them. 100,000 steps are many times what it takes.
assert_flaws_found() {
	local flaw
	copy_scripts
	for flaw; do
		put_flaw "$flaw"
		run walk --steps 100000
		[ "$status" -eq 1 ] || fail "not found: $flaw: $output"
		assert_line --regexp '^seed [0-9]+: '
		echo "$flaw: ${lines[-1]}"
	done
}

# put_flaw FLAW: WALK_SCRIPTS are those of copy_scripts with this flaw.
put_flaw() {
	local file text replacement
	IFS='|' read -r file text replacement <<<"$1"
	rm -rf "$WORK/flawed"
	cp -r "$WORK/sound" "$WORK/flawed"
	FLAW_TEXT=$text FLAW_REPLACEMENT=$replacement python3 - "$WORK/flawed/$file" <<-'END' || return
		import os, sys
		script = open(sys.argv[1]).read()
		text = os.environ["FLAW_TEXT"]
		if script.count(text) != 1:
		    sys.exit("%s has not once: %s" % (sys.argv[1], text))
		open(sys.argv[1], "w").write(script.replace(text, os.environ["FLAW_REPLACEMENT"]))
	END
	"$ROOT_DIR/scripts/embed-lua" "$WORK"/flawed/*.lua >"$WORK/flawed.h"
	WALK_SCRIPTS=$WORK/flawed.h
}

# What a walk must have met at least twenty times each; from its last line but one, in $output.
went_everywhere() {
	local what count
	for what in GRANTED OWNED BUSY FREE FULL SLOTS LATE UNUSUAL hand-on first-now {asked,served}-{exclusive,shared,slots} \
		try wait confirm touch renew release leave vanish cut stop ghost break foreign flushall del sharded; do
		count=$(grep -oE "(^| )$what=[0-9]+" <<<"$output" | cut -d = -f 2)
		[ "${count:-0}" -ge 20 ] || fail "only ${count:-0} times: $what"
	done
}
