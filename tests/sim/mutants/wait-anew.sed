# src/lock/waiting.c
# -w is counted from the last try, not from the first.
/^lock_wait_until(/,/^}/s/lock->asked_at/lock->tried_at/
