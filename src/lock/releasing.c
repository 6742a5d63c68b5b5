/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "lock/lock_parts.h"

void
lock_release(struct lock *lock, struct instant now, int64_t rest_ns)
{
	const struct lease_terms *terms = &lock->settings.terms;
	bool given_away =
	    lock->loss == LOSS_GONE || lock->loss == LOSS_ANOTHER || lock->loss == LOSS_ENDED;
	if (lock->state == LOCK_LOST && given_away && !lock->explained) {
		/* Who has it will be known in a moment. */
		lock->release_waits = true;
		lock->due = instant_earlier(instant_plus(now, lease_renew_limit(terms)),
		    instant_plus(now, LOCK_RELEASE_LIMIT));
		return;
	}
	if (lock->state == LOCK_LOST && given_away && !lock->partly) {
		/* Not ours: there is nothing to give back. */
		lock_end_release(lock, RELEASE_CONFIRMED, now);
		return;
	}
	lock->rest_ns = given_away ? 0 : rest_ns;
	lock_end_trouble(lock);
	lock->release_until = instant_earlier(instant_plus(now, LOCK_RELEASE_LIMIT),
	    instant_plus(lock->t0, terms->ttl_ns));
	if (now.ns >= lock->release_until.ns) {
		lock_end_release(lock, RELEASE_UNCONFIRMED, now);
		return;
	}
	lock->due = lock->release_until;
	lock->state = LOCK_RELEASING;
	lock_ask(lock, STORE_RELEASE, lock->release_until);
}

void
lock_end_release(struct lock *lock, enum lock_release released, struct instant now)
{
	lock->released = released;
	lock->due = INSTANT_NEVER;
	lock_change(lock, LOCK_RELEASED, now);
}

/* It is free, or as good as free. But while an acquire of ours that was lost may still arrive it
 * would be taken for a holder that does not exist: so it is released once more when that time is
 * over. */
static void
end_confirmed(struct lock *lock, struct instant now)
{
	if (lock->rest_ns > 0 || lock->ghost_until.ns <= now.ns) {
		lock_end_release(lock, RELEASE_CONFIRMED, now);
		return;
	}
	lock->given_back = true;
	lock->release_in_doubt = true;
	lock->due = lock->ghost_until;
	lock->release_until =
	    instant_plus(lock->ghost_until, lease_request_limit(&lock->settings.terms));
}

static void
end_unconfirmed(struct lock *lock, struct instant now)
{
	lock_end_release(lock, lock->given_back ? RELEASE_CONFIRMED : RELEASE_UNCONFIRMED, now);
}

void
lock_on_release_answer(struct lock *lock, const struct store_answer *answer)
{
	struct instant now = answer->received_at;
	switch (answer->outcome) {
	case OUTCOME_OK:
		end_confirmed(lock, now);
		return;
	case OUTCOME_LOST:
		/* After a release whose answer was lost, "gone" is what that release did. */
		if (lock->release_in_doubt)
			end_confirmed(lock, now);
		else
			lock_end_release(lock, RELEASE_FOUND_LOST, now);
		return;
	case OUTCOME_UNKNOWN:
		lock->release_in_doubt = true;
		break;
	case OUTCOME_HELD:
	case OUTCOME_UNREACHABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_DENIED:
	case OUTCOME_UNCONFIRMED:
		break;
	}
	lock_count_failure(lock, answer);
	struct instant next = instant_plus(now, lock_retry_pause(lock));
	if (next.ns >= lock->release_until.ns)
		end_unconfirmed(lock, now);
	else
		lock->due = next;
}

void
lock_tick_releasing(struct lock *lock, struct instant now)
{
	if (instant_reached(lock->release_until, now)) {
		lock->store->operations->close(lock->store);
		lock->busy = false;
		end_unconfirmed(lock, now);
	} else if (!lock->busy) {
		lock->due = lock->release_until;
		lock_ask(lock, STORE_RELEASE, lock->release_until);
	}
}
