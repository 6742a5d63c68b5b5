/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/reader, store/redis_answer and store/redlock_answer: what a server may send, in pieces of any
 * size, as the answer to each verb. The first byte chooses the size of a piece; from 0xf0 on the
 * bytes come over and over. */
#include "store/redis_answer.h"
#include "store/sentinel_view.h"

#include "fuzz.h"
#include "net/reader.h"
#include "store/redlock_answer.h"

#define FLOOD (LINK_MAX_ANSWER + 4096)

/* The bytes of an item; where it is no text, something that no word of ours is. */
static bool
is_text(const struct reply *reply, const char *text)
{
	bool has_text = reply->kind == REPLY_STRING || reply->kind == REPLY_STATUS;
	return has_text && reply->length == strlen(text) &&
	    memcmp(reply->text, text, reply->length) == 0;
}

static size_t
check_reply(const struct reply *reply)
{
	size_t items = 1;
	if (reply->kind == REPLY_ARRAY) {
		FUZZ_CHECK(reply->count <= LINK_MAX_ARRAY);
		for (size_t i = 0; i < reply->count; i++) {
			FUZZ_CHECK(reply->items[i] != NULL);
			items += check_reply(reply->items[i]);
		}
	} else if (reply->text != NULL) {
		FUZZ_CHECK(reply->length <= LINK_MAX_ANSWER);
		FUZZ_CHECK(reply->text[reply->length] == '\0');
	}
	FUZZ_CHECK(items <= LINK_MAX_ITEMS);
	return items;
}

/* A yes is said in one way only; what is neither yes nor no is never taken for either. */
static void
check_answer(const struct reply *reply, enum store_verb verb)
{
	struct store_answer answer;
	int64_t server_us = -1;
	bool array = reply->kind == REPLY_ARRAY && reply->count >= 3;
	memset(&answer, 0, sizeof answer);
	answer.outcome = OUTCOME_UNKNOWN;

	if (verb == STORE_RENEW || verb == STORE_RELEASE) {
		answer_read_number(reply, &answer);
		bool number = reply->kind == REPLY_INTEGER;
		FUZZ_CHECK((answer.outcome == OUTCOME_OK) == (number && reply->integer == 1));
		FUZZ_CHECK((answer.outcome == OUTCOME_LOST) ==
		    (number && (reply->integer == 0 || reply->integer == -1)));
		return;
	}
	if (!answer_read_acquire(reply, verb, &answer, &server_us)) {
		FUZZ_CHECK(verb == STORE_ACQUIRE && array &&
		    (is_text(reply->items[0], "LATE") || is_text(reply->items[0], "UNUSUAL")));
		FUZZ_CHECK(answer.outcome == OUTCOME_UNKNOWN);
		return;
	}
	FUZZ_CHECK(server_us >= 0 && server_us < INT64_C(1) << 53);
	if (reply->kind == REPLY_ERROR)
		FUZZ_CHECK(answer.outcome == OUTCOME_REFUSED || answer.outcome == OUTCOME_DENIED);
	FUZZ_CHECK(!answer.for_good ||
	    (answer.outcome == OUTCOME_REFUSED && verb == STORE_ACQUIRE && array &&
		is_text(reply->items[0], "SLOTS") && reply->count == 4));
	if (answer.outcome != OUTCOME_OK && answer.outcome != OUTCOME_LOST &&
	    answer.outcome != OUTCOME_HELD) {
		FUZZ_CHECK(answer.problem.text[0] != '\0');
		return;
	}
	FUZZ_CHECK(array && server_us > 0);
	const struct reply *word = reply->items[0];
	bool gone = is_text(word, "FREE"), full = is_text(word, "FULL") && verb == STORE_ACQUIRE,
	     busy = full || is_text(word, "BUSY");
	if (answer.outcome == OUTCOME_HELD)
		FUZZ_CHECK(verb != STORE_TOUCH && busy && reply->count == 8);
	else if (answer.outcome == OUTCOME_LOST)
		FUZZ_CHECK(verb == STORE_TOUCH && (gone || busy) && answer.gone == gone);
	else if (verb == STORE_LOOK)
		FUZZ_CHECK(gone);
	else
		FUZZ_CHECK(
		    is_text(word, "OWNED") || (verb == STORE_ACQUIRE && is_text(word, "GRANTED")));
	if (answer.outcome == OUTCOME_OK && verb != STORE_LOOK) {
		FUZZ_CHECK(reply->count == 4 && reply->items[3]->integer == answer.slot);
		FUZZ_CHECK(answer.slot >= 0 && answer.slot < SLOTS_MOST);
		FUZZ_CHECK(is_text(reply->items[1], answer.fence));
		FUZZ_CHECK(strspn(answer.fence, "0123456789") == strlen(answer.fence));
		FUZZ_CHECK(strspn(answer.fence, "0") < strlen(answer.fence));
	}
	FUZZ_CHECK(answer.place.full == (answer.outcome == OUTCOME_HELD && full));
	if (answer.outcome != OUTCOME_HELD)
		return;
	FUZZ_CHECK(answer.holder.left_ns >= -1 && answer.holder.held_ns >= -1);
	FUZZ_CHECK(
	    answer.place.rank >= -1 && answer.place.ticket >= 0 && answer.place.waiting >= 0);
	FUZZ_CHECK(answer.place.rank < 0 ? answer.place.ticket == 0 : answer.place.waiting == 0);
	FUZZ_CHECK(!answer.place.told == (reply->items[7]->integer == 0));
}

/* What a sentinel may say: no place without a host and a port, no more demoted than claim. */
static void
check_sentinel(const struct reply *reply)
{
	struct sentinel_view view = {.knows = false};
	struct url_place place = {.port = 0};
	struct sentinel_choice choice;
	const struct sentinel_view *views[] = {&view};
	bool knows = sentinel_read_master(reply, &view);
	FUZZ_CHECK(knows == view.knows);
	FUZZ_CHECK(!knows || (view.master.host[0] != '\0' && view.master.port > 0));
	sentinel_read_replicas(reply, &view);
	FUZZ_CHECK(view.alive <= view.listed && view.claimants <= view.alive);
	FUZZ_CHECK((int64_t)view.replica_count <= view.listed);
	view.claimants = view.alive = 2;
	sentinel_read_info(reply, "main", &view);
	FUZZ_CHECK(view.demoted >= 0 && view.demoted <= view.claimants);
	FUZZ_CHECK(strlen(view.claimant_id) < sizeof view.claimant_id);
	if (sentinel_read_switch(reply, "main", &place))
		FUZZ_CHECK(place.host[0] != '\0' && place.port > 0);
	FUZZ_CHECK(sentinel_choose(views, 1, &choice, 1) == (size_t)knows);
	FUZZ_CHECK(!knows || choice.alive >= choice.alive_less_one);
	sentinel_has_gone_on(reply, "main");
}

/* The same of a node of a quorum: each question has its words, and a number has a greater one. */
static void
check_node_answer(const struct reply *reply, enum quorum_ask ask)
{
	struct redlock_answer answer;
	bool counts = ask == ASK_RENEW || ask == ASK_GIVE;
	redlock_answer_read(reply, ask, &answer);
	FUZZ_CHECK(answer.number >= 0 && answer.number < INT64_MAX - 1);
	FUZZ_CHECK(answer.clock_us >= 0 && answer.clock_us < INT64_C(1) << 53);
	FUZZ_CHECK((answer.word == WORD_FAILED) == (answer.problem.text[0] != '\0'));
	if (reply->kind == REPLY_ERROR)
		FUZZ_CHECK(answer.word == WORD_FAILED && answer.outcome != OUTCOME_UNKNOWN);
	if (counts)
		FUZZ_CHECK((answer.word == WORD_YES) ==
		    (reply->kind == REPLY_INTEGER && reply->integer == 1));
	if (answer.word == WORD_TAKEN)
		FUZZ_CHECK(
		    (ask == ASK_TAKE || ask == ASK_RETAKE) && is_text(reply->items[0], "TAKEN"));
	if (answer.word == WORD_ACCEPTED)
		FUZZ_CHECK(ask == ASK_ACCEPT && is_text(reply->items[0], "ACCEPTED"));
	if (answer.word == WORD_BUSY)
		FUZZ_CHECK(reply->count == 5 && answer.holder.left_ns >= -1);
}

/* False: the reader has given up. */
static bool
read_replies(struct link_reader *reader, size_t *unanswered)
{
	const struct reply *reply;
	struct problem why = {.text = ""};
	int status;
	while ((status = reader_next(reader, &reply, &why)) == 1) {
		*unanswered = 0;
		check_reply(reply);
		check_sentinel(reply);
		for (int verb = STORE_ACQUIRE; verb <= STORE_LOOK; verb++)
			check_answer(reply, (enum store_verb)verb);
		for (int ask = ASK_TAKE; ask <= ASK_LOOK; ask++)
			check_node_answer(reply, (enum quorum_ask)ask);
		int64_t us = answer_read_time(reply);
		FUZZ_CHECK(us >= 0 && us < INT64_C(1) << 53);
		FUZZ_CHECK(us == 0 || (reply->kind == REPLY_ARRAY && reply->count == 2));
	}
	FUZZ_CHECK((status < 0) == (why.text[0] != '\0'));
	return status == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 512) /* larger ones are only slower: FLOOD has the bounds */
		return 0;
	bool flood = data[0] >= 0xf0, going = true;
	size_t length = flood ? FLOOD : size - 1, unanswered = 0;
	size_t piece = flood ? 4096 : (size_t)1 << data[0] % 8;
	static struct link_reader *reader; /* as in a link, one for all connections */
	char *bytes = malloc(length);
	struct problem why;
	if (reader == NULL)
		reader = reader_new();
	if (reader == NULL || bytes == NULL || reader_reset(reader) != 0)
		abort();
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)data[1 + i % (size - 1)];
	for (size_t at = 0; going && at < length; at += piece) {
		size_t now = length - at < piece ? length - at : piece;
		unanswered += now;
		going = reader_feed(reader, bytes + at, now, &why) == 0;
		going = going && read_replies(reader, &unanswered);
		/* What has no end is given up. */
		FUZZ_CHECK(!going || unanswered <= LINK_MAX_ANSWER);
	}
	free(bytes);
	return 0;
}
