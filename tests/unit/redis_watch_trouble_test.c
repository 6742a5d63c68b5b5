/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_watch: what is wrong with the second connection, or sent on it, costs nothing but
 * the news. */
#include <string.h>

#include "tap.h"
#include "watch_bench.h"

/* -- a server that is hostile ------------------------------------------------------------------ */

static void
test_flood(void)
{
	tap_case("pushes without end: 20 looks a second, and no alarm");
	watcher_begin();
	watcher_begin_to_watch();
	struct instant since = clock_now();
	while (watcher_elapsed_ms(since) < 400) {
		if (watcher.peer.fd >= 0)
			peer_say(&watcher.peer, PUSH PUSH, 0);
		peer_run(&watcher.loop, 1);
	}
	int most = 2 + watcher_elapsed_ms(since) / 50;
	CHECK(watcher.looks >= 3 && watcher.looks <= most);
	CHECK_INT(watcher.alarms, 0);
	watcher_end();

	tap_case("more pushes than there can be: another connection, and no hurry with it");
	watcher_begin();
	watcher_begin_to_watch();
	static char pushes[1200 * (sizeof PUSH - 1) + 1];
	for (size_t i = 0; i < 1200; i++)
		memcpy(pushes + i * (sizeof PUSH - 1), PUSH, sizeof PUSH);
	peer_say(&watcher.peer, pushes, 0);
	for (int i = 0; i < LIMIT_MS && watcher.peer.connections < 2; i++)
		peer_run(&watcher.loop, 1);
	CHECK_INT(watcher.peer.connections, 2);
	CHECK(watcher.looks <= 3);
	CHECK_INT(watcher.alarms, 0);
	watcher_end();
}

static void
test_nonsense(void)
{
	static const struct {
		const char *what;
		const char **step;
		const char *answer;
	} rows[] = {
	    {"a word for a number", &watcher.id, "+OK\r\n"},
	    {"no array for EXEC", &watcher.exec, "+OK\r\n"},
	    {"nil for EXEC", &watcher.exec, "*-1\r\n"},
	    {"a short array for EXEC", &watcher.exec, "*1\r\n$8\r\nmy-token\r\n"},
	    {"a long array for EXEC", &watcher.exec, "*3\r\n:1\r\n:2\r\n:3\r\n"},
	    {"an array without the subscription", &watcher.exec, "*2\r\n$8\r\nmy-token\r\n:1\r\n"},
	    {"no protocol", &watcher.exec, "HTTP/1.1 400 Bad Request\r\n"},
	    {"one answer too many", &watcher.exec, OURS "+OK\r\n"},
	    {"a server that is loading", &watcher.get, "-LOADING Redis is loading\r\n"},
	    {"a server that is busy", &watcher.tracking,
		"-BUSY Redis is busy running a script\r\n"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s: another connection, after a pause, and no alarm", rows[i].what);
		watcher_begin();
		const char *good = *rows[i].step;
		*rows[i].step = rows[i].answer;
		watcher_renew(1, LIMIT_MS);
		watcher_run_until_phase(WATCH_RETRYING);
		*rows[i].step = good;
		watcher_run_until_phase(WATCH_QUIET);
		CHECK_INT(watcher.peer.connections, 2);
		CHECK_INT(watcher.alarms, 0);
		watcher_end();
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
	    {"no CLIENT ID", &watcher.id,
		"-ERR Unknown subcommand or wrong number of arguments\r\n"},
	    {"no tracking", &watcher.tracking, "-ERR Unknown subcommand\r\n"},
	    {"no right to track", &watcher.tracking,
		"-NOPERM this user has no permissions to run the 'client|tracking' command\r\n"},
	    {"no right to read", &watcher.get, "-NOPERM no permissions to access a key\r\n"},
	    {"no right to the channel", &watcher.subscribe,
		"-NOPERM this user has no permissions to access a channel\r\n"},
	    {"no transactions", &watcher.multi, "-ERR unknown command 'MULTI'\r\n"},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("%s: never asked again", rows[i].what);
		watcher_begin();
		*rows[i].step = rows[i].answer;
		if (rows[i].step == &watcher.get || rows[i].step == &watcher.subscribe)
			watcher.exec = "-EXECABORT Transaction discarded\r\n";
		watcher_renew(1, LIMIT_MS);
		watcher_run_until_phase(WATCH_REFUSED);
		watcher_renew(1, LIMIT_MS);
		peer_run(&watcher.loop, 80);
		CHECK_INT(watcher.watch->phase, WATCH_REFUSED);
		CHECK_INT(watcher.peer.connections, 1);
		CHECK_INT(watcher.alarms, 0);
		watcher_end();
	}

	tap_case("a login that is refused: tried again at the next renewal, not before");
	watcher_begin();
	watcher.time = "-NOAUTH Authentication required.\r\n";
	watcher_renew(1, LIMIT_MS);
	for (int i = 0; i < LIMIT_MS && !watcher.watch->warned; i++)
		peer_run(&watcher.loop, 1);
	peer_run(&watcher.loop, 120);
	CHECK_INT(watcher.peer.connections, 1);
	CHECK_INT(watcher.watch->phase, WATCH_OFF);
	watcher.time = TIME_ANSWER;
	watcher_renew(1, LIMIT_MS);
	watcher_run_until_phase(WATCH_QUIET);
	CHECK_INT(watcher.peer.connections, 2);
	watcher_end();
}

/* -- lost connections -------------------------------------------------------------------------- */

static void
test_reconnection(void)
{
	tap_case("a connection that is lost is opened again, and what was missed is seen");
	watcher_begin();
	watcher_begin_to_watch();
	watcher.exec = STOLEN;
	struct instant since = clock_now();
	peer_hang_up(&watcher.peer);
	CHECK(peer_run_until(&watcher.loop, &watcher.alarmed, LIMIT_MS));
	CHECK(watcher_elapsed_ms(since) >= 50);
	CHECK_INT(watcher.alarms, 1);
	CHECK_INT(watcher.peer.connections, 2);
	watcher_end();

	tap_case("with pauses that double, while nobody is there");
	watcher_begin();
	watcher_begin_to_watch();
	peer_hang_up(&watcher.peer);
	peer_refuse(&watcher.peer);
	since = clock_now();
	while (watcher.watch->failures < 4)
		peer_run(&watcher.loop, 1);
	CHECK(watcher_elapsed_ms(since) >= 50 + 100 + 200);
	peer_accept_again(&watcher.peer);
	watcher_run_until_phase(WATCH_QUIET);
	CHECK_INT(watcher.alarms, 0);
	watcher_end();

	tap_case("but not beyond the limit for an answer");
	watcher_begin();
	peer_refuse(&watcher.peer);
	watcher_renew(1, 60);
	since = clock_now();
	while (watcher.watch->failures < 6)
		peer_run(&watcher.loop, 1);
	CHECK(watcher_elapsed_ms(since) < 1500); /* it would be 50 + 100 + 200 + 400 + 800 */
	watcher_end();

	tap_case("a server that hangs up after each look is not met more and more often");
	watcher_begin();
	watcher_begin_to_watch();
	since = clock_now();
	while (watcher_elapsed_ms(since) < 500) {
		if (watcher.watch->phase == WATCH_QUIET)
			peer_hang_up(&watcher.peer);
		peer_run(&watcher.loop, 1);
	}
	CHECK(watcher.peer.connections <= 5);
	watcher_end();

	tap_case("a look without an answer: another connection when its limit is over");
	watcher_begin();
	watcher_renew(1, 100);
	watcher_run_until_phase(WATCH_QUIET);
	watcher.exec = NULL;
	peer_say(&watcher.peer, PUSH, 0);
	watcher_run_until_phase(WATCH_RETRYING);
	watcher.exec = GONE;
	CHECK(peer_run_until(&watcher.loop, &watcher.alarmed, LIMIT_MS));
	watcher_end();
}

static void
test_silence(void)
{
	tap_case("a renewal that no push follows: a look, which a dead connection does not answer");
	watcher_begin();
	watcher_renew(1, 60);
	watcher_run_until_phase(WATCH_QUIET);
	peer_run(&watcher.loop, 5);
	watcher.exec = NULL;
	watcher_renew(0, 60);
	watcher_run_until_looks(2);
	watcher_run_until_phase(WATCH_RETRYING);
	watcher.exec = OURS;
	watcher_run_until_phase(WATCH_QUIET);
	CHECK_INT(watcher.peer.connections, 2);
	CHECK_INT(watcher.alarms, 0);
	watcher_end();

	tap_case("a renewal that was sent before the last look was answered needs no push");
	watcher_begin();
	watcher_renew(1, 60);
	watcher_run_until_phase(WATCH_QUIET);
	watcher_renew(500, 60);
	peer_run(&watcher.loop, 120);
	CHECK_INT(watcher.looks, 1);

	tap_case("a push that comes in time is enough");
	watcher_renew(0, 200);
	peer_say(&watcher.peer, PUSH, 0);
	watcher_run_until_looks(2);
	peer_run(&watcher.loop, 250);
	CHECK_INT(watcher.looks, 2);
	watcher_end();

	tap_case("a server that accepts and never tells: given up");
	watcher_begin();
	watcher_renew(1, 60);
	watcher_run_until_phase(WATCH_QUIET);
	for (int i = 0; i < 2; i++) {
		peer_run(&watcher.loop, 5);
		watcher_renew(0, 60);
		watcher_run_until_looks(2 + i);
	}
	peer_run(&watcher.loop, 5);
	watcher_renew(0, 60);
	watcher_run_until_phase(WATCH_REFUSED);
	CHECK_INT(watcher.peer.connections, 1);
	CHECK_INT(watcher.alarms, 0);
	watcher_end();
}

/* -- the password ------------------------------------------------------------------------------ */

static void
test_hold_back(void)
{
	tap_case("while the store logs in nobody asks for the password here");
	watcher_begin();
	watcher.time = NULL;
	watcher_renew(1, LIMIT_MS);
	watcher_run_until_phase(WATCH_LOGIN);
	redis_watch_hold_back(watcher.watch, true);
	CHECK_INT(watcher.watch->phase, WATCH_RETRYING);
	watcher.peer.log[0] = '\0';
	watcher.time = TIME_ANSWER;
	peer_run(&watcher.loop, 120);
	CHECK_TEXT(watcher.peer.log, "");
	redis_watch_hold_back(watcher.watch, false);
	watcher_run_until_phase(WATCH_QUIET);
	watcher_end();

	tap_case("who has logged in already is left alone");
	watcher_begin();
	watcher_begin_to_watch();
	redis_watch_hold_back(watcher.watch, true);
	peer_say(&watcher.peer, PUSH, 0);
	watcher_run_until_looks(2);
	CHECK_INT(watcher.peer.connections, 1);
	watcher_end();
}

int
main(void)
{
	if (!watcher_open())
		return 1;
	test_flood();
	test_nonsense();
	test_refusals();
	test_reconnection();
	test_silence();
	test_hold_back();
	return tap_end();
}
