/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exits.h"
#include "run/birth.h"
#include "run/testing.h"

/* 0: may be executed; else the errno that says why not. */
static int
check_file(const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return errno;
	if (S_ISDIR(status.st_mode))
		return EISDIR;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

static int
refuse(const char *name, int error, struct problem *problem)
{
	bool missing = error == ENOENT || error == ENOTDIR;
	bool bare = strchr(name, '/') == NULL;
	if (missing && strpbrk(name, " \t\n|&;<>$`") != NULL)
		problem_set(problem, "command not found: '%s' (a line for the shell goes after -c)",
		    name);
	else if (missing && bare && check_file(name) == 0)
		problem_set(problem, "command not found: '%s' (the one in this directory is ./%s)",
		    name, name);
	else if (missing)
		problem_set(problem, "command not found: '%s'", name);
	else
		problem_set(problem, "cannot execute '%s': %s", name, strerror(error));
	return missing ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}

int
spawn_look_up(const char *name, char *path, size_t size, struct problem *problem)
{
	const char *directories = getenv("PATH");
	int found_but = ENOENT;

	if (strlen(name) >= size)
		return refuse(name, ENAMETOOLONG, problem);
	if (strchr(name, '/') != NULL) {
		int error = check_file(name);
		strcpy(path, name);
		return error == 0 ? 0 : refuse(name, error, problem);
	}
	if (directories == NULL)
		directories = "/bin:/usr/bin"; /* execvp(3): what confstr's _CS_PATH says */
	while (name[0] != '\0') {
		size_t length = strcspn(directories, ":");
		if (length + strlen(name) + 2 <= size) {
			/* An empty entry is the working directory. */
			snprintf(path, size, "%.*s%s%s", (int)length, directories,
			    length > 0 ? "/" : "./", name);
			int error = check_file(path);
			if (error == 0)
				return 0;
			/* A directory on the way that may not be searched does not hide that there
			 * is no such command: only a file that is there is "cannot execute". */
			struct stat status;
			if (error == EISDIR || (error == EACCES && stat(path, &status) == 0))
				found_but = error == EISDIR ? found_but : error;
		}
		if (directories[length] == '\0')
			break;
		directories += length + 1;
	}
	return refuse(name, found_but, problem);
}

/* An entry without a value, which an environment should not have, is the variable's too. */
static bool
is_of(const char *entry, const char *name)
{
	size_t length = strlen(name);
	return strncmp(entry, name, length) == 0 && (entry[length] == '=' || entry[length] == '\0');
}

/* COMMAND is not to see how dlock logs in. */
static bool
is_secret(const char *entry)
{
	return is_of(entry, "DLOCK_PASSWORD") || is_of(entry, "DLOCK_SENTINEL_PASSWORD");
}

static bool
is_replaced(const char *entry, const struct spawn_variable *variables, size_t count)
{
	if (is_secret(entry))
		return true;
	for (size_t i = 0; i < count; i++) {
		if (is_of(entry, variables[i].name))
			return true;
	}
	return false;
}

static char *
make_entry(const struct spawn_variable *variable)
{
	size_t name = strlen(variable->name), value = strlen(variable->value);
	char *entry = malloc(name + value + 2);
	if (entry == NULL)
		return NULL;
	memcpy(entry, variable->name, name);
	entry[name] = '=';
	memcpy(entry + name + 1, variable->value, value + 1);
	return entry;
}

char **
spawn_environment(char *const *environment, const struct spawn_variable *variables, size_t count)
{
	size_t size = 0, used = 0;
	while (environment[size] != NULL)
		size++;
	char **result = malloc((size + count + 1) * sizeof *result);
	if (result == NULL)
		return NULL;
	for (size_t i = 0; i < size; i++) {
		if (!is_replaced(environment[i], variables, count))
			result[used++] = environment[i];
	}
	for (size_t i = 0; i < count; i++) {
		if (variables[i].value == NULL)
			continue;
		result[used] = make_entry(&variables[i]);
		if (result[used++] == NULL)
			goto no_memory;
	}
	result[used] = NULL;
	return result;

no_memory:
	free(result);
	return NULL;
}

/* In COMMAND's process until it is COMMAND: async-signal-safe calls only. */
static _Noreturn void
become_command(const struct spawn_plan *plan, char **shell_argv, int failure_fd, int gate_fd,
    pid_t runner)
{
	char go;
	if (testing_number("slow-prctl") > 0)
		usleep((useconds_t)testing_number("slow-prctl") * 1000);
	/* The seat belt for the death of both dlock processes at once. It fires only for a death
	 * after this call, so look whether RUNNER is still there: compared with its pid, not with
	 * 1, which is nobody's in a container (catatonit#19). */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner)
		_exit(EXIT_SYSTEM);
	/* RUNNER has not sent yet what it got before the fork. All of it is blocked here, so what
	 * the group gets meanwhile and what RUNNER sends becomes one. */
	if (read(gate_fd, &go, 1) != 1)
		_exit(EXIT_SYSTEM);
	signals_restore(plan->signals);
	execve(plan->path, plan->argv, plan->envp);
	if (errno == ENOEXEC) {
		/* A script without #!: execvp(3) gives it to the shell, and so do all shells. */
		execve("/bin/sh", shell_argv, plan->envp);
		errno = ENOEXEC;
	}
	int error = errno;
	while (write(failure_fd, &error, sizeof error) < 0 && errno == EINTR)
		;
	_exit(EXIT_CANNOT_EXECUTE);
}

/* The arguments that give plan->path to the shell. NULL: no memory. */
static char **
make_shell_argv(struct spawn_plan *plan)
{
	static char shell[] = "/bin/sh";
	size_t count = 0;
	while (plan->argv[count] != NULL)
		count++;
	char **shell_argv = malloc((count + 2) * sizeof *shell_argv);
	if (shell_argv == NULL)
		return NULL;
	shell_argv[0] = shell;
	shell_argv[1] = plan->path;
	for (size_t i = 1; i <= count; i++)
		shell_argv[i + 1] = plan->argv[i];
	return shell_argv;
}

static void
close_both(const int ends[2])
{
	if (ends[0] >= 0)
		close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}

/* What become_command is told. */
struct start {
	const struct spawn_plan *plan;
	char **shell_argv;
	int failure_fd, gate_fd, gate_outside;
	pid_t runner;
};

static void
begin(void *context)
{
	const struct start *start = context;
	close(start->gate_outside); /* or it would wait for itself when RUNNER dies */
	become_command(start->plan, start->shell_argv, start->failure_fd, start->gate_fd,
	    start->runner);
}

pid_t
spawn_start(struct spawn_plan *plan, int *failure_fd, int *gate_fd)
{
	static struct start start; /* the child looks at it while we go on */
	int failure[2] = {-1, -1}, gate[2] = {-1, -1};
	pid_t pid = -1;
	char **shell_argv = make_shell_argv(plan);
	if (shell_argv == NULL)
		return -1;
	if (pipe2(failure, O_CLOEXEC) != 0 || pipe2(gate, O_CLOEXEC) != 0)
		goto out;
	start = (struct start){.plan = plan,
	    .shell_argv = shell_argv,
	    .failure_fd = failure[1],
	    .gate_fd = gate[0],
	    .gate_outside = gate[1],
	    .runner = getpid()};
	pid = birth_give(begin, &start);
	if (pid > 0) {
		fcntl(failure[0], F_SETFL, O_NONBLOCK);
		*failure_fd = failure[0];
		*gate_fd = gate[1];
		failure[0] = gate[1] = -1;
	}

out:;
	int error = errno;
	if (pid < 0 || !birth_shares_memory())
		free(shell_argv);
	close_both(failure);
	close_both(gate);
	errno = error;
	return pid;
}

int
spawn_read_failure(int failure_fd, const struct spawn_plan *plan, int *status,
    struct problem *problem)
{
	int error;
	ssize_t got = read(failure_fd, &error, sizeof error);
	if (got == 0)
		return 1;
	if (got != (ssize_t)sizeof error)
		return 0;
	/* The file was there when it was looked up: what is missing is what its #! names, or the
	 * loader that its ELF header names. */
	if (error == ENOENT && check_file(plan->path) == 0) {
		problem_set(problem, "cannot execute '%s': its interpreter is missing", plan->path);
		*status = EXIT_NOT_FOUND;
	} else {
		*status = refuse(plan->argv[0], error, problem);
	}
	return -1;
}
