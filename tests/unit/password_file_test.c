/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/password: what a line is, and real files. */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "forks.h"
#include "password_bench.h"
#include "peer.h"
#include "tap.h"

static void
test_lines(void)
{
	static const struct {
		const char *text;
		size_t length;
		const char *line; /* NULL: refused */
	} rows[] = {
	    {"hush\n", 5, "hush"},
	    {"hush", 4, "hush"},
	    {"hush\r\n", 6, "hush"},
	    {"hush\nand more\n", 14, "hush"},
	    {"hush\n\0", 6, "hush"},
	    {" hush \n", 7, " hush "},
	    {"h\rush\r\r\n", 8, "h\rush\r"},
	    {"hush\r", 5, "hush\r"},
	    {"", 0, NULL},
	    {"\n", 1, NULL},
	    {"\r\n", 2, NULL},
	    {"\nhush\n", 6, NULL},
	    {"hu\0sh\n", 6, NULL},
	    {"\0", 1, NULL},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[32];
		struct problem problem = {.text = ""};
		tap_case("the first line is the password: row %zu", i);
		memcpy(text, rows[i].text, rows[i].length);
		bool good = password_take_line(text, rows[i].length, &problem);
		if (CHECK_INT(good, rows[i].line != NULL) && good)
			CHECK_TEXT(text, rows[i].line);
		else
			CHECK(problem.text[0] != '\0');
	}
}

static void
test_files(void)
{
	static char text[SECRET_MAX + 3];
	memset(text, 'x', sizeof text);

	tap_case("a file is read anew each time");
	asker_write("hush\n", 5);
	asker_begin(asker.path, NULL);
	asker_ask();
	CHECK_INT(asker.count, 0); /* not from within */
	asker_check_told("hush");
	asker_cancel();
	CHECK_TEXT(asker.password.answer->text, "");
	asker_write("other", 5);
	asker_ask();
	asker_check_told("other");
	unlink(asker.path);
	asker_ask();
	asker_check_refused("No such file");
	CHECK_HAS(asker.problem.text, asker.path);
	asker_write("again\r\n", 7);
	asker_ask();
	asker_check_told("again");
	CHECK_INT(asker.count, 4);
	asker_run_until_idle();

	tap_case("the longest password, and one byte more");
	for (size_t ends = 0; ends < 3; ends++) {
		memcpy(text + SECRET_MAX, ends == 2 ? "\r\n" : "\n\n", 2);
		asker_write(text, SECRET_MAX + ends);
		asker_ask();
		text[SECRET_MAX] = '\0';
		asker_check_told(text);
	}
	memset(text, 'x', sizeof text);
	for (size_t more = 1; more <= 3; more++) {
		asker_write(text, SECRET_MAX + more);
		asker_ask();
		asker_check_refused("longer than 8192 bytes");
	}
	memcpy(text + SECRET_MAX + 1, "\n", 1);
	asker_write(text, SECRET_MAX + 2);
	asker_ask();
	asker_check_refused("longer than 8192 bytes");

	tap_case("what is no password is told with name and reason, and nothing of it is quoted");
	asker_write("", 0);
	asker_ask();
	asker_check_refused("is empty");
	CHECK_HAS(asker.problem.text, asker.path);
	asker_write("hu\0sh\n", 6);
	asker_ask();
	asker_check_refused("NUL");
	CHECK_HAS_NOT(asker.problem.text, "hu\0");
	asker_begin(asker.directory, NULL);
	asker_ask();
	asker_check_refused("Is a directory");
	CHECK_HAS(asker.problem.text, asker.directory);
	asker_begin("/dev/zero", NULL);
	asker_ask();
	asker_check_refused("longer than");

	tap_case("a pipe that nobody writes to hangs the helper alone; it is killed");
	unlink(asker.path);
	CHECK(mkfifo(asker.path, 0600) == 0);
	asker_begin(asker.path, NULL);
	asker_ask();
	pid_t helper = asker.password.helper;
	CHECK(forks_wait_state(helper, 'S'));
	peer_run(&asker.loop, 20);
	CHECK_INT(asker.count, 0);
	asker_cancel();
	CHECK(asker.password.source.helper == &asker.password.helper &&
	    asker.password.helper == helper);
	asker_run_until_idle();
	CHECK(forks_wait_gone(helper));
	CHECK_INT(asker.count, 0);
	unlink(asker.path);
}

int
main(void)
{
	if (!asker_open())
		return 1;
	test_lines();
	test_files();
	asker_close();
	return tap_end();
}
