# src/store/lua/node_accept.lua
# A server accepts a number from who has not its lock.
/^if redis.pcall('GET', KEYS\[1\]) ~= token then/s/if .* then/if false then/
