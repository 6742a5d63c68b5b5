/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "forks.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define LIFE_S 60
#define PATIENCE_MS 20000

struct forks_notes *forks_notes;

bool
forks_open(void)
{
	void *page = mmap(NULL, sizeof *forks_notes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	forks_notes = page;
	return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

/* With `ready`, a byte is written there when `act` is done. */
static _Noreturn void
live(void (*act)(void), int ready)
{
	alarm(LIFE_S);
	if (act != NULL)
		act();
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

pid_t
forks_child(void (*act)(void))
{
	int ends[2];
	char byte;
	if (pipe(ends) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		live(act, ends[1]);
	}
	close(ends[1]);
	CHECK(pid > 0 && read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	return pid;
}

pid_t
forks_sleeper(void)
{
	return forks_child(NULL);
}

void
forks_have_sleeper(void)
{
	forks_notes->grandchild = forks_sleeper();
}

void
forks_have_stray(void)
{
	int ends[2];
	char byte;
	if (pipe(ends) != 0)
		_exit(1);
	pid_t middle = fork();
	if (middle == 0) {
		setsid();
		pid_t stray = fork();
		if (stray == 0)
			live(NULL, ends[1]);
		forks_notes->stray = stray;
		_exit(0);
	}
	waitpid(middle, NULL, 0);
	if (read(ends[0], &byte, 1) != 1)
		_exit(1);
	close(ends[0]);
	close(ends[1]);
}

/* The state as /proc/PID/stat has it, 0 when there is no such process. */
static char
state_of(pid_t pid)
{
	char path[40], text[512];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return 0;
	size_t got = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[got] = '\0';
	const char *name_end = strrchr(text, ')');
	return name_end != NULL && name_end[1] == ' ' ? name_end[2] : 0;
}

static bool
wait_for_state(pid_t pid, char state)
{
	for (int i = 0; i < PATIENCE_MS; i++) {
		if (state_of(pid) == state)
			return true;
		poll(NULL, 0, 1);
	}
	return false;
}

bool
forks_wait_gone(pid_t pid)
{
	return wait_for_state(pid, 0);
}

bool
forks_wait_state(pid_t pid, char state)
{
	return wait_for_state(pid, state);
}

bool
forks_is_alive(pid_t pid)
{
	char state = state_of(pid);
	return state != 0 && state != 'Z' && state != 'X';
}

void
forks_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
