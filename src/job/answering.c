/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "job/answering.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "run/descent.h"

static void
reply(struct job *job, const struct asker *asker, enum inquiry_verdict verdict, const char *reason)
{
	const struct job_settings *settings = job->settings;
	struct inquiry_answer answer;
	/* It is sent whole: the bytes that are not used must not tell what another was told. */
	memset(&answer, 0, sizeof answer);
	answer.verdict = (int32_t)verdict;
	snprintf(answer.reason, sizeof answer.reason, "%s", reason);
	/* Who has no business here learns nothing. */
	bool welcome = verdict != VERDICT_REFUSED && verdict != VERDICT_STRANGER;
	snprintf(answer.name, sizeof answer.name, "%s", welcome ? settings->name : "");
	snprintf(answer.key, sizeof answer.key, "%s", welcome ? settings->key : "");
	snprintf(answer.token, sizeof answer.token, "%s", welcome ? job_token(job) : "");
	snprintf(answer.fence, sizeof answer.fence, "%s", welcome ? job->lock.fence : "");
	if (welcome && settings->lock.mode == MODE_SLOTS)
		snprintf(answer.slot, sizeof answer.slot, "%d", job->lock.slot);
	inquiry_reply(&asker->peer, &asker->question, &answer);
}

/* As many datagrams as are taken in one turn of the loop, and how long they may be looked at. */
#define QUEUE_MOST 64
#define TURN_NS (2 * NS_PER_MS)

/* Those who are told nothing. */
static bool
turn_away(struct job *job, const struct asker *asker)
{
	const struct inquiry_peer *peer = &asker->peer;
	if (peer->uid != getuid() && peer->uid != 0)
		reply(job, asker, VERDICT_REFUSED, "");
	else if (!job->settings->tree->can_list)
		reply(job, asker, VERDICT_UNCONFIRMED, "there is no /proc to see who asks");
	else if (!descent_is_below(peer->pid, getpid()))
		reply(job, asker, VERDICT_STRANGER, "");
	else
		return false;
	return true;
}

/* What can be said without the server: false, it must be asked. */
static bool
reply_at_once(struct job *job, const struct asker *asker)
{
	const struct lock *lock = &job->lock;
	if (job->lost || lock->loss != LOSS_NONE)
		reply(job, asker, VERDICT_LOST, "");
	else if (job->stage == STAGE_ENDING || job->stage == STAGE_RELEASING || !lock_is_held(lock))
		reply(job, asker, VERDICT_ENDING, "");
	else if (asker->question.kind == INQUIRY_ABOVE)
		reply(job, asker, VERDICT_YES, "");
	else
		return false;
	return true;
}

/* -- waiting for a renewal --------------------------------------------------------------------- */

static struct instant
give_up_at(const struct job *job, const struct asker *asker)
{
	return instant_plus(asker->asked_at, lease_confirm_limit(&job->settings->lock.terms));
}

/* The same question again, sent by an asker that is getting impatient. */
static bool
is_known(const struct job *job, const struct asker *asker)
{
	for (int i = 0; i < job->answering.count; i++) {
		if (job->answering.askers[i].question.nonce == asker->question.nonce &&
		    job->answering.askers[i].peer.pid == asker->peer.pid)
			return true;
	}
	return false;
}

/* Answers whom it can, and keeps the others, in their order. */
static void
settle(struct job *job, struct instant now)
{
	const struct lock *lock = &job->lock;
	int kept = 0;
	loop_stop_timer(job->loop, &job->answering.limit);
	for (int i = 0; i < job->answering.count; i++) {
		const struct asker *asker = &job->answering.askers[i];
		if (reply_at_once(job, asker))
			continue;
		if (lock->state == LOCK_HELD && asker->asked_at.ns <= lock->t0.ns)
			reply(job, asker, VERDICT_YES, "");
		else if (instant_reached(give_up_at(job, asker), now))
			reply(job, asker, VERDICT_UNCONFIRMED,
			    lock->problem.text[0] ? lock->problem.text : "no answer in time");
		else
			job->answering.askers[kept++] = *asker;
	}
	job->answering.count = kept;
	if (kept > 0) {
		loop_set_timer(job->loop, &job->answering.limit,
		    give_up_at(job, &job->answering.askers[0]));
		lock_confirm(&job->lock, now);
	}
}

static void
on_limit(void *context, struct instant now)
{
	settle(context, now);
}

/* With too many a question is passed over: it is sent again, and they are answered soon. False: it
 * was turned away. */
static bool
take(struct job *job, const struct asker *asker)
{
	if (is_known(job, asker))
		return true;
	if (turn_away(job, asker))
		return false;
	if (!reply_at_once(job, asker) &&
	    job->answering.count <
		(int)(sizeof job->answering.askers / sizeof *job->answering.askers))
		job->answering.askers[job->answering.count++] = *asker;
	return true;
}

/* The queue is short, and the kernel lets who is fastest fill it: it is emptied first, so that
 * others come in, and then looked through for as long as a turn may last. What is left over is sent
 * again. */
static void
on_question(void *context, short revents)
{
	struct job *job = context;
	struct instant now = clock_now();
	struct asker askers[QUEUE_MOST];
	int count = 0, got = 0;
	pid_t unwelcome = 0;
	(void)revents;
	for (int i = 0; i < QUEUE_MOST && got >= 0; i++) {
		struct asker *asker = &askers[count];
		asker->asked_at = now;
		got = inquiry_hear(job->answering.watch.fd, &asker->question, &asker->peer);
		if (got == 1 && strcmp(asker->question.token, job_token(job)) == 0)
			count++;
	}
	for (int i = 0; i < count; i++) {
		/* Who sends many is told, and looked up, once. */
		if (askers[i].peer.pid != unwelcome && !take(job, &askers[i]))
			unwelcome = askers[i].peer.pid;
		if (instant_between(now, clock_now()) > TURN_NS)
			break;
	}
	if (job->answering.count > 0)
		settle(job, now);
}

void
answering_on_lock_changed(struct job *job, struct instant now)
{
	if (job->answering.count > 0)
		settle(job, now);
}

void
answering_open(struct job *job)
{
	job->answering.watch = (struct watch){.fd = inquiry_listen(job->answering.address),
	    .events = POLLIN,
	    .ready = on_question,
	    .context = job};
	job->answering.limit = (struct timer){.due = on_limit, .context = job};
	if (job->answering.watch.fd >= 0)
		loop_watch(job->loop, &job->answering.watch);
	else
		message_verbose("--held cannot ask about '%s': %s", job->settings->name,
		    strerror(errno));
}
