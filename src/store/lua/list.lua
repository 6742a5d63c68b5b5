-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: none: it looks for them
-- ARGV: where to go on (SCAN's cursor, 0 at first), pattern for SCAN
--
-- {now, where to go on (0: this was all), locks}: a page of them, which fits into an answer. Of each
-- its key and what describe says; or its key and six times nothing, where the page is full. One that
-- is there all the time is shown, maybe twice. It only reads.
--
-- It looks at 2,000 keys at most, of whatever names, so that nobody else waits for long.

-- include describe.lua

-- As base/keys.c makes them: nil, of such a key there are none.
local function sibling(key, name)
	if string.find(key, '^[^{]*{[^}]+}') then
		return key .. '#' .. name
	elseif not string.find(key, '[{}]') then
		return key .. '#' .. name .. '{' .. key .. '}'
	end
end

local function is_sibling(key)
	for _, name in ipairs({'fence', 'rfence', 'info', 'queue', 'members'}) do
		local base = string.match(key, '^(.-)#' .. name .. '{') or string.match(key, '^(.*)#' .. name .. '$')
		if base and sibling(base, name) == key then
			return true
		end
	end
	return false
end

local cursor, used, locks = ARGV[1], 0, {}
for _ = 1, 100 do
	local found = redis.call('SCAN', cursor, 'MATCH', ARGV[2], 'COUNT', 20)
	cursor = found[1]
	for _, key in ipairs(found[2]) do
		local info = sibling(key, 'info')
		if info and #key <= 1024 and not is_sibling(key) then
			local lock = net(key)
			local parts = {'', '', '', '', '', '', ''}
			if used < 36000 then
				parts = describe(key, info, sibling(key, 'queue'), sibling(key, 'members'), '', 20, 2000)
			end
			for _, part in ipairs(parts) do
				lock = lock .. net(part)
			end
			used = used + #lock
			locks[#locks + 1] = lock
		end
	end
	if cursor == '0' or used >= 24000 then
		break
	end
end
return {now_text, cursor, table.concat(locks)}
