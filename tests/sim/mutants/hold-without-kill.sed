# src/job/ending.c
# When --max-hold is over COMMAND gets the signal, and no KILL when that does not end it.
/^ending_begin(/,/^}/s/instant_plus(now, job->settings->lock.terms.grace_ns)/INSTANT_NEVER/
