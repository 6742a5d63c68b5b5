/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "dlock.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "descriptors.h"
#include "job/keeper.h"
#include "job/verdict.h"
#include "job/waiter.h"
#include "scenario.h"
#include "stand_ins.h"
#include "store/redlock_parts.h"
#include "trace.h"
#include "world.h"

static struct dlock *dlocks[MOST_DLOCKS];
static int dlock_count;
static struct url urls[2][MOST_NODES];

int
dlocks_count(void)
{
	return dlock_count;
}

struct dlock *
dlocks_get(int index)
{
	return dlocks[index];
}

struct dlock *
dlock_of(const struct job *job)
{
	return (struct dlock *)((char *)(uintptr_t)job - offsetof(struct dlock, job));
}

struct host *
dlock_host(struct dlock *dlock)
{
	return &dlock->host;
}

int
dlock_number(const struct dlock *dlock)
{
	return dlock->number;
}

void
dlock_note_state(const struct dlock *dlock)
{
	counts_add_state((int)dlock->job.lock.state);
}

bool
dlock_is_over(const struct dlock *dlock)
{
	return dlock->is_begun && !dlock->outer->is_alive &&
	    (dlock->runner == NULL || !dlock->runner->is_alive) &&
	    (dlock->command == NULL || !dlock->command->is_alive);
}

bool
dlock_works(const struct dlock *dlock)
{
	return dlock->command != NULL && dlock->command->is_alive && dlock->command->is_executed;
}

const char *
dlock_token(const struct dlock *dlock)
{
	if (nodes_count() > 1 && dlock->store != NULL)
		return ((const struct redlock *)dlock->store)->token;
	return dlock->token;
}

/* -- its processes, as src/job/job.c has them ---------------------------------------------------
 */

static void
on_lock_due(void *context, struct instant now)
{
	struct job *job = context;
	lock_tick(&job->lock, now);
}

static void
run_keeper(void *context)
{
	struct dlock *dlock = context;
	keeper_run(&dlock->job);
}

/* job.c's split: memory is shared here and not copied, so OUTER gets copies of what RUNNER changes.
 */
static _Noreturn void
split(struct dlock *dlock)
{
	struct job *job = &dlock->job;
	if (job_prepare_split(job) != 0)
		task_exit(CLD_EXITED, 71);
	struct guard_settings *guard = &job->guard;
	guard->has_lock = true;
	guard->report = dlock->settings.report;
	if (dlock->settings.on_lost == ON_LOST_KILL)
		atomic_store(&job->channel.page->guard_at_ns,
		    lease_guard_at(&dlock->settings.lock.terms, job->lock.t0).ns);
	job->outer = current->pid;
	verdict_share(job);
	task_step();
	struct task *runner = task_new(TASK_RUNNER, dlock, current, run_keeper, dlock);
	guard->runner = runner->pid;
	dlock->runner = runner;
	dlock->outer_channel = job->channel;
	dlock->outer_loop = job->guard_loop;
	dlock->outer_guard = *guard;
	dlock->outer_guard.channel = &dlock->outer_channel;
	dlock->outer_guard.loop = &dlock->outer_loop;
	dlock->tree.known = runner->pid;
	descriptors_pass_on(current, runner, dlock->outer_loop.timer_fd,
	    job->channel.ends[CHANNEL_OUTER]);
	task_wake(runner);
	channel_take(&dlock->outer_channel, CHANNEL_OUTER);
	guard_run(&dlock->outer_guard);
}

static void
run_outer(void *context)
{
	struct dlock *dlock = context;
	struct job *job = &dlock->job;
	int status;
	dlock->signals.fd = descriptor_open(DESCRIPTOR_SIGNALS);
	loop_open(&dlock->loop);
	lock_init(&job->lock, dlock->store, &dlock->settings.lock, dice_roll(&current->dice));
	if (!waiter_acquire(job, &status)) {
		verdict_report(job, status);
		task_exit(CLD_EXITED, status);
	}
	split(dlock);
}

/* -- its arguments ----------------------------------------------------------------------------- */

static void
parse_urls(void)
{
	struct problem problem;
	char text[64];
	for (int i = 0; i < MOST_NODES && urls[0][i].port == 0; i++) {
		snprintf(text, sizeof text, "redis://10.0.0.%d", i + 1);
		bool good = url_parse(&urls[0][i], text, URL_REFUSE_UNKNOWN_KEYS, &problem);
		snprintf(text, sizeof text, "redis://node%d.example", i + 1);
		good = good && url_parse(&urls[1][i], text, URL_REFUSE_UNKNOWN_KEYS, &problem);
		if (!good)
			abort();
	}
}

static void
open_store(struct dlock *dlock, const struct lease_terms *terms, bool by_name)
{
	const struct dlock_plan *plan = dlock->plan;
	dlock->redis = (struct redis_settings){
	    .url = &urls[by_name][0],
	    .server = "node1",
	    .keys = &dlock->keys,
	    .token = dlock->token,
	    .record = dlock->record,
	    .mode = dlock->mode,
	    .max_waiters = plan->max_waiters,
	    .min_fence = plan->min_fence,
	    .fence_mode = plan->fence_mode,
	    .watch = plan->watches,
	};
	for (int i = 0; i < nodes_count(); i++) {
		dlock->members[i].url = &urls[by_name][i];
		snprintf(dlock->members[i].server, sizeof dlock->members[i].server, "node%d",
		    i + 1);
	}
	dlock->redlock = (struct redlock_settings){
	    .members = dlock->members,
	    .count = nodes_count(),
	    .server = "the nodes",
	    .keys = &dlock->keys,
	    .record = dlock->record,
	    .ttl_ns = terms->ttl_ns,
	    .drift_ns = terms->drift_ns,
	    .min_fence = plan->min_fence,
	    .quarantine_ns = scenario_quarantine(),
	    .seed = dice_roll(&dlock->outer->dice),
	};
	dlock->store = nodes_count() > 1 ? redlock_store_new(&dlock->loop, &dlock->redlock)
					 : redis_store_new(&dlock->loop, &dlock->redis);
	if (dlock->store == NULL)
		abort();
}

static void
name_mode(struct dlock *dlock)
{
	switch (dlock->plan->mode) {
	case MODE_EXCLUSIVE:
		snprintf(dlock->mode, sizeof dlock->mode, "exclusive");
		break;
	case MODE_SHARED:
		snprintf(dlock->mode, sizeof dlock->mode, "shared");
		break;
	case MODE_SLOTS:
		snprintf(dlock->mode, sizeof dlock->mode, "slots:%d", dlock->plan->slots);
		break;
	}
}

static void
set_up(struct dlock *dlock, struct dice *dice)
{
	static char name[] = "work";
	static char *argv[] = {name, NULL};
	const struct dlock_plan *plan = dlock->plan;
	struct lease_terms terms;
	struct problem problem;
	if (!keys_make(&dlock->keys, "lock:", "job", &problem) ||
	    !lease_terms_make(&terms, plan->ttl_ns, plan->grace_ns, &problem)) {
		fprintf(stderr, "sim: %s\n", problem.text);
		abort();
	}
	name_mode(dlock);
	snprintf(dlock->record, sizeof dlock->record,
	    "host=h%d\npid=%d\nuser=u\ncommand=work\nmode=%s\n", dlock->number, dlock->outer->pid,
	    dlock->mode);
	dlock->settings = (struct job_settings){
	    .name = "job",
	    .key = dlock->keys.lock,
	    .token = dlock->token,
	    .lock = {.terms = terms,
		.wait_ns = plan->wait_ns,
		.connect_limit_ns = lease_default_connect_limit(plan->ttl_ns),
		.mode = plan->mode},
	    .argv = argv,
	    .first_signal = SIGTERM,
	    .on_lost = plan->only_signals ? ON_LOST_SIGNAL : ON_LOST_KILL,
	    .max_hold_ns = plan->max_hold_ns,
	    .at_least_ns = plan->at_least_ns,
	    .conflict_status = 75,
	    .report = &dlock->report,
	    .signals = &dlock->signals,
	    .tree = &dlock->tree,
	    .loop = &dlock->loop,
	};
	open_store(dlock, &terms, dice_chance(dice, 200) || plan->looks_up);
	dlock->settings.store = dlock->store;
	dlock->job.settings = &dlock->settings;
	dlock->job.loop = &dlock->loop;
	dlock->job.lock_timer = (struct timer){.due = on_lock_due, .context = &dlock->job};
}

static void
on_begin(void *subject, uint64_t unused)
{
	struct dlock *dlock = subject;
	(void)unused;
	dlock->is_begun = true;
	dlock->outer->is_alive = true;
	trace_line(dlock->outer->name, "begins: dlock -t %lldms %s%s",
	    (long long)(dlock->plan->ttl_ns / NS_PER_MS), dlock->mode,
	    dlock->plan->wait_ns == 0 ? " -n" : "");
	task_wake(dlock->outer);
}

void
dlocks_begin(const struct dlock_plan *plans, int count, uint64_t seed)
{
	parse_urls();
	dlock_count = 0;
	for (int i = 0; i < count; i++) {
		struct dice dice = dice_of(seed, 100 + (uint64_t)i);
		struct dlock *dlock = world_allocate(sizeof *dlock);
		dlock->number = i + 1;
		dlock->plan = &plans[i];
		dlocks[dlock_count++] = dlock;
		dlock->host.index = i;
		dlock->host.boot_offset = dice_below(&dice, INT64_C(1000000) * NS_PER_S);
		dlock->host.rate_ppm = dice_between(&dice, -4900, 4900);
		dlock->outer = task_new(TASK_OUTER, dlock, NULL, run_outer, dlock);
		current = dlock->outer;
		identity_make_token(dlock->token);
		set_up(dlock, &dice);
		current = NULL;
		dlock->outer->is_alive = false; /* not yet */
		if (plans[i].is_there)
			world_at(plans[i].begins_at, on_begin, dlock, 0);
	}
}

void
dlocks_end(void)
{
	for (int i = 0; i < dlock_count; i++) {
		struct dlock *dlock = dlocks[i];
		if (dlock->store == NULL)
			continue;
		if (nodes_count() > 1)
			redlock_store_free(dlock->store);
		else
			redis_store_free(dlock->store);
		dlock->store = NULL;
	}
	dlock_count = 0;
}
