/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_watch: the second connection of a holder, against a server that answers on command.
 */
#include "tap.h"
#include "watch_bench.h"

/* -- looks ------------------------------------------------------------------------------------- */

static void
test_first_look(void)
{
	tap_case("nothing is opened before a renewal is confirmed");
	watcher_begin();
	peer_run(&watcher.loop, 20);
	CHECK_INT(watcher.peer.connections, 0);

	tap_case("then it logs in, tracks and looks, and hears of our own lock no more");
	watcher_renew(1, LIMIT_MS);
	watcher_run_until_phase(WATCH_QUIET);
	CHECK_TEXT(watcher.peer.log,
	    "CLIENT SETNAME dlock; TIME; CLIENT ID; CLIENT TRACKING ON REDIRECT 7; " LOOK);
	peer_run(&watcher.loop, 80);
	CHECK_INT(watcher.looks, 1);
	CHECK_INT(watcher.alarms, 0);
	watcher_end();

	tap_case("of a lock that is shared it looks at the member, too");
	watcher_begin_with_mode("shared");
	watcher.exec = "*3\r\n$12\r\ndlock!shared\r\n$13\r\n1764000000000\r\n" SUBSCRIBED;
	watcher_begin_to_watch();
	CHECK_HAS(watcher.peer.log,
	    "; GET lock:job; ZSCORE " MEMBERS " my-token; SUBSCRIBE lock:job;");
	CHECK_INT(watcher.alarms, 0);
	watcher_end();
}

static void
test_pushes(void)
{
	tap_case("a push is followed by a look; ours as before: no alarm");
	watcher_begin();
	watcher_begin_to_watch();
	peer_say(&watcher.peer, PUSH, 0);
	watcher_run_until_looks(2);
	peer_say(&watcher.peer, PUSH_OF_ALL, 0);
	watcher_run_until_looks(3);
	CHECK_INT(watcher.alarms, 0);
	CHECK_INT(watcher.peer.connections, 1);
	watcher_end();

	tap_case("the first look after long comes at once, the next one 50 ms later");
	watcher_begin();
	watcher_begin_to_watch();
	peer_run(&watcher.loop, 60);
	struct instant since = clock_now();
	peer_say(&watcher.peer, PUSH, 0);
	watcher_run_until_looks(2);
	peer_say(&watcher.peer, PUSH, 0);
	watcher_run_until_looks(3);
	CHECK(watcher_elapsed_ms(since) >= 50);
	watcher_end();

	tap_case("many pushes on the way to a look and after it are one");
	watcher_begin();
	watcher_begin_to_watch();
	watcher.exec = PUSH PUSH OURS;
	peer_say(&watcher.peer, PUSH PUSH_OF_ALL PUSH, 0);
	watcher_run_until_looks(2);
	peer_run(&watcher.loop, 80);
	CHECK_INT(watcher.looks, 2);
	CHECK_INT(watcher.alarms, 0);
	watcher_end();

	tap_case("a push right behind the answer counts");
	watcher_begin();
	watcher_begin_to_watch();
	watcher.exec = OURS PUSH;
	peer_say(&watcher.peer, PUSH, 0);
	watcher_run_until_looks(2);
	watcher.exec = GONE;
	watcher_run_until_looks(3);
	CHECK_INT(watcher.alarms, 1);
	watcher_end();
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
		watcher_begin_with_mode(rows[i].mode);
		watcher.exec = rows[i].exec;
		watcher_begin_to_watch();
		CHECK_INT(watcher.alarms, 0);
		watcher.exec = rows[i].then;
		peer_say(&watcher.peer, PUSH, 0);
		CHECK(peer_run_until(&watcher.loop, &watcher.alarmed, LIMIT_MS));
		peer_run(&watcher.loop, 80);
		CHECK_INT(watcher.alarms, 1);
		CHECK_INT(watcher.watch->phase, WATCH_QUIET);
		watcher_end();
	}

	tap_case("what the first look shows counts, too");
	watcher_begin();
	watcher.exec = GONE;
	watcher_begin_to_watch();
	CHECK_INT(watcher.alarms, 1);
	watcher_end();
}

static void
test_doubt(void)
{
	tap_case("a renewal that was sent before the look is no answer to its alarm");
	watcher_begin();
	watcher.exec = STOLEN;
	watcher_begin_to_watch();
	watcher_renew(500, LIMIT_MS);
	CHECK_INT(watcher.alarms, 2);
	CHECK_INT(watcher.peer.connections, 1);

	tap_case("one that was sent later contradicts it: another connection");
	watcher.exec = OURS;
	peer_run(&watcher.loop, 5);
	watcher_renew(0, LIMIT_MS);
	CHECK_INT(watcher.alarms, 2);
	watcher_run_until_looks(2);
	CHECK_INT(watcher.peer.connections, 2);
	CHECK_INT(watcher.alarms, 2);
	CHECK_INT(watcher.watch->phase, WATCH_QUIET);
	watcher_end();
}

static void
test_close(void)
{
	static const struct store_request renewal = {.verb = STORE_RENEW};
	static const struct store_request release = {.verb = STORE_RELEASE};
	static const struct store_answer no = {.outcome = OUTCOME_LOST};
	static const struct store_answer done = {.outcome = OUTCOME_OK};

	tap_case("only a renewal that is confirmed opens it");
	watcher_begin();
	redis_watch_asked(watcher.watch, &renewal);
	redis_watch_answered(watcher.watch, &renewal, &no);
	redis_watch_asked(watcher.watch, &release);
	redis_watch_answered(watcher.watch, &release, &done);
	peer_run(&watcher.loop, 20);
	CHECK_INT(watcher.peer.connections, 0);

	tap_case("a release closes it");
	watcher_begin_to_watch();
	redis_watch_asked(watcher.watch, &release);
	peer_run(&watcher.loop, 80);
	CHECK_INT(watcher.peer.fd, -1);
	CHECK_INT(watcher.looks, 1);

	tap_case("in whatever phase: nothing is opened any more");
	for (enum watch_phase phase = WATCH_RETRYING; phase < WATCH_REFUSED; phase++) {
		watcher.exec = phase == WATCH_LOOKING ? NULL : OURS;
		watcher.time = phase == WATCH_LOGIN ? NULL : TIME_ANSWER;
		watcher_renew(1, LIMIT_MS);
		if (phase == WATCH_RETRYING || phase == WATCH_PUSHED) {
			watcher_run_until_phase(WATCH_QUIET);
			if (phase == WATCH_PUSHED)
				peer_say(&watcher.peer, PUSH, 0);
			else
				peer_hang_up(&watcher.peer);
		}
		watcher_run_until_phase(phase);
		int connections = watcher.peer.connections;
		redis_watch_asked(watcher.watch, &release);
		CHECK_INT(watcher.watch->phase, WATCH_OFF);
		peer_run(&watcher.loop, 60);
		CHECK(watcher.peer.connections <= connections + 1); /* begun before */
		CHECK_INT(watcher.peer.fd, -1);
		CHECK(watcher.loop.timers == NULL);
	}
	watcher_end();

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
	if (!watcher_open())
		return 1;
	test_first_look();
	test_pushes();
	test_alarms();
	test_doubt();
	test_close();
	return tap_end();
}
