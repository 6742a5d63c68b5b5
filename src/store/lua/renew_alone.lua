-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: members
-- ARGV: token, ttl in ms
-- 1: extended; 0: gone; -1: another's. As renew_member.lua, while a cluster has half of the lock's keys on
-- another node: the marker is not looked at. Who asks like this must know that it lasts long enough.

local time = redis.call('TIME')
local now_ms = math.floor((time[1] * 1000000 + time[2]) / 1000)
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not score or math.floor(score) < now_ms then
	return redis.call('ZSCORE', KEYS[1], 'dlock!broken:' .. ARGV[1]) and -1 or 0
end
redis.call('PEXPIRE', KEYS[1], math.max(redis.call('PTTL', KEYS[1]), 3 * ARGV[2]))
redis.call('ZADD', KEYS[1], 'XX', string.format('%.17g', now_ms + ARGV[2] + score % 1), ARGV[1])
return 1
