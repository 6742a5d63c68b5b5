-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- What scripts that show locks have in common: not a script of its own, the others include it. Nothing
-- of it writes: who may only read can see. So the dead are left out, and left where they are.

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local now_text = string.format('%.0f', now)
local now_ms = math.floor(now / 1000)

-- Length and bytes, so that any bytes can stand one behind another.
local function net(text)
	return #text .. ':' .. text
end

-- What a sibling of the lock says; nil, when somebody else has put there what is none.
local function look(...)
	local found = redis.pcall(...)
	if type(found) ~= 'table' or not found.err then
		return found
	elseif not string.find(found.err, 'WRONGTYPE', 1, true) then
		error(found.err, 0)
	end
end

-- The records of those tokens. What is no record of dlock's is none.
local function records_of(info, tokens)
	local found = #tokens > 0 and look('HMGET', info, unpack(tokens)) or {}
	for i = 1, #tokens do
		local record = found[i]
		found[i] = type(record) == 'string' and #record <= 1800 and record or ''
	end
	return found
end

-- What the markers have before the token.
local function bare(name)
	return (string.gsub(name, '^dlock!%l+:', ''))
end

-- Which of these waiters are to be believed alive: as is_alive in queue.lua has it, in one command.
local function who_lives(queue, tokens, records)
	local channels, lives, ears = {}, {}, {['1'] = {}, ['2'] = {}}
	for i, token in ipairs(tokens) do
		channels[i] = queue .. ':' .. token
	end
	if #tokens > 0 then
		ears['1'] = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
	end
	if string.find(table.concat(records), '\npush=2\n', 1, true) then
		ears['2'] = redis.pcall('PUBSUB', 'SHARDNUMSUB', unpack(channels))
	end
	for i, record in ipairs(records) do
		local seen = string.match(record, '\nseen=(%d+)')
		local silent = seen and (now - seen) / 1000
		local way = string.match(record, '\npush=([12])\n')
		if not silent or silent > 150000 then
			lives[i] = false
		elseif way then
			lives[i] = tonumber(ears[way][2 * i] or 1) > 0
		else
			lives[i] = silent <= 3000
		end
	end
	return lives
end

-- One lock. `from` is where to go on, empty at first; at most `most` holders and waiters are looked
-- at, and no more are added when `room` bytes are full.
--
-- {type of what stands at the key, its value (cut), pttl, holders and waiters there are (waiters: the
-- dead too), where to go on (empty: this was all), the holders and waiters}
--
-- Of each: h or w, its name (of a broken or finished one with dlock!broken: or dlock!done: before the
-- token), its score in members or queue, its record, and the record of who has broken it.
local function describe(lock, info, queue, members, from, most, room)
	local kind = redis.call('TYPE', lock).ok
	local value = kind == 'string' and redis.call('GETRANGE', lock, 0, 127) or ''
	local pttl = redis.call('PTTL', lock)
	local has_members = value == 'dlock!shared' or string.find(value, '^dlock!slots:%d+$') ~= nil
	local held, entries, used = kind == 'none' and 0 or 1, {}, 0

	local function add(role, name, score, record, breaker)
		local entry = net(role) .. net(string.sub(name, 1, 127)) .. net(score) .. net(record) .. net(breaker)
		entries[#entries + 1] = entry
		used = used + #entry
	end
	local function is_full()
		return used >= room or #entries >= most
	end
	local function answer(next)
		local waiting = look('ZCARD', queue) or 0
		return {kind, value, tostring(pttl), tostring(held), tostring(waiting), next, table.concat(entries)}
	end

	if has_members then
		held = look('ZCOUNT', members, now_ms, '+inf') or 0
	end
	local role, at, skip = string.match(from, '^([hw])(%S+) ?(%d*)$')
	if role ~= 'w' and has_members then
		-- In the order of expiry: who renews between two pages moves on to those that follow. Of
		-- those with the score `at`, `skip` have been told already.
		at = at or string.format('%.0f', now_ms)
		skip = tonumber(skip) or 0
		local found = look('ZRANGEBYSCORE', members, at, '+inf', 'WITHSCORES', 'LIMIT', skip, most) or {}
		local tokens = {}
		for i = 1, #found, 2 do
			tokens[i] = bare(found[i])
			tokens[i + 1] = 'dlock!broken:' .. tokens[i]
		end
		local records = records_of(info, tokens)
		for i = 1, #found, 2 do
			add('h', found[i], found[i + 1], records[i], records[i + 1])
			skip = found[i + 1] == at and skip + 1 or 1
			at = found[i + 1]
			if is_full() then
				return answer('h' .. at .. ' ' .. skip)
			end
		end
	elseif role ~= 'w' and kind == 'string' then
		local records = records_of(info, {bare(value), 'dlock!broken:' .. bare(value)})
		add('h', value, '', records[1], records[2])
		if is_full() then
			return answer('w0')
		end
	end

	local first = role == 'w' and '(' .. at or '-inf'
	local found = look('ZRANGEBYSCORE', queue, first, '+inf', 'WITHSCORES', 'LIMIT', 0, most) or {}
	local tokens = {}
	for i = 1, #found, 2 do
		tokens[#tokens + 1] = found[i]
	end
	local records = records_of(info, tokens)
	local lives = who_lives(queue, tokens, records)
	for i, token in ipairs(tokens) do
		if lives[i] then
			add('w', token, found[2 * i], records[i], '')
		end
		if is_full() then
			return answer('w' .. found[2 * i])
		end
	end
	return answer(#tokens == most and 'w' .. found[2 * most] or '')
end
