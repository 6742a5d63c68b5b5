-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, rfence, info, queue
-- ARGV: token, ttl in ms, mode (take, retake, look), not after (server time in us), record, number
--       (retake: the one that a majority has accepted)
--
-- Phase 1 at one node of a quorum; taking the key again at one that has forgotten it; a look.
--
-- {TAKEN, rfence, now}     the key was free, and is ours
-- {OWNED, rfence, now}     it was ours already
-- {BUSY, ms until it expires, now, who holds it, the record of who that is}
-- {LOW, rfence, now}       retake: somebody has come after us
-- {FREE, rfence, now}      look takes nothing
-- {LATE, rfence, now}      a request of a client that has given up: it takes nothing
--
-- The key is written last: an error on the way there takes nothing.

-- include rfence.lua

local mode = ARGV[3]
if mode ~= 'look' and now > tonumber(ARGV[4]) then
	return {'LATE', accepted, now_text}
end

local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' then
	if not string.find(value.err, 'WRONGTYPE', 1, true) then
		return value
	end
	local kind = redis.pcall('TYPE', KEYS[1]).ok or 'value'
	return redis.error_reply('WRONGTYPE the key holds a ' .. kind .. ', not a lock')
end
if value == token and mode ~= 'look' then
	return {'OWNED', accepted, now_text}
end
if value then
	-- Somebody else's may be longer than any answer that is read.
	local who = string.sub(value, 1, 200)
	local owner = string.gsub(who, '^dlock!%l+:', '')
	if who == 'dlock!broken:' .. token then
		owner = who
	end
	local record = redis.pcall('HGET', KEYS[3], owner)
	return {'BUSY', redis.call('PTTL', KEYS[1]), now_text, who,
		type(record) == 'string' and #record <= 1800 and record or ''}
end
if mode == 'look' then
	return {'FREE', accepted, now_text}
end
if mode == 'retake' then
	if not is_acceptable(ARGV[6]) then
		return {'LOW', accepted, now_text}
	end
	accept(ARGV[6])
end
-- Records of those who died; not of who waits here by another way.
if redis.call('EXISTS', KEYS[4]) == 0 then
	redis.call('DEL', KEYS[3])
end
put_record(ARGV[5], now_text, mode == 'retake' and ARGV[6])
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return {'TAKEN', accepted, now_text}
