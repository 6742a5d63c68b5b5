# src/lock/holding.c
# Past its deadline a holder goes on renewing, and believes a late answer ...
/^end_of_hope(/,/^}/s/return .*/return INSTANT_NEVER;/
# src/run/guard.c
# ... and neither of the nets behind that acts.
/guard_at.ns == INT64_MAX || testing_hook/s/if (.*)$/if (true)/
# src/run/deadman.c
/set(deadman->kill, kill_at, 0);/d
