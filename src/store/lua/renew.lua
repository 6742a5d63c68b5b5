-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock
-- ARGV: token, ttl in ms
-- 1: extended; 0: gone; -1: another's. One key and PEXPIRE alone: it works in every state of a
-- cluster slot, and when the server has no memory left.

local holder = redis.pcall('GET', KEYS[1])
if holder == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
if not holder then
	return 0
end
if type(holder) == 'table' and not string.find(holder.err, 'WRONGTYPE', 1, true) then
	return holder
end
return -1
