/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/line: any replies to any requests, in the order that store/redis keeps: one request at a
 * time, and a release in place of one. Each byte is a request or a reply, those of `letters` the
 * ones that stand there below; so the corpus can be read. */
#include "store/line.h"

#include "fuzz.h"

#define OWN "queue:me"
#define INVALIDATE "__redis__:invalidate"

/* What has been sent: where its commands begin and end, counted over all of the connection. */
struct asked {
	unsigned int begin, end;
	bool joins;
	bool listened; /* the server was known to have us subscribed */
	bool fenced;   /* and has said since that it has not */
};

static struct link out; /* takes the commands, and goes nowhere */

struct run {
	struct line line;
	struct asked asked[2];
	unsigned int count; /* of `asked` that are not answered */
	unsigned int sent, answered;
	int again;
	int ends; /* of connections that were to stand in line */
};

/* -- replies ---------------------------------------------------------------------------------- */

#define TEXT(kind_, text_)                                                                         \
	{                                                                                          \
		.kind = (kind_), .text = (text_), .length = sizeof(text_) - 1                      \
	}
#define TRIPLE(one, two, three)                                                                    \
	{                                                                                          \
		.kind = REPLY_ARRAY, .count = 3, .items = (const struct reply *const[])            \
		{                                                                                  \
			&(one), &(two), &(three)                                                   \
		}                                                                                  \
	}

static const struct reply subscribe = TEXT(REPLY_STRING, "subscribe"),
			  unsubscribe = TEXT(REPLY_STRING, "unsubscribe"),
			  message = TEXT(REPLY_STRING, "message"), own = TEXT(REPLY_STRING, OWN),
			  invalidate = TEXT(REPLY_STRING, INVALIDATE),
			  other = TEXT(REPLY_STRING, "other"), granted = TEXT(REPLY_STRING, "G"),
			  head = TEXT(REPLY_STRING, "H:1500"), far = TEXT(REPLY_STRING, "H:-1"),
			  odd = TEXT(REPLY_STRING, "H:9x"), ok = TEXT(REPLY_STATUS, "OK"),
			  queued = TEXT(REPLY_STATUS, "QUEUED"), err = TEXT(REPLY_ERROR, "ERR x"),
			  unknown = TEXT(REPLY_ERROR, "unknown command 'x'"),
			  noperm = TEXT(REPLY_ERROR, "NOPERM x"),
			  busy = TEXT(REPLY_ERROR, "BUSY x"),
			  abort_ = TEXT(REPLY_ERROR, "EXECABORT x"), nil = {.kind = REPLY_NIL},
			  zero = {.kind = REPLY_INTEGER, .integer = 0},
			  one = {.kind = REPLY_INTEGER, .integer = 1};
static const struct reply said_subscribe = TRIPLE(subscribe, own, one),
			  said_unsubscribe = TRIPLE(unsubscribe, own, zero),
			  said_unsubscribe_one = TRIPLE(unsubscribe, own, one),
			  said_unsubscribe_other = TRIPLE(unsubscribe, other, zero),
			  said_granted = TRIPLE(message, own, granted),
			  said_head = TRIPLE(message, own, head),
			  said_far = TRIPLE(message, own, far),
			  said_odd = TRIPLE(message, own, odd),
			  said_other = TRIPLE(message, other, granted),
			  said_nothing = TRIPLE(message, own, nil),
			  said_changed = TRIPLE(message, invalidate, nil);
static const struct reply array_of_one = {.kind = REPLY_ARRAY,
			      .count = 1,
			      .items = (const struct reply *const[]){&one}},
			  joined = {.kind = REPLY_ARRAY,
			      .count = 2,
			      .items = (const struct reply *const[]){&said_subscribe, &one}},
			  failed = {.kind = REPLY_ARRAY,
			      .count = 2,
			      .items = (const struct reply *const[]){&said_subscribe, &busy}},
			  unjoined = {.kind = REPLY_ARRAY,
			      .count = 2,
			      .items = (const struct reply *const[]){&noperm, &one}};

static const char letters[] = "jtpr*bOQEXNBA_01SUuoGHhgm.CL24F";
static const struct reply *const replies[] = {&ok, &queued, &err, &unknown, &noperm, &busy, &abort_,
    &nil, &zero, &one, &said_subscribe, &said_unsubscribe, &said_unsubscribe_one,
    &said_unsubscribe_other, &said_granted, &said_head, &said_far, &said_odd, &said_other,
    &said_nothing, &said_changed, &array_of_one, &joined, &unjoined, &failed};

/* -- requests --------------------------------------------------------------------------------- */

/* The commands that were appended; each begins with the number of its words. */
static unsigned int
take_commands(void)
{
	unsigned int commands = 0;
	FUZZ_CHECK(!out.append_failed);
	for (size_t i = 0; i < out.out_used; i++)
		commands += out.out[i] == '*';
	out.out_used = 0;
	return commands;
}

static void
ask(struct run *run, bool join, bool track)
{
	static const char *const eval[] = {"EVAL"};
	struct line *line = &run->line;
	struct asked *asked = &run->asked[run->count];
	bool joins = join && !line->no_push;
	if (run->count == 2)
		return;
	*asked = (struct asked){
	    .begin = run->sent,
	    .joins = joins,
	    .listened = line->subscribed && line->step_count == 0,
	};
	FUZZ_CHECK(!asked->listened || !line_is_silent(line));
	line_begin(line, join, track);
	link_append(&out, 1, eval);
	line_end(line, join);
	run->sent += take_commands();
	asked->end = run->sent;
	run->count++;
	FUZZ_CHECK(line->listens == joins);
	FUZZ_CHECK(joins || !line->follows);
	/* The ring has room for more than there can be: nothing that was sent is not awaited. */
	FUZZ_CHECK(line->step_count == run->sent - run->answered);
	FUZZ_CHECK(line->step_count <= LINE_MOST_STEPS / 2);
}

static void
reconnect(struct run *run)
{
	line_reset(&run->line);
	FUZZ_CHECK(line_is_silent(&run->line) && !run->line.listens && !run->line.follows);
	run->count = run->sent = run->answered = 0;
}

static void
end_connection(struct run *run)
{
	struct problem why;
	bool had_push = !run->line.no_push, joins = run->count > 0 && run->asked[0].joins;
	problem_set(&why, "closed");
	line_note_end(&run->line, &why);
	run->ends += joins;
	/* Never by the first, and only by one that was to stand in line. */
	FUZZ_CHECK(!had_push || !run->line.no_push || (joins && run->ends >= 2));
	reconnect(run);
}

/* -- what must hold --------------------------------------------------------------------------- */

/* The request's end: that was asked, and its last answer or, where MULTI is not known, its own. */
static struct asked
end_request(struct run *run, bool may_be_early)
{
	struct asked asked = run->asked[0];
	FUZZ_CHECK(run->count > 0);
	FUZZ_CHECK(run->answered == asked.end ||
	    (may_be_early && asked.joins && run->answered == asked.end - 1));
	run->asked[0] = run->asked[1];
	run->count--;
	return asked;
}

/* redis.c, in short: who has a release in its place is not answered. */
static void
hear(struct run *run, const struct reply *reply)
{
	struct line *line = &run->line;
	const struct reply *answer = NULL;
	int64_t left_ms = -2;
	bool is_message = reply->kind == REPLY_ARRAY && reply->items[0] == &message;
	struct asked *asked = &run->asked[0];
	if (!is_message && line->step_count > 0)
		run->answered++;
	if (run->count > 0 && run->answered == asked->begin + 1 && reply->kind == REPLY_ARRAY &&
	    reply->items[0] == &unsubscribe)
		asked->fenced = true;
	enum line_event event = line_read(line, reply, &answer, &left_ms);
	FUZZ_CHECK(
	    (event == LINE_GRANTED || event == LINE_HEAD || event == LINE_CHANGED) <= is_message);
	FUZZ_CHECK((answer != NULL) == (event == LINE_ANSWER || event == LINE_STUCK));
	switch (event) {
	case LINE_HEAD:
		FUZZ_CHECK(left_ms == 1500 || left_ms == -1);
		break;
	case LINE_NOTHING:
	case LINE_GRANTED:
	case LINE_CHANGED:
		break;
	case LINE_ANSWER: {
		struct asked done = end_request(run, true);
		/* A yes that is older than the question comes ahead of UNSUBSCRIBE's answer. */
		if (answer->kind != REPLY_ERROR && done.listened)
			FUZZ_CHECK(done.fenced);
		break;
	}
	case LINE_STUCK:
		FUZZ_CHECK(answer->kind == REPLY_ERROR);
		end_request(run, false);
		if (run->count == 0)
			reconnect(run);
		break;
	case LINE_AGAIN:
		FUZZ_CHECK(end_request(run, false).joins);
		FUZZ_CHECK(line->no_push);
		FUZZ_CHECK(++run->again == 1);
		break;
	case LINE_WAITED: /* WAIT is not sent here, */
	case LINE_ASIDE:  /* and nothing is put aside */
		abort();
	case LINE_UNASKED:
		reconnect(run);
		break;
	}
	FUZZ_CHECK(line->step_count == run->sent - run->answered);
	FUZZ_CHECK(line->step_count > 0 || run->count == 0);
	FUZZ_CHECK(line->no_push == (line->why_no_push.text[0] != '\0'));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct keys keys = {.lock = "lock", .queue = "queue"};
	struct run run;
	memset(&run, 0, sizeof run);
	line_init(&run.line, &out, &keys, "me");
	for (size_t i = 0; i < size && i < 512; i++) {
		const char *letter = data[i] != '\0' ? strchr(letters, data[i]) : NULL;
		size_t which =
		    letter != NULL ? (size_t)(letter - letters) : data[i] % (sizeof letters - 1);
		bool free = run.count == 0;
		if (which == 0 && free)
			ask(&run, true, false);
		else if (which == 1 && free)
			ask(&run, true, true);
		else if (which == 2 && free)
			ask(&run, false, false);
		else if (which == 3)
			ask(&run, false, false);
		else if (which == 4)
			reconnect(&run);
		else if (which == 5)
			end_connection(&run);
		else if (which > 5)
			hear(&run, replies[which - 6]);
	}
	return 0;
}
