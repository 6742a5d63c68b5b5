# src/job/ending.c
# The lock is given back when COMMAND has been told to end, not when it has.
/^ending_begin(/,/^}/s/nets_call(job);/nets_call(job); lock_release(\&job->lock, now, 0);/
