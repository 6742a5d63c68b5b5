# src/store/lua/renew.lua
# A renewal brings a lock back that is gone.
/^if not holder then/,/^end/s/return 0/redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) return 1/
