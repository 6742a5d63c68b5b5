# src/store/lua/acquire.lua
# A request that comes too late takes the lock all the same.
s/^if asks and now > tonumber(ARGV\[6\]) then/if false then/
