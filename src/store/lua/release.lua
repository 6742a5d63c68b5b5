-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, fence, info, queue, members
-- ARGV: token, rest in ms: how long the lock is still to be kept, 0: free it now
-- 1: done; 0: it was gone; -1: it is another's, and is not touched. A waiter leaves the line.
--
-- What was broken (dlock --break) is its holder's until he gives it back here: then nothing of his runs
-- any more. Handing on comes last, and its failure is not ours: then the waiters find out.

-- include queue.lua

local token, rest = ARGV[1], tonumber(ARGV[2])
local kind, value = read_lock()
if kind == 'error' then
	return string.find(value.err, 'WRONGTYPE', 1, true) and -1 or value
end

local function hand_on(moved)
	redis.pcall('HDEL', KEYS[3], token, 'dlock!broken:' .. token)
	pcall(serve, nil, moved)
	-- What is left there when nobody is, is of those who died.
	if redis.call('EXISTS', KEYS[1], KEYS[4]) == 0 then
		redis.call('DEL', KEYS[3])
	end
end

-- The key lasts as long as a member does that nobody renews, and three times as long as any other: one
-- that outlived them all for long would keep foreign clients out for nothing.
local function shorten()
	local last = redis.call('ZRANGE', KEYS[5], -1, -1, 'WITHSCORES')
	local left = math.max(1, math.floor(last[2]) - now_ms)
	if not string.find(last[1], '^dlock!') then
		left = 3 * left
	end
	for _, key in ipairs({KEYS[1], KEYS[5]}) do
		if redis.call('PTTL', key) > left then
			redis.call('PEXPIRE', key, left)
		end
	end
	return left
end

local function all_are_done()
	for _, name in ipairs(redis.call('ZRANGE', KEYS[5], 0, -1)) do
		if not string.find(name, '^dlock!done:') then
			return false
		end
	end
	return redis.call('EXISTS', KEYS[4]) == 0
end

if kind == 'shared' or kind == 'slots' then
	for _, name in ipairs({token, 'dlock!broken:' .. token}) do
		local score = redis.call('ZSCORE', KEYS[5], name)
		if score then
			redis.call('ZREM', KEYS[5], name)
			if rest > 0 and name == token then
				local slot = score % 1 * 1024
				write_member('dlock!done:' .. token, slot, rest)
				local left = shorten()
				pcall(serve, nil, true)
				if all_are_done() then
					redis.pcall('PEXPIRE', KEYS[3], left)
				end
				return 1
			end
			if redis.call('ZCARD', KEYS[5]) == 0 then
				redis.call('DEL', KEYS[1])
			else
				shorten()
			end
			hand_on(true)
			return 1
		end
	end
elseif value == token and rest > 0 then
	-- PEXPIRE is what is left to do for a server that has no memory for the marker.
	local set = redis.pcall('SET', KEYS[1], 'dlock!done:' .. token, 'PX', ARGV[2])
	if set.err then
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
	end
	if redis.pcall('ZCARD', KEYS[4]) == 0 then
		redis.pcall('PEXPIRE', KEYS[3], ARGV[2])
	end
	pcall(serve, nil, true)
	return 1
elseif value == token or value == 'dlock!broken:' .. token then
	redis.call('DEL', KEYS[1])
	hand_on(true)
	return 1
end

local rank = redis.pcall('ZRANK', KEYS[4], token)
if type(rank) == 'number' then
	redis.call('ZREM', KEYS[4], token)
	hand_on(rank == 0)
elseif kind ~= 'done' or value ~= 'dlock!done:' .. token then
	redis.pcall('HDEL', KEYS[3], token)
end
return kind == 'free' and 0 or -1
