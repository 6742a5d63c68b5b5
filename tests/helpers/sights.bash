#!/usr/bin/env bash
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# What --status, --list and --break are to show, put on the server without a process for each, and
# what they print as JSON.
#
#   make_waiters NAME N           N waiters in line, of whom the server has just heard: w1, w2, ...
#   make_members NAME MARKER N    N holders of a shared lock (dlock!shared) or of slots: m0, m1, ...
#   shown EXPRESSION              $output is JSON as dlock(1) has it, and EXPRESSION is true of it

queue_key_of() {
	echo "lock:$1#queue{lock:$1}"
}

members_key_of() {
	echo "lock:$1#members{lock:$1}"
}

# Their `seen` is in the future, so that they do not grow old while the test runs.
make_waiters() {
	redis EVAL "
		local now = redis.call('TIME')[1] * 1000000
		for i = 1, ARGV[1] do
			redis.call('ZADD', KEYS[1], string.format('%.0f', now + i), 'w' .. i)
			redis.call('HSET', KEYS[2], 'w' .. i, 'host=h' .. i .. '\npid=' .. i ..
				'\nuser=u\ncommand=c\nmode=exclusive\nsince=' .. string.format('%.0f', now - 60000000) ..
				'\nseen=' .. string.format('%.0f', now + 600000000) .. '\npush=0\n')
		end
		for _, key in ipairs(KEYS) do
			redis.call('PEXPIRE', key, 600000)
		end" 2 "$(queue_key_of "$1")" "$(info_key_of "$1")" "$2" >/dev/null
}

# They expire after 60 s, a second apart: the last one first.
make_members() {
	redis EVAL "
		local time = redis.call('TIME')
		local now = time[1] * 1000000 + time[2]
		redis.call('SET', KEYS[1], ARGV[1], 'PX', 180000)
		for i = 0, ARGV[2] - 1 do
			local slot = ARGV[1] == 'dlock!shared' and 0 or i
			redis.call('ZADD', KEYS[2], string.format('%.17g', math.floor(now / 1000) + 60000 - i + slot / 1024),
				'm' .. i)
			redis.call('HSET', KEYS[3], 'm' .. i, 'host=h' .. i .. '\npid=' .. (i + 1) ..
				'\nuser=u\ncommand=c\nmode=' .. string.sub(ARGV[1], 7) .. '\nsince=' ..
				string.format('%.0f', now - 60000000) .. '\nfence=' .. (i + 1) .. '\n')
		end
		redis.call('PEXPIRE', KEYS[2], 180000)
		redis.call('PEXPIRE', KEYS[3], 600000)" 3 "$(key_of "$1")" "$(members_key_of "$1")" "$(info_key_of "$1")" "$2" "$3" >/dev/null
}

shown() {
	# shellcheck disable=SC2154 # set by run
	/usr/bin/python3 "$TESTS_DIR/helpers/lock_json.py" "$ROOT_DIR/man/dlock.1" "$1" <<<"$output"
}
