-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- What scripts that make a holder have in common: not a script of its own, the others include it.
-- They have the keys lock, fence, info first, and define token, now, now_text and month.

-- A record of who that is, kept thirty days at most.
local function put_record(record)
	redis.call('HSET', KEYS[3], token, record)
	redis.call('PEXPIRE', KEYS[3], month)
end

-- The next number, at least `least`.
local function draw_fence(least, mode)
	if mode == 'clock' and now > least then
		least = now
	end
	if redis.call('INCR', KEYS[2]) < least then
		redis.call('SET', KEYS[2], string.format('%.0f', least))
	end
	return redis.call('GET', KEYS[2])
end

-- Thirty days without use, counted from when the clock has passed the number: from then on the
-- clock alone gives a higher one.
local function keep_fence(fence, mode)
	if mode == 'clock' then
		local passed = math.max(now, tonumber(fence)) / 1000
		redis.call('PEXPIREAT', KEYS[2], string.format('%.0f', passed + month))
	else
		redis.call('PERSIST', KEYS[2])
	end
end
