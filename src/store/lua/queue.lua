-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- What scripts that hand a lock on have in common: not a script of its own, the others include it.
--
-- KEYS: lock, fence, info, queue, members
--
-- queue: token of a waiter -> its ticket. members: token of a holder of a shared lock or of slots ->
-- when it expires, server ms, with the slot as 1024ths: such a fraction is exact in a double, and a
-- place and its number cannot get lost apart. info: token -> record; who stands in the queue without one
-- is forgotten.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = string.format('%.0f', now)
local now_ms = math.floor(now / 1000)
-- For so long a waiter that was made holder has time to say that it is there.
local claim = 3000
local month = 2592000000

-- What stands at the key: free, exclusive, shared, slots, done, broken; and its value. Or error, and
-- the answer to give. A member dies when a key would: after its last millisecond.
local function read_lock()
	local value = redis.pcall('GET', KEYS[1])
	if type(value) == 'table' then
		if string.find(value.err, 'WRONGTYPE', 1, true) then
			local kind = redis.pcall('TYPE', KEYS[1]).ok or 'value'
			value = redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a lock')
		end
		return 'error', value
	end
	if not value then
		return 'free'
	end
	local kind = string.match(value, '^dlock!(%l+)')
	if value == 'dlock!shared' or (kind == 'slots' and string.find(value, '^dlock!slots:%d+$')) then
		-- Not without need: from Redis 7.2 on a server without memory refuses nothing more once a script
		-- has sent a write, even one that changes nothing.
		local first = redis.call('ZRANGE', KEYS[5], 0, 0, 'WITHSCORES')
		if first[2] and tonumber(first[2]) < now_ms then
			redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', '(' .. string.format('%.0f', now_ms))
		end
		if redis.call('ZCARD', KEYS[5]) > 0 then
			return kind, value
		end
		redis.call('DEL', KEYS[1])
		return 'free'
	end
	if kind == 'done' or kind == 'broken' then
		return kind, value
	end
	return 'exclusive', value
end

-- May one more of that mode (exclusive, shared, slots:N) hold the lock as it is?
local function has_room(mode)
	local kind, value = read_lock()
	if kind == 'shared' then
		return mode == 'shared'
	end
	if kind == 'slots' then
		return value == 'dlock!' .. mode
			and redis.call('ZCARD', KEYS[5]) < tonumber(string.match(mode, '%d+'))
	end
	return kind == 'free'
end

-- In how many ms, if nobody does anything, there is room for that mode; as PTTL does, -1: never.
local function time_to_wait(mode)
	local kind, value = read_lock()
	if kind ~= 'shared' and kind ~= 'slots' then
		return redis.call('PTTL', KEYS[1])
	end
	local which = value == 'dlock!' .. mode and 0 or -1
	local member = redis.call('ZRANGE', KEYS[5], which, which, 'WITHSCORES')
	return math.max(0, math.floor(member[2]) - now_ms)
end

-- The smallest slot that no member has.
local function free_slot()
	local taken, slot = {}, 0
	local members = redis.call('ZRANGE', KEYS[5], 0, -1, 'WITHSCORES')
	for i = 2, #members, 2 do
		local score = tonumber(members[i])
		if score < 9e15 then
			taken[score % 1 * 1024] = true
		end
	end
	while taken[slot] do
		slot = slot + 1
	end
	return slot
end

local function expire_no_sooner(key, ms)
	if redis.call('PTTL', key) < ms then
		redis.call('PEXPIRE', key, ms)
	end
end

-- Writes a member that expires in `ms`, and sees to it that key and set outlive it: by twice its
-- time, so that while a cluster moves the slot the set alone can be renewed.
local function write_member(name, slot, ms)
	redis.call('ZADD', KEYS[5], string.format('%.17g', now_ms + ms + slot / 1024), name)
	expire_no_sooner(KEYS[5], 3 * ms)
	expire_no_sooner(KEYS[1], 3 * ms)
end

-- Makes it a holder for `ms`; there is room. The key is written last. Returns its slot.
local function admit(token, mode, ms)
	local kind = read_lock()
	if kind == 'free' then
		-- Members without a key above them count for nothing.
		redis.call('DEL', KEYS[5])
	end
	if mode == 'exclusive' then
		redis.call('SET', KEYS[1], token, 'PX', ms)
		return 0
	end
	local slot = mode == 'shared' and 0 or free_slot()
	write_member(token, slot, ms)
	if kind == 'free' then
		redis.call('SET', KEYS[1], 'dlock!' .. mode, 'PX', 3 * ms)
	end
	return slot
end

local function record_of(token)
	local record = redis.pcall('HGET', KEYS[3], token)
	return type(record) == 'string' and record or nil
end

local function forget(token)
	redis.call('ZREM', KEYS[4], token)
	redis.pcall('HDEL', KEYS[3], token)
end

-- The ms since a waiter was heard of; none if it is forgotten.
local function silent_for(record)
	local seen = record and string.match(record, '\nseen=(%d+)')
	return seen and (now - seen) / 1000
end

local function channel_of(token)
	return KEYS[4] .. ':' .. token
end

-- How a waiter can be told, by its record: on its channel (1), which in a cluster belongs to the lock's slot
-- (2), or not at all (nil).
local function way_to(record)
	return string.match(record, '\npush=([12])\n')
end

-- How many hear what is said there, or why that is not known.
local function count_ears(way, token)
	local counts
	if way == '2' then
		counts = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel_of(token))
	else
		counts = redis.pcall('PUBSUB', 'NUMSUB', channel_of(token))
	end
	return tonumber(counts[2])
end

-- Is this waiter to be believed alive? A link that listens to its channel is. One that cannot be
-- reached by messages asks often. And who has said nothing for long has gone, whatever the server
-- thinks of its link.
local function is_alive(token, record)
	local silent = silent_for(record)
	if not silent or silent > 150000 then
		return false
	end
	local way = way_to(record)
	return not way and silent <= claim or way and count_ears(way, token) ~= 0
end

-- Sends a waiter a message. False: it is known that nobody heard it. (Where publishing is not
-- permitted, nothing is known.)
local function tell(token, record, text)
	local silent = silent_for(record)
	local way = way_to(record)
	if not silent or silent > (way and 150000 or claim) then
		return false
	end
	if way == '2' then
		return redis.pcall('SPUBLISH', channel_of(token), text) ~= 0
	end
	return redis.pcall('PUBLISH', channel_of(token), text) ~= 0 or not way
end

-- Makes holders of those who are first in line, as far as there is room, and passes over the dead:
-- PUBLISH returns how many have heard it. Who is first after that is told how long it may take, when
-- it was not first before (`moved`). Ends before `me`, the waiter that is asking: true, it is its turn.
-- After 1,000 dead it has done enough for one script.
local is_exhausted = false

local function serve(me, moved)
	for _ = 1, 1000 do
		local token = redis.call('ZRANGE', KEYS[4], 0, 0)[1]
		if not token then
			return false
		end
		local record = record_of(token)
		local mode = record and string.match(record, '\nmode=([^\n]+)')
		if mode ~= 'exclusive' and mode ~= 'shared' and not string.find(mode or '', '^slots:%d+$') then
			mode = nil
		end
		if token == me then
			return has_room(mode)
		end
		if mode and has_room(mode) then
			if tell(token, record, 'G') then
				redis.call('ZREM', KEYS[4], token)
				admit(token, mode, claim)
			else
				forget(token)
			end
		elseif mode and moved and tell(token, record, 'H:' .. time_to_wait(mode)) then
			return false
		elseif mode and not moved and is_alive(token, record) then
			return false
		else
			forget(token)
		end
		moved = true
	end
	is_exhausted = true
	return false
end
