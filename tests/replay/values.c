/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the letters in a template stand for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "words_parts.h"

int64_t
below(struct schedule *schedule, int64_t most)
{
	return tap_random_below(&schedule->random, most);
}

static const char *const odd_words[] = {"", "x", "0", "-1", "1", "2", "007", "+1", " 1", "1.5",
    "-0", "abc def", "9007199254740993", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "dlock!shared", "dlock!slots:2", "dlock!broken:x", "nan", "inf", "1e3",
    "0x10", "yes", "a\r\nb", "%d", "'", "[list]"};

static void
write_token(char *out, int64_t which)
{
	sprintf(out, "%08x-7c1a-4d5e-9f00-%012x", (unsigned int)which * 0x1111u + 0xabcu,
	    (unsigned int)which);
}

static const char *const lock_names[] = {"a", "b", "c"};
static const char *const lock_kinds[] = {"exclusive", "shared", "slots:2"};
static const char *const other_kinds[] = {"exclusive", "shared", "slots:2", "slots:3", "odd"};

void
write_key(char *out, int64_t lock, char kind)
{
	static const struct {
		char kind;
		const char *name;
	} siblings[] = {{'f', "fence"}, {'r', "rfence"}, {'i', "info"}, {'q', "queue"},
	    {'m', "members"}};
	sprintf(out, "lock:%s", lock_names[lock]);
	for (size_t i = 0; i < COUNT_OF(siblings); i++) {
		if (siblings[i].kind == kind)
			sprintf(out, "lock:%s#%s{lock:%s}", lock_names[lock], siblings[i].name,
			    lock_names[lock]);
	}
}

const char *
pick_odd(struct schedule *schedule)
{
	return PICK(schedule, odd_words);
}

static void
write_integer(struct schedule *schedule, char *out)
{
	if (below(schedule, 6) == 0)
		strcpy(out, PICK(schedule, odd_words));
	else
		sprintf(out, "%" PRId64, below(schedule, 9) - 3);
}

static void
write_ms(struct schedule *schedule, char *out)
{
	static const int64_t spans[] = {1, 2, 100, 1000, 3000, 30000, 30000, 60000, 150000};
	size_t first = schedule->is_calm && below(schedule, 8) > 0 ? 4 : 0;
	int64_t span = spans[first + (size_t)below(schedule, (int64_t)(COUNT_OF(spans) - first))];
	sprintf(out, "%" PRId64, span + below(schedule, 3));
}

static void
write_score(struct schedule *schedule, char *out)
{
	int64_t now_ms = schedule->now_us / 1000 + below(schedule, 60000);
	static const char *const scores[] = {"0", "1", "1.5", "-2", "3.0000000001", "1e10", "inf",
	    "-inf", "0.1", "-0", "nan", "12345678901234567", "1e300", "", "2x", "4.9e-324"};
	if (below(schedule, 3) == 0)
		sprintf(out, "%" PRId64, below(schedule, 3));
	else if (below(schedule, 3) == 0)
		sprintf(out, "%.17g", (double)now_ms + (double)below(schedule, 4) / 1024);
	else
		strcpy(out, PICK(schedule, scores));
}

static void
write_record(struct schedule *schedule, char *out, int64_t lock)
{
	const char *mode = below(schedule, 12) > 0 ? lock_kinds[lock] : PICK(schedule, other_kinds);
	sprintf(out,
	    "host=h%" PRId64 "\nboot=%08x\npid=%" PRId64 "\nstarted=77\nuser=u\n"
	    "command=true %%20\nmode=%s\n",
	    below(schedule, 3), 0x5eedu, below(schedule, 30000), mode);
	if (below(schedule, 15) == 0)
		strcpy(out, PICK(schedule, odd_words));
}

static void
write_number(struct schedule *schedule, char *out)
{
	static const int64_t numbers[] = {1, 2, INT64_C(9007199254740993), INT64_C(1) << 62};
	int64_t kind = below(schedule, 8);
	if (kind == 0)
		sprintf(out, "%" PRId64, PICK(schedule, numbers));
	else if (kind == 1)
		sprintf(out, "%" PRId64, schedule->now_us + INT64_C(10000000000));
	else
		sprintf(out, "%" PRId64, schedule->now_us / 4 * 4 - below(schedule, 3));
}

/* For scripts. */
static bool
write_argument(struct schedule *schedule, char kind, int64_t lock, char *out)
{
	static const char *const modes[] = {"try", "wait", "wait", "touch", "look", "odd"};
	static const char *const quorum_modes[] = {"take", "take", "take", "retake", "look"};
	static const char *const rests[] = {"0", "0", "1", "1000", "60000", "x"};
	static const char *const pages[] = {"", "", "w0", "h0 0", "h0", "w1.5", "x"};
	int64_t now = schedule->now_us;
	switch (kind) {
	case 'M':
		strcpy(out, PICK(schedule, modes));
		break;
	case 'q':
		strcpy(out, PICK(schedule, quorum_modes));
		break;
	case 'L':
		if (below(schedule, 4) > 0)
			strcpy(out, "1");
		else
			write_number(schedule, out);
		break;
	case 'F':
		strcpy(out, below(schedule, 4) > 0 ? "clock" : "counter");
		break;
	case 'N':
		sprintf(out, "%" PRId64, now + (below(schedule, 8) > 0 ? 2000000 : -1));
		break;
	case 'R':
		write_record(schedule, out, lock);
		break;
	case 'W':
		strcpy(out,
		    below(schedule, 12) > 0 ? lock_kinds[lock] : PICK(schedule, other_kinds));
		break;
	case 'K':
		sprintf(out, "%" PRId64, below(schedule, 3) > 0 ? 0 : now - below(schedule, 5));
		break;
	case 'X':
		sprintf(out, "%" PRId64, below(schedule, 3) - 1);
		break;
	case 'A':
		out[0] = '\0';
		if (below(schedule, 2) == 0)
			write_token(out, below(schedule, TOKENS));
		break;
	case 'U':
		strcpy(out, below(schedule, 4) > 0 ? "" : "under");
		break;
	case 'n':
		write_number(schedule, out);
		break;
	case 'b':
		strcpy(out, PICK(schedule, rests));
		break;
	case 'y':
		strcpy(out, below(schedule, 2) > 0 ? "yes" : "no");
		break;
	case 'Z':
		strcpy(out, PICK(schedule, pages));
		break;
	case 'g':
		strcpy(out, below(schedule, 3) > 0 ? "try" : "clean");
		break;
	default:
		return false;
	}
	return true;
}

/* Each client has its own, most of the time. */
static void
choose_token(struct schedule *schedule, char *out)
{
	bool is_own = schedule->is_calm && below(schedule, 6) > 0;
	write_token(out, is_own ? schedule->token : below(schedule, TOKENS));
}

static void
write_channel(struct schedule *schedule, char *out)
{
	bool is_usual = schedule->is_calm && below(schedule, 6) > 0;
	write_key(out, is_usual ? schedule->lock : below(schedule, 3), 'q');
	strcat(out, ":");
	choose_token(schedule, out + strlen(out));
	if (below(schedule, schedule->is_calm ? 12 : 4) == 0)
		strcpy(out, "c");
}

void
write_for(struct schedule *schedule, char kind, int64_t lock, char *out)
{
	static const char *const keys[] = {"k1", "k1", "k1", "k2", "z", "h1", "k\r\n4", ""};
	static const char *const hashes[] = {"h1", "h2"};
	static const char *const fields[] = {"f", "g", "member", "10", "", "f "};
	static const char *const ends[] = {"-inf", "+inf", "inf", "0", "1", "(1", "(0", "2", "(2",
	    "(", "5", "x", "", "(1.5", "( 1", " 1"};
	static const char kinds[] = "lfriqm";
	switch (kind) {
	case 'k':
		if (below(schedule, schedule->is_calm ? 20 : 3) > 0)
			strcpy(out, PICK(schedule, keys));
		else
			write_key(out, below(schedule, 3), kinds[below(schedule, 6)]);
		break;
	case 'z':
		if (below(schedule, 5) > 0)
			strcpy(out, "z");
		else
			write_for(schedule, 'k', lock, out);
		break;
	case 'h':
		strcpy(out, PICK(schedule, hashes));
		break;
	case 'f':
		if (below(schedule, 4) > 0)
			strcpy(out, PICK(schedule, fields));
		else
			write_token(out, below(schedule, TOKENS));
		break;
	case 'v':
		strcpy(out, PICK(schedule, odd_words));
		break;
	case 'i':
		write_integer(schedule, out);
		break;
	case 'm':
		write_ms(schedule, out);
		break;
	case 'T':
		sprintf(out, "%" PRId64,
		    schedule->now_us / 1000 +
			(below(schedule, 3) > 0 ? below(schedule, 4000) - 500 : 0));
		break;
	case 's':
		write_score(schedule, out);
		break;
	case 'r':
		strcpy(out, PICK(schedule, ends));
		break;
	case 't':
		choose_token(schedule, out);
		break;
	case 'c':
		write_channel(schedule, out);
		break;
	case 'I':
		sprintf(out, "%" PRId64, schedule->ids[below(schedule, CLIENTS)]);
		break;
	case 'S':
		strcpy(out, scripts[below(schedule, (int64_t)script_count)].sha1);
		break;
	case 'P':
		strcpy(out, below(schedule, 2) > 0 ? "secret" : "wrong");
		break;
	default:
		if (!write_argument(schedule, kind, lock, out))
			abort();
	}
}
