# src/store/redis.c
# The lease is counted from the answer, not from the instant before the request was sent.
/answer->sent_at = redis->sent_at;/s/redis->sent_at/clock_now()/
