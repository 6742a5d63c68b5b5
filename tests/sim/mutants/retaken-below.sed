# src/store/lua/node_take.lua
# A server that had forgotten is taken again, though it has accepted a higher number since.
/^	if not is_acceptable(ARGV\[6\]) then/s/not is_acceptable(ARGV\[6\])/false/
