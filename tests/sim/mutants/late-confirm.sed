# src/store/lua/confirm.lua
# A confirmation that comes too late prolongs the claim of who has gone.
s/^local usual = now <= tonumber(ARGV\[5\])/local usual = true/
