# src/job/keeper.c
# --max-hold begins anew with each renewal.
/case LOCK_HELD:/,/break;/s/nets_spread(job);/nets_spread(job); if (job->max_hold.linked) loop_set_timer(job->loop, \&job->max_hold, instant_plus(clock_now(), job->settings->max_hold_ns));/
