/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* store/redis_login: a password that comes late, or not at all, against a server that answers on
 * command. */
#include <string.h>

#include "redis_bench.h"
#include "tap.h"

static struct fake_source {
	struct secret_source source;
	int asked, cancelled, forgotten;
	const char *at_once; /* told from within ask; NULL: later, by the test */
} fake;

static void
fake_ask(struct secret_source *source)
{
	CHECK(source == &fake.source);
	fake.asked++;
	if (fake.at_once != NULL)
		source->told(source->context, fake.at_once, NULL);
}

static void
fake_cancel(struct secret_source *source)
{
	(void)source;
	fake.cancelled++;
}

static void
fake_forget(struct secret_source *source)
{
	(void)source;
	fake.forgotten++;
}

static void
begin(const char *at_once)
{
	static const struct secret_operations operations = {
	    .ask = fake_ask,
	    .cancel = fake_cancel,
	    .forget = fake_forget,
	};
	static pid_t helper;
	fake = (struct fake_source){
	    .source = {.operations = &operations, .origin = "the test", .helper = &helper},
	    .at_once = at_once,
	};
	bench_begin();
	bench_use_password(&fake.source);
	CHECK(bench.store->helpers[1] == &helper);
	fake.cancelled = 0;
}

static void
tell(const char *secret, const struct problem *why)
{
	fake.source.told(fake.source.context, secret, why);
}

static void
run_until_asked(int asked)
{
	for (int i = 0; i < LIMIT_MS && fake.asked < asked; i++)
		peer_run(&bench.loop, 1);
	CHECK_INT(fake.asked, asked);
}

static void
test_asking(void)
{
	tap_case(
	    "the password is asked for when the connection stands; until it is told nothing is sent");
	begin(NULL);
	CHECK_INT(fake.asked, 0);
	bench_start(STORE_ACQUIRE);
	run_until_asked(1);
	peer_run(&bench.loop, 20);
	CHECK_INT(bench.peer.connections, 1);
	CHECK_TEXT(bench.peer.log, "");
	tell("hush", NULL);
	bench_check_answer(OUTCOME_OK);
	CHECK_HAS(bench.peer.log, bench_login_log("AUTH hush; ", "; EVAL"));
	CHECK(fake.cancelled > 0); /* it may be wiped */
	bench.eval = ":1\r\n";
	bench_ask(STORE_RENEW, OUTCOME_OK);
	CHECK_INT(fake.asked, 1);

	tap_case("it is asked for anew at the next login");
	peer_hang_up(&bench.peer);
	bench.peer.log[0] = '\0';
	CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
	bench_start(STORE_RENEW);
	run_until_asked(2);
	tell("other", NULL);
	bench_check_answer(OUTCOME_OK);
	CHECK_HAS(bench.peer.log, "AUTH other; ");

	tap_case("a process that only inherited the store forgets it");
	bench.disturbed = false;
	peer_hang_up(&bench.peer); /* for the loop's sake, which such a process does not use */
	CHECK(peer_run_until(&bench.loop, &bench.disturbed, LIMIT_MS));
	bench.store->operations->forget(bench.store);
	CHECK_INT(fake.forgotten, 1);
	bench_end();

	tap_case("told from within: with a user, and one with nothing but a user");
	begin("hush");
	strcpy(bench.url.user, "ann");
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	CHECK_HAS(bench.peer.log, "AUTH ann hush; ");
	bench_end();
	bench_begin();
	strcpy(bench.url.user, "ann");
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	CHECK_HAS(bench.peer.log, "AUTH ann ; ");
	bench_end();

	tap_case("the password of the longest kind");
	static char longest[SECRET_MAX + 1];
	memset(longest, 'x', SECRET_MAX);
	begin(longest);
	memset(bench.url.user, 'u', sizeof bench.url.user - 1);
	bench_ask(STORE_ACQUIRE, OUTCOME_OK);
	CHECK_HAS(bench.peer.log, "AUTH uuu");
	bench_end();
}

static void
test_no_password(void)
{
	struct problem why;
	tap_case(
	    "none to be had: refused for a setting's sake, nothing sent, and asked again at the next try");
	begin(NULL);
	bench_start(STORE_ACQUIRE);
	run_until_asked(1);
	problem_set(&why, "no file");
	why.is_setting = true;
	tell(NULL, &why);
	bench_check_answer(OUTCOME_REFUSED);
	CHECK(bench.told.problem.is_setting);
	CHECK_TEXT(bench.told.problem.text, "no file");
	CHECK_TEXT(bench.peer.log, "");
	peer_run(&bench.loop, 10);
	CHECK(bench.peer.fd < 0);
	bench_start(STORE_ACQUIRE);
	run_until_asked(2);

	tap_case("this machine's fault is not the setting's");
	problem_set(&why, "no processes");
	why.is_system = true;
	tell(NULL, &why);
	bench_check_answer(OUTCOME_UNREACHABLE);
	CHECK(bench.told.problem.is_system && !bench.told.problem.is_setting);
	bench_end();

	tap_case("it does not come in time: within the limit of the attempt, and it is cancelled");
	begin(NULL);
	bench_start_bounded(STORE_ACQUIRE, 80, LIMIT_MS);
	bench_check_answer(OUTCOME_REFUSED);
	CHECK_TEXT(bench.told.problem.text, "no password in time from the test");
	CHECK(bench.told.problem.is_setting);
	CHECK(fake.cancelled > 0);
	CHECK_TEXT(bench.peer.log, "");
	bench_end();

	tap_case("closing the store ends the asking, and nobody is told");
	begin(NULL);
	bench_start(STORE_ACQUIRE);
	run_until_asked(1);
	fake.cancelled = 0;
	bench.store->operations->close(bench.store);
	CHECK(fake.cancelled > 0);
	peer_run(&bench.loop, 10);
	CHECK_INT(bench.answers, 0);
	bench_end();

	tap_case("a release takes the place of what waits for the password");
	begin(NULL);
	bench.eval = ":1\r\n";
	bench_start(STORE_RENEW);
	run_until_asked(1);
	bench_start(STORE_RELEASE);
	CHECK_INT(fake.asked, 1);
	tell("hush", NULL);
	bench_check_answer(OUTCOME_OK);
	CHECK_INT(bench.evals, 1);
	CHECK_INT(bench.word_count, 10);
	bench_end();
}

static void
test_hasty_servers(void)
{
	static const struct {
		const char *says;
		enum outcome outcome;
	} rows[] = {
	    {"-ERR max number of clients reached\r\n", OUTCOME_REFUSED},
	    {"-DENIED Redis is running in protected mode\r\n", OUTCOME_REFUSED},
	    {"+OK\r\n", OUTCOME_REFUSED},
	    {NULL, OUTCOME_UNREACHABLE},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("the server does not wait for the password: %s",
		    rows[i].says ? rows[i].says : "it hangs up");
		begin(NULL);
		bench_start(STORE_ACQUIRE);
		run_until_asked(1);
		if (rows[i].says != NULL)
			peer_say(&bench.peer, rows[i].says, 0);
		peer_hang_up(&bench.peer);
		bench_check_answer(rows[i].outcome);
		CHECK(!bench.told.problem.is_setting);
		CHECK(fake.cancelled > 0);
		CHECK_INT(bench.answers, 1);
		bench_end();
	}
}

static void
test_words(void)
{
	static const struct {
		const char *password, *answer, *told, *not_told;
		enum outcome outcome;
	} rows[] = {
	    {"hush-hush", "-ERR unknown command 'AUTH', with args beginning with: 'hush-hush' \r\n",
		"unknown command 'AUTH', with args beginning with: '***", "hush", OUTCOME_REFUSED},
	    /* Cut by the server. */
	    {"hush-hush-hush-hush", "-ERR unknown command 'AUTH', with args: 'hush-hush-hus\r\n",
		"with args: '***", "hush", OUTCOME_REFUSED},
	    {"hu", "-ERR what is hu?\r\n", "what is ***", "hu?", OUTCOME_REFUSED},
	    {"", "-ERR what is this?\r\n", "what is this?", "***", OUTCOME_REFUSED},
	    {"hush", "-WRONGPASS invalid username-password pair\r\n",
		"WRONGPASS invalid username-password pair (the password is that of the test)",
		"***", OUTCOME_DENIED},
	    /* Which of the server's words it is is nobody's business. */
	    {"invalid", "-WRONGPASS invalid username-password pair\r\n",
		"WRONGPASS invalid username-password pair", "***", OUTCOME_DENIED},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("what a server says of a password is passed on without it: %s",
		    rows[i].told);
		begin(rows[i].password);
		bench.auth = rows[i].answer;
		bench_ask(STORE_ACQUIRE, rows[i].outcome);
		CHECK_HAS(bench.told.problem.text, rows[i].told);
		CHECK_HAS_NOT(bench.told.problem.text, rows[i].not_told);
		bench_end();
	}

	tap_case("a server that wants a password where none was given: the remedy is named");
	bench_begin();
	bench.time = "-NOAUTH Authentication required.\r\n";
	bench.setname = "-NOAUTH Authentication required.\r\n";
	bench_ask(STORE_ACQUIRE, OUTCOME_DENIED);
	CHECK_HAS(bench.told.problem.text, "NOAUTH Authentication required.");
	CHECK_HAS(bench.told.problem.text, "--password-file");
	bench_end();

	tap_case("a server without TIME: what it is");
	bench_begin();
	bench.time = "-ERR unknown command 'TIME', with args beginning with: \r\n";
	bench_ask(STORE_ACQUIRE, OUTCOME_REFUSED);
	CHECK_HAS(bench.told.problem.text, "it is a Sentinel");
	bench_end();
}

int
main(void)
{
	if (!bench_open())
		return 1;
	test_asking();
	test_no_password();
	test_hasty_servers();
	test_words();
	return tap_end();
}
