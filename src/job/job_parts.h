/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files of a job share. */
#ifndef DLOCK_JOB_JOB_PARTS_H
#define DLOCK_JOB_JOB_PARTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/step.h"
#include "job/job.h"
#include "lock/lock.h"
#include "run/channel.h"
#include "run/command.h"
#include "run/deadman.h"
#include "run/forward.h"
#include "run/guard.h"
#include "run/held.h"
#include "run/inquiry.h"
#include "run/spawn.h"
#include "run/terminal.h"
#include "store/none.h"

enum stage {
	STAGE_RUNNING,   /* COMMAND runs */
	STAGE_LINGERING, /* it has ended; what it left is waited for (--descendants wait) */
	STAGE_ENDING,    /* all must end: lock lost, died of a signal, OUTER dead, --max-hold */
	STAGE_RELEASING, /* it is over: the lock is being given back */
};

/* What COMMAND runs under. */
enum cover {
	COVER_LOCK,     /* a lock of this run's own */
	COVER_NONE,     /* none: --if-unreachable run */
	COVER_ANCESTOR, /* the lock of a dlock above */
};

/* Somebody below who wants to know whether the lock is held, until a renewal is confirmed. */
struct asker {
	struct inquiry_question question;
	struct inquiry_peer peer;
	struct instant asked_at;
};

/* RUNNER's ear for them. */
struct answering {
	struct watch watch;
	struct timer limit;              /* of who has waited longest */
	char address[HELD_ADDRESS_SIZE]; /* of watch.fd; empty: it cannot be asked */
	int count;
	struct asker askers[32];
};

struct job {
	const struct job_settings *settings;
	enum cover cover;
	struct loop *loop;
	struct lock lock;
	struct timer lock_timer;
	struct watch signal_watch;

	/* While acquiring. */
	int ended_by; /* the signal that ends the wait, 0: none */
	struct timer wait_notice;
	bool told_untold;                  /* that nobody tells us when it is our turn */
	const struct held_entry *ancestor; /* in `above`: who is in our way; NULL: none is */

	/* While keeping, in RUNNER. */
	enum stage stage;
	struct channel channel;
	struct guard_settings guard; /* OUTER's, and its loop */
	struct loop guard_loop;
	bool prepared;
	struct terminal terminal;
	struct watch channel_watch;
	struct deadman deadman;
	struct step step;
	struct forward forward;
	struct timer forward_timer;
	struct timer max_hold;
	struct timer immune;
	int64_t immune_pause_ns;
	bool overstayed; /* --max-hold has ended it */
	pid_t outer;
	struct instant started_at;
	bool outer_dead;
	enum report_outcome outcome; /* of the run, once it is known (verdict.h) */
	bool by_signal;              /* how COMMAND ended: */
	int value;                   /* the signal, or the status */
	bool not_executed;
	bool lost;
	struct instant lost_at;
	bool loss_announced;
	struct instant ended_at; /* INSTANT_NEVER: it still runs */

	/* What is large comes last, and each of them begins with what is touched: RUNNER, just
	 * forked, pays for every page that it writes to before COMMAND is executed. */
	char reason[1536]; /* of `outcome` */
	struct command command;
	struct answering answering;
	struct spawn_plan plan;
	/* With another cover than a lock of its own: what `settings` then is. */
	struct job_settings standin_settings;
	struct none_store none;
	struct inquiry_answer under; /* COVER_ANCESTOR: whose lock that is */
	struct held above;           /* the locks of the dlocks above */
};

/* The token of the lock that COMMAND runs under. */
const char *
job_token(const struct job *job);

/* Makes ready what becoming two processes needs, before the lock is had: who waits has the time,
 * and who is granted the lock has none to lose. Once is enough. 0, or -1 and errno. */
int
job_prepare_split(struct job *job);

/* One turn of the loop, with the lock's next deadline in it. 0, or -1 and errno. */
int
job_turn(struct job *job);

#endif
