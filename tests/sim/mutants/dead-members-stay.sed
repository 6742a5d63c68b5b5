# src/store/lua/queue.lua
# Members of a shared lock whose time is over are not dropped.
/redis.call('ZREMRANGEBYSCORE'/s/redis.call(.*)$/local _ = 0/
