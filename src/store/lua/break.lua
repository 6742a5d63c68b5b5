-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, fence, info, queue, members
-- ARGV: token (empty: whoever holds it), force (yes, no), record of who breaks it, not after (server
--       time in us)
--
-- {word, now, pttl, how many, type of what stood at the key, its value (cut), holders}: of the first of
-- them name (as in describe.lua), score in members, record, and the record of who had broken it, length
-- and bytes each; without records where there is no room for them.
--
-- BROKEN   they have been told to end: the marker, or their place in members, expires when it did
-- FREED    what held it is gone from the server at once, and the lock has been handed on (without a
--          holder: the key was of another type)
-- ALREADY  they had been broken before
-- NOTOKEN  that token does not hold it; FREE: nobody does
-- FOREIGN  the key is not dlock's: it is freed by force alone
-- LATE     a request of a client that has given up: it breaks nothing
--
-- The record comes first, what frees or marks is next, handing on is last: an error in between leaves
-- nothing worse than a record that nobody reads.

-- include queue.lua

if now > tonumber(ARGV[4]) then
	return {'LATE', now_text, 0, 0, 'none', '', ''}
end
local wanted, by_force = ARGV[1], ARGV[2] == 'yes'
local pttl = redis.call('PTTL', KEYS[1])
local stood = redis.call('TYPE', KEYS[1]).ok
local shown = stood == 'string' and redis.call('GETRANGE', KEYS[1], 0, 127) or ''
local told, used, count = {}, 0, 0

local function net(text)
	return #text .. ':' .. text
end

local function tell_of(name, score)
	local token = string.gsub(name, '^dlock!%l+:', '')
	local records = ''
	for _, field in ipairs({token, 'dlock!broken:' .. token}) do
		local record = used < 40000 and record_of(field) or ''
		records = records .. net(#record <= 1800 and record or '')
	end
	count = count + 1
	if used < 48000 then
		local entry = net(string.sub(name, 1, 127)) .. net(score) .. records
		told[#told + 1] = entry
		used = used + #entry
	end
end

local function answer(word)
	return {word, now_text, pttl, count, stood, shown, table.concat(told)}
end

local function note_breaker(token)
	if ARGV[3] ~= '' then
		redis.call('HSET', KEYS[3], 'dlock!broken:' .. token, ARGV[3])
		redis.call('PEXPIRE', KEYS[3], month)
	end
end

local function drop_records(token)
	redis.pcall('HDEL', KEYS[3], token, 'dlock!broken:' .. token)
end

local kind, value = read_lock()
if kind == 'free' then
	return answer('FREE')
end

if kind == 'error' then
	if not string.find(value.err, 'WRONGTYPE', 1, true) then
		return value
	end
	if wanted ~= '' then
		return answer('NOTOKEN')
	end
	count = 1
	if not by_force then
		return answer('FOREIGN')
	end
	redis.call('DEL', KEYS[1])
	pcall(serve, nil, true)
	return answer('FREED')
end

if kind == 'exclusive' or kind == 'done' or kind == 'broken' then
	local token = string.gsub(value, '^dlock!%l+:', '')
	if wanted ~= '' and wanted ~= token then
		return answer('NOTOKEN')
	end
	local is_foreign = kind == 'exclusive' and not record_of(token)
	if is_foreign and not by_force then
		count = 1
		return answer('FOREIGN')
	end
	tell_of(value, '')
	if by_force or kind == 'done' then
		redis.call('DEL', KEYS[1])
		drop_records(token)
		pcall(serve, nil, true)
		return answer('FREED')
	elseif kind == 'broken' then
		return answer('ALREADY')
	end
	note_breaker(token)
	redis.call('SET', KEYS[1], 'dlock!broken:' .. token, 'XX', 'KEEPTTL')
	return answer('BROKEN')
end

-- Shared, or slots. Places of those that were broken stay taken until they expire.
local members = redis.call('ZRANGE', KEYS[5], 0, -1, 'WITHSCORES')
local word = 'NOTOKEN'
local is_freed = false
pttl = 0
for i = 1, #members, 2 do
	local name, score = members[i], members[i + 1]
	local token = string.gsub(name, '^dlock!%l+:', '')
	if wanted == '' or wanted == token then
		local state = string.match(name, '^dlock!(%l+):')
		tell_of(name, score)
		pttl = math.max(pttl, math.floor(score) - now_ms)
		if by_force or state == 'done' then
			redis.call('ZREM', KEYS[5], name)
			drop_records(token)
			is_freed = true
			word = word == 'BROKEN' and word or 'FREED'
		elseif state == 'broken' then
			word = word == 'NOTOKEN' and 'ALREADY' or word
		else
			note_breaker(token)
			redis.call('ZADD', KEYS[5], score, 'dlock!broken:' .. token)
			redis.call('ZREM', KEYS[5], name)
			word = 'BROKEN'
		end
	end
end
if is_freed then
	if redis.call('ZCARD', KEYS[5]) == 0 then
		redis.call('DEL', KEYS[1])
	end
	pcall(serve, nil, true)
end
return answer(word)
