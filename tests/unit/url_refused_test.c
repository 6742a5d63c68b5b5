/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/url: server URLs that are refused, each with a sentence that helps and quotes no password. */
#include <string.h>

#include "net/url.h"
#include "tap.h"

#define TEN "aaaaaaaaaa"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static const struct {
	const char *text, *why;
} bad_urls[] = {
    /* Settings of TLS. */
    {"rediss://db1?tls=perhaps", "bad tls in the server URL: neither 'yes' nor 'no'"},
    {"rediss://db1?insecure=1", "bad insecure in the server URL"},
    {"rediss://db1?cacert=%zz", "bad percent-encoding in the cacert"},
    {"rediss://db1?cacerts=x", "unknown key 'cacerts'"},
    {"rediss:db1", "slashes are missing behind rediss:"},
    {"rediss://", "no host"},
    /* Any other scheme: with the list of those there are. */
    {"http://db1", "unknown scheme 'http'"},
    {"http://db1", "redis://, rediss://, unix://"},
    {"redis-sentinel://db1/main", "redis+sentinel://"},
    {"redis-cluster://db1", "redis+cluster://"},
    {"pgsql://db1", "postgresql://"},
    {"postgresql://db1?dlock_key=", "bad dlock_key"},
    {"postgresql://db1?dlock_key=1e3", "bad dlock_key"},
    {"postgresql://db1?dlock_key=9223372036854775808", "bad dlock_key"},
    {"postgresql://db1?fence_base=-1", "bad fence_base"},
    {"postgresql://db1?target_session_attrs=prefer-standby", "a lock needs a primary"},
    {"postgresql://db1?connect_timeout=soon", "bad connect_timeout"},
    {"postgresql://ann:hu/sh@db1/app", "write / as %2F"},
    {"valkey://db1", "redis:// too"},
    {"valkeys://db1", "rediss:// too"},
    {"redis+socket:///run/r", "unix:///path/to.sock"},
    {"redisss://db1", "unknown scheme 'redisss'"},
    {"redis+://db1", "unknown scheme 'redis+'"},
    {"REDIS+x://db1", "unknown scheme"},
    {"://db1", "unknown scheme ''"},
    {"", "no scheme"},
    {"db1", "no scheme"},
    {"db1:6379", "no scheme"},
    {"db1", "as in redis://localhost:6379"},
    {"redis:/db1", "slashes are missing behind redis:"},
    {"redis:db1", "redis://localhost:6379"},
    {"redis:", "slashes are missing"},
    {"unix:/run/redis.sock", "slashes are missing behind unix:"},
    {"unix:/run/redis.sock", "unix:///path/to.sock"},
    {"unix:run", "slashes are missing"},
    {"localhost:6379", "as in redis://localhost:6379"},
    {"/run/redis.sock", "no scheme"},
    /* Host and port. */
    {"redis://", "no host"},
    {"redis:///0", "no host"},
    {"redis://:6379", "no host"},
    {"redis://ann:hush@", "no host"},
    {"redis://ann:hush@:6379", "no host"},
    {"redis://[]:6379", "no host"},
    {"redis://[::1", "no closing ]"},
    {"redis://[::1/0", "no closing ]"},
    {"redis://[::1]6379", "may follow the ]"},
    {"redis://[::1]x:6379", "may follow the ]"},
    {"redis://::1", "in brackets"},
    {"redis://fe80::1:6379", "in brackets"},
    {"redis://db 1", "a blank in the server URL: write %20"},
    {"redis://db%201", "bad host"},
    {"redis://db1\t", "a blank in the server URL"},
    {" redis://db1", "a blank"},
    {"redis://db1\n", "a blank"},
    {"redis://db1 redis://ann:hush@db2", "several servers in one URL: give each an -S of its own"},
    {"redis://db1#x", "bad host"},
    {"redis://db1,db2", "more than one host"},
    {"redis://db1:7000,db2:7000", "more than one host"},
    {"redis://db1:7000,db2:7000",
	"redis+sentinel:// for sentinels, redis+cluster:// for a cluster"},
    /* Several places. */
    {"redis+sentinel://db1", "no service"},
    {"redis+sentinel://db1/", "no service"},
    {"redis+sentinel://db1//0", "no service"},
    {"redis+sentinel://db1?db=1", "redis+sentinel://host1,host2,host3/service"},
    {"redis+sentinel:///main", "no host"},
    {"redis+sentinel://db1,/main", "no host"},
    {"redis+sentinel://,db1/main", "no host"},
    {"redis+sentinel://db1,,db2/main", "no host"},
    {"redis+sentinel://db1,db 2/main", "a blank"},
    {"redis+sentinel://db1,db2:0/main", "bad port"},
    {"redis+sentinel://db1,db2:x/main", "bad port"},
    {"redis+sentinel://db1,::1/main", "in brackets"},
    {"redis+sentinel://db1,[::1/main", "no closing ]"},
    {"redis+sentinel://db1,<host>/main", "bad host"},
    {"redis+sentinel://a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q/main", "more than 16 hosts"},
    {"redis+sentinel://db1/main/x", "bad db"},
    {"redis+sentinel://db1/main/1/2", "bad db"},
    {"redis+sentinel://db1/ma%00in", "percent-encoding in the service"},
    {"redis+sentinel://db1/main?sentinel-user=a&sentinel-name=x", "unknown key 'sentinel-name'"},
    {"redis+sentinel://db1/main?sentinel-users=a", "sentinel-password-file"},
    {"redis+sentinel://db1/main?sentinel-password=hush%zz",
	"percent-encoding in the sentinel-password"},
    {"redis+sentinel://db1/main?sentinel-password=hush@x", "an @ after a / or ?"},
    {"redis+sentinel://db1/main?sentinel-password=hush&sentinel-password-file=/f", "give one"},
    {"redis://db1?sentinel-user=a", "unknown key 'sentinel-user'"},
    {"redis+cluster://db1,db2?sentinel-user=a", "unknown key 'sentinel-user'"},
    {"redis+cluster://", "no host"},
    {"redis+cluster://db1,", "no host"},
    {"redis+cluster://db1,db2/1", "a cluster has no db but 0"},
    {"redis+cluster://db1,db2/x", "bad db"},
    {"redis+cluster://db1?db=1", "a cluster has no db but 0"},
    {"rediss+cluster://db1:65536", "bad port"},
    {"redis://<host>", "bad host"},
    {"redis://ann:hush@db1#hush", "bad host"},
    {"redis://db1\\x", "bad host"},
    {"redis://db1:0", "bad port"},
    {"redis://db1:x", "as in redis://localhost:6379/0"},
    {"redis://db1:65536", "bad port"},
    {"redis://db1:-1", "bad port"},
    {"redis://db1:+1", "bad port"},
    {"redis://db1:", "bad port"},
    {"redis://db1:63x9", "bad port"},
    {"redis://db1:99999999999999999999", "bad port"},
    {"redis://db1:4294973675", "bad port"}, /* 2^32 + 6379 */
    /* Numbers that end long after where an implementation might stop to read. */
    {"redis://db1:000000000006379x", "bad port"},
    {"redis://db1:000000000000000000000000006379x", "bad port"},
    {"redis://db1/000000000000000x", "bad db"},
    {"redis://db1/x", "bad db"},
    {"redis://db1/-1", "bad db"},
    {"redis://db1/1/2", "bad db"},
    {"redis://db1/2147483648", "bad db"},
    {"redis://db1/99999999999999999999", "bad db"},
    {"redis://db1?db=", "bad db"},
    {"redis://db1?db", "bad db"},
    {"redis://db1?db=x", "bad db"},
    /* Percent-encoding. */
    {"redis://ann:hush%@db1", "percent-encoding in the password"},
    {"redis://ann:hush%4@db1", "percent-encoding in the password"},
    {"redis://ann:hush%4g@db1", "percent-encoding in the password"},
    {"redis://ann:hush%g4@db1", "percent-encoding in the password"},
    {"redis://ann:%00hush@db1", "percent-encoding in the password"},
    {"redis://a%nn@db1", "percent-encoding in the user"},
    {"redis://a%00@db1", "percent-encoding in the user"},
    {"redis://db%", "percent-encoding in the host"},
    {"unix:///run/%zz", "percent-encoding in the path"},
    {"unix:///run/%00", "percent-encoding in the path"},
    /* Unix sockets. */
    {"unix://run/redis.sock", "absolute"},
    {"unix://", "absolute"},
    {"unix://?db=1", "absolute"},
    {"unix://ann:hush@/run/redis.sock", "--password-file"},
    {"unix://:hush@/run/redis.sock", "no user or password"},
    {"unix://ann@run", "no user or password"},
    {"unix:///" HUNDRED "aaaaaaaa", "path in the server URL is too long"},
    /* Too long. */
    {"redis://" HUNDRED HUNDRED TEN TEN TEN TEN TEN "aaaaaa", "host in the server URL is too long"},
    {"redis://" HUNDRED HUNDRED TEN TEN TEN TEN TEN "aaaaaa@h",
	"user in the server URL is too long"},
    {"redis://:" HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED TEN "aa@h",
	"password in the server URL is too long"},
    /* The query. */
    {"redis://db1?nonsense=1", "unknown key 'nonsense'"},
    {"redis://db1?DB=1", "unknown key 'DB'"},
    {"redis://db1?dbx=1", "unknown key 'dbx'"},
    {"redis://db1?d=1", "unknown key 'd'"},
    {"redis://db1?connect-timeouts=1", "unknown key 'connect-timeouts'"},
    {"redis://db1?connect-timeout=soon", "bad connect-timeout"},
    {"redis://db1?connect-timeout=", "bad connect-timeout"},
    {"redis://db1?connect-timeout=-1", "bad connect-timeout"},
    {"unix:///r?nonsense", "unknown key 'nonsense'"},
};

int
main(void)
{
	for (size_t i = 0; i < COUNT_OF(bad_urls); i++) {
		struct url url;
		struct problem problem = {.text = ""};
		tap_case("refused: %s: %s", bad_urls[i].why, bad_urls[i].text);
		CHECK(!url_parse(&url, bad_urls[i].text, URL_REFUSE_UNKNOWN_KEYS, &problem));
		CHECK_HAS(problem.text, bad_urls[i].why);
		CHECK_HAS_NOT(problem.text, "hush");
	}
	tap_case("what is as long as it may be is taken");
	struct url url;
	struct problem problem;
	CHECK(url_parse(&url, "unix:///" HUNDRED "aaaaaa", URL_REFUSE_UNKNOWN_KEYS, &problem));
	CHECK_INT((int64_t)strlen(url.path), 107);
	CHECK(url_parse(&url, "redis://:" HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED TEN "a@h",
	    URL_REFUSE_UNKNOWN_KEYS, &problem));
	CHECK_INT((int64_t)strlen(url.password), 511);
	return tap_end();
}
