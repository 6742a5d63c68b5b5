/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * torture_witness: what dlocks run in the rack (tests/torture). It notes in a file that all share
 * that it lives, every few milliseconds, and writes with its fencing number to a PostgreSQL table.
 *
 *   torture_witness RECORDS STORE RUN MACHINE LOCK MODE HOLD_MS FLAGS
 *
 * RECORDS: a file of records (tests/torture/records.py reads it), mapped, so that nothing of what
 * was noted is lost when the process is killed. STORE: the directory of PostgreSQL's socket, - for
 * none. FLAGS: t: ignores TERM; d: a descendant, which has left by a double fork and setsid, does
 * the same as long. The status is 0 when it has lived its time to the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "torture_store.h"

#define MODE_SHARED "1"
#define STEP_MS 4
#define WRITE_EVERY_MS 120

/* 128 bytes; a record whose begin is 0 was never begun. */
struct record {
	int64_t begin_ns, last_ns, end_ns; /* CLOCK_BOOTTIME; end: it has ended by itself */
	int64_t fence;
	int32_t pid, run, machine, lock;
	int32_t mode, slot, is_descendant, fds;
	int32_t accepted, refused, failed;
	int32_t unused[13];
};

struct records {
	_Atomic uint64_t count;
	uint64_t unused[15];
	struct record record[];
};

_Static_assert(sizeof(struct record) == 128, "tests/torture/records.py has the same layout");

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct records *
map_records(const char *path, uint64_t *room)
{
	struct stat status;
	void *memory;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) != 0)
		return NULL;
	*room = ((uint64_t)status.st_size - sizeof(struct records)) / sizeof(struct record);
	memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

/* Of this process; the directory's own not counted. */
static int
count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = -1;

	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

static int32_t
number_of(const char *name)
{
	const char *text = getenv(name);

	return text == NULL ? -1 : (int32_t)atoi(text);
}

/* leave: what comes back is a process that is nobody's child and in a session of its own; the
 * caller goes on, too, as itself (false). */
static bool
leave(void)
{
	pid_t pid = fork();

	if (pid != 0)
		return false;
	setsid();
	if (fork() != 0)
		_exit(0);
	return true;
}

/* Of several holders at a time each has a row of its own: the numbers of one slot increase, too. */
static int
row_of(const struct record *record)
{
	return record->slot < 0 ? record->lock : 1000 + record->lock * 16 + record->slot;
}

static void
witness(struct record *record, int64_t hold_ms, struct store *store)
{
	int64_t next_write_ns = 0, until;

	record->begin_ns = now_ns();
	record->last_ns = record->begin_ns;
	until = record->begin_ns + hold_ms * 1000000;
	while (record->last_ns < until) {
		struct timespec step = {0, STEP_MS * 1000000L};

		if (record->last_ns >= next_write_ns && store->dir != NULL) {
			switch (store_write(store, row_of(record), record->fence, record->run)) {
			case STORE_ACCEPTED:
				record->accepted++;
				break;
			case STORE_REFUSED:
				record->refused++;
				break;
			case STORE_FAILED:
				record->failed++;
				break;
			}
			next_write_ns = now_ns() + WRITE_EVERY_MS * INT64_C(1000000);
		}
		nanosleep(&step, NULL);
		record->last_ns = now_ns();
	}
	record->end_ns = record->last_ns;
}

int
main(int argc, char **argv)
{
	struct records *records;
	struct record *record;
	struct store store = {.dir = NULL, .fd = -1};
	uint64_t room, at;
	int fds = count_descriptors();
	bool descendant = false;
	const char *fence = getenv("DLOCK_FENCE");

	if (argc != 9 || fence == NULL || (records = map_records(argv[1], &room)) == NULL) {
		fprintf(stderr, "torture_witness: bad arguments, or no %s\n", argv[1]);
		return 64;
	}
	if (strchr(argv[8], 't') != NULL)
		signal(SIGTERM, SIG_IGN);
	if (strchr(argv[8], 'd') != NULL)
		descendant = leave();
	/* Readers write nothing. */
	if (strcmp(argv[2], "-") != 0 && strcmp(argv[6], MODE_SHARED) != 0)
		store.dir = argv[2];
	at = atomic_fetch_add(&records->count, 1);
	if (at >= room) {
		fprintf(stderr, "torture_witness: %s is full\n", argv[1]);
		return 64;
	}
	record = &records->record[at];
	record->fence = strtoll(fence, NULL, 10);
	record->pid = (int32_t)getpid();
	record->run = atoi(argv[3]);
	record->machine = atoi(argv[4]);
	record->lock = atoi(argv[5]);
	record->mode = atoi(argv[6]);
	record->slot = number_of("DLOCK_SLOT");
	record->is_descendant = descendant;
	record->fds = fds;
	witness(record, atoll(argv[7]), &store);
	return 0;
}
