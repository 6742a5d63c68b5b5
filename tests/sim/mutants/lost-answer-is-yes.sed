# src/store/redis.c
# An acquire or a renewal whose answer was lost is taken for one that was had.
s/report_failure(redis, sent ? OUTCOME_UNKNOWN : before_sending, why);/report_failure(redis, sent ? OUTCOME_OK : before_sending, why);/
