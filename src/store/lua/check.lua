-- Copyright (c) 2026 the dlock authors
-- SPDX-License-Identifier: MIT
--
-- KEYS: lock, fence, info, queue, members: of a lock that nobody uses
-- ARGV: what to do (try, clean), a token, shard (in a cluster)
--
-- try    {commands that are refused}: of each its name and the error, length and bytes. Every command
--        that a script of dlock uses is tried, and none does anything: it finds no such key, or has an
--        argument that is looked at after the rights are. INCR alone writes, and only where its key
--        can be deleted again.
-- clean  {''}: nothing is left of that lock

if ARGV[1] == 'clean' then
	for i = 1, 5 do
		redis.pcall('DEL', KEYS[i])
	end
	return {''}
end

local refused, entries = {}, {}

local function net(text)
	return #text .. ':' .. text
end

local function try(name, ...)
	local found = redis.pcall(...)
	if type(found) == 'table' and found.err then
		refused[name] = true
		entries[#entries + 1] = net(name) .. net(string.sub(found.err, 1, 200))
	end
end

local function try_key(key, command, ...)
	try(command, command, key, ...)
end

try('TIME', 'TIME')
for _, command in ipairs({'GET', 'TYPE', 'EXISTS', 'PTTL', 'DEL', 'PERSIST'}) do
	try_key(KEYS[1], command)
end
try_key(KEYS[1], 'GETRANGE', 0, 1)
try_key(KEYS[1], 'PEXPIRE', 1)
try_key(KEYS[1], 'PEXPIREAT', 1)
try_key(KEYS[1], 'SET', 'x', 'PX', 0)
for _, command in ipairs({'HGET', 'HMGET', 'HDEL'}) do
	try_key(KEYS[3], command, ARGV[2])
end
try_key(KEYS[3], 'HLEN')
try_key(KEYS[3], 'HKEYS')
try_key(KEYS[3], 'HSET', 'one', 'two', 'three')
for _, command in ipairs({'ZSCORE', 'ZRANK', 'ZREM'}) do
	try_key(KEYS[4], command, ARGV[2])
end
for _, command in ipairs({'ZCOUNT', 'ZRANGE', 'ZRANGEBYSCORE', 'ZREMRANGEBYSCORE'}) do
	try_key(KEYS[5], command, 0, 1)
end
try_key(KEYS[5], 'ZCARD')
try_key(KEYS[5], 'ZADD', 'none', ARGV[2])
try('SCAN', 'SCAN', '0', 'MATCH', KEYS[1], 'COUNT', 1)
try('PUBSUB NUMSUB', 'PUBSUB', 'NUMSUB', KEYS[4] .. ':' .. ARGV[2])
try('PUBLISH', 'PUBLISH', KEYS[4] .. ':' .. ARGV[2], '')
if ARGV[3] == 'shard' then
	try('PUBSUB SHARDNUMSUB', 'PUBSUB', 'SHARDNUMSUB', KEYS[4] .. ':' .. ARGV[2])
	try('SPUBLISH', 'SPUBLISH', KEYS[4] .. ':' .. ARGV[2], '')
end
if not refused.DEL then
	try_key(KEYS[2], 'INCR')
	redis.pcall('DEL', KEYS[2])
end
return {table.concat(entries)}
