-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock; or members, of a shared lock or of slots
-- ARGV: token, rest in ms: how long the lock is still to be kept, 0: free it now
-- 1: done; 0: it was gone; -1: it is another's. As release.lua, while a cluster has half of the lock's keys on
-- another node: one key alone. It hands nothing on, and leaves the record: whoever waits finds out, and what is
-- left counts for nothing.

local token, rest = ARGV[1], tonumber(ARGV[2])
local kind = redis.call('TYPE', KEYS[1]).ok

if kind == 'none' then
	return 0
elseif kind == 'string' then
	local value = redis.call('GET', KEYS[1])
	if value ~= token and value ~= 'dlock!broken:' .. token then
		return -1
	end
	if rest > 0 and value == token then
		redis.call('SET', KEYS[1], 'dlock!done:' .. token, 'PX', rest)
	else
		redis.call('DEL', KEYS[1])
	end
	return 1
elseif kind ~= 'zset' then
	return -1
end

local time = redis.call('TIME')
local now_ms = math.floor((time[1] * 1000000 + time[2]) / 1000)
for _, name in ipairs({token, 'dlock!broken:' .. token}) do
	local score = redis.call('ZSCORE', KEYS[1], name)
	if score then
		redis.call('ZREM', KEYS[1], name)
		if rest > 0 and name == token then
			redis.call('ZADD', KEYS[1], string.format('%.17g', now_ms + rest + score % 1), 'dlock!done:' .. token)
			redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), rest))
		end
		return math.floor(score) < now_ms and 0 or 1
	end
end
return 0
