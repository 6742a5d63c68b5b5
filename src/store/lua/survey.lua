-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, info, queue, members of each of several locks
--
-- {now, locks}: of the first of them, at least one, as many as find room in an answer, what describe
-- says, length and bytes of each part. It only reads.

-- include describe.lua

local used, locks = 0, {}
for i = 1, #KEYS, 4 do
	local parts = describe(KEYS[i], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3], '', 20, 2000)
	for k, part in ipairs(parts) do
		parts[k] = net(part)
	end
	local lock = table.concat(parts)
	used = used + #lock
	locks[#locks + 1] = lock
	if used >= 40000 then
		break
	end
end
return {now_text, table.concat(locks)}
