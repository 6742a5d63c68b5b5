# src/run/guard.c
# OUTER does not act when the deadline has passed ...
/guard_at.ns == INT64_MAX || testing_hook/s/if (.*)$/if (true)/
# src/run/deadman.c
# ... and RUNNER has aimed nothing at itself.
/set(deadman->kill, kill_at, 0);/d
