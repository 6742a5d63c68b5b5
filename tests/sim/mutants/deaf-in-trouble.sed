# src/job/waiter.c
# A waiter that has no answer from its server does not heed TERM.
/if (job->ended_by != 0 || !signals_ends_waiter(number))/s/job->ended_by != 0/job->ended_by != 0 || job->lock.busy/
