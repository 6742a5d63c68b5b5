-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: none: it reads no key, and finds out which there are
-- ARGV: where to go on (SCAN's cursor, 0 at first), pattern for SCAN
--
-- {where to go on (0: this was all), keys}: length and bytes of each, in no order, some of them twice;
-- those of locks, and what stands beside them. A key that is there all the time is among them.
--
-- It looks at 2,000 keys at most, so that nobody else waits for long, and stops when the answer is
-- half full: of the longest keys 20 more find room. Those beside a lock are the longest.

local cursor, used, keys = ARGV[1], 0, {}
for _ = 1, 100 do
	local found = redis.call('SCAN', cursor, 'MATCH', ARGV[2], 'COUNT', 20)
	cursor = found[1]
	for _, key in ipairs(found[2]) do
		if #key <= 1024 then
			keys[#keys + 1] = #key .. ':' .. key
			used = used + #key + 5
		end
	end
	if cursor == '0' or used >= 30000 then
		break
	end
end
return {cursor, table.concat(keys)}
