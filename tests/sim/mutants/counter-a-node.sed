# src/store/lua/node_accept.lua
# INCR and the highest: each server of a quorum counts for itself, and keeps its own count.
s/^accept(ARGV\[2\])/accept(string.format('%.0f', (tonumber(string.match(accepted, '^%d+')) or 0) + 1))/
