-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, info, queue, members
-- ARGV: where to go on, empty at first
--
-- {now, and what describe says}: a page of it, which fits into an answer. It only reads.

-- include describe.lua

return {now_text, unpack(describe(KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1], 250, 40000))}
