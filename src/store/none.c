/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/none.h"

static void
on_due(void *context, struct instant now)
{
	struct none_store *none = context;
	const struct store_answer answer = {
	    .outcome = OUTCOME_OK, /* to a LOOK too: it is free */
	    .sent_at = none->asked_at,
	    .received_at = now,
	};
	none->store.events->answered(none->store.context, &answer);
}

/* Never answers from in here. A release takes the place of what is under way, by one timer. */
static void
none_start(struct store *store, const struct store_request *request)
{
	struct none_store *none = (struct none_store *)store;
	(void)request; /* the answer is the same to all */
	none->asked_at = clock_now();
	loop_set_timer(none->loop, &none->timer, none->asked_at);
}

static void
none_close(struct store *store)
{
	struct none_store *none = (struct none_store *)store;
	loop_stop_timer(none->loop, &none->timer);
}

struct store *
none_store_init(struct none_store *none, struct loop *loop, const char *server)
{
	static const struct store_operations operations = {
	    .start = none_start,
	    .close = none_close,
	    .forget = none_close,
	};
	*none = (struct none_store){
	    .store = {.operations = &operations, .server = server},
	    .loop = loop,
	    .timer = {.due = on_due, .context = none},
	};
	return &none->store;
}
