-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, members
-- ARGV: token, ttl in ms, what stands at the key of such a lock (dlock!shared, dlock!slots:N)
-- 1: extended; 0: gone; -1: another's. As renew.lua for one of several holders: it needs the marker
-- and a membership that has not expired.

local marker = redis.pcall('GET', KEYS[1])
if not marker then
	return 0
end
if type(marker) == 'table' and not string.find(marker.err, 'WRONGTYPE', 1, true) then
	return marker
end
if marker ~= ARGV[3] then
	return -1
end
local time = redis.call('TIME')
local now_ms = math.floor((time[1] * 1000000 + time[2]) / 1000)
local score = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not score or math.floor(score) < now_ms then
	return redis.call('ZSCORE', KEYS[2], 'dlock!broken:' .. ARGV[1]) and -1 or 0
end
-- PEXPIRE comes first: a server without memory refuses ZADD unless something has been written before.
for _, key in ipairs(KEYS) do
	redis.call('PEXPIRE', key, math.max(redis.call('PTTL', key), 3 * ARGV[2]))
end
redis.call('ZADD', KEYS[2], 'XX', string.format('%.17g', now_ms + ARGV[2] + score % 1), ARGV[1])
return 1
