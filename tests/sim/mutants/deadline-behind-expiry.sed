# src/lock/lease.c
# The drift of clocks is added, and more, where it should be taken off: COMMAND lives past the expiry.
s/terms->ttl_ns - terms->drift_ns);/terms->ttl_ns + terms->ttl_ns \/ 4);/
