-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, info, queue
-- ARGV: token, rest in ms: how long the lock is still to be kept, 0: free it now
-- 1: done; 0: it was gone; -1: it is another's, and is not touched
--
-- At one node of a quorum, where nobody stands in line for another to hand the lock on. What was broken
-- (dlock --break) is its holder's until he gives it back here.

local token, rest = ARGV[1], tonumber(ARGV[2])
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then
	return string.find(value.err, 'WRONGTYPE', 1, true) and -1 or value
end
if value == token and rest > 0 then
	-- PEXPIRE is what is left to do for a server that has no memory for the marker.
	local set = redis.pcall('SET', KEYS[1], 'dlock!done:' .. token, 'PX', ARGV[2])
	if set.err then
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
	end
	if redis.pcall('EXISTS', KEYS[3]) == 0 then
		redis.pcall('PEXPIRE', KEYS[2], ARGV[2])
	end
	return 1
end
local is_ours = value == token or value == 'dlock!broken:' .. token
if is_ours then
	redis.call('DEL', KEYS[1])
end
if value ~= 'dlock!done:' .. token then
	redis.pcall('HDEL', KEYS[2], token, 'dlock!broken:' .. token)
end
return is_ours and 1 or value and -1 or 0
