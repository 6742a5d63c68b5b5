/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Real processes for tests of run/: made, watched, and never left behind: each ends by itself after
 * a minute, and with the test. */
#ifndef DLOCK_TESTS_FORKS_H
#define DLOCK_TESTS_FORKS_H

#include <stdbool.h>
#include <sys/types.h>

/* A child that sleeps; it has been waited for to be there. */
pid_t
forks_sleeper(void);

/* A child that calls `act` and then sleeps. Comes back when `act` has returned. */
pid_t
forks_child(void (*act)(void));

/* What `act` does to have a child of its own that sleeps; and one that has left its session and
 * its parent, whose pid is then forks_stray. */
void
forks_have_sleeper(void);
void
forks_have_stray(void);

/* Pids that processes of the tests note for each other, in shared memory. */
struct forks_notes {
	pid_t grandchild;
	volatile pid_t stray;
	volatile long generations;
};
extern struct forks_notes *forks_notes;

/* Before everything else: memory for the notes; orphans become children of the test. */
bool
forks_open(void);

/* Waits until it is so, for 20 s at most. */
bool
forks_wait_gone(pid_t pid); /* no such process, not even a zombie */
bool
forks_wait_state(pid_t pid, char state); /* as /proc calls it */

bool
forks_is_alive(pid_t pid);

/* Kills and reaps one's own child. */
void
forks_end(pid_t pid);

#endif
