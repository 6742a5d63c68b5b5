/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "base/secret_share.h"

#include "tap.h"

/* A source that answers when it is told to. */
struct slow {
	struct secret_source source;
	int asked, cancelled;
};

static void
slow_ask(struct secret_source *source)
{
	((struct slow *)source)->asked++;
}

static void
slow_cancel(struct secret_source *source)
{
	((struct slow *)source)->cancelled++;
}

struct asker {
	struct secret_source *source;
	const char *secret;
	bool failed;
	bool leaves_at_once;
};

static void
on_told(void *context, const char *secret, const struct problem *why)
{
	struct asker *asker = context;
	asker->secret = secret;
	asker->failed = why != NULL;
	if (asker->leaves_at_once)
		asker->source->operations->cancel(asker->source);
}

static const struct secret_operations slow_operations = {
    .ask = slow_ask,
    .cancel = slow_cancel,
    .forget = slow_cancel,
};
static struct slow slow;
static struct secret_share share;
static struct asker askers[3];

static void
set_up(void)
{
	slow = (struct slow){.source = {.operations = &slow_operations, .origin = "a file"}};
	secret_share_init(&share, &slow.source, 3);
	for (int i = 0; i < 3; i++) {
		askers[i] = (struct asker){.source = &share.fronts[i].source};
		askers[i].source->told = on_told;
		askers[i].source->context = &askers[i];
	}
}

static void
ask(int i)
{
	askers[i].source->operations->ask(askers[i].source);
}

static void
cancel(int i)
{
	askers[i].source->operations->cancel(askers[i].source);
}

static void
tell(const char *secret)
{
	struct problem why = {.text = "no such file"};
	slow.source.told(slow.source.context, secret, secret == NULL ? &why : NULL);
}

int
main(void)
{
	tap_case("all who ask meanwhile are told by one asking");
	set_up();
	CHECK_TEXT(askers[1].source->origin, "a file");
	ask(0);
	ask(1);
	CHECK_INT(slow.asked, 1);
	tell("hush");
	CHECK_TEXT(askers[0].secret, "hush");
	CHECK_TEXT(askers[1].secret, "hush");
	CHECK(askers[2].secret == NULL);

	tap_case(
	    "who comes while another has it is told at once; it is wiped when the last is done");
	ask(2);
	CHECK_INT(slow.asked, 1);
	CHECK_TEXT(askers[2].secret, "hush");
	cancel(0);
	cancel(1);
	CHECK_INT(slow.cancelled, 0);
	cancel(2);
	CHECK_INT(slow.cancelled, 1);
	cancel(2);
	CHECK_INT(slow.cancelled, 1);

	tap_case("then it is asked for anew");
	ask(0);
	CHECK_INT(slow.asked, 2);
	tell("changed");
	CHECK_TEXT(askers[0].secret, "changed");

	tap_case("a failure is told to all");
	set_up();
	ask(0);
	ask(2);
	tell(NULL);
	CHECK(askers[0].failed && askers[2].failed && !askers[1].failed);
	ask(0);
	CHECK_INT(slow.asked, 2);

	tap_case("who is done with it before the next is told does not take it from that one");
	set_up();
	askers[0].leaves_at_once = askers[1].leaves_at_once = true;
	ask(0);
	ask(1);
	tell("hush");
	CHECK_TEXT(askers[0].secret, "hush");
	CHECK_TEXT(askers[1].secret, "hush");
	CHECK_INT(slow.cancelled, 1);

	tap_case("who leaves while it is asked for is not told, and the asking ends with the last");
	set_up();
	ask(0);
	ask(1);
	cancel(0);
	CHECK_INT(slow.cancelled, 0);
	cancel(1);
	CHECK_INT(slow.cancelled, 1);
	return tap_end();
}
