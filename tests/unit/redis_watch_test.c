/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_watch: the second connection of a holder, against a server that answers on command.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "store/redis_watch.h"
#include "tap.h"

#define LIMIT_MS 20000
#define TIME_ANSWER "*2\r\n$10\r\n1764000000\r\n$6\r\n123456\r\n"
#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$8\r\nlock:job\r\n:1\r\n"
#define OURS "*2\r\n$8\r\nmy-token\r\n" SUBSCRIBED
#define STOLEN "*2\r\n$5\r\nother\r\n" SUBSCRIBED
#define GONE "*2\r\n$-1\r\n" SUBSCRIBED
#define NO_STRING "*2\r\n-WRONGTYPE Operation against a key\r\n" SUBSCRIBED
#define MEMBERS "lock:job#members{lock:job}"
#define PUSH "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n*1\r\n$8\r\nlock:job\r\n"
#define PUSH_OF_ALL "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n$-1\r\n"
#define LOOK "UNSUBSCRIBE lock:job; MULTI; GET lock:job; SUBSCRIBE lock:job; EXEC"

static struct loop loop;

static struct {
	struct peer peer;
	struct url url;
	struct keys keys;
	struct redis_settings settings;
	struct redis_watch *watch;

	/* What the server says; NULL: nothing. */
	const char *time, *id, *tracking, *unsubscribe, *multi, *get, *score, *subscribe, *exec;
	int looks;
	int alarms;
	bool alarmed;
} bench;

static const char *
answer_command(struct peer *peer, const struct peer_command *command)
{
	static const struct {
		const char *line;
		const char **answer;
	} rows[] = {
	    {"TIME", &bench.time},
	    {"CLIENT ID", &bench.id},
	    {"CLIENT TRACKING ON REDIRECT 7", &bench.tracking},
	    {"UNSUBSCRIBE lock:job", &bench.unsubscribe},
	    {"MULTI", &bench.multi},
	    {"GET lock:job", &bench.get},
	    {"ZSCORE " MEMBERS " my-token", &bench.score},
	    {"SUBSCRIBE lock:job", &bench.subscribe},
	    {"EXEC", &bench.exec},
	};
	CHECK(peer == &bench.peer);
	if (strcmp(command->line, "CLIENT SETNAME dlock") == 0)
		return "+OK\r\n";
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(command->line, rows[i].line) == 0) {
			bench.looks += rows[i].answer == &bench.exec;
			return *rows[i].answer;
		}
	}
	CHECK_TEXT(command->line, "a command that is expected");
	return NULL;
}

static void
note_alarm(void *context, struct instant now)
{
	CHECK(context == &bench);
	CHECK(now.ns > 0);
	bench.alarms++;
	bench.alarmed = true;
}

static void
begin_with_mode(const char *mode)
{
	struct problem problem;
	memset(&bench, 0, sizeof bench);
	bench.time = TIME_ANSWER;
	bench.id = ":7\r\n";
	bench.tracking = bench.multi = "+OK\r\n";
	bench.get = bench.score = bench.subscribe = "+QUEUED\r\n";
	bench.unsubscribe = "*3\r\n$11\r\nunsubscribe\r\n$8\r\nlock:job\r\n:0\r\n";
	bench.exec = OURS;
	CHECK(peer_open(&bench.peer, &loop));
	bench.peer.answer = answer_command;
	bench.url.scheme = URL_UNIX;
	memcpy(bench.url.path, bench.peer.path, strlen(bench.peer.path) + 1);
	CHECK(keys_make(&bench.keys, "lock:", "job", &problem));
	bench.settings = (struct redis_settings){
	    .url = &bench.url,
	    .server = "unix:///x",
	    .keys = &bench.keys,
	    .token = "my-token",
	    .mode = mode,
	};
	bench.watch = redis_watch_new(&loop, &bench.settings, note_alarm, &bench);
	CHECK(bench.watch != NULL);
}

static void
begin(void)
{
	begin_with_mode("exclusive");
}

static void
end(void)
{
	redis_watch_free(bench.watch);
	peer_close(&bench.peer);
	CHECK(loop.watches == NULL);
	CHECK(loop.timers == NULL);
}

/* A renewal that was sent so long ago has just been confirmed; requests have `limit_ms`. */
static void
renew(int sent_ms_ago, int limit_ms)
{
	const struct store_request request = {.verb = STORE_RENEW,
	    .connect_limit_ns = limit_ms * NS_PER_MS,
	    .answer_limit_ns = limit_ms * NS_PER_MS};
	const struct store_answer answer = {.outcome = OUTCOME_OK,
	    .sent_at = instant_plus(clock_now(), -sent_ms_ago * NS_PER_MS)};
	redis_watch_asked(bench.watch, &request);
	redis_watch_answered(bench.watch, &request, &answer);
}

static void
run_until_looks(int looks)
{
	for (int i = 0; i < LIMIT_MS && bench.looks < looks; i++)
		peer_run(&loop, 1);
	/* The answer is on its way. */
	peer_run(&loop, 3);
	CHECK_INT(bench.looks, looks);
}

static void
run_until_phase(enum watch_phase phase)
{
	for (int i = 0; i < LIMIT_MS && bench.watch->phase != phase; i++)
		peer_run(&loop, 1);
	CHECK_INT(bench.watch->phase, phase);
}

/* Opened, and the first look has been answered. */
static void
begin_to_watch(void)
{
	renew(1, LIMIT_MS);
	run_until_looks(1);
}

static int
elapsed_ms(struct instant since)
{
	return (int)ms_from_ns(instant_between(since, clock_now()));
}

/* -- looks ------------------------------------------------------------------------------------- */

static void
test_first_look(void)
{
	tap_case("nothing is opened before a renewal is confirmed");
	begin();
	peer_run(&loop, 20);
	CHECK_INT(bench.peer.connections, 0);

	tap_case("then it logs in, tracks and looks, and hears of our own lock no more");
	renew(1, LIMIT_MS);
	run_until_phase(WATCH_QUIET);
	CHECK_TEXT(bench.peer.log,
	    "CLIENT SETNAME dlock; TIME; CLIENT ID; CLIENT TRACKING ON REDIRECT 7; " LOOK);
	peer_run(&loop, 80);
	CHECK_INT(bench.looks, 1);
	CHECK_INT(bench.alarms, 0);
	end();

	tap_case("of a lock that is shared it looks at the member, too");
	begin_with_mode("shared");
	bench.exec = "*3\r\n$12\r\ndlock!shared\r\n$13\r\n1764000000000\r\n" SUBSCRIBED;
	begin_to_watch();
	CHECK_HAS(bench.peer.log,
	    "; GET lock:job; ZSCORE " MEMBERS " my-token; SUBSCRIBE lock:job;");
	CHECK_INT(bench.alarms, 0);
	end();
}

static void
test_pushes(void)
{
	tap_case("a push is followed by a look; ours as before: no alarm");
	begin();
	begin_to_watch();
	peer_say(&bench.peer, PUSH, 0);
	run_until_looks(2);
	peer_say(&bench.peer, PUSH_OF_ALL, 0);
	run_until_looks(3);
	CHECK_INT(bench.alarms, 0);
	CHECK_INT(bench.peer.connections, 1);
	end();

	tap_case("the first look after long comes at once, the next one 50 ms later");
	begin();
	begin_to_watch();
	peer_run(&loop, 60);
	struct instant since = clock_now();
	peer_say(&bench.peer, PUSH, 0);
	run_until_looks(2);
	peer_say(&bench.peer, PUSH, 0);
	run_until_looks(3);
	CHECK(elapsed_ms(since) >= 50);
	end();

	tap_case("many pushes on the way to a look and after it are one");
	begin();
	begin_to_watch();
	bench.exec = PUSH PUSH OURS;
	peer_say(&bench.peer, PUSH PUSH_OF_ALL PUSH, 0);
	run_until_looks(2);
	peer_run(&loop, 80);
	CHECK_INT(bench.looks, 2);
	CHECK_INT(bench.alarms, 0);
	end();

	tap_case("a push right behind the answer counts");
	begin();
	begin_to_watch();
	bench.exec = OURS PUSH;
	peer_say(&bench.peer, PUSH, 0);
	run_until_looks(2);
	bench.exec = GONE;
	run_until_looks(3);
	CHECK_INT(bench.alarms, 1);
	end();
}

static void
test_alarms(void)
{
	static const struct {
		const char *what, *mode, *exec, *then;
	} rows[] = {
	    {"another token", "exclusive", OURS, STOLEN},
	    {"no key", "exclusive", OURS, GONE},
	    {"a key that is no string", "exclusive", OURS, NO_STRING},
	    {"arrays in arrays", "exclusive", OURS, "*2\r\n*1\r\n*1\r\n:1\r\n" SUBSCRIBED},
	    {"more than our token", "exclusive", OURS, "*2\r\n$9\r\nmy-token2\r\n" SUBSCRIBED},
	    {"less than our token", "exclusive", OURS, "*2\r\n$7\r\nmy-toke\r\n" SUBSCRIBED},
	    {"no member", "shared", "*3\r\n$12\r\ndlock!shared\r\n$2\r\n17\r\n" SUBSCRIBED,
		"*3\r\n$12\r\ndlock!shared\r\n$-1\r\n" SUBSCRIBED},
	    {"no mark of a shared lock", "shared",
		"*3\r\n$12\r\ndlock!shared\r\n$2\r\n17\r\n" SUBSCRIBED,
		"*3\r\n$-1\r\n$2\r\n17\r\n" SUBSCRIBED},
	    {"members that are none", "shared",
		"*3\r\n$12\r\ndlock!shared\r\n$2\r\n17\r\n" SUBSCRIBED,
		"*3\r\n$12\r\ndlock!shared\r\n-WRONGTYPE what\r\n" SUBSCRIBED},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("a look that shows %s is an alarm, once", rows[i].what);
		begin_with_mode(rows[i].mode);
		bench.exec = rows[i].exec;
		begin_to_watch();
		CHECK_INT(bench.alarms, 0);
		bench.exec = rows[i].then;
		peer_say(&bench.peer, PUSH, 0);
		CHECK(peer_run_until(&loop, &bench.alarmed, LIMIT_MS));
		peer_run(&loop, 80);
		CHECK_INT(bench.alarms, 1);
		CHECK_INT(bench.watch->phase, WATCH_QUIET);
		end();
	}

	tap_case("what the first look shows counts, too");
	begin();
	bench.exec = GONE;
	begin_to_watch();
	CHECK_INT(bench.alarms, 1);
	end();
}

static void
test_doubt(void)
{
	tap_case("a renewal that was sent before the look is no answer to its alarm");
	begin();
	bench.exec = STOLEN;
	begin_to_watch();
	renew(500, LIMIT_MS);
	CHECK_INT(bench.alarms, 2);
	CHECK_INT(bench.peer.connections, 1);

	tap_case("one that was sent later contradicts it: another connection");
	bench.exec = OURS;
	peer_run(&loop, 5);
	renew(0, LIMIT_MS);
	CHECK_INT(bench.alarms, 2);
	run_until_looks(2);
	CHECK_INT(bench.peer.connections, 2);
	CHECK_INT(bench.alarms, 2);
	CHECK_INT(bench.watch->phase, WATCH_QUIET);
	end();
}

/* -- a server that is hostile ------------------------------------------------------------------ */

static void
test_flood(void)
{
	tap_case("pushes without end: 20 looks a second, and no alarm");
	begin();
	begin_to_watch();
	struct instant since = clock_now();
	while (elapsed_ms(since) < 400) {
		if (bench.peer.fd >= 0)
			peer_say(&bench.peer, PUSH PUSH, 0);
		peer_run(&loop, 1);
	}
	int most = 2 + elapsed_ms(since) / 50;
	CHECK(bench.looks >= 3 && bench.looks <= most);
	CHECK_INT(bench.alarms, 0);
	end();

	tap_case("more pushes than there can be: another connection, and no hurry with it");
	begin();
	begin_to_watch();
	static char pushes[1200 * (sizeof PUSH - 1) + 1];
	for (size_t i = 0; i < 1200; i++)
		memcpy(pushes + i * (sizeof PUSH - 1), PUSH, sizeof PUSH);
	peer_say(&bench.peer, pushes, 0);
	for (int i = 0; i < LIMIT_MS && bench.peer.connections < 2; i++)
		peer_run(&loop, 1);
	CHECK_INT(bench.peer.connections, 2);
	CHECK(bench.looks <= 3);
	CHECK_INT(bench.alarms, 0);
	end();
}

static void
test_nonsense(void)
{
	static const struct {
		const char *what;
		const char **step;
		const char *answer;
	} rows[] = {
	    {"a word for a number", &bench.id, "+OK\r\n"},
	    {"no array for EXEC", &bench.exec, "+OK\r\n"},
	    {"nil for EXEC", &bench.exec, "*-1\r\n"},
	    {"a short array for EXEC", &bench.exec, "*1\r\n$8\r\nmy-token\r\n"},
	    {"a long array for EXEC", &bench.exec, "*3\r\n:1\r\n:2\r\n:3\r\n"},
	    {"an array without the subscription", &bench.exec, "*2\r\n$8\r\nmy-token\r\n:1\r\n"},
	    {"no protocol", &bench.exec, "HTTP/1.1 400 Bad Request\r\n"},
	    {"one answer too many", &bench.exec, OURS "+OK\r\n"},
	    {"a server that is loading", &bench.get, "-LOADING Redis is loading\r\n"},
	    {"a server that is busy", &bench.tracking, "-BUSY Redis is busy running a script\r\n"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s: another connection, after a pause, and no alarm", rows[i].what);
		begin();
		const char *good = *rows[i].step;
		*rows[i].step = rows[i].answer;
		renew(1, LIMIT_MS);
		run_until_phase(WATCH_RETRYING);
		*rows[i].step = good;
		run_until_phase(WATCH_QUIET);
		CHECK_INT(bench.peer.connections, 2);
		CHECK_INT(bench.alarms, 0);
		end();
	}
}

static void
test_refusals(void)
{
	static const struct {
		const char *what;
		const char **step;
		const char *answer;
	} rows[] = {
	    {"no CLIENT ID", &bench.id, "-ERR Unknown subcommand or wrong number of arguments\r\n"},
	    {"no tracking", &bench.tracking, "-ERR Unknown subcommand\r\n"},
	    {"no right to track", &bench.tracking,
		"-NOPERM this user has no permissions to run the 'client|tracking' command\r\n"},
	    {"no right to read", &bench.get, "-NOPERM no permissions to access a key\r\n"},
	    {"no right to the channel", &bench.subscribe,
		"-NOPERM this user has no permissions to access a channel\r\n"},
	    {"no transactions", &bench.multi, "-ERR unknown command 'MULTI'\r\n"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s: never asked again", rows[i].what);
		begin();
		*rows[i].step = rows[i].answer;
		if (rows[i].step == &bench.get || rows[i].step == &bench.subscribe)
			bench.exec = "-EXECABORT Transaction discarded\r\n";
		renew(1, LIMIT_MS);
		run_until_phase(WATCH_REFUSED);
		renew(1, LIMIT_MS);
		peer_run(&loop, 80);
		CHECK_INT(bench.watch->phase, WATCH_REFUSED);
		CHECK_INT(bench.peer.connections, 1);
		CHECK_INT(bench.alarms, 0);
		end();
	}

	tap_case("a login that is refused: tried again at the next renewal, not before");
	begin();
	bench.time = "-NOAUTH Authentication required.\r\n";
	renew(1, LIMIT_MS);
	for (int i = 0; i < LIMIT_MS && !bench.watch->warned; i++)
		peer_run(&loop, 1);
	peer_run(&loop, 120);
	CHECK_INT(bench.peer.connections, 1);
	CHECK_INT(bench.watch->phase, WATCH_OFF);
	bench.time = TIME_ANSWER;
	renew(1, LIMIT_MS);
	run_until_phase(WATCH_QUIET);
	CHECK_INT(bench.peer.connections, 2);
	end();
}

/* -- lost connections -------------------------------------------------------------------------- */

static void
test_reconnection(void)
{
	tap_case("a connection that is lost is opened again, and what was missed is seen");
	begin();
	begin_to_watch();
	bench.exec = STOLEN;
	struct instant since = clock_now();
	peer_hang_up(&bench.peer);
	CHECK(peer_run_until(&loop, &bench.alarmed, LIMIT_MS));
	CHECK(elapsed_ms(since) >= 50);
	CHECK_INT(bench.alarms, 1);
	CHECK_INT(bench.peer.connections, 2);
	end();

	tap_case("with pauses that double, while nobody is there");
	begin();
	begin_to_watch();
	peer_hang_up(&bench.peer);
	peer_refuse(&bench.peer);
	since = clock_now();
	while (bench.watch->failures < 4)
		peer_run(&loop, 1);
	CHECK(elapsed_ms(since) >= 50 + 100 + 200);
	peer_accept_again(&bench.peer);
	run_until_phase(WATCH_QUIET);
	CHECK_INT(bench.alarms, 0);
	end();

	tap_case("but not beyond the limit for an answer");
	begin();
	peer_refuse(&bench.peer);
	renew(1, 60);
	since = clock_now();
	while (bench.watch->failures < 6)
		peer_run(&loop, 1);
	CHECK(elapsed_ms(since) < 1500); /* it would be 50 + 100 + 200 + 400 + 800 */
	end();

	tap_case("a server that hangs up after each look is not met more and more often");
	begin();
	begin_to_watch();
	since = clock_now();
	while (elapsed_ms(since) < 500) {
		if (bench.watch->phase == WATCH_QUIET)
			peer_hang_up(&bench.peer);
		peer_run(&loop, 1);
	}
	CHECK(bench.peer.connections <= 5);
	end();

	tap_case("a look without an answer: another connection when its limit is over");
	begin();
	renew(1, 100);
	run_until_phase(WATCH_QUIET);
	bench.exec = NULL;
	peer_say(&bench.peer, PUSH, 0);
	run_until_phase(WATCH_RETRYING);
	bench.exec = GONE;
	CHECK(peer_run_until(&loop, &bench.alarmed, LIMIT_MS));
	end();
}

static void
test_silence(void)
{
	tap_case("a renewal that no push follows: a look, which a dead connection does not answer");
	begin();
	renew(1, 60);
	run_until_phase(WATCH_QUIET);
	peer_run(&loop, 5);
	bench.exec = NULL;
	renew(0, 60);
	run_until_looks(2);
	run_until_phase(WATCH_RETRYING);
	bench.exec = OURS;
	run_until_phase(WATCH_QUIET);
	CHECK_INT(bench.peer.connections, 2);
	CHECK_INT(bench.alarms, 0);
	end();

	tap_case("a renewal that was sent before the last look was answered needs no push");
	begin();
	renew(1, 60);
	run_until_phase(WATCH_QUIET);
	renew(500, 60);
	peer_run(&loop, 120);
	CHECK_INT(bench.looks, 1);

	tap_case("a push that comes in time is enough");
	renew(0, 200);
	peer_say(&bench.peer, PUSH, 0);
	run_until_looks(2);
	peer_run(&loop, 250);
	CHECK_INT(bench.looks, 2);
	end();

	tap_case("a server that accepts and never tells: given up");
	begin();
	renew(1, 60);
	run_until_phase(WATCH_QUIET);
	for (int i = 0; i < 2; i++) {
		peer_run(&loop, 5);
		renew(0, 60);
		run_until_looks(2 + i);
	}
	peer_run(&loop, 5);
	renew(0, 60);
	run_until_phase(WATCH_REFUSED);
	CHECK_INT(bench.peer.connections, 1);
	CHECK_INT(bench.alarms, 0);
	end();
}

/* -- the password ------------------------------------------------------------------------------ */

static void
test_hold_back(void)
{
	tap_case("while the store logs in nobody asks for the password here");
	begin();
	bench.time = NULL;
	renew(1, LIMIT_MS);
	run_until_phase(WATCH_LOGIN);
	redis_watch_hold_back(bench.watch, true);
	CHECK_INT(bench.watch->phase, WATCH_RETRYING);
	bench.peer.log[0] = '\0';
	bench.time = TIME_ANSWER;
	peer_run(&loop, 120);
	CHECK_TEXT(bench.peer.log, "");
	redis_watch_hold_back(bench.watch, false);
	run_until_phase(WATCH_QUIET);
	end();

	tap_case("who has logged in already is left alone");
	begin();
	begin_to_watch();
	redis_watch_hold_back(bench.watch, true);
	peer_say(&bench.peer, PUSH, 0);
	run_until_looks(2);
	CHECK_INT(bench.peer.connections, 1);
	end();
}

static void
test_close(void)
{
	static const struct store_request renewal = {.verb = STORE_RENEW};
	static const struct store_request release = {.verb = STORE_RELEASE};
	static const struct store_answer no = {.outcome = OUTCOME_LOST};
	static const struct store_answer done = {.outcome = OUTCOME_OK};

	tap_case("only a renewal that is confirmed opens it");
	begin();
	redis_watch_asked(bench.watch, &renewal);
	redis_watch_answered(bench.watch, &renewal, &no);
	redis_watch_asked(bench.watch, &release);
	redis_watch_answered(bench.watch, &release, &done);
	peer_run(&loop, 20);
	CHECK_INT(bench.peer.connections, 0);

	tap_case("a release closes it");
	begin_to_watch();
	redis_watch_asked(bench.watch, &release);
	peer_run(&loop, 80);
	CHECK_INT(bench.peer.fd, -1);
	CHECK_INT(bench.looks, 1);

	tap_case("in whatever phase: nothing is opened any more");
	for (enum watch_phase phase = WATCH_RETRYING; phase < WATCH_REFUSED; phase++) {
		bench.exec = phase == WATCH_LOOKING ? NULL : OURS;
		bench.time = phase == WATCH_LOGIN ? NULL : TIME_ANSWER;
		renew(1, LIMIT_MS);
		if (phase == WATCH_RETRYING || phase == WATCH_PUSHED) {
			run_until_phase(WATCH_QUIET);
			if (phase == WATCH_PUSHED)
				peer_say(&bench.peer, PUSH, 0);
			else
				peer_hang_up(&bench.peer);
		}
		run_until_phase(phase);
		int connections = bench.peer.connections;
		redis_watch_asked(bench.watch, &release);
		CHECK_INT(bench.watch->phase, WATCH_OFF);
		peer_run(&loop, 60);
		CHECK(bench.peer.connections <= connections + 1); /* begun before */
		CHECK_INT(bench.peer.fd, -1);
		CHECK(loop.timers == NULL);
	}
	end();

	tap_case("nobody who wants one: nothing is done");
	redis_watch_asked(NULL, &release);
	redis_watch_answered(NULL, &renewal, &done);
	redis_watch_hold_back(NULL, true);
	redis_watch_close(NULL);
	redis_watch_free(NULL);
	CHECK(redis_watch_helper(NULL) == NULL);
}

int
main(void)
{
	if (loop_open(&loop) != 0)
		return 1;
	test_first_look();
	test_pushes();
	test_alarms();
	test_doubt();
	test_flood();
	test_nonsense();
	test_refusals();
	test_reconnection();
	test_silence();
	test_hold_back();
	test_close();
	return tap_end();
}
