-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, fence, info
-- ARGV: token, ttl in ms, mode (try, touch, look), least fence, fence mode (clock, counter),
--       not after (server time in us), record
--
-- {GRANTED, fence, now}  the lock was free and is ours now
-- {OWNED, fence, now}    it was ours already: a retry after a lost answer, or a touch
-- {BUSY, pttl, now, what stands at the key, the record of who that is}
-- {FREE, 0, now}         look and touch take nothing
-- {LATE, 0, now}         a request of a client that has given up: it takes nothing
--
-- Numbers of microseconds fit a Lua double (2^53 is the year 2255); a fence may be larger, so it
-- is only ever compared as a number, and is counted and passed on by Redis itself. The key is
-- written last: an error on the way there (no memory, a sibling of another type) takes nothing.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = string.format('%.0f', now)
local mode = ARGV[3]
if mode == 'try' and now > tonumber(ARGV[6]) then
	return {'LATE', 0, now_text}
end

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
	if string.find(holder.err, 'WRONGTYPE', 1, true) then
		local kind = redis.pcall('TYPE', KEYS[1]).ok or 'value'
		return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a lock')
	end
	return holder
end
if holder and (holder ~= ARGV[1] or mode == 'look') then
	local token = string.gsub(holder, '^dlock!done:', '')
	local record = redis.pcall('HGET', KEYS[3], token)
	if type(record) ~= 'string' then
		record = ''
	end
	return {'BUSY', redis.call('PTTL', KEYS[1]), now_text, holder, record}
end
if not holder and mode ~= 'try' then
	return {'FREE', 0, now_text}
end

local least = tonumber(ARGV[4])
local fence = holder and redis.call('GET', KEYS[2])
if not fence or not string.find(fence, '^%d+$') or tonumber(fence) < least then
	if ARGV[5] == 'clock' and now > least then
		least = now
	end
	if redis.call('INCR', KEYS[2]) < least then
		redis.call('SET', KEYS[2], string.format('%.0f', least))
	end
	fence = redis.call('GET', KEYS[2])
end

-- Thirty days without use, counted from when the clock has passed the number: from then on the
-- clock alone gives a higher one.
local month = 2592000000
if ARGV[5] == 'clock' then
	local passed = math.max(now, tonumber(fence)) / 1000
	redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', passed + month))
else
	redis.call('PERSIST', KEYS[2])
end

-- What dead holders left: nobody but us has the lock.
if not holder and redis.call('HLEN', KEYS[3]) > 0 then
	redis.call('DEL', KEYS[3])
end
if mode ~= 'touch' or not redis.call('HGET', KEYS[3], ARGV[1]) then
	redis.call('HSET', KEYS[3], ARGV[1], ARGV[7] .. 'since=' .. now_text .. '\nfence=' .. fence .. '\n')
end
redis.call('PEXPIRE', KEYS[3], month)

if holder then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return {'OWNED', fence, now_text}
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {'GRANTED', fence, now_text}
