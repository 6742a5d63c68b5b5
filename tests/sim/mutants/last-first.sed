# src/store/lua/queue.lua
# A lock that is handed on goes to who came last.
s/redis.call('ZRANGE', KEYS\[4\], 0, 0)\[1\]/redis.call('ZRANGE', KEYS[4], me and 0 or -1, me and 0 or -1)[1]/
