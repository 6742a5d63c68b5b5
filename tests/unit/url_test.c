/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/url: the server URLs of SPEC section 6. */
#include "net/url.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tap.h"

#define TEN "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

/* password NULL: none. shown: what url_print makes of it. */
static const struct {
	const char *text, *user, *password, *host;
	int port, db;
	const char *shown;
} redis_urls[] = {
    {"redis://db1", "", NULL, "db1", 6379, 0, "redis://db1:6379"},
    {"redis://db1/", "", NULL, "db1", 6379, 0, "redis://db1:6379"},
    {"redis://db1:7000", "", NULL, "db1", 7000, 0, "redis://db1:7000"},
    {"redis://db1:1", "", NULL, "db1", 1, 0, "redis://db1:1"},
    {"redis://db1:65535/15", "", NULL, "db1", 65535, 15, "redis://db1:65535/15"},
    {"redis://db1/0", "", NULL, "db1", 6379, 0, "redis://db1:6379"},
    {"redis://db1/2147483647", "", NULL, "db1", 6379, 2147483647, "redis://db1:6379/2147483647"},
    {"redis://10.0.0.1:6380/2", "", NULL, "10.0.0.1", 6380, 2, "redis://10.0.0.1:6380/2"},
    /* IPv6 stands in brackets. */
    {"redis://[::1]", "", NULL, "::1", 6379, 0, "redis://[::1]:6379"},
    {"redis://[::1]:7000/3", "", NULL, "::1", 7000, 3, "redis://[::1]:7000/3"},
    {"redis://[fe80::1%25eth0]:7000", "", NULL, "fe80::1%eth0", 7000, 0,
	"redis://[fe80::1%25eth0]:7000"},
    {"redis://u:p@[2001:db8::7]:7000", "u", "p", "2001:db8::7", 7000, 0,
	"redis://u:***@[2001:db8::7]:7000"},
    /* User and password. */
    {"redis://ann:s3cret@db1", "ann", "s3cret", "db1", 6379, 0, "redis://ann:***@db1:6379"},
    {"redis://:s3cret@db1", "", "s3cret", "db1", 6379, 0, "redis://:***@db1:6379"},
    {"redis://ann@db1", "ann", NULL, "db1", 6379, 0, "redis://ann@db1:6379"},
    {"redis://ann:@db1", "ann", "", "db1", 6379, 0, "redis://ann:***@db1:6379"},
    {"redis://:@db1", "", "", "db1", 6379, 0, "redis://:***@db1:6379"},
    {"redis://@db1", "", NULL, "db1", 6379, 0, "redis://db1:6379"},
    {"redis://ann:a:b@db1", "ann", "a:b", "db1", 6379, 0, "redis://ann:***@db1:6379"},
    {"redis://ann:a@b@db1", "ann", "a@b", "db1", 6379, 0, "redis://ann:***@db1:6379"},
    /* Percent-encoding, upper and lower case, of what else would be syntax. */
    {"redis://ann:%40%3a%2F%3f%25%23@db1", "ann", "@:/?%#", "db1", 6379, 0,
	"redis://ann:***@db1:6379"},
    {"redis://a%3Ann:p%c3%a9@db1", "a:nn", "p\xc3\xa9", "db1", 6379, 0,
	"redis://a%3ann:***@db1:6379"},
    {"redis://ann:%01%ff%7F@db1", "ann", "\x01\xff\x7f", "db1", 6379, 0,
	"redis://ann:***@db1:6379"},
    {"redis://ann:%2525@db1", "ann", "%25", "db1", 6379, 0, "redis://ann:***@db1:6379"},
    {"redis://ann:p+q@db1", "ann", "p+q", "db1", 6379, 0, "redis://ann:***@db1:6379"},
    {"redis://a%40b%2f%3f%25c@h%25d", "a@b/?%c", NULL, "h%d", 6379, 0,
	"redis://a%40b%2f%3f%25c@h%25d:6379"},
    {"redis://db%2d1", "", NULL, "db-1", 6379, 0, "redis://db-1:6379"},
    /* TLS. */
    {"rediss://db1", "", NULL, "db1", 6379, 0, "rediss://db1:6379"},
    {"rediss://ann:s3cret@[::1]:7000/3", "ann", "s3cret", "::1", 7000, 3,
	"rediss://ann:***@[::1]:7000/3"},
    {"redis://db1?tls", "", NULL, "db1", 6379, 0, "rediss://db1:6379"},
    {"redis://db1?tls=yes&insecure=no", "", NULL, "db1", 6379, 0, "rediss://db1:6379"},
    {"redis://db1?tls=no", "", NULL, "db1", 6379, 0, "redis://db1:6379"},
    {"rediss://db1?tls=no", "", NULL, "db1", 6379, 0, "rediss://db1:6379"},
    /* A query string. */
    {"redis://db1?db=4", "", NULL, "db1", 6379, 4, "redis://db1:6379/4"},
    {"redis://db1/?db=4", "", NULL, "db1", 6379, 4, "redis://db1:6379/4"},
    {"redis://db1?", "", NULL, "db1", 6379, 0, "redis://db1:6379"},
    {"redis://db1?&&db=4&", "", NULL, "db1", 6379, 4, "redis://db1:6379/4"},
    {"redis://ann:p@db1:7000/2?connect-timeout=1s", "ann", "p", "db1", 7000, 2,
	"redis://ann:***@db1:7000/2"},
};

static void
test_redis(void)
{
	for (size_t i = 0; i < COUNT_OF(redis_urls); i++) {
		struct url url;
		struct problem problem = {.text = ""};
		char shown[1024];
		tap_case("%s", redis_urls[i].text);
		if (!CHECK(
			url_parse(&url, redis_urls[i].text, URL_REFUSE_UNKNOWN_KEYS, &problem))) {
			CHECK_TEXT(problem.text, "");
			continue;
		}
		CHECK_INT(url.scheme, URL_REDIS);
		CHECK_TEXT(url.user, redis_urls[i].user);
		CHECK_INT(url.has_password, redis_urls[i].password != NULL);
		if (redis_urls[i].password != NULL)
			CHECK_TEXT(url.password, redis_urls[i].password);
		CHECK_TEXT(url.host, redis_urls[i].host);
		CHECK_INT(url.port, redis_urls[i].port);
		CHECK_INT(url.db, redis_urls[i].db);
		url_print(&url, shown, sizeof shown);
		CHECK_TEXT(shown, redis_urls[i].shown);
	}
}

static void
test_unix(void)
{
	static const struct {
		const char *text, *path;
		int db;
		const char *shown;
	} rows[] = {
	    {"unix:///run/redis.sock", "/run/redis.sock", 0, "unix:///run/redis.sock"},
	    {"unix:///run/redis.sock?db=7", "/run/redis.sock", 7, "unix:///run/redis.sock?db=7"},
	    {"unix:///run/a%20b%3f.sock", "/run/a b?.sock", 0, "unix:///run/a%20b%3f.sock"},
	    {"unix:///run/a:b@c.sock", "/run/a:b@c.sock", 0, "unix:///run/a:b@c.sock"},
	    {"unix:///r?connect-timeout=250ms&db=1", "/r", 1, "unix:///r?db=1"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct url url;
		struct problem problem;
		char shown[1024];
		tap_case("%s", rows[i].text);
		if (!CHECK(url_parse(&url, rows[i].text, URL_REFUSE_UNKNOWN_KEYS, &problem)))
			continue;
		CHECK_INT(url.scheme, URL_UNIX);
		CHECK_TEXT(url.path, rows[i].path);
		CHECK_INT(url.db, rows[i].db);
		CHECK(!url.has_password);
		url_print(&url, shown, sizeof shown);
		CHECK_TEXT(shown, rows[i].shown);
	}
}

/* Several places: `places` is how they are printed, with commas between. */
static void
test_places(void)
{
	static const struct {
		const char *text;
		enum url_scheme scheme;
		bool tls;
		const char *places, *service;
		int db;
		const char *shown;
	} rows[] = {
	    {"redis+sentinel://s1/main", URL_SENTINEL, false, "s1:26379", "main", 0,
		"redis+sentinel://s1:26379/main"},
	    {"redis+sentinel://s1,s2:7000,s3/main/3", URL_SENTINEL, false,
		"s1:26379,s2:7000,s3:26379", "main", 3,
		"redis+sentinel://s1:26379,s2:7000,s3:26379/main/3"},
	    {"redis+sentinel://s1/main/", URL_SENTINEL, false, "s1:26379", "main", 0,
		"redis+sentinel://s1:26379/main"},
	    {"redis+sentinel://s1/main?db=3", URL_SENTINEL, false, "s1:26379", "main", 3,
		"redis+sentinel://s1:26379/main/3"},
	    {"rediss+sentinel://ann:hu,sh@[::1],[fe80::1%25eth0]:7/main", URL_SENTINEL, true,
		"[::1]:26379,[fe80::1%25eth0]:7", "main", 0,
		"rediss+sentinel://ann:***@[::1]:26379,[fe80::1%25eth0]:7/main"},
	    {"redis+sentinel://:hush@s1/a%2fb%20c%3F%40", URL_SENTINEL, false, "s1:26379",
		"a/b c?@", 0, "redis+sentinel://:***@s1:26379/a%2fb%20c%3f%40"},
	    {"redis+sentinel://s1/main?tls", URL_SENTINEL, true, "s1:26379", "main", 0,
		"rediss+sentinel://s1:26379/main"},
	    {"redis+cluster://c1,c2:7000", URL_CLUSTER, false, "c1:6379,c2:7000", "", 0,
		"redis+cluster://c1:6379,c2:7000"},
	    {"redis+cluster://c1/0", URL_CLUSTER, false, "c1:6379", "", 0,
		"redis+cluster://c1:6379"},
	    {"rediss+cluster://ann:hush@10.0.0.1,[::1]:7000/", URL_CLUSTER, true,
		"10.0.0.1:6379,[::1]:7000", "", 0,
		"rediss+cluster://ann:***@10.0.0.1:6379,[::1]:7000"},
	    {"redis+cluster://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", URL_CLUSTER, false,
		"a:6379,b:6379,c:6379,d:6379,e:6379,f:6379,g:6379,h:6379,"
		"i:6379,j:6379,k:6379,l:6379,m:6379,n:6379,o:6379,p:6379",
		"", 0, NULL},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct url url;
		struct problem problem = {.text = ""};
		char shown[1024], places[1024] = "", place[URL_PLACE_TEXT];
		tap_case("%s", rows[i].text);
		if (!CHECK(url_parse(&url, rows[i].text, URL_REFUSE_UNKNOWN_KEYS, &problem))) {
			CHECK_TEXT(problem.text, "");
			continue;
		}
		CHECK_INT(url.scheme, rows[i].scheme);
		CHECK_INT(url.tls.on, rows[i].tls);
		for (size_t k = 0; k < url.place_count; k++) {
			url_print_place(&url.places[k], place, sizeof place);
			snprintf(places + strlen(places), sizeof places - strlen(places), "%s%s",
			    k > 0 ? "," : "", place);
		}
		CHECK_TEXT(places, rows[i].places);
		CHECK_TEXT(url.service, rows[i].service);
		CHECK_INT(url.db, rows[i].db);
		url_print(&url, shown, sizeof shown);
		if (rows[i].shown != NULL)
			CHECK_TEXT(shown, rows[i].shown);
	}
}

static void
test_sentinel_login(void)
{
	struct url url;
	struct problem problem;
	char shown[1024];
	tap_case("the sentinels have a login of their own");
	CHECK(url_parse(&url,
	    "redis+sentinel://ann:hush@s1/main?sentinel-user=w%40x&sentinel-password=%26still",
	    URL_REFUSE_UNKNOWN_KEYS, &problem));
	CHECK_TEXT(url.user, "ann");
	CHECK_TEXT(url.password, "hush");
	CHECK_TEXT(url.sentinel_user, "w@x");
	CHECK_TEXT(url.sentinel_password, "&still");
	CHECK(url.has_sentinel_password);
	url_print(&url, shown, sizeof shown);
	CHECK_TEXT(shown, "redis+sentinel://ann:***@s1:26379/main");
	CHECK(url_parse(&url, "redis+sentinel://s1/main?sentinel-password-file=%2fetc%2fpass",
	    URL_REFUSE_UNKNOWN_KEYS, &problem));
	CHECK_TEXT(url.sentinel_password_file, "/etc/pass");
	CHECK(!url.has_sentinel_password && !url.has_password);
	CHECK(url_parse(&url, "redis+sentinel://s1/main", URL_REFUSE_UNKNOWN_KEYS, &problem));
	CHECK(!url.has_sentinel_password);
	CHECK_TEXT(url.sentinel_user, "");
}

static void
test_query(void)
{
	struct url url;
	struct problem problem;
	tap_case("REDIS_URL may carry other programs' keys");
	CHECK(url_parse(&url, "redis://db1/3?ssl_cert_reqs=none&nonsense&db=5&=x",
	    URL_IGNORE_UNKNOWN_KEYS, &problem));
	CHECK_INT(url.db, 5);
	CHECK(!url_parse(&url, "redis://db1?db=x", URL_IGNORE_UNKNOWN_KEYS, &problem));
	CHECK_TEXT(url.ignored, "");
	tap_case(
	    "the names of the keys that are ignored are kept for people, where they are names");
	CHECK(url_parse(&url, "redis://db1?ssl_cert_reqs=hush&nonsense&db=5&=x&a%20b=1&x/y&Z-9.z",
	    URL_IGNORE_UNKNOWN_KEYS, &problem));
	CHECK_TEXT(url.ignored, "ssl_cert_reqs, nonsense, Z-9.z");
	CHECK(url_parse(&url,
	    "redis://db1?" HUNDRED "=1&" TEN TEN TEN TEN "=1&" TEN TEN TEN TEN "=2&" TEN TEN TEN TEN
	    "=3&b=1",
	    URL_IGNORE_UNKNOWN_KEYS, &problem));
	CHECK_INT((int64_t)strlen(url.ignored), 127);
	tap_case("connect-timeout is a duration, percent-encoded or not");
	CHECK(url_parse(&url, "redis://db1?connect-timeout=250ms", URL_REFUSE_UNKNOWN_KEYS,
	    &problem));
	CHECK_INT(url.connect_timeout_ns, 250 * NS_PER_MS);
	CHECK(url_parse(&url, "redis://db1?connect-timeout=1%2e5", URL_REFUSE_UNKNOWN_KEYS,
	    &problem));
	CHECK_INT(url.connect_timeout_ns, 1500 * NS_PER_MS);
	CHECK(url_parse(&url, "redis://db1", URL_REFUSE_UNKNOWN_KEYS, &problem));
	CHECK_INT(url.connect_timeout_ns, 0);
	tap_case("leading zeros change no number, however many");
	CHECK(url_parse(&url, "redis://db1:00000000000000000000007000/00000000000000000000000002",
	    URL_REFUSE_UNKNOWN_KEYS, &problem));
	CHECK_INT(url.port, 7000);
	CHECK_INT(url.db, 2);
}

/* P97: a password of someone who forgot to encode it must not end up in a log. The usual ones come
 * from `openssl rand -base64`, which knows / and +. */
static void
test_secrets(void)
{
	static const char *const texts[] = {
	    "redis://ann:hush/hush@db1",
	    "redis://:hush/hush@db1:6379/0",
	    "redis://ann:hush?hush@db1",
	    "redis://ann:12?hush@db1",
	    "redis://ann:12/hush@db1",
	    "redis://ann:12?hush=hush@db1",
	    "redis://ann:hush#hush@db1:x",
	    "redis://ann:hush@db1:x",
	    "redis://ann:hush@db1/x",
	    "redis://ann:hush@[::1",
	    "redis://ann:hush@db1?nonsense",
	    "rediss://ann:hush@db1",
	    "http://ann:hush@db1",
	    "ann:hush@db1",
	    "redis:ann:hush@db1",
	    "redis:/ann:hush@://db1",
	    "unix://ann:hush@db1",
	    "redis+sentinel://ann:hush@s1,s2/main?sentinel-password=hush",
	    "redis+sentinel://ann:hush@s1,s2/main?sentinel-password=hush/hush",
	    "redis+sentinel://ann:hush@s1,s2/main?sentinel-password=hush@hush",
	    "redis+sentinel://s1,s2?sentinel-password=hush",
	    "redis+sentinel://s1:x/main?sentinel-password=hush",
	    "redis+sentinel://s1:7000,hush@s2/main",
	    "redis+cluster://ann:hush,hush@s1,s2",
	    "redis://db1?sentinel-password=hush",
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct url url;
		struct problem problem = {.text = ""};
		tap_case("P97: no password in what is said about %s", texts[i]);
		if (url_parse(&url, texts[i], URL_REFUSE_UNKNOWN_KEYS, &problem)) {
			char shown[1024];
			url_print(&url, shown, sizeof shown);
			CHECK_HAS_NOT(shown, "hush");
		} else {
			CHECK(problem.text[0] != '\0');
			CHECK_HAS_NOT(problem.text, "hush");
		}
	}
}

static void
test_find_password(void)
{
	static const struct {
		const char *text, *password; /* NULL: none */
	} rows[] = {
	    {"redis://ann:hush@db1", "hush"},
	    {"redis://:hush@db1:6379/0", "hush"},
	    {"redis://ann:a:b@db1", "a:b"},
	    {"redis://ann:a@b@db1", "a@b"},
	    {"redis://ann:%40%2f@db1", "%40%2f"},
	    {"redis://ann:@db1", ""},
	    {"rediss://ann:hush@db1", "hush"},
	    {"http://ann:hush@db1", "hush"},
	    {"unix://ann:hush@/run/x", "hush"},
	    /* Refused for the last @, and rather too much is covered then than too little. */
	    {"redis://ann:hush@db1?x=a:b@c", "hush@db1?x=a:b"},
	    {"redis://ann:a@b/c@db1", "a@b/c"},
	    {"redis://ann:a/b@db1", "a/b"},
	    {"redis://db1:6379", NULL},
	    {"redis://db1", NULL},
	    {"redis://ann@db1:6379", NULL},
	    {"redis://[::1]:6379", NULL},
	    {"unix:///run/a:b@c", NULL},
	    {"redis://db1/0?x=a:b@c", NULL},
	    {"db1", NULL},
	    {"", NULL},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[256];
		size_t length = 12345;
		snprintf(text, sizeof text, "%s", rows[i].text);
		tap_case("where the password stands in %s", rows[i].text);
		char *found = url_find_password(text, &length);
		CHECK((found != NULL) == (rows[i].password != NULL));
		if (found == NULL || rows[i].password == NULL)
			continue;
		CHECK_INT((int64_t)length, (int64_t)strlen(rows[i].password));
		CHECK(strncmp(found, rows[i].password, strlen(rows[i].password)) == 0);
		CHECK(found >= text && found + length < text + strlen(text));
	}
}

static void
test_find_sentinel_password(void)
{
	static const struct {
		const char *text, *password; /* NULL: none */
	} rows[] = {
	    {"redis+sentinel://s1/main?sentinel-password=hush", "hush"},
	    {"redis+sentinel://s1/main?db=1&sentinel-password=hush&tls", "hush"},
	    {"redis+sentinel://ann:more@s1/main?sentinel-password=hu%26sh", "hu%26sh"},
	    {"redis+sentinel://s1/main?sentinel-password=", ""},
	    {"http://s1?sentinel-password=hush", "hush"},
	    {"redis+sentinel://s1/main?sentinel-password", NULL},
	    {"redis+sentinel://s1/main?xsentinel-password=x", NULL},
	    {"redis+sentinel://s1/main?sentinel-password-file=/f", NULL},
	    {"redis+sentinel://s1/sentinel-password=x", NULL},
	    {"", NULL},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[256];
		size_t length = 12345;
		snprintf(text, sizeof text, "%s", rows[i].text);
		tap_case("where the sentinels' password stands in %s", rows[i].text);
		char *found = url_find_sentinel_password(text, &length);
		CHECK((found != NULL) == (rows[i].password != NULL));
		if (found == NULL || rows[i].password == NULL)
			continue;
		CHECK_INT((int64_t)length, (int64_t)strlen(rows[i].password));
		CHECK(strncmp(found, rows[i].password, length) == 0);
	}
}

/* Whatever it is given it does not crash (ASan, UBSan), and it takes nothing that it would not take
 * again from its own print-out. */
static void
test_random(void)
{
	static const char *const pieces[] = {"redis://", "unix://", "redis+sentinel://",
	    "redis+cluster://", "/", ":", "@", "[", "]", "?", "db=", "&", "%", "%4", "%41", "=",
	    "0", "6379", "a", "::1", "\xff", " ", "connect-timeout=", "1s", ","};
	uint64_t random = 99;
	int taken = 0;
	tap_case(
	    "100,000 random URLs: those taken are printed as what is taken again, and is the same");
	for (int i = 0; i < 100000 && !tap_failed(); i++) {
		struct url url, again;
		struct problem problem;
		char text[256] = "", shown[1024];
		size_t used = (size_t)snprintf(text, sizeof text, "%s",
		    tap_random_below(&random, 8) ? pieces[tap_random_below(&random, 4)] : "");
		for (int64_t k = tap_random_below(&random, 12); k > 0; k--)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s",
			    pieces[tap_random_below(&random, COUNT_OF(pieces))]);
		tap_note("%s", text);
		if (!url_parse(&url, text, URL_REFUSE_UNKNOWN_KEYS, &problem)) {
			CHECK(problem.text[0] != '\0');
			continue;
		}
		taken++;
		url_print(&url, shown, sizeof shown);
		tap_note("%s, printed as %s", text, shown);
		if (!CHECK(url_parse(&again, shown, URL_REFUSE_UNKNOWN_KEYS, &problem)))
			continue;
		CHECK_TEXT(again.user, url.user);
		CHECK_TEXT(again.host, url.host);
		CHECK_TEXT(again.path, url.path);
		if (url.scheme == URL_REDIS)
			CHECK_INT(again.port, url.port);
		CHECK_INT(again.db, url.db);
		CHECK_TEXT(again.service, url.service);
		CHECK_INT((int64_t)again.place_count, (int64_t)url.place_count);
		for (size_t k = 0; k < url.place_count && k < again.place_count; k++) {
			CHECK_TEXT(again.places[k].host, url.places[k].host);
			CHECK_INT(again.places[k].port, url.places[k].port);
		}
	}
	tap_note("%d taken", taken);
	CHECK(taken > 1000);
}

int
main(void)
{
	test_redis();
	test_unix();
	test_places();
	test_sentinel_login();
	test_query();
	test_secrets();
	test_find_password();
	test_find_sentinel_password();
	test_random();
	return tap_end();
}
