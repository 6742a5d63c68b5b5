-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- What the scripts of a node of a quorum have in common: not a script of its own, the others include it.
--
-- KEYS: lock, rfence, info first. ARGV: token first.
--
-- rfence is NUMBER:TOKEN, the highest number that this node has accepted, and whose it is. It only
-- grows; an equal one is taken from the same token alone. Numbers are compared as the digits they are: beyond
-- 2^53 a Lua double would not tell two of them apart.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = string.format('%.0f', now)
local month = 2592000000
local token = ARGV[1]

local accepted = redis.call('GET', KEYS[2]) or ''

local function is_acceptable(number)
	local last, owner = string.match(accepted, '^(%d+):(.*)$')
	return not last or #last < #number or (#last == #number and last < number) or
		(last == number and owner == token)
end

-- Kept for thirty days without use, counted from when the clock has passed the number.
local function accept(number)
	redis.call('SET', KEYS[2], number .. ':' .. token)
	local passed = math.max(now, tonumber(number)) / 1000
	redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', passed + month))
end

local function put_record(record, since, number)
	local fence = number and 'fence=' .. number .. '\n' or ''
	redis.call('HSET', KEYS[3], token, record .. 'since=' .. since .. '\n' .. fence)
	redis.call('PEXPIRE', KEYS[3], month)
end
