/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/url: those of PostgreSQL. */
#include <string.h>

#include "base/clock.h"
#include "net/url.h"
#include "tap.h"

/* libpq's own: what goes to it, and what is kept apart. */
static void
test_postgres(void)
{
	static const struct {
		const char *text, *libpq, *user, *password, *shown;
	} rows[] = {
	    {"postgres://", "postgresql://", "", "", "postgresql://"},
	    {"postgresql://db1/app", "postgresql://db1/app", "", "", "postgresql://db1/app"},
	    {"postgresql://ann@db1:6000,[::1]:7,db3/app?sslmode=require&service=x",
		"postgresql://ann@db1:6000,[::1]:7,db3/app?sslmode=require&service=x", "ann", "",
		"postgresql://ann@db1:6000,[::1]:7,db3/app?sslmode=require&service=x"},
	    {"postgres://a%40x:hu%2fs@h@db1/", "postgresql://a%40x@db1/", "a@x", "hu/s@h",
		"postgresql://a%40x:***@db1/"},
	    {"postgres://a@x:hush@db1/", "postgresql://a%40x@db1/", "a@x", "hush",
		"postgresql://a%40x:***@db1/"},
	    {"postgresql:///app?password=hu%26sh&host=%2Frun", "postgresql:///app?host=%2Frun", "",
		"hu&sh", "postgresql://:***@/app?host=%2Frun"},
	    {"postgresql://h?dlock_key=-3&sslpassword=hush&fence_base=7&connect_timeout=2",
		"postgresql://h?sslpassword=hush", "", "", "postgresql://h?sslpassword=***"},
	    {"postgresql://h?target_session_attrs=read-write", "postgresql://h", "", "",
		"postgresql://h"},
	};
	char scrubbed[] = "postgresql://h?a=password=b&password=hush&sslpassword=quiet&b=password";
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct url url;
		struct problem problem = {.text = ""};
		char shown[1024];
		tap_case("%s", rows[i].text);
		CHECK(url_parse(&url, rows[i].text, URL_REFUSE_UNKNOWN_KEYS, &problem));
		CHECK_TEXT(problem.text, "");
		CHECK_INT(url.scheme, URL_POSTGRES);
		CHECK_TEXT(url.libpq, rows[i].libpq);
		CHECK_TEXT(url.user, rows[i].user);
		CHECK_TEXT(url.password, rows[i].password);
		CHECK_INT(url.has_password, rows[i].password[0] != '\0');
		url_print(&url, shown, sizeof shown);
		CHECK_TEXT(shown, rows[i].shown);
		if (i != 6)
			continue;
		CHECK(url.has_lock_number && url.lock_number == -3 && url.fence_base == 7);
		CHECK_INT(url.connect_timeout_ns, 2 * NS_PER_S);
	}
	tap_case("secrets in the query are overwritten, and nothing else");
	url_scrub_postgres(scrubbed);
	CHECK_TEXT(scrubbed,
	    "postgresql://h?a=password=b&password=****&sslpassword=*****&b=password");
}

int
main(void)
{
	test_postgres();
	return tap_end();
}
