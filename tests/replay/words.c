/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "words_parts.h"

#define MOST_WORDS 48
#define WORD_BYTES 16384

/* -- bytes ------------------------------------------------------------------------------------ */

struct words {
	size_t count, used;
	struct {
		size_t at, length;
	} words[MOST_WORDS];
	char text[WORD_BYTES];
};

static void
add_word(struct words *words, const char *text, size_t length)
{
	if (words->count == MOST_WORDS || words->used + length > sizeof words->text)
		abort();
	memcpy(words->text + words->used, text, length);
	words->words[words->count].at = words->used;
	words->words[words->count++].length = length;
	words->used += length;
}

static void
add_command(struct burst *burst, const struct words *words)
{
	size_t used = burst->length, size = sizeof burst->bytes;
	if (used + words->used + 32 * (words->count + 1) > size)
		abort();
	used += (size_t)snprintf(burst->bytes + used, size - used, "*%zu\r\n", words->count);
	for (size_t i = 0; i < words->count; i++) {
		size_t length = words->words[i].length;
		used += (size_t)snprintf(burst->bytes + used, size - used, "$%zu\r\n", length);
		memcpy(burst->bytes + used, words->text + words->words[i].at, length);
		memcpy(burst->bytes + used + length, "\r\n", 2);
		used += length + 2;
	}
	burst->length = used;
	burst->commands++;
	/* Or there was none, which is as good. */
	bool is_end = words->count == 1 &&
	    (strncasecmp(words->text, "EXEC", 4) == 0 ||
		strncasecmp(words->text, "DISCARD", 7) == 0);
	burst->ends_transaction = is_end || (burst->ends_transaction && words->count > 1);
}

static void
clear(struct burst *burst)
{
	burst->length = burst->commands = 0;
	burst->any_order = false;
	burst->ends_transaction = false;
}

void
burst_of(struct burst *burst, const char *const *texts)
{
	static struct words words;
	words.count = words.used = 0;
	for (size_t i = 0; texts[i] != NULL; i++)
		add_word(&words, texts[i], strlen(texts[i]));
	clear(burst);
	add_command(burst, &words);
}

/* A word of a template. */
static void
fill_word(struct words *words, struct schedule *schedule, const char *at, size_t length,
    int64_t lock)
{
	char out[2048] = "";
	size_t used = 0;
	for (size_t i = 0; i < length; i++) {
		if (at[i] == '%' && i + 1 < length) {
			write_for(schedule, at[++i], lock, out + used);
			used += strlen(out + used);
		} else {
			out[used++] = at[i];
		}
	}
	add_word(words, out, used);
}

static void
fill(struct words *words, struct schedule *schedule, const char *template, int64_t lock)
{
	while (*template != '\0') {
		size_t length = strcspn(template, " ");
		if (*template == '?') {
			if (below(schedule, 5) == 0)
				fill_word(words, schedule, template + 1, length - 1, lock);
		} else {
			fill_word(words, schedule, template, length, lock);
		}
		template += length + (template[length] == ' ');
	}
}

/* -- scripts ---------------------------------------------------------------------------------- */

/* Of the table. */
enum {
	ANY = -1,
	TO_WAIT = 2,
	TO_CONFIRM = 3,
};

static void
add_real_script(struct burst *burst, struct schedule *schedule, int64_t wanted)
{
	static struct words words;
	char key[64], digit[2];
	/* acquire, confirm, release, renew most of the time, where all is to go well. */
	static const unsigned char usual[] = {0, 1, 2, 2, 2, 3, 3, 3, 4, 5, 7, 7, 8, 17, 17, 19, 19,
	    20};
	bool is_usual = schedule->is_calm && below(schedule, 6) > 0;
	int64_t which = wanted >= 0 ? wanted
	    : is_usual              ? PICK(schedule, usual)
				    : below(schedule, (int64_t)script_count);
	int64_t lock = is_usual ? schedule->lock : below(schedule, 3);
	const char *keys = scripts[which].keys;
	words.count = words.used = 0;
	bool by_hash = below(schedule, 4) == 0;
	fill(&words, schedule, by_hash ? "EVALSHA" : "EVAL", 0);
	if (by_hash)
		add_word(&words, scripts[which].sha1, 40);
	else
		add_word(&words, scripts[which].text, strlen(scripts[which].text));
	digit[0] = (char)('0' + strlen(keys));
	digit[1] = '\0';
	add_word(&words, digit, 1);
	for (size_t i = 0; keys[i] != '\0'; i++) {
		write_key(key, (lock + (i >= 5)) % 3, keys[i]);
		add_word(&words, key, strlen(key));
	}
	fill(&words, schedule, scripts[which].arguments, lock);
	/* Now and then something that does not belong there. */
	if (below(schedule, 40) == 0 && words.count > 3 && !scripts[which].any_order) {
		size_t at = 3 + (size_t)below(schedule, (int64_t)words.count - 3);
		const char *odd = pick_odd(schedule);
		memcpy(words.text + words.used, odd, strlen(odd));
		words.words[at].at = words.used;
		words.words[at].length = strlen(odd);
		words.used += strlen(odd);
	}
	burst->any_order = burst->any_order || scripts[which].any_order;
	add_command(burst, &words);
}

static size_t
quote(char *out, const char *at, size_t length)
{
	size_t used = 0;
	out[used++] = '"';
	for (size_t i = 0; i < length; i++)
		used += (size_t)sprintf(out + used,
		    at[i] < ' ' || at[i] == '"' || at[i] == '\\' ? "\\%03d" : "%c",
		    (unsigned char)at[i]);
	out[used++] = '"';
	return used;
}

static const char *
random_template(struct schedule *schedule, bool *any_order)
{
	const char *template = templates[below(schedule, (int64_t)template_count)];
	*any_order = *template == '!';
	return template + *any_order;
}

/* A script of a few calls, which answers with what they have said, in one way or another. */
static void
add_random_script(struct burst *burst, struct schedule *schedule)
{
	static const char *const ends[] = {"return r", "return r", "return r", "return r[#r]",
	    "return #r",
	    "return {r, 1.9, -0.5, 'x', true, {ok = 'fine'}, {err = 'MY own'}, nil, 2}",
	    "return redis.status_reply('done')", "return redis.error_reply('no')",
	    "return redis.error_reply('WORD no')", "error('oh')", "error({err = 'SOME table'})",
	    "return nothing", "nothing = 1", "return {pcall(redis.call, 'GET')}",
	    "return tostring(r[1] == false)", "return tonumber(ARGV[1])", "return type(r[1])",
	    "return unpack(r)", "return 1 / 0", "return -1 / 0", "return 2^53 + 1",
	    "return string.format('%.17g', 0.1)", "return {KEYS[1], ARGV[1], KEYS[2]}",
	    "return r[1] and r[1].err", "return {err = 5}", "return {[1] = 1, [3] = 3}",
	    "return false", "return", "return 1e300", "return redis.sha1hex('')",
	    "return redis.call()", "return redis.pcall({})", "return redis.call('GET', true)",
	    "return (", "pcall(error) return r", "return redis.pcall('INCRR', 'k1')",
	    "return string.rep('x', 300)", "return {string.byte(ARGV[1] or '', 1, -1)}",
	    "return redis.error_reply({})"};
	static struct words words, call;
	char text[WORD_BYTES / 2] = "local r = {}\n";
	size_t used = strlen(text);
	words.count = words.used = 0;
	for (int64_t i = below(schedule, 5); i > 0; i--) {
		bool any_order;
		const char *template = random_template(schedule, &any_order);
		burst->any_order = burst->any_order || any_order;
		call.count = call.used = 0;
		fill(&call, schedule, template, 0);
		used += (size_t)sprintf(text + used, "r[#r + 1] = redis.%s(",
		    below(schedule, 2) > 0 ? "call" : "pcall");
		for (size_t k = 0; k < call.count; k++) {
			if (k > 0)
				text[used++] = ',';
			used +=
			    quote(text + used, call.text + call.words[k].at, call.words[k].length);
		}
		used += (size_t)sprintf(text + used, ")\n");
	}
	used += (size_t)sprintf(text + used, "%s", PICK(schedule, ends));
	add_word(&words, "EVAL", 4);
	add_word(&words, text, used);
	fill(&words, schedule, "1 %k %v", 0);
	add_command(burst, &words);
}

/* -- all -------------------------------------------------------------------------------------- */

static void
add_plain(struct burst *burst, struct schedule *schedule)
{
	static struct words words;
	bool any_order;
	const char *template = random_template(schedule, &any_order);
	burst->any_order = burst->any_order || any_order;
	words.count = words.used = 0;
	fill(&words, schedule, template, 0);
	if (below(schedule, 50) == 0 && words.count > 1)
		words.count--;
	if (below(schedule, 50) == 0)
		fill(&words, schedule, "%v", 0);
	if (below(schedule, 4) == 0) {
		char *name = words.text + words.words[0].at;
		for (size_t i = 0; i < words.words[0].length; i++)
			name[i] |= name[i] >= 'A' && name[i] <= 'Z' ? 0x20 : 0;
	}
	add_command(burst, &words);
}

static void
add_words(struct burst *burst, struct schedule *schedule, const char *template)
{
	static struct words words;
	words.count = words.used = 0;
	fill(&words, schedule, template, 0);
	add_command(burst, &words);
}

static void
add_any(struct burst *burst, struct schedule *schedule)
{
	int64_t kind = below(schedule, 10);
	if (kind < (schedule->is_calm ? 1 : 4))
		add_plain(burst, schedule);
	else if (kind < 8)
		add_real_script(burst, schedule, ANY);
	else
		add_random_script(burst, schedule);
}

/* As store/line.c does it. */
static void
add_waiting(struct burst *burst, struct schedule *schedule, int which)
{
	char tracking[80];
	if (below(schedule, 2) == 0) {
		sprintf(tracking, "CLIENT TRACKING ON REDIRECT %" PRId64 " OPTIN NOLOOP",
		    schedule->ids[which]);
		add_words(burst, schedule, "UNSUBSCRIBE %c");
		add_words(burst, schedule, tracking);
		add_words(burst, schedule, "CLIENT CACHING YES");
		add_words(burst, schedule, "EXISTS %k");
	}
	add_words(burst, schedule, "MULTI");
	add_words(burst, schedule, "SUBSCRIBE %c");
	add_real_script(burst, schedule, below(schedule, 4) > 0 ? TO_WAIT : ANY);
	add_words(burst, schedule, "EXEC");
}

/* What shows only when one comes right after the other. */
static void
add_story(struct burst *burst, struct schedule *schedule)
{
	static const char *const stories[][6] = {
	    {"SET k1 1 PX %m", "PEXPIREAT k1 %T", "PTTL k1", "INCR k1", "GET k1", NULL},
	    {"ZADD z %s f %s g %s h", "ZRANGE z 0 -1 WITHSCORES", "ZRANGEBYSCORE z %r %r",
		"ZRANK z g", "ZREMRANGEBYSCORE z %r %r", NULL},
	    {"HSET h1 f %v g %v", "HDEL h1 f g", "EXISTS h1", "HLEN h1", NULL},
	    {"SELECT 1", "SET k1 %v XX GET", "SELECT 0", "GET k1", NULL},
	};
	const char *const *story = PICK(schedule, stories);
	for (size_t i = 0; story[i] != NULL; i++)
		add_words(burst, schedule, story[i]);
}

void
burst_make(struct burst *burst, struct schedule *schedule, int which)
{
	int64_t kind = below(schedule, 20);
	clear(burst);
	schedule->token = which;
	if (schedule->is_woken[which])
		add_words(burst, schedule, "UNSUBSCRIBE %c");
	/* For what comes to be more than a refusal. */
	if (schedule->is_calm && below(schedule, 2) > 0)
		add_words(burst, schedule, "UNSUBSCRIBE %c");
	if (schedule->is_woken[which] && kind < 15) {
		add_real_script(burst, schedule, TO_CONFIRM);
	} else if (kind < (schedule->is_calm ? 3 : 1)) {
		add_waiting(burst, schedule, which);
	} else if (kind == 3) {
		add_words(burst, schedule, "MULTI");
		for (int64_t i = below(schedule, 4); i >= 0; i--)
			add_any(burst, schedule);
		add_words(burst, schedule, below(schedule, 8) > 0 ? "EXEC" : "DISCARD");
	} else if (kind == 4) {
		burst->any_order = true;
		add_words(burst, schedule, "UNSUBSCRIBE");
		add_words(burst, schedule, "SUNSUBSCRIBE");
		if (schedule->password != NULL)
			add_words(burst, schedule, "AUTH secret");
	} else if (kind == 5) {
		add_story(burst, schedule);
	} else if (kind == 6) {
		for (int64_t i = below(schedule, 5); i >= 0; i--)
			add_any(burst, schedule);
	} else {
		add_any(burst, schedule);
	}
	schedule->is_woken[which] = false;
}
