/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/secret_share.h"

#include <stddef.h>

static bool
is_wanted(const struct secret_share *share)
{
	for (int i = 0; i < share->count; i++) {
		if (share->fronts[i].waits || share->fronts[i].has)
			return true;
	}
	return false;
}

static void
tell(struct secret_front *front, const char *secret, const struct problem *why)
{
	front->waits = false;
	front->has = secret != NULL;
	front->source.told(front->source.context, secret, why);
}

/* Who is told may be done with it, or another one may come, before the next is told. */
static void
on_told(void *context, const char *secret, const struct problem *why)
{
	struct secret_share *share = context;
	share->asked = false;
	share->secret = secret;
	for (int i = 0; i < share->count; i++) {
		struct secret_front *front = &share->fronts[i];
		if (!front->waits)
			continue;
		if (secret != NULL && share->secret == NULL) {
			/* All have cancelled meanwhile, and it is wiped. */
			front->source.operations->ask(&front->source);
			return;
		}
		tell(front, secret, why);
	}
}

static void
share_ask(struct secret_source *source)
{
	struct secret_front *front = (struct secret_front *)source;
	struct secret_share *share = front->share;
	front->waits = true;
	if (share->secret != NULL) {
		tell(front, share->secret, NULL);
		return;
	}
	if (share->asked)
		return;
	share->asked = true;
	share->inner->told = on_told;
	share->inner->context = share;
	share->inner->operations->ask(share->inner);
}

static void
share_cancel(struct secret_source *source)
{
	struct secret_front *front = (struct secret_front *)source;
	struct secret_share *share = front->share;
	if (!front->waits && !front->has)
		return;
	front->waits = front->has = false;
	if (is_wanted(share))
		return;
	share->asked = false;
	share->secret = NULL;
	share->inner->operations->cancel(share->inner);
}

static void
share_forget(struct secret_source *source)
{
	struct secret_share *share = ((struct secret_front *)source)->share;
	share->secret = NULL;
	share->inner->operations->forget(share->inner);
}

void
secret_share_init(struct secret_share *share, struct secret_source *inner, int count)
{
	static const struct secret_operations operations = {
	    .ask = share_ask,
	    .cancel = share_cancel,
	    .forget = share_forget,
	};
	*share = (struct secret_share){.inner = inner, .count = count};
	for (int i = 0; i < count; i++)
		share->fronts[i] = (struct secret_front){
		    .source = {.operations = &operations,
			.origin = inner->origin,
			.helper = inner->helper},
		    .share = share,
		};
}
