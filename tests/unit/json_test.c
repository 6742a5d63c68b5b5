/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/json: one object, right for any bytes, or none at all. */
#include "base/json.h"

#include <limits.h>
#include <string.h>

#include "tap.h"

static char out[256];

/* What an object with this text as its only member looks like. */
static const char *
print_text(const char *value)
{
	struct json json;
	json_begin(&json, out, sizeof out - 1);
	json_text(&json, "k", value);
	size_t length = json_end(&json);
	out[length] = '\0';
	return out;
}

static void
test_text(void)
{
	static const struct {
		const char *what, *value, *line;
	} rows[] = {
	    {"plain", "a b", "{\"k\":\"a b\"}\n"},
	    {"empty", "", "{\"k\":\"\"}\n"},
	    {"none", NULL, "{\"k\":null}\n"},
	    {"quote and backslash", "\"\\/", "{\"k\":\"\\\"\\\\/\"}\n"},
	    {"C0 controls and DEL", "\n\x01\x1f\x7f", "{\"k\":\"\\u000a\\u0001\\u001f\\u007f\"}\n"},
	    {"C1 controls", "\xc2\x80\xc2\x9f", "{\"k\":\"\\u0080\\u009f\"}\n"},
	    {"UTF-8", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92",
		"{\"k\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\x92\"}\n"},
	    {"no UTF-8", "\xff\xc3(", "{\"k\":\"\\\\xff\\\\xc3(\"}\n"},
	    {"overlong, a surrogate, beyond the last", "\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80",
		"{\"k\":\"\\\\xc0\\\\xaf\\\\xed\\\\xa0\\\\x80\\\\xf4\\\\x90\\\\x80\\\\x80\"}\n"},
	    {"cut at its end", "a\xe2\x82", "{\"k\":\"a\\\\xe2\\\\x82\"}\n"},
	    {"C2 at its end", "a\xc2", "{\"k\":\"a\\\\xc2\"}\n"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("text: %s", rows[i].what);
		CHECK_TEXT(print_text(rows[i].value), rows[i].line);
	}
}

static void
test_members(void)
{
	struct json json;
	tap_case("members of all kinds, and every number");
	json_begin(&json, out, sizeof out - 1);
	json_number(&json, "zero", 0);
	json_number(&json, "most", INT64_MAX);
	json_number(&json, "least", INT64_MIN);
	json_null(&json, "nothing");
	json_text(&json, "a\"b", "c");
	out[json_end(&json)] = '\0';
	CHECK_TEXT(out,
	    "{\"zero\":0,\"most\":9223372036854775807,\"least\":-9223372036854775808,"
	    "\"nothing\":null,\"a\\\"b\":\"c\"}\n");

	tap_case("an empty object");
	json_begin(&json, out, sizeof out - 1);
	out[json_end(&json)] = '\0';
	CHECK_TEXT(out, "{}\n");
}

static void
test_nested(void)
{
	struct json json;
	tap_case("objects and arrays within it");
	json_begin(&json, out, sizeof out - 1);
	json_open(&json, "none", '[');
	json_close(&json, ']');
	json_open(&json, "two", '[');
	json_open(&json, NULL, '{');
	json_text(&json, "a", "[");
	json_number(&json, "b", 1);
	json_close(&json, '}');
	json_open(&json, NULL, '{');
	json_close(&json, '}');
	json_text(&json, NULL, "{");
	json_number(&json, NULL, 2);
	json_null(&json, NULL);
	json_close(&json, ']');
	json_null(&json, "c");
	json_bool(&json, "d", true);
	json_bool(&json, "e", false);
	out[json_end(&json)] = '\0';
	CHECK_TEXT(out,
	    "{\"none\":[],\"two\":[{\"a\":\"[\",\"b\":1},{},\"{\",2,null],\"c\":null,\"d\":true,\"e\":false}\n");
}

static void
test_room(void)
{
	static const char line[] = "{\"k\":\"\\u0001\\\\xff\xe2\x82\xac\",\"n\":-12}\n";
	tap_case("what does not fit is none at all, and nothing is written behind the end");
	for (size_t size = 0; size < sizeof line + 3; size++) {
		struct json json;
		memset(out, '#', sizeof out);
		json_begin(&json, out, size);
		json_text(&json, "k", "\x01\xff\xe2\x82\xac");
		json_number(&json, "n", -12);
		size_t length = json_end(&json);
		CHECK(length == (size >= sizeof line - 1 ? sizeof line - 1 : 0));
		CHECK(out[size] == '#');
		if (length > 0)
			CHECK(memcmp(out, line, length) == 0);
	}
}

int
main(void)
{
	test_text();
	test_members();
	test_nested();
	test_room();
	return tap_end();
}
