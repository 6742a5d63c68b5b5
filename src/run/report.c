/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "run/report.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/message.h"
#include "base/values.h"

#define PATIENCE_MS 100
/* A name, a key, a label and a reason, all of them of bytes that are escaped. */
#define LINE_MAX_BYTES 32768

static const char *const outcomes[] = {
    [REPORT_RAN] = "ran",
    [REPORT_CONFLICT] = "conflict",
    [REPORT_LOST] = "lost",
    [REPORT_MAX_HOLD] = "max-hold",
    [REPORT_NOT_EXECUTED] = "not-executed",
    [REPORT_UNREACHABLE] = "unreachable",
    [REPORT_REFUSED] = "refused",
    [REPORT_DENIED] = "denied",
    [REPORT_SKIPPED] = "skipped",
    [REPORT_UNLOCKED] = "unlocked",
    [REPORT_INTERRUPTED] = "interrupted",
    [REPORT_SYSTEM_ERROR] = "system-error",
};

/* One of dlock's own, as it stands: with the offset that messages move too, and a socket, which
 * cannot be opened by its name. */
static int
open_own(int fd)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return -1;
	if ((flags & O_PATH) != 0 || (flags & O_ACCMODE) == O_RDONLY) {
		errno = EBADF;
		return -1;
	}
	/* A pipe is opened anew, so that it does not block while COMMAND's end does. */
	if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) {
		char path[32];
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		int own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (own >= 0)
			return own;
	}
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

static void
note_start(struct report *report)
{
	struct timespec now;
	struct tm utc;
	char seconds[24];
	report->started[0] = '\0';
	if (clock_gettime(CLOCK_REALTIME, &now) != 0 || gmtime_r(&now.tv_sec, &utc) == NULL)
		return;
	strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(report->started, sizeof report->started, "%s.%03dZ", seconds,
	    (int)(now.tv_nsec / NS_PER_MS));
}

int
report_open(struct report *report, const char *path)
{
	*report =
	    (struct report){.path = path, .fd = -1, .waited_ns = -1, .acquired_at = INSTANT_NEVER};
	if (path == NULL)
		return 0;
	note_start(report);
	if (strcmp(path, "/dev/stderr") == 0)
		report->fd = open_own(STDERR_FILENO);
	else if (strcmp(path, "/dev/stdout") == 0)
		report->fd = open_own(STDOUT_FILENO);
	else
		report->fd = open(path,
		    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	return report->fd < 0 ? -1 : 0;
}

static void
add_time(struct json *json, const char *key, int64_t ns)
{
	if (ns < 0)
		json_null(json, key);
	else
		json_number(json, key, ms_from_ns(ns));
}

static size_t
make_line(const struct report *report, const struct report_end *end, char *line, size_t size)
{
	struct json json;
	char signal_name[16];
	bool held = report->acquired_at.ns != INT64_MAX;

	json_begin(&json, line, size);
	json_text(&json, "name", report->name);
	json_text(&json, "outcome", outcomes[end->outcome]);
	if (end->status == REPORT_NO_STATUS)
		json_null(&json, "status");
	else
		json_number(&json, "status", end->status);
	json_text(&json, "signal",
	    end->signal_number == 0
		? NULL
		: value_print_signal(signal_name, sizeof signal_name, end->signal_number));
	json_text(&json, "reason", end->reason);
	json_text(&json, "fence",
	    report->fence != NULL && report->fence[0] != '\0' ? report->fence : NULL);
	add_time(&json, "waited_ms", report->waited_ns);
	add_time(&json, "held_ms", held ? instant_between(report->acquired_at, clock_now()) : -1);
	add_time(&json, "max_hold_ms", report->max_hold_ns > 0 ? report->max_hold_ns : -1);
	json_text(&json, "server", report->server);
	json_text(&json, "key", report->key);
	json_text(&json, "started", report->started[0] != '\0' ? report->started : NULL);
	json_text(&json, "host", report->host);
	json_number(&json, "pid", report->pid);
	json_text(&json, "command", report->command);
	json_text(&json, "label",
	    report->label != NULL && report->label[0] != '\0' ? report->label : NULL);
	return json_end(&json);
}

static bool
has_room(int fd)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	return poll(&room, 1, PATIENCE_MS) != 0;
}

/* One write, so that lines of several writers do not mix. NULL, or why it failed. */
static const char *
append(int fd, const char *line, size_t length)
{
	ssize_t written;
	do {
		written = write(fd, line, length);
	} while (written < 0 && errno == EINTR);
	if (written < 0)
		return strerror(errno);
	return (size_t)written == length ? NULL : "it took only a part of the line";
}

void
report_write(struct report *report, const struct report_end *end)
{
	static char line[LINE_MAX_BYTES];
	sigset_t ttou, before;
	if (report->fd < 0)
		return;
	size_t length = make_line(report, end, line, sizeof line);
	const char *failure = has_room(report->fd) ? NULL : "it takes nothing";
	/* Claimed at the last moment: who is killed before it has not reported, and the other does.
	 */
	if (report->claim != NULL && atomic_exchange(report->claim, 1) != 0)
		return;
	/* A terminal with `stty tostop` stops who writes from the background. */
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	if (failure == NULL)
		failure = append(report->fd, line, length);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(report->fd);
	report->fd = -1;
	if (failure != NULL)
		message_error("cannot append to the report '%s': %s", report->path, failure);
}
