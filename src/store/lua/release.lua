-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, info
-- ARGV: token, rest in ms: how long the lock is still to be kept, 0: free it now
-- 1: done; 0: it was gone; -1: it is another's, and is not touched.

local holder = redis.pcall('GET', KEYS[1])
if type(holder) == 'table' then
	if string.find(holder.err, 'WRONGTYPE', 1, true) then
		return -1
	end
	return holder
end
if not holder then
	return 0
end
if holder ~= ARGV[1] then
	return -1
end
if ARGV[2] ~= '0' then
	-- PEXPIRE is what is left to do for a server that has no memory for the marker.
	local set = redis.pcall('SET', KEYS[1], 'dlock!done:' .. ARGV[1], 'PX', ARGV[2])
	if set.err then
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
	end
	redis.pcall('PEXPIRE', KEYS[2], ARGV[2])
	return 1
end
redis.call('DEL', KEYS[1])
redis.pcall('HDEL', KEYS[2], ARGV[1])
return 1
