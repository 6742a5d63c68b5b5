-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: none: it asks a node what that knows of its cluster
-- ARGV: slot whose nodes come first (-1: none), how many nodes to leave out
--
-- {slots that have an owner, masters that have slots, the fewest replicas of one of them, nodes there are,
-- nodes}: a line each, m or r (master, replica), its host (empty: the one that was asked) and port. At most
-- 100 nodes, so that they find room in an answer; CLUSTER SLOTS itself may be of any length.

local ranges = redis.call('CLUSTER', 'SLOTS')
local slot, skip = tonumber(ARGV[1]), tonumber(ARGV[2])
local nodes, seen, owned, masters, fewest = {}, {}, 0, 0, nil

local function add(role, node)
	local place = (node[1] or '') .. ':' .. node[2]
	if seen[place] then
		return false
	end
	seen[place] = true
	nodes[#nodes + 1] = role .. ' ' .. place
	return true
end

local function add_range(range)
	if add('m', range[3]) then
		masters = masters + 1
		fewest = math.min(fewest or #range, #range - 3)
	end
	for i = 4, #range do
		add('r', range[i])
	end
end

for _, range in ipairs(ranges) do
	owned = owned + range[2] - range[1] + 1
	if range[1] <= slot and slot <= range[2] then
		add_range(range)
	end
end
for _, range in ipairs(ranges) do
	add_range(range)
end
local page = {}
for i = skip + 1, math.min(skip + 100, #nodes) do
	page[#page + 1] = nodes[i] .. '\n'
end
return {owned, masters, fewest or 0, #nodes, table.concat(page)}
