-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, rfence, info
-- ARGV: token, number, record
--
-- Phase 2 at one node of a quorum, and the touch that keeps what stands beside the lock.
--
-- {ACCEPTED, rfence, now}  the number is this node's highest, and ours
-- {LOW, rfence, now}       it has accepted a higher one, or the same of somebody else
-- {GONE, rfence, now}      the key is not ours any more: it accepts nothing

-- include rfence.lua

if redis.pcall('GET', KEYS[1]) ~= token then
	return {'GONE', accepted, now_text}
end
if not is_acceptable(ARGV[2]) then
	return {'LOW', accepted, now_text}
end
accept(ARGV[2])
local record = redis.pcall('HGET', KEYS[3], token)
local since = type(record) == 'string' and string.match(record, '\nsince=(%d+)') or now_text
put_record(ARGV[3], since, ARGV[2])
return {'ACCEPTED', accepted, now_text}
