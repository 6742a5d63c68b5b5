/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "lock/lock.h"

#include <string.h>

#define RETRY_FIRST (50 * NS_PER_MS)
#define POLL_FIRST (100 * NS_PER_MS)
#define POLL_LAST NS_PER_S
/* After a key's expiry; a poll a moment too early would wait for the next one. */
#define POLL_BEHIND_EXPIRY (5 * NS_PER_MS)
/* A signal ends a waiter within 100 ms, its undoing included. */
#define LEAVE_LIMIT (80 * NS_PER_MS)
/* -w is over, but an acquire is under way: its answer decides if it comes at once. */
#define OVERTIME (50 * NS_PER_MS)
#define TOUCH_PERIOD (3600 * NS_PER_S)

static void
on_answered(void *context, const struct store_answer *answer);
static void
on_disturbed(void *context, struct instant now);

void
lock_init(struct lock *lock, struct store *store, const struct lock_settings *settings,
    uint64_t seed)
{
	static const struct store_events events = {
	    .answered = on_answered,
	    .disturbed = on_disturbed,
	};
	memset(lock, 0, sizeof *lock);
	lock->settings = *settings;
	lock->store = store;
	lock->due = INSTANT_NEVER;
	lock->random = seed | 1;
	store->events = &events;
	store->context = lock;
}

struct instant
lock_due(const struct lock *lock)
{
	return lock->due;
}

bool
lock_is_held(const struct lock *lock)
{
	return lock->state == LOCK_HELD || lock->state == LOCK_DOUBTFUL;
}

static void
change(struct lock *lock, enum lock_state state, struct instant now)
{
	lock->state = state;
	if (lock->changed != NULL)
		lock->changed(lock->context, lock, now);
}

static void
ask(struct lock *lock, enum store_verb verb, struct instant not_later)
{
	const struct lease_terms *terms = &lock->settings.terms;
	struct store_request request = {
	    .verb = verb,
	    .connect_limit_ns = lock->settings.connect_limit_ns,
	    .answer_limit_ns = lease_request_limit(terms),
	    .not_later = not_later,
	    .ttl_ns = terms->ttl_ns,
	    .rest_ns = lock->rest_ns,
	};
	/* -w bounds a first contact that is slow, too. */
	if (verb == STORE_ACQUIRE && lock->settings.wait_ns > 0 &&
	    request.connect_limit_ns > lock->settings.wait_ns)
		request.connect_limit_ns = lock->settings.wait_ns;
	if (verb == STORE_RENEW || verb == STORE_TOUCH) {
		/* A connection attempt that hangs must leave room for others: a packet that is
		 * sent into a hole is only sent again after seconds. */
		if (request.connect_limit_ns > 2 * lease_renew_limit(terms))
			request.connect_limit_ns = 2 * lease_renew_limit(terms);
		request.answer_limit_ns = lease_renew_limit(terms);
	}
	lock->busy = true;
	lock->verb = verb;
	lock->store->operations->start(lock->store, &request);
}

/* xorshift64 (Marsaglia 2003): enough for jitter. Uniform in [0, below). */
static int64_t
jitter(struct lock *lock, int64_t below)
{
	lock->random ^= lock->random << 13;
	lock->random ^= lock->random >> 7;
	lock->random ^= lock->random << 17;
	return below > 0 ? (int64_t)(lock->random % (uint64_t)below) : 0;
}

static struct instant
wait_until(const struct lock *lock)
{
	if (lock->settings.wait_ns == WAIT_FOR_EVER)
		return INSTANT_NEVER;
	return instant_plus(lock->asked_at, lock->settings.wait_ns);
}

/* The pause before the next try after a row of failures: none, then 50 ms, doubling. */
static int64_t
retry_pause(const struct lock *lock)
{
	int64_t longest = lease_renew_limit(&lock->settings.terms);
	int64_t pause = RETRY_FIRST;
	if (lock->failures <= 1)
		return 0;
	for (unsigned int i = 2; i < lock->failures && pause < longest; i++)
		pause *= 2;
	return pause < longest ? pause : longest;
}

static void
count_failure(struct lock *lock, const struct store_answer *answer)
{
	if (lock->failures++ == 0)
		lock->trouble_since = answer->received_at;
	lock->problem = answer->problem;
}

static void
end_trouble(struct lock *lock)
{
	lock->failures = 0;
	lock->trouble_since = INSTANT_NEVER;
}

/* -- acquiring -------------------------------------------------------------------------------- */

static void
try_acquire(struct lock *lock)
{
	lock->due = INSTANT_NEVER;
	/* While it is under way, -w may end; a conflict is then already known. */
	if (lock->contacted)
		lock->due = instant_plus(wait_until(lock), OVERTIME);
	ask(lock, STORE_ACQUIRE, INSTANT_NEVER);
}

void
lock_acquire(struct lock *lock, struct instant now)
{
	lock->asked_at = now;
	lock->state = LOCK_ASKING;
	lock->pause_ns = POLL_FIRST;
	end_trouble(lock);
	try_acquire(lock);
}

static void
fail(struct lock *lock, enum outcome failure, struct instant now)
{
	lock->failure = failure;
	lock->due = INSTANT_NEVER;
	change(lock, LOCK_FAILED, now);
}

/* Ends acquiring for the reason given; undoes first what may have been done. */
static void
leave(struct lock *lock, enum outcome failure, struct instant now)
{
	lock->failure = failure;
	if (!lock->in_doubt && !lock->busy) {
		fail(lock, failure, now);
		return;
	}
	lock->state = LOCK_LEAVING;
	lock->rest_ns = 0;
	lock->due = instant_plus(now, LEAVE_LIMIT);
	ask(lock, STORE_RELEASE, lock->due);
}

void
lock_give_up(struct lock *lock, struct instant now)
{
	if (lock->state == LOCK_ASKING || lock->state == LOCK_WAITING) {
		leave(lock, OUTCOME_HELD, now);
	} else if (lock->state == LOCK_HELD) {
		lock_release(lock, now, 0);
		lock->release_until = instant_plus(now, LEAVE_LIMIT);
		lock->due = lock->release_until;
	}
}

static void
become_holder(struct lock *lock, const struct store_answer *answer)
{
	lock->acquired_at = answer->sent_at;
	lock->touched_at = answer->sent_at;
	lock->t0 = answer->sent_at;
	memcpy(lock->fence, answer->fence, sizeof lock->fence);
	lock->in_doubt = false;
	end_trouble(lock);
	lock->due = lease_renew_at(&lock->settings.terms, lock->t0);
	change(lock, LOCK_HELD, answer->received_at);
}

static void
wait_for_turn(struct lock *lock, const struct store_answer *answer)
{
	struct instant now = answer->received_at;
	struct instant end = wait_until(lock);
	lock->holder = answer->holder;
	lock->contacted = true;
	lock->in_doubt = false;
	end_trouble(lock);
	if (now.ns >= end.ns) {
		fail(lock, OUTCOME_HELD, now);
		return;
	}
	/* Between half and the whole of a pause that grows to 1 s, but not past the expiry of the
	 * key, nor past the end of the wait. */
	int64_t pause = lock->pause_ns / 2 + jitter(lock, lock->pause_ns / 2);
	lock->pause_ns = lock->pause_ns * 3 / 2 < POLL_LAST ? lock->pause_ns * 3 / 2 : POLL_LAST;
	if (pause < POLL_FIRST)
		pause = POLL_FIRST;
	if (answer->holder.left_ns >= 0 && pause > answer->holder.left_ns + POLL_BEHIND_EXPIRY)
		pause = answer->holder.left_ns + POLL_BEHIND_EXPIRY;
	lock->due = instant_earlier(instant_plus(now, pause), end);
	change(lock, LOCK_WAITING, now);
}

/* No usable answer to an acquire: is there time for another try? */
static void
retry_acquire(struct lock *lock, const struct store_answer *answer)
{
	struct instant now = answer->received_at;
	bool refused = answer->outcome == OUTCOME_REFUSED || answer->outcome == OUTCOME_DENIED;
	count_failure(lock, answer);
	if (answer->outcome == OUTCOME_UNKNOWN)
		lock->in_doubt = true;
	if (answer->outcome == OUTCOME_DENIED || (!lock->contacted && !lock->in_doubt) ||
	    (!lock->contacted && refused)) {
		leave(lock, answer->outcome, now);
		return;
	}
	/* Without -w, a server that was there is given time to come back; with it, until its end. An
	 * acquire in doubt is asked for at least once more, even with -n. */
	struct instant end = wait_until(lock);
	if (end.ns == INT64_MAX)
		end = instant_plus(lock->trouble_since, lease_patience(&lock->settings.terms));
	else if (lock->in_doubt && lock->failures <= 1)
		end = instant_plus(now, lock->settings.connect_limit_ns);
	struct instant next = instant_plus(now, retry_pause(lock));
	if (next.ns >= end.ns) {
		leave(lock, OUTCOME_UNREACHABLE, now);
		return;
	}
	lock->due = next;
	lock->state = lock->contacted ? LOCK_WAITING : LOCK_ASKING;
}

static void
on_acquire_answer(struct lock *lock, const struct store_answer *answer)
{
	const struct lease_terms *terms = &lock->settings.terms;
	switch (answer->outcome) {
	case OUTCOME_OK:
		lock->contacted = true;
		if (instant_reached(lease_renew_at(terms, answer->sent_at), answer->received_at)) {
			/* Ours, but old: confirm it afresh before anything runs. */
			lock->in_doubt = true;
			try_acquire(lock);
			return;
		}
		become_holder(lock, answer);
		break;
	case OUTCOME_HELD:
		wait_for_turn(lock, answer);
		break;
	case OUTCOME_LOST:
	case OUTCOME_UNREACHABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_DENIED:
	case OUTCOME_UNKNOWN:
		retry_acquire(lock, answer);
		break;
	}
}

/* -- holding ---------------------------------------------------------------------------------- */

static struct instant
end_of_hope(const struct lock *lock)
{
	return lease_term_at(&lock->settings.terms, lock->t0);
}

static void
lose(struct lock *lock, enum lock_loss loss, struct instant now)
{
	lock->loss = loss;
	lock->due = INSTANT_NEVER;
	/* Who has it now is asked for the message's sake; the command is signalled at once. */
	lock->explained = loss != LOSS_ANOTHER;
	if (loss == LOSS_ANOTHER && !lock->busy)
		ask(lock, STORE_LOOK, INSTANT_NEVER);
	change(lock, LOCK_LOST, now);
}

static void
renew(struct lock *lock, struct instant now)
{
	bool touch = instant_between(lock->touched_at, now) >= TOUCH_PERIOD && lock->failures == 0;
	lock->due = end_of_hope(lock);
	ask(lock, touch ? STORE_TOUCH : STORE_RENEW, end_of_hope(lock));
}

static void
on_renew_answer(struct lock *lock, const struct store_answer *answer)
{
	const struct lease_terms *terms = &lock->settings.terms;
	struct instant now = answer->received_at;

	if (answer->outcome == OUTCOME_LOST) {
		lose(lock, answer->gone ? LOSS_GONE : LOSS_ANOTHER, now);
		return;
	}
	/* A late confirmation revives nothing: the command may be dying already. */
	if (instant_reached(end_of_hope(lock), now)) {
		lose(lock, LOSS_UNCONFIRMED, now);
		return;
	}
	if (answer->outcome == OUTCOME_OK) {
		lock->t0 = answer->sent_at;
		if (lock->verb == STORE_TOUCH)
			lock->touched_at = answer->sent_at;
		end_trouble(lock);
		lock->due = lease_renew_at(terms, lock->t0);
		change(lock, LOCK_HELD, now);
		return;
	}
	count_failure(lock, answer);
	lock->due = instant_earlier(instant_plus(now, retry_pause(lock)), end_of_hope(lock));
	change(lock, LOCK_DOUBTFUL, now);
}

static void
tick_held(struct lock *lock, struct instant now)
{
	if (instant_reached(end_of_hope(lock), now))
		lose(lock, LOSS_UNCONFIRMED, now);
	else if (!lock->busy)
		renew(lock, now);
}

/* The connection has gone while nothing was under way. Nothing is lost, but a server that was
 * restarted without its data would be: verify, though not more often than a retry. */
static void
on_disturbed(void *context, struct instant now)
{
	struct lock *lock = context;
	if (lock->busy || !lock_is_held(lock))
		return;
	struct instant soon = instant_plus(lock->t0, RETRY_FIRST);
	if (soon.ns < now.ns)
		soon = now;
	lock->due = instant_earlier(lock->due, soon);
	change(lock, lock->state, now);
}

/* -- giving back ------------------------------------------------------------------------------ */

void
lock_release(struct lock *lock, struct instant now, int64_t rest_ns)
{
	const struct lease_terms *terms = &lock->settings.terms;
	if (lock->state == LOCK_LOST && lock->loss != LOSS_UNCONFIRMED) {
		/* Not ours: there is nothing to give back. */
		change(lock, LOCK_RELEASED, now);
		return;
	}
	lock->rest_ns = rest_ns;
	lock->failures = 0;
	lock->release_until = instant_earlier(instant_plus(now, 2 * NS_PER_S),
	    instant_plus(lock->t0, terms->ttl_ns));
	if (now.ns >= lock->release_until.ns) {
		lock->released = RELEASE_UNCONFIRMED;
		change(lock, LOCK_RELEASED, now);
		return;
	}
	lock->due = lock->release_until;
	lock->state = LOCK_RELEASING;
	ask(lock, STORE_RELEASE, lock->release_until);
}

static void
end_release(struct lock *lock, enum lock_release released, struct instant now)
{
	lock->released = released;
	lock->due = INSTANT_NEVER;
	change(lock, LOCK_RELEASED, now);
}

static void
on_release_answer(struct lock *lock, const struct store_answer *answer)
{
	struct instant now = answer->received_at;
	switch (answer->outcome) {
	case OUTCOME_OK:
		end_release(lock, RELEASE_CONFIRMED, now);
		return;
	case OUTCOME_LOST:
		/* After a release whose answer was lost, "gone" is what that release did. */
		end_release(lock, lock->release_in_doubt ? RELEASE_CONFIRMED : RELEASE_FOUND_LOST, now);
		return;
	case OUTCOME_UNKNOWN:
		lock->release_in_doubt = true;
		break;
	case OUTCOME_HELD:
	case OUTCOME_UNREACHABLE:
	case OUTCOME_REFUSED:
	case OUTCOME_DENIED:
		break;
	}
	count_failure(lock, answer);
	struct instant next = instant_plus(now, retry_pause(lock));
	if (next.ns >= lock->release_until.ns)
		end_release(lock, RELEASE_UNCONFIRMED, now);
	else
		lock->due = next;
}

static void
tick_releasing(struct lock *lock, struct instant now)
{
	if (instant_reached(lock->release_until, now)) {
		lock->store->operations->close(lock->store);
		lock->busy = false;
		end_release(lock, RELEASE_UNCONFIRMED, now);
	} else if (!lock->busy) {
		lock->due = lock->release_until;
		ask(lock, STORE_RELEASE, lock->release_until);
	}
}

/* -- the outside ------------------------------------------------------------------------------ */

static void
on_answered(void *context, const struct store_answer *answer)
{
	struct lock *lock = context;
	lock->busy = false;
	switch (lock->state) {
	case LOCK_ASKING:
	case LOCK_WAITING:
		on_acquire_answer(lock, answer);
		break;
	case LOCK_HELD:
	case LOCK_DOUBTFUL:
		on_renew_answer(lock, answer);
		break;
	case LOCK_LOST:
		if (lock->verb == STORE_LOOK && answer->outcome == OUTCOME_HELD)
			lock->holder = answer->holder;
		lock->explained = true;
		change(lock, LOCK_LOST, answer->received_at);
		break;
	case LOCK_RELEASING:
		on_release_answer(lock, answer);
		break;
	case LOCK_LEAVING:
		fail(lock, lock->failure, answer->received_at);
		break;
	case LOCK_IDLE:
	case LOCK_RELEASED:
	case LOCK_FAILED:
		break;
	}
}

void
lock_tick(struct lock *lock, struct instant now)
{
	if (!instant_reached(lock->due, now))
		return;
	lock->due = INSTANT_NEVER;
	switch (lock->state) {
	case LOCK_ASKING:
	case LOCK_WAITING:
		if (lock->busy)
			leave(lock, OUTCOME_HELD, now);
		else
			try_acquire(lock);
		break;
	case LOCK_HELD:
	case LOCK_DOUBTFUL:
		tick_held(lock, now);
		break;
	case LOCK_RELEASING:
		tick_releasing(lock, now);
		break;
	case LOCK_LEAVING:
		lock->store->operations->close(lock->store);
		lock->busy = false;
		fail(lock, lock->failure, now);
		break;
	case LOCK_IDLE:
	case LOCK_LOST:
	case LOCK_RELEASED:
	case LOCK_FAILED:
		break;
	}
}
