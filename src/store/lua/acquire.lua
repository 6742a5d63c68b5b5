-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, fence, info, queue, members
-- ARGV: token, ttl in ms, mode (try, wait, touch, look), least fence, fence mode (clock, counter),
--       not after (server time in us), record, kind of lock (exclusive, shared, slots:N), ticket
--       (0: none yet), most waiters (-1: no limit), token of an ancestor (may be empty), under (if not
--       even a place beside the ancestor's is wanted), shard (if the waiter's channel is one of the slot's)
--
-- {GRANTED, fence, now, slot}  there was room, and the lock is ours now
-- {OWNED, fence, now, slot}    it was ours already: a waiter that was granted it confirms, or a retry
--                              after a lost answer, or a touch
-- {BUSY, ms until there may be room, now, who holds it, the record of who that is,
--  rank in line (-1: not in it), ticket (where not in it: how many wait), 1 if messages reach us}
-- {FULL, ...}                  as BUSY: so many wait already
-- {SLOTS, N, now, M}           the lock has N slots, and we say M
-- {FREE, 0, now}               look and touch take nothing
-- {LATE, 0, now}               a request of a client that has given up: it takes nothing
--
-- Numbers of microseconds fit a Lua double (2^53 is the year 2255); a fence may be larger, so it
-- is only ever compared as a number, and is counted and passed on by Redis itself. The key is
-- written last: an error on the way there (no memory, a sibling of another type) takes nothing.
--
-- The number is drawn when who is holder now says that it is there, not when it is made holder: so
-- a claim that nobody takes up uses none, and what a waiter asks of it (least fence) is met.

-- include queue.lua

local token, mode, wanted = ARGV[1], ARGV[3], ARGV[8]
local least, fence_mode, record_text = tonumber(ARGV[4]), ARGV[5], ARGV[7]

-- include holder.lua

local asks = mode == 'try' or mode == 'wait'
if asks and now > tonumber(ARGV[6]) then
	return {'LATE', 0, now_text}
end

local kind, value = read_lock()
if kind == 'error' then
	return value
end
if asks and kind == 'slots' and string.find(wanted, '^slots:') and value ~= 'dlock!' .. wanted then
	return {'SLOTS', tonumber(string.match(value, '%d+')), now_text, tonumber(string.match(wanted, '%d+'))}
end

local function is_exclusive()
	return wanted == 'exclusive'
end

-- The expiry and slot of our membership; nil: none.
local function membership()
	if value == 'dlock!' .. wanted then
		return tonumber(redis.call('ZSCORE', KEYS[5], token) or nil)
	end
end

-- Records of those who died and neither hold nor wait.
local function forget_the_dead()
	local stand = redis.call('ZCARD', KEYS[4]) + (is_exclusive() and 1 or redis.call('ZCARD', KEYS[5]))
	if redis.call('HLEN', KEYS[3]) <= stand then
		return
	end
	for _, name in ipairs(redis.call('HKEYS', KEYS[3])) do
		local owner = string.gsub(name, '^dlock!%l+:', '')
		local stays = owner == token or redis.call('ZSCORE', KEYS[4], owner)
		for _, member in ipairs(stays and {} or {owner, 'dlock!done:' .. owner, 'dlock!broken:' .. owner}) do
			stays = stays or redis.call('ZSCORE', KEYS[5], member)
		end
		if not stays then
			redis.call('HDEL', KEYS[3], name)
		end
	end
end

local function take()
	local fence = draw_fence(least, fence_mode)
	keep_fence(fence, fence_mode)
	put_record(record_text .. 'since=' .. now_text .. '\nfence=' .. fence .. '\n')
	redis.call('ZREM', KEYS[4], token)
	local slot = admit(token, wanted, tonumber(ARGV[2]))
	-- What fails from here on is not ours: we have the lock.
	pcall(forget_the_dead)
	return {'GRANTED', fence, now_text, slot}
end

-- Ours already. A number that was drawn and may not have reached us is given again, but not where
-- others may have come after us and run with a higher one.
local function confirm(expiry)
	local slot = expiry and expiry % 1 * 1024 or 0
	local ttl = tonumber(ARGV[2])
	local shortened = ttl < (expiry and expiry - now_ms or redis.call('PTTL', KEYS[1]))
	-- First: a server without memory refuses all else unless something has been written before, and then
	-- the claims of those who wait would pass unused.
	redis.call('PEXPIRE', KEYS[1], is_exclusive() and ttl or math.max(redis.call('PTTL', KEYS[1]), 3 * ttl))
	local record = record_of(token)
	local fence = record and string.match(record, '\nfence=(%d+)')
	if asks and (not fence or not is_exclusive() or tonumber(fence) < least) or not fence then
		fence = draw_fence(least, fence_mode)
		record = nil
	elseif redis.call('EXISTS', KEYS[2]) == 0 then
		redis.call('SET', KEYS[2], fence)
	end
	keep_fence(fence, fence_mode)
	if asks or not record then
		put_record(record_text .. 'since=' .. now_text .. '\nfence=' .. fence .. '\n')
	else
		redis.call('PEXPIRE', KEYS[3], month)
	end
	redis.call('ZREM', KEYS[4], token)
	if not is_exclusive() then
		write_member(token, slot, ttl)
	end
	pcall(forget_the_dead)
	if shortened then
		-- A claim was longer than the lease: who is first in line must not sleep until its end.
		pcall(serve, nil, true)
	end
	return {'OWNED', fence, now_text, slot}
end

local function stand_in_line(ticket)
	local way = ARGV[13] == 'shard' and '2' or '1'
	local hears = (count_ears(way, token) or 0) > 0 and 1 or 0
	put_record(record_text .. 'since=' .. ticket .. '\nseen=' .. now_text ..
		'\npush=' .. (hears == 1 and way or '0') .. '\n')
	redis.call('ZADD', KEYS[4], ticket, token)
	redis.call('PEXPIRE', KEYS[4], 600000)
	return hears
end

-- One whose command runs, if there is one.
local function first_member()
	local names = redis.call('ZRANGE', KEYS[5], 0, -1)
	for _, name in ipairs(names) do
		if not string.find(name, '^dlock!') then
			return name
		end
	end
	return names[1]
end

-- Who is in the way: of several one, an ancestor first, since that one will never make way.
local function describe(word, ticket, hears)
	local who = ''
	kind, value = read_lock()
	if kind == 'shared' or kind == 'slots' then
		local first = first_member()
		for _, name in ipairs({ARGV[11], 'dlock!broken:' .. token}) do
			first = redis.call('ZSCORE', KEYS[5], name) and name or first
		end
		who = first
	elseif kind ~= 'free' then
		-- Somebody else's may be longer than any answer that is read.
		who = string.sub(value, 1, 200)
	end
	local owner = who
	if who ~= 'dlock!broken:' .. token then
		owner = string.gsub(who, '^dlock!%l+:', '')
	end
	local rank = ticket and redis.call('ZRANK', KEYS[4], token)
	-- 0 to one who is not first: so many before it are dead that there is more to be done.
	return {word, (kind == 'free' or is_exhausted) and 0 or time_to_wait(wanted), now_text, who,
		record_of(owner) or '', rank or -1, rank and ticket or redis.call('ZCARD', KEYS[4]), hears or 0}
end

local function is_crowded()
	local most = tonumber(ARGV[10])
	if most < 0 or redis.call('ZCARD', KEYS[4]) < most then
		return false
	end
	local count = 0
	for _, name in ipairs(redis.call('ZRANGE', KEYS[4], 0, -1)) do
		if is_alive(name, record_of(name)) then
			count = count + 1
		else
			forget(name)
		end
	end
	return count >= most
end

local expiry = membership()
if mode ~= 'look' and (expiry or (kind == 'exclusive' and value == token)) then
	return confirm(expiry)
end
if not asks then
	return kind == 'free' and {'FREE', 0, now_text} or describe('BUSY')
end

if ARGV[12] == 'under' and (kind == 'shared' or kind == 'slots') and redis.call('ZSCORE', KEYS[5], ARGV[11]) then
	return describe('BUSY')
end

-- Nobody overtakes who has come before, and he is served first.
local ticket = mode == 'wait' and ARGV[9] ~= '0' and ARGV[9]
if mode == 'wait' and not ticket then
	-- The first answer may have been lost.
	local score = redis.call('ZSCORE', KEYS[4], token)
	ticket = score and string.format('%.0f', score)
end
local hears = ticket and stand_in_line(ticket)
local waiting = redis.call('ZCARD', KEYS[4]) > 0
if waiting and serve(token, false) or (not ticket and redis.call('ZCARD', KEYS[4]) == 0 and has_room(wanted)) then
	local granted = take()
	if waiting then
		pcall(serve, nil, true)
	end
	return granted
end
if mode == 'wait' and not ticket then
	if is_crowded() then
		return describe('FULL')
	end
	-- A number beyond those that are counted exactly is no ticket of ours.
	local last = tonumber(redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')[2] or 0)
	ticket = string.format('%.0f', last < 9e15 and math.max(now, last + 1) or now)
	hears = stand_in_line(ticket)
end
return describe('BUSY', ticket, hears)
