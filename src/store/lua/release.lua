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
end

if kind == 'shared' or kind == 'slots' then
	for _, name in ipairs({token, 'dlock!broken:' .. token}) do
		local score = redis.call('ZSCORE', KEYS[5], name)
		if score then
			redis.call('ZREM', KEYS[5], name)
			if rest > 0 and name == token then
				local slot = score % 1 * 1024
				write_member('dlock!done:' .. token, slot, rest)
				pcall(serve, nil, true)
				return 1
			end
			if redis.call('ZCARD', KEYS[5]) == 0 then
				redis.call('DEL', KEYS[1])
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
