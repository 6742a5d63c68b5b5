-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, fence, info, queue
-- ARGV: token, ttl in ms, least fence, fence mode (clock, counter),
--       not after (server time in us), record
--
-- {OWNED, fence, now, 0}    as acquire.lua: a waiter that was made holder of an exclusive lock confirms
-- {UNUSUAL, 0, now}         nothing was done: acquire.lua knows what to do
--
-- What acquire.lua does in the usual case, and in a tenth of its text: the next command waits for this.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = string.format('%.0f', now)
local month = 2592000000
local token = ARGV[1]

-- include holder.lua

local record = redis.pcall('HGET', KEYS[3], token)
-- Too late it would prolong a claim that nobody takes up any more.
local usual = now <= tonumber(ARGV[5])
	and redis.pcall('GET', KEYS[1]) == token
	and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2])
	and type(record) == 'string' and not string.find(record, '\nfence=', 1, true)
	and redis.call('HLEN', KEYS[3]) == redis.call('ZCARD', KEYS[4]) + 1
if not usual then
	return {'UNUSUAL', 0, now_text}
end
-- First: see acquire.lua.
redis.call('PEXPIRE', KEYS[1], ARGV[2])
local fence = draw_fence(tonumber(ARGV[3]), ARGV[4])
keep_fence(fence, ARGV[4])
put_record(ARGV[6] .. 'since=' .. now_text .. '\nfence=' .. fence .. '\n')
return {'OWNED', fence, now_text, 0}
