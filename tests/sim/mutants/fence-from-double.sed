# src/store/lua/holder.lua
# A number is made and passed on as a Lua double.
s/^	return redis.call('GET', KEYS\[2\])/	return string.format('%.0f', tonumber(redis.call('GET', KEYS[2])))/
