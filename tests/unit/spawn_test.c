/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/spawn: finding COMMAND, its environment, and executing it, or learning why not. */
#include "run/spawn.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks.h"
#include "tap.h"

static char directory[64];
static struct signals signals;
static struct spawn_plan plan;

static void
write_file(const char *name, const char *text, mode_t mode)
{
	char path[200];
	snprintf(path, sizeof path, "%s/%s", directory, name);
	FILE *file = fopen(path, "we");
	if (file == NULL) {
		CHECK(!"a file could be written");
		return;
	}
	fputs(text, file);
	fclose(file);
	CHECK_INT(chmod(path, mode), 0);
}

/* -- look-up ---------------------------------------------------------------------------------- */

/* $ stands for the directory of the test. */
static void
expand(char *out, size_t size, const char *text)
{
	size_t used = 0;
	for (; *text != '\0' && used + 70 < size; text++) {
		if (*text == '$')
			used += (size_t)snprintf(out + used, size - used, "%s", directory);
		else
			out[used++] = *text;
	}
	out[used] = '\0';
}

static void
test_look_up(void)
{
	static const struct {
		const char *search, *name; /* search NULL: no PATH */
		int status;
		const char *path_or_why;
	} rows[] = {
	    {"$", "good", 0, "$/good"},
	    {"/nonexistent:$", "good", 0, "$/good"},
	    {"$/empty:$", "good", 0, "$/good"},
	    {"$/a file:$", "good", 0, "$/good"},
	    /* execvp(3) goes on behind what may not be executed. */
	    {"$/bad:$", "good", 0, "$/good"},
	    {"$:$/bad", "good", 0, "$/good"},
	    {"$/dir:$", "good", 0, "$/good"},
	    /* An empty entry is the working directory. */
	    {":/nonexistent", "good", 0, "./good"},
	    {"/nonexistent:", "good", 0, "./good"},
	    {"/nonexistent::/x", "good", 0, "./good"},
	    {"", "good", 0, "./good"},
	    {NULL, "sh", 0, "/bin/sh"},
	    {"$", "$/good", 0, "$/good"},
	    {"/nonexistent", "./good", 0, "./good"},
	    /* 127: not found, 126: found, and not to be executed. */
	    {"$", "missing", 127, "command not found: 'missing'"},
	    {"/nonexistent:$/empty", "good", 127, "command not found: 'good'"},
	    {"$/good:$/empty", "sh", 127, "command not found"}, /* no directory */
	    {"$", "", 127, "command not found: ''"},
	    {"$", "$/missing", 127, "command not found"},
	    {"$", "$/good/missing", 127, "command not found"},
	    {"$/bad", "good", 126, "cannot execute 'good': Permission denied"},
	    {"$", "$/bad/good", 126, "Permission denied"},
	    {"$", "/etc/passwd", 126, "Permission denied"},
	    {"$", "$/empty", 126, "directory"},
	    /* As a shell has it, a directory in PATH is no command. */
	    {"$", "empty", 127, "command not found"},
	    {"",
		"1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890",
		126, "too long"},
	};
	CHECK_INT(chdir(directory), 0);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct problem problem = {.text = ""};
		char search[512], name[512], wanted[512], path[100] = "";
		tap_case("S66: PATH %s, name '%s'", rows[i].search ? rows[i].search : "not set",
		    rows[i].name);
		expand(search, sizeof search, rows[i].search ? rows[i].search : "");
		expand(name, sizeof name, rows[i].name);
		expand(wanted, sizeof wanted, rows[i].path_or_why);
		if (rows[i].search != NULL)
			setenv("PATH", search, 1);
		else
			unsetenv("PATH");
		CHECK_INT(spawn_look_up(name, path, sizeof path, &problem), rows[i].status);
		if (rows[i].status == 0)
			CHECK_TEXT(path, wanted);
		else
			CHECK_HAS(problem.text, wanted);
	}
	setenv("PATH", "/usr/bin:/bin", 1);
}

/* -- environment ------------------------------------------------------------------------------ */

static void
test_environment(void)
{
	static char path[] = "PATH=/bin", old[] = "DLOCK_NAME=old", longer[] = "DLOCK_NAMES=kept",
		    shorter[] = "DLOCK_NAM=kept", password[] = "DLOCK_PASSWORD=hush",
		    sentinel[] = "DLOCK_SENTINEL_PASSWORD=hush",
		    passwords[] = "DLOCK_PASSWORDS=kept", pass[] = "DLOCK_PASS=kept",
		    bare[] = "DLOCK_FENCE", empty[] = "DLOCK_KEY=", tail[] = "LAST=a=b";
	char *environment[] = {path, old, longer, shorter, password, sentinel, passwords, pass,
	    bare, empty, tail, old, NULL};
	static const struct spawn_variable variables[] = {{"DLOCK_NAME", "a b=c"},
	    {"DLOCK_KEY", "lock:a"}, {"DLOCK_FENCE", "7"}};
	static const char *const wanted[] = {"PATH=/bin", "DLOCK_NAMES=kept", "DLOCK_NAM=kept",
	    "DLOCK_PASSWORDS=kept", "DLOCK_PASS=kept", "LAST=a=b", "DLOCK_NAME=a b=c",
	    "DLOCK_KEY=lock:a", "DLOCK_FENCE=7"};
	tap_case("P48: variables are added, older ones replaced; DLOCK_PASSWORD is not passed on");
	char **made = spawn_environment(environment, variables, COUNT_OF(variables));
	if (!CHECK(made != NULL))
		return;
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		if (!CHECK(made[i] != NULL))
			return;
		CHECK_TEXT(made[i], wanted[i]);
	}
	CHECK(made[COUNT_OF(wanted)] == NULL);
	for (size_t i = COUNT_OF(wanted) - 3; i < COUNT_OF(wanted); i++)
		free(made[i]);
	free(made);

	tap_case("P49: an empty environment");
	char *nothing[] = {NULL};
	made = spawn_environment(nothing, variables, 1);
	CHECK_TEXT(made[0], "DLOCK_NAME=a b=c");
	CHECK(made[1] == NULL);
	free(made[0]);
	free(made);

	tap_case("a variable without a value is removed, and nothing is put in its place");
	char slot[] = "DLOCK_SLOT=3", slots[] = "DLOCK_SLOTS=3", name[] = "DLOCK_NAME=old";
	char *stale[] = {slot, slots, name, NULL};
	const struct spawn_variable removed[] = {{"DLOCK_SLOT", NULL}, {"DLOCK_NAME", NULL}};
	made = spawn_environment(stale, removed, COUNT_OF(removed));
	CHECK_TEXT(made[0], slots);
	CHECK(made[1] == NULL);
	free(made);
}

/* -- execution -------------------------------------------------------------------------------- */

/* Starts it and lets it go. What spawn_read_failure says at last; *ended: the wait status. */
static int
execute(const char *name, char *const *argv, int *ended, int *status, struct problem *problem)
{
	int failure_fd = -1, gate_fd = -1, said = 0;
	snprintf(plan.path, sizeof plan.path, "%s/%s", directory, name);
	plan.argv = argv;
	plan.envp = environ;
	plan.signals = &signals;
	pid_t pid = spawn_start(&plan, &failure_fd, &gate_fd);
	if (!CHECK(pid > 0))
		return 0;
	CHECK_INT(spawn_read_failure(failure_fd, &plan, status, problem), 0);
	CHECK_INT(write(gate_fd, "", 1), 1);
	close(gate_fd);
	for (int i = 0; i < 20000 && said == 0; i++) {
		said = spawn_read_failure(failure_fd, &plan, status, problem);
		poll(NULL, 0, 1);
	}
	close(failure_fd);
	CHECK_INT(waitpid(pid, ended, 0), pid);
	return said;
}

static void
test_execution(void)
{
	static char zero[] = "name", one[] = "1", two[] = "2 3";
	static char *argv[] = {zero, one, two, NULL};
	static const struct {
		const char *what, *file;
		int status;
		const char *why;
	} rows[] = {
	    {"a file that has gone", "gone", 127, "not found: 'name'"},
	    {"a file that may not be executed", "bad/good", 126, "cannot execute 'name'"},
	    {"a directory", "empty", 126, "cannot execute 'name'"},
	    {"S66: a missing interpreter", "no-interpreter", 127, "interpreter"},
	};
	struct problem problem;
	int ended = 0, status = 0;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		tap_case("not executed: %s", rows[i].what);
		problem.text[0] = '\0';
		CHECK_INT(execute(rows[i].file, argv, &ended, &status, &problem), -1);
		CHECK_INT(status, rows[i].status);
		CHECK_HAS(problem.text, rows[i].why);
	}
	tap_case("executed, with its arguments");
	CHECK_INT(execute("good", argv, &ended, &status, &problem), 1);
	CHECK(WIFEXITED(ended));
	CHECK_INT(WEXITSTATUS(ended), 41);

	tap_case("S66: a script without #! runs too, with its arguments");
	CHECK_INT(execute("no-shebang", argv, &ended, &status, &problem), 1);
	CHECK(WIFEXITED(ended));
	CHECK_INT(WEXITSTATUS(ended), 42);
}

static void
test_gate(void)
{
	static char zero[] = "good";
	static char *argv[] = {zero, NULL};
	int failure_fd, gate_fd, status, ended;
	struct problem problem;
	tap_case("COMMAND waits at its gate, and what closes the gate ends it unexecuted");
	snprintf(plan.path, sizeof plan.path, "%s/good", directory);
	plan.argv = argv;
	pid_t pid = spawn_start(&plan, &failure_fd, &gate_fd);
	poll(NULL, 0, 50);
	CHECK_INT(spawn_read_failure(failure_fd, &plan, &status, &problem), 0);
	CHECK(forks_is_alive(pid));
	close(gate_fd);
	CHECK_INT(waitpid(pid, &ended, 0), pid);
	CHECK(WIFEXITED(ended) && WEXITSTATUS(ended) == 71);
	close(failure_fd);

	/* All that dlock reads is blocked there: it cannot be lost, or end COMMAND too soon. */
	tap_case("a signal that comes at the gate is COMMAND's, at its start");
	pid = spawn_start(&plan, &failure_fd, &gate_fd);
	kill(pid, SIGTERM);
	poll(NULL, 0, 20);
	CHECK(forks_is_alive(pid));
	CHECK_INT(write(gate_fd, "", 1), 1);
	CHECK_INT(waitpid(pid, &ended, 0), pid);
	CHECK(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGTERM);
	close(gate_fd);
	close(failure_fd);
}

int
main(void)
{
	char command[100];
	strcpy(directory, "/tmp/dlock-spawn-XXXXXX");
	if (mkdtemp(directory) == NULL || signals_take_over(&signals) != 0)
		return 1;
	static const char *const directories[] = {"bad", "dir", "dir/good", "empty"};
	for (size_t i = 0; i < COUNT_OF(directories); i++) {
		snprintf(command, sizeof command, "%s/%s", directory, directories[i]);
		if (mkdir(command, 0755) != 0)
			return 1;
	}
	tap_case("the files of the test");
	write_file("good", "#!/bin/sh\ntest \"$#\" = 2 && test \"$2\" = '2 3' && exit 41\n", 0755);
	write_file("no-shebang", "test \"$#\" = 2 && test \"$2\" = '2 3' && exit 42\n", 0755);
	write_file("no-interpreter", "#!/no/such/shell\n", 0755);
	write_file("bad/good", "#!/bin/sh\n", 0644);
	write_file("a file", "", 0644);
	test_look_up();
	test_environment();
	test_execution();
	test_gate();
	snprintf(command, sizeof command, "rm -rf %s", directory);
	if (system(command) != 0)
		return 1;
	return tap_end();
}
