# src/store/lua/break.lua
# --break frees the lock at once, while its holder is still told to end.
s/redis.call('SET', KEYS\[1\], 'dlock!broken:' .. token, 'XX', 'KEEPTTL')/redis.call('DEL', KEYS[1]) pcall(serve, nil, true)/
