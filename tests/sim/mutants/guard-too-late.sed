# src/job/nets.c
# OUTER is told a deadline that is half a TTL late, RUNNER's own nets are not.
/atomic_store(&job->channel.page->guard_at_ns, guard_at.ns)/s/guard_at.ns)/guard_at.ns == INT64_MAX ? INT64_MAX : guard_at.ns + terms->ttl_ns \/ 2)/
