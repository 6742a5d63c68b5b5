/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/cluster_slot and store/cluster_redirect: where a key of a cluster is, and what a node says
 * of it. That the slots are the server's own is checked on 10,000 names by tests/cluster.bats
 * (R18). */
#include "store/cluster_redirect.h"

#include <string.h>

#include "store/cluster_slot.h"
#include "tap.h"

static void
test_slots(void)
{
	/* As CLUSTER KEYSLOT says. */
	static const struct {
		const char *key;
		int slot;
	} rows[] = {
	    {"123456789", 12739},
	    {"foo", 12182},
	    {"{foo}bar", 12182},
	    {"a{foo}{bar}", 12182},
	    {"a{foo", 113},
	    {"a{}{foo}", 700},
	    {"}{foo}", 12182},
	    {"lock:job", 3647},
	    {"lock:job#queue{lock:job}", 3647},
	    {"\xff\xfe", 3374},
	    {"", 0},
	};
	tap_case("a key's slot: all of it, or what stands in its first braces");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_note("key '%s'", rows[i].key);
		CHECK_INT(cluster_slot(rows[i].key), rows[i].slot);
	}
}

#define FIVE "aaaaa"
#define FIFTY FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE FIVE
#define LONG_HOST FIFTY FIFTY FIFTY FIFTY FIFTY FIVE /* 255 */

static void
test_redirects(void)
{
	static const struct {
		const char *text;
		enum redirect_kind kind;
		const char *host;
		int port;
	} rows[] = {
	    {"MOVED 866 127.0.0.1:7001", REDIRECT_MOVED, "127.0.0.1", 7001},
	    {"ASK 866 127.0.0.1:7001", REDIRECT_ASK, "127.0.0.1", 7001},
	    {"MOVED 866 db-1.example.org:7001", REDIRECT_MOVED, "db-1.example.org", 7001},
	    {"MOVED 866 :7001", REDIRECT_MOVED, "", 7001},
	    {"MOVED 866 ::1:7001", REDIRECT_MOVED, "::1", 7001},
	    {"MOVED 866 2001:db8::7:65535", REDIRECT_MOVED, "2001:db8::7", 65535},
	    {"MOVED 866 127.0.0.1:7001 and more", REDIRECT_MOVED, "127.0.0.1", 7001},
	    {"MOVED 866 127.0.0.1:7001\r\n", REDIRECT_MOVED, "127.0.0.1", 7001},
	    {"TRYAGAIN Multiple keys request during rehashing of slot", REDIRECT_LATER, NULL, 0},
	    {"CLUSTERDOWN Hash slot not served", REDIRECT_DOWN, NULL, 0},
	    {"CLUSTERDOWN The cluster is down", REDIRECT_DOWN, NULL, 0},
	    /* Not about us. */
	    {"", REDIRECT_NONE, NULL, 0},
	    {"MOVED", REDIRECT_NONE, NULL, 0},
	    {"MOVEDX 866 127.0.0.1:7001", REDIRECT_NONE, NULL, 0},
	    {"ERR MOVED 866 127.0.0.1:7001", REDIRECT_NONE, NULL, 0},
	    {"READONLY You can't write against a read only replica.", REDIRECT_NONE, NULL, 0},
	    {"moved 866 127.0.0.1:7001", REDIRECT_NONE, NULL, 0},
	    /* They point nowhere. */
	    {"MOVED ", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 ", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 867 127.0.0.1:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED -866 127.0.0.1:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 16384 127.0.0.1:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 99999999999999999999 127.0.0.1:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED  866 127.0.0.1:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 127.0.0.1", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 127.0.0.1:", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 127.0.0.1:0", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 127.0.0.1:65536", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 127.0.0.1:+1", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 127.0.0.1:7001@17001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 a/b:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 a\x1b[2Jb:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 ?:7001", REDIRECT_BROKEN, NULL, 0},
	    {"MOVED 866 " LONG_HOST ":7001", REDIRECT_MOVED, LONG_HOST, 7001},
	    {"MOVED 866 a" LONG_HOST ":7001", REDIRECT_BROKEN, NULL, 0},
	    {"ASK 866 ?:7001", REDIRECT_BROKEN, NULL, 0},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct url_place place = {.host = "untouched"};
		struct problem why = {.text = ""};
		tap_case("'%.60s' about slot 866", rows[i].text);
		enum redirect_kind kind = cluster_redirect_read(rows[i].text, 866, &place, &why);
		CHECK_INT(kind, rows[i].kind);
		if (rows[i].host != NULL) {
			CHECK_TEXT(place.host, rows[i].host);
			CHECK_INT(place.port, rows[i].port);
		}
		CHECK((why.text[0] != '\0') == (kind == REDIRECT_BROKEN));
	}
}

static void
test_explanations(void)
{
	struct url_place place;
	struct problem why;
	tap_case("what is wrong with a redirection is said");
	CHECK_INT(cluster_redirect_read("MOVED 867 h:1", 866, &place, &why), REDIRECT_BROKEN);
	CHECK_TEXT(why.text, "the node redirects slot 867, and was asked for slot 866");
	CHECK_INT(cluster_redirect_read("MOVED 866 ?:1", 866, &place, &why), REDIRECT_BROKEN);
	CHECK_HAS(why.text, "cluster-announce-hostname");
}

int
main(void)
{
	test_slots();
	test_redirects();
	test_explanations();
	return tap_end();
}
