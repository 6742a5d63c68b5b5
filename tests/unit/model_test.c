/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* tests/sim/model: what lock scripts and waiters rely on, and what they stumble over in a real
 * server (tests/replay.bats compares it with one, command by command). */
#include "../sim/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

#define NOW INT64_C(1700000000000000)
#define MOST 4096

/* What a client was sent, with a blank in the place of each line end. */
struct end {
	char text[MOST];
	size_t used;
};

static struct model *model;
static struct end ends[2];
static struct model_client *one, *two;

static void
deliver(void *context, const char *bytes, size_t length)
{
	struct end *end = context;
	for (size_t i = 0; i < length && end->used < MOST - 1; i++) {
		if (bytes[i] != '\r')
			end->text[end->used++] = bytes[i] == '\n' ? ' ' : bytes[i];
	}
	end->text[end->used] = '\0';
}

static void
start(const struct model_options *given)
{
	struct model_options options = given != NULL ? *given : (struct model_options){0};
	options.deliver = deliver;
	model_free(model);
	model = model_new(&options);
	model_set_time(model, NOW);
	memset(ends, 0, sizeof ends);
	one = model_connect(model, &ends[0]);
	two = model_connect(model, &ends[1]);
}

static size_t
put(char *out, size_t used, const char *word, size_t length)
{
	return used +
	    (size_t)snprintf(out + used, MOST - used, "$%zu\r\n%.*s\r\n", length, (int)length,
		word);
}

/* Words with blanks between them; `script`, if there is one, is the second. */
static bool
send(struct model_client *client, const char *text, const char *script)
{
	char words[MOST] = "", all[MOST];
	size_t used = 0, count = 0;
	for (const char *at = text; *at != '\0'; count++) {
		size_t length = strcspn(at, " ");
		used = put(words, used, at, length);
		at += length + (at[length] == ' ');
		if (count++ == 0 && script != NULL)
			used = put(words, used, script, strlen(script));
		else
			count--;
	}
	int head = snprintf(all, sizeof all, "*%zu\r\n", count);
	memcpy(all + head, words, used);
	ends[0].used = ends[1].used = 0;
	ends[0].text[0] = ends[1].text[0] = '\0';
	return model_feed(client, all, (size_t)head + used);
}

static const char *
ask(const char *text)
{
	send(one, text, NULL);
	return ends[0].text;
}

static const char *
eval(const char *script, const char *keys_and_rest)
{
	char text[256];
	snprintf(text, sizeof text, "EVAL %s", keys_and_rest);
	send(one, text, script);
	return ends[0].text;
}

static void
test_values(void)
{
	start(NULL);
	tap_case("a value is set, read, counted, deleted");
	CHECK_TEXT(ask("SET k v NX PX 100"), "+OK ");
	CHECK_TEXT(ask("set k w nx"), "$-1 ");
	CHECK_TEXT(ask("GET k"), "$1 v ");
	CHECK_TEXT(ask("SET k w XX KEEPTTL GET"), "$1 v ");
	CHECK_TEXT(ask("PTTL k"), ":100 ");
	CHECK_TEXT(ask("INCR k"), "-ERR value is not an integer or out of range ");
	CHECK_TEXT(ask("INCR n"), ":1 ");
	CHECK_TEXT(ask("DEL k n none"), ":2 ");
	CHECK_TEXT(ask("PTTL k"), ":-2 ");

	tap_case("a key lives through its last millisecond, and is gone after it");
	ask("SET k v PX 100");
	model_set_time(model, NOW + 100999);
	CHECK_TEXT(ask("PTTL k"), ":0 ");
	CHECK_TEXT(ask("GET k"), "$1 v ");
	model_set_time(model, NOW + 101000);
	struct model_key key;
	CHECK(!model_find_key(model, "k", &key));
	CHECK_TEXT(ask("GET k"), "$-1 ");
	CHECK_TEXT(ask("SET k w XX"), "$-1 ");

	tap_case("SET replaces whatever is there; other commands refuse another type");
	CHECK_TEXT(ask("ZADD k 1.5 a 1 b"), ":2 ");
	CHECK_TEXT(ask("GET k"),
	    "-WRONGTYPE Operation against a key holding the wrong kind of value ");
	CHECK_TEXT(ask("HGET k f"),
	    "-WRONGTYPE Operation against a key holding the wrong kind of value ");
	CHECK_TEXT(ask("SET k v"), "+OK ");
	CHECK_TEXT(ask("TYPE k"), "+string ");

	tap_case("a member's fraction survives, and equal scores are in the order of names");
	CHECK_TEXT(ask("ZADD z 1700000000123.0009765625 m 5 b 5 a"), ":3 ");
	CHECK_TEXT(ask("ZSCORE z m"), "$17 1700000000123.001 ");
	CHECK_TEXT(ask("ZRANGE z 0 -1"), "*3 $1 a $1 b $1 m ");
	CHECK_TEXT(ask("ZRANK z m"), ":2 ");
	CHECK_TEXT(ask("ZADD z XX 4 b 4 new"), ":0 ");
	CHECK_TEXT(ask("ZRANGE z 0 0 WITHSCORES"), "*2 $1 b $1 4 ");
	CHECK_TEXT(ask("ZREMRANGEBYSCORE z -inf (5"), ":1 ");
	CHECK_TEXT(ask("ZREM z a m"), ":2 ");
	CHECK_TEXT(ask("EXISTS z"), ":0 ");

	tap_case("a hash that has lost its last field is gone");
	CHECK_TEXT(ask("HSET h f 1 g 2"), ":2 ");
	CHECK_TEXT(ask("HMGET h g x f"), "*3 $1 2 $-1 $1 1 ");
	CHECK_TEXT(ask("HDEL h f g"), ":2 ");
	CHECK_TEXT(ask("TYPE h"), "+none ");
}

static void
test_scripts(void)
{
	start(NULL);
	tap_case("values come and go as Redis converts them");
	CHECK_TEXT(eval("return {1, 3.9, 'a', true, {ok='fine'}, {}, nil, 'never'}", "0"),
	    "*6 :1 :3 $1 a :1 +fine *0 ");
	CHECK_TEXT(eval("return redis.call('GET', KEYS[1]) == false", "1 none"), ":1 ");
	CHECK_TEXT(eval("return redis.call('SET', KEYS[1], 2^53 + 2).ok .. redis.call('GET', "
			"KEYS[1])",
		       "1 k"),
	    "$18 OK9007199254740994 ");
	CHECK_TEXT(eval("return ARGV[2] .. KEYS[1]", "1 k x y"), "$2 yk ");
	CHECK_TEXT(eval("return redis.call('TIME')", "0"), "*2 $10 1700000000 $1 0 ");

	tap_case("an error ends a script, and what it wrote before stays");
	CHECK_HAS(eval("redis.call('SET', KEYS[1], 'new')\nreturn redis.call('HGET', KEYS[1], 'f')",
		      "1 k"),
	    "-WRONGTYPE Operation against a key holding the wrong kind of value script: ");
	CHECK_HAS(ends[0].text, ", on @user_script:2. ");
	CHECK_TEXT(ask("GET k"), "$3 new ");

	tap_case("redis.pcall and pcall catch it");
	CHECK_TEXT(eval("return redis.pcall('HGET', KEYS[1], 'f').err", "1 k"),
	    "$65 WRONGTYPE Operation against a key holding the wrong kind of value ");
	CHECK_TEXT(eval("return {pcall(redis.call, 'NONE')}", "0"),
	    "*2 $-1 $44 ERR Unknown Redis command called from script ");

	tap_case("a script neither sees nor makes globals");
	CHECK_HAS(eval("x = 1", "0"), "Attempt to modify a readonly table");
	CHECK_HAS(eval("return os", "0"), "nonexistent global variable 'os'");
	CHECK_HAS(eval("return redis.call('MULTI')", "0"), "not allowed from script");
	CHECK_HAS(eval("return redis.call('GET')", "0"), "Wrong number of args");
	CHECK_HAS(eval("return (", "0"), "-ERR Error compiling script (new function): user_script");

	tap_case("EVALSHA finds what this server has run, no other");
	eval("return 'hello'", "0");
	CHECK_TEXT(ask("EVALSHA 2bd75421b5b6b48e0a2e2a2d3a5f4e6a3b9a0000 0"),
	    "-NOSCRIPT No matching script. Please use EVAL. ");
	CHECK_TEXT(ask("EVALSHA 1B936E3FE509BCBC9CD0664897BBE8FD0CAC101B 0"), "$5 hello ");
	struct model *other = model_copy(model);
	struct model_client *there = model_connect(other, &ends[1]);
	send(there, "EVALSHA 1b936e3fe509bcbc9cd0664897bbe8fd0cac101b 0", NULL);
	CHECK_HAS(ends[1].text, "-NOSCRIPT");
	model_free(other);
}

static void
test_full(void)
{
	start(NULL);
	ask("SET k v");
	model_set_full(model, true);
	tap_case("a full server refuses what needs memory, in a script until its first write");
	CHECK_HAS(ask("SET k w"), "-OOM command not allowed when used memory > 'maxmemory'. ");
	CHECK_HAS(eval("return redis.call('SET', KEYS[1], 'w')", "1 k"), "-OOM");
	CHECK_TEXT(
	    eval("redis.call('PEXPIRE', KEYS[1], 100) return redis.call('SET', KEYS[1], 'w')",
		"1 k"),
	    "+OK ");
	CHECK_TEXT(ask("DEL k"), ":1 ");

	tap_case("in a transaction it refuses everything");
	CHECK_TEXT(ask("MULTI"), "+OK ");
	CHECK_HAS(ask("GET k"), "-OOM");
	CHECK_TEXT(ask("EXEC"), "-EXECABORT Transaction discarded because of previous errors. ");

	tap_case("a replica refuses writes, and says what it is");
	model_set_full(model, false);
	model_set_replica(model, true);
	CHECK_TEXT(ask("SET k w"), "-READONLY You can't write against a read only replica. ");
	CHECK_HAS(eval("return redis.call('SET', KEYS[1], 'w')", "1 k"),
	    "-READONLY You can't write against a read only replica. script: ");
	CHECK_HAS(ask("HELLO 2"), "$4 role $7 replica ");
}

static void
test_messages(void)
{
	start(NULL);
	tap_case("who waits hears what a script publishes, and is counted");
	send(two, "SUBSCRIBE c", NULL);
	CHECK_TEXT(ends[1].text, "*3 $9 subscribe $1 c :1 ");
	CHECK_TEXT(eval("return redis.call('PUBLISH', 'c', 'G')", "0"), ":1 ");
	CHECK_TEXT(ends[1].text, "*3 $7 message $1 c $1 G ");
	send(two, "GET k", NULL);
	CHECK_HAS(ends[1].text, "-ERR Can't execute 'get': only (P|S)SUBSCRIBE");

	tap_case("one that is gone is not counted");
	CHECK_INT((int64_t)model_count_ears(model, "c"), 1);
	model_disconnect(two);
	CHECK_TEXT(ask("PUBLISH c G"), ":0 ");
	CHECK_TEXT(ask("PUBSUB NUMSUB c"), "*2 $1 c :0 ");

	tap_case("SUBSCRIBE and a script in one transaction: the script counts one ear");
	ask("MULTI");
	CHECK_TEXT(ask("SUBSCRIBE c"), "+QUEUED ");
	CHECK_TEXT(eval("return redis.call('PUBSUB', 'NUMSUB', 'c')", "0"), "+QUEUED ");
	CHECK_TEXT(ask("EXEC"), "*2 *3 $9 subscribe $1 c :1 *2 $1 c :1 ");

	tap_case("a message to oneself in a transaction is in the middle of its answer");
	CHECK_TEXT(ask("UNSUBSCRIBE c"), "*3 $11 unsubscribe $1 c :0 ");
	ask("MULTI");
	ask("SUBSCRIBE c");
	ask("PUBLISH c x");
	CHECK_TEXT(ask("EXEC"), "*2 *3 $9 subscribe $1 c :1 *3 $7 message $1 c $1 x :1 ");

	tap_case("SSUBSCRIBE is refused in a transaction");
	ask("UNSUBSCRIBE");
	ask("MULTI");
	ask("SSUBSCRIBE s");
	CHECK_TEXT(ask("EXEC"), "*1 -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client ");
	CHECK_TEXT(ask("SSUBSCRIBE s"), "*3 $10 ssubscribe $1 s :1 ");
}

/* As waiters follow the lock's key: see store/line.c. */
static void
follow(void)
{
	ask("CLIENT TRACKING ON REDIRECT 1 OPTIN NOLOOP");
	ask("CLIENT CACHING YES");
	ask("EXISTS k");
	ask("MULTI");
	ask("SUBSCRIBE c");
	ask("EXEC");
}

static void
test_tracking(void)
{
	static const char changed[] = "*3 $7 message $20 __redis__:invalidate *1 $1 k ";
	start(NULL);
	ask("SET k v PX 100");
	tap_case("who tracks a key is told once that it has changed");
	follow();
	send(two, "SET k w PX 100", NULL);
	CHECK_TEXT(ends[0].text, changed);
	send(two, "DEL k", NULL);
	CHECK_TEXT(ends[0].text, "");

	tap_case("that it was evicted; that it has expired, when somebody notices");
	send(two, "SET k w PX 100", NULL);
	ask("UNSUBSCRIBE");
	follow();
	ends[0].used = 0;
	CHECK(model_evict(model, "k"));
	CHECK_TEXT(ends[0].text, changed);
	send(two, "SET k w PX 100", NULL);
	ask("UNSUBSCRIBE");
	follow();
	model_set_time(model, NOW + 200000);
	send(two, "PING", NULL);
	CHECK_TEXT(ends[0].text, "");
	model_expire_due(model);
	CHECK_TEXT(ends[0].text, changed);

	tap_case("that all is gone");
	ask("UNSUBSCRIBE");
	follow();
	send(two, "FLUSHALL", NULL);
	CHECK_TEXT(ends[0].text, "*3 $7 message $20 __redis__:invalidate $-1 ");

	static const struct model_options without = {.refused = " client|tracking "};
	start(&without);
	tap_case("where tracking is not permitted it is refused");
	CHECK_TEXT(ask("CLIENT TRACKING ON"),
	    "-NOPERM this user has no permissions to run the 'client|tracking' command ");
}

static void
test_login(void)
{
	static const struct model_options options = {.password = "secret"};
	static const char many[] = "*11\r\n$4\r\nEVAL\r\n";
	start(&options);
	tap_case("without its password nothing is to be had");
	CHECK_TEXT(ask("TIME"), "-NOAUTH Authentication required. ");
	CHECK_TEXT(ask("AUTH wrong"),
	    "-WRONGPASS invalid username-password pair or user is disabled. ");
	CHECK_TEXT(ask("AUTH secret"), "+OK ");
	CHECK_TEXT(ask("CLIENT SETNAME dlock"), "+OK ");
	CHECK_HAS(ask("TIME"), "*2 $10 1700000000 ");

	tap_case("a long command before that ends the connection");
	CHECK(!model_feed(two, many, sizeof many - 1));
	CHECK_TEXT(ends[1].text, "-ERR Protocol error: unauthenticated multibulk length ");

	static const struct model_options six = {.version = 60216};
	start(&six);
	tap_case("before Redis 7 there are no channels of a slot");
	CHECK_HAS(ask("SSUBSCRIBE c"), "-ERR unknown command 'SSUBSCRIBE'");
	CHECK_HAS(ask("HELLO"), "$6 6.2.16 ");
}

static void
test_world(void)
{
	start(NULL);
	tap_case("bytes may come in pieces of any size, and several commands at once");
	static const char bytes[] =
	    "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n\r\n\r\n*2\r\n$3\r\nGET\r\n$1"
	    "\r\nk\r\n";
	for (size_t i = 0; i < sizeof bytes - 1; i++)
		model_feed(one, bytes + i, 1);
	CHECK_TEXT(ends[0].text, "+OK $2   ");
	ends[0].used = 0;
	model_feed(one, bytes, sizeof bytes - 1);
	CHECK_TEXT(ends[0].text, "+OK $2   ");
	CHECK(!model_feed(two, "hello\r\n", 7));

	tap_case("a replica that was promoted has what its master had, and goes its own way");
	ask("SET k v PX 1000");
	ask("HSET h f 1");
	ask("ZADD z 2 b 1 a");
	uint64_t writes = model_writes(model);
	struct model *copy = model_copy(model);
	ask("SET k other");
	CHECK(model_writes(model) == writes + 1);
	struct model_key key;
	struct model_member member;
	size_t at = 0, count = 0;
	CHECK(model_find_key(copy, "k", &key));
	CHECK_TEXT(key.value, "v");
	CHECK_INT(key.expires_ms, NOW / 1000 + 1000);
	CHECK(model_find_key(copy, "z", &key));
	CHECK_INT(key.type, MODEL_ZSET);
	CHECK(model_next_member(copy, &key, &at, &member));
	CHECK_TEXT(member.name, "a");
	for (at = 0; model_next_key(copy, &at, &key);)
		count++;
	CHECK_INT((int64_t)count, 3);

	tap_case("a crash loses what came after the copy");
	model_restore(model, copy);
	CHECK_TEXT(ask("GET k"), "$1 v ");
	CHECK(model_writes(model) == writes);
	model_free(copy);

	tap_case("after a reset nothing is there, and it serves again");
	model_reset(model);
	one = model_connect(model, &ends[0]);
	CHECK_TEXT(ask("DBSIZE"), ":0 ");
	CHECK_TEXT(ask("CLIENT ID"), ":1 ");
	CHECK_TEXT(ask("WAIT 1 100"), ":0 ");
}

int
main(void)
{
	test_values();
	test_scripts();
	test_full();
	test_messages();
	test_tracking();
	test_login();
	test_world();
	model_free(model);
	return tap_end();
}
