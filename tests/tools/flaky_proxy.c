/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * flaky_proxy: a TCP proxy in front of a Redis that fails on demand.
 *
 *     flaky_proxy CONTROL LOG TARGET       TARGET: unix:PATH or a port of 127.0.0.1
 *     flaky_proxy tell CONTROL 'ORDER'     gives an order, returns when it is in force
 *
 * Listens on a free port of 127.0.0.1 and prints it. Orders:
 *
 *     delay MS           answers are passed on MS later
 *     drop               requests reach the server, answers are thrown away
 *     blackhole          nothing is read or accepted any more; what is in flight stays there
 *     reset              every connection ends with a RST; new ones work
 *     refuse             connections go on, new ones are refused
 *     answer-once TEXT   the next request is not passed on: TEXT is its answer
 *     on COMMAND ORDER   ORDER comes into force when the next request that begins with COMMAND, say
 *                        EVAL, arrives, before anything is done with it
 *     pass               all is well again; what a blackhole held back is delivered now
 *
 * LOG gets a line for each piece of request passed on (or answered here): the BOOTTIME in
 * nanoseconds, the number of the connection, how many bytes, the name of its first command.
 *
 * One poll loop. Ends with its parent's order "quit", or by itself after ten minutes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_PAIRS 64
#define NO_TIME (-1LL)

struct chunk {
	struct chunk *next;
	long long due_ns;
	size_t len;
	char data[];
};

/* One direction of a connection. */
struct half {
	int from, to;
	bool ended;      /* `from` said end of file */
	bool passed_end; /* ... and `to` was told */
	struct chunk *first;
	struct chunk **last;
};

struct pair {
	long number;
	struct half up, down; /* up: requests, down: answers */
};

static struct {
	long long delay_ns;
	bool drop, blackhole;
	char answer[512]; /* for answer-once; empty: none */
	char trigger[32]; /* the command at which `later` is obeyed; empty: none */
	char later[512];
} mode;

static const char *target;
static FILE *requests_log;
static int listener = -1;
static in_port_t port; /* network order; 0 until the first listen */
static struct pair *pairs[MAX_PAIRS];
static long pair_count;

static void
fail(const char *what)
{
	fprintf(stderr, "flaky_proxy: %s: %s\n", what, strerror(errno));
	exit(71);
}

static long long
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static struct sockaddr_un
unix_address(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof addr.sun_path) {
		errno = ENAMETOOLONG;
		fail(path);
	}
	strcpy(addr.sun_path, path);
	return addr;
}

static void
listen_again(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = port};
	socklen_t len = sizeof addr;
	int on = 1;

	if (listener >= 0)
		return;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0)
		fail("socket");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&addr, sizeof addr) != 0 || listen(listener, 64) != 0)
		fail("listen");
	getsockname(listener, (struct sockaddr *)&addr, &len);
	port = addr.sin_port;
}

static int
dial_target(void)
{
	struct sockaddr_un local;
	struct sockaddr_in remote = {.sin_family = AF_INET};
	int fd, result;

	if (strncmp(target, "unix:", 5) == 0) {
		local = unix_address(target + 5);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		result = connect(fd, (struct sockaddr *)&local, sizeof local);
	} else {
		remote.sin_port = htons((unsigned short)atoi(target));
		remote.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		result = connect(fd, (struct sockaddr *)&remote, sizeof remote);
	}
	if (result == 0)
		return fd;
	close(fd);
	return -1;
}

static void
half_init(struct half *half, int from, int to)
{
	*half = (struct half){.from = from, .to = to};
	half->last = &half->first;
}

static void
half_queue(struct half *half, const char *data, size_t len, long long due_ns)
{
	struct chunk *chunk = malloc(sizeof *chunk + len);

	if (chunk == NULL)
		fail("malloc");
	chunk->next = NULL;
	chunk->due_ns = due_ns;
	chunk->len = len;
	memcpy(chunk->data, data, len);
	*half->last = chunk;
	half->last = &chunk->next;
}

static void
half_drop_first(struct half *half)
{
	struct chunk *chunk = half->first;

	half->first = chunk->next;
	if (half->first == NULL)
		half->last = &half->first;
	free(chunk);
}

/* Passes on what is due; returns when the next piece is, or NO_TIME. */
static long long
half_flush(struct half *half)
{
	long long now = now_ns();

	while (half->first != NULL && half->first->due_ns <= now) {
		/* A peer that went away, or does not read, loses the rest: it is a test's proxy. */
		if (send(half->to, half->first->data, half->first->len,
			MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			half->ended = true;
		half_drop_first(half);
	}
	if (half->first != NULL)
		return half->first->due_ns;
	if (half->ended && !half->passed_end) {
		shutdown(half->to, SHUT_WR);
		half->passed_end = true;
	}
	return NO_TIME;
}

static void
pair_open(void)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	int server, i;

	if (client < 0)
		return;
	server = dial_target();
	for (i = 0; i < MAX_PAIRS && pairs[i] != NULL; i++)
		;
	if (server < 0 || i == MAX_PAIRS) {
		close(client);
		if (server >= 0)
			close(server);
		return;
	}
	pairs[i] = malloc(sizeof *pairs[i]);
	if (pairs[i] == NULL)
		fail("malloc");
	pairs[i]->number = ++pair_count;
	half_init(&pairs[i]->up, client, server);
	half_init(&pairs[i]->down, server, client);
}

static void
pair_close(int i, bool reset)
{
	struct linger at_once = {1, 0};
	struct pair *pair = pairs[i];

	while (pair->up.first != NULL)
		half_drop_first(&pair->up);
	while (pair->down.first != NULL)
		half_drop_first(&pair->down);
	if (reset)
		setsockopt(pair->up.from, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	close(pair->up.from);
	close(pair->up.to);
	free(pair);
	pairs[i] = NULL;
}

/* "*3\r\n$4\r\nEVAL\r\n..." is an EVAL; anything else a "?". */
static void
name_request(char name[32], const char *data, size_t len)
{
	char head[64] = "";

	memcpy(head, data, len < sizeof head - 1 ? len : sizeof head - 1);
	strcpy(name, "?");
	sscanf(head, "*%*d\r\n$%*d\r\n%31[A-Za-z]", name);
}

static void
obey(const char *order)
{
	int i;

	if (strncmp(order, "delay ", 6) == 0) {
		mode.delay_ns = atoll(order + 6) * 1000000LL;
	} else if (strcmp(order, "drop") == 0) {
		mode.drop = true;
	} else if (strcmp(order, "blackhole") == 0) {
		mode.blackhole = true;
	} else if (strcmp(order, "reset") == 0) {
		for (i = 0; i < MAX_PAIRS; i++) {
			if (pairs[i] != NULL)
				pair_close(i, true);
		}
	} else if (strcmp(order, "refuse") == 0) {
		close(listener);
		listener = -1;
	} else if (strncmp(order, "answer-once ", 12) == 0) {
		snprintf(mode.answer, sizeof mode.answer, "%s\r\n", order + 12);
	} else if (sscanf(order, "on %31s %511[^\n]", mode.trigger, mode.later) == 2) {
		return;
	} else if (strcmp(order, "pass") == 0) {
		memset(&mode, 0, sizeof mode);
		listen_again();
	} else if (strcmp(order, "quit") == 0) {
		exit(0);
	} else {
		fprintf(stderr, "flaky_proxy: unknown order '%s'\n", order);
	}
}

static void
pair_read_request(int i)
{
	struct pair *pair = pairs[i];
	char data[65536], name[32];
	ssize_t len = read(pair->up.from, data, sizeof data);

	if (len <= 0) {
		pair->up.ended = true;
		return;
	}
	name_request(name, data, (size_t)len);
	fprintf(requests_log, "%lld %ld %zd %s\n", now_ns(), pair->number, len, name);
	fflush(requests_log);
	if (mode.trigger[0] != '\0' && strcmp(mode.trigger, name) == 0) {
		mode.trigger[0] = '\0';
		obey(mode.later);
		if (pairs[i] == NULL)
			return;
	}
	if (mode.answer[0] != '\0') {
		half_queue(&pair->down, mode.answer, strlen(mode.answer), 0);
		mode.answer[0] = '\0';
		return;
	}
	half_queue(&pair->up, data, (size_t)len, 0);
}

static void
pair_read_answer(struct pair *pair)
{
	char data[65536];
	ssize_t len = read(pair->down.from, data, sizeof data);

	if (len <= 0)
		pair->down.ended = true;
	else if (!mode.drop)
		half_queue(&pair->down, data, (size_t)len,
		    mode.delay_ns == 0 ? 0 : now_ns() + mode.delay_ns);
}

static void
hear_order(int control)
{
	char order[512];
	int fd = accept4(control, NULL, NULL, SOCK_CLOEXEC);
	ssize_t len = read(fd, order, sizeof order - 1);

	if (len > 0) {
		order[len] = '\0';
		obey(order);
		if (write(fd, "ok", 2) < 0)
			perror("flaky_proxy: control");
	}
	close(fd);
}

/* Passes on what is due, forgets what is over; returns the milliseconds until more is due. */
static int
flush_all(void)
{
	long long next = NO_TIME, due;
	int i, way;

	for (i = 0; i < MAX_PAIRS && !mode.blackhole; i++) {
		if (pairs[i] == NULL)
			continue;
		for (way = 0; way < 2; way++) {
			due = half_flush(way == 0 ? &pairs[i]->up : &pairs[i]->down);
			if (due != NO_TIME && (next == NO_TIME || due < next))
				next = due;
		}
		if (pairs[i]->up.passed_end && pairs[i]->down.passed_end)
			pair_close(i, false);
	}
	if (next == NO_TIME)
		return -1;
	due = (next - now_ns()) / 1000000 + 1;
	return due < 0 ? 0 : (int)due;
}

static void
serve(int control)
{
	struct pollfd fds[2 + 2 * MAX_PAIRS];
	int timeout = flush_all();
	int i;

	fds[0] = (struct pollfd){.fd = control, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = mode.blackhole ? -1 : listener, .events = POLLIN};
	for (i = 0; i < MAX_PAIRS; i++) {
		struct pair *pair = mode.blackhole ? NULL : pairs[i];

		fds[2 + 2 * i] =
		    (struct pollfd){.fd = pair == NULL || pair->up.ended ? -1 : pair->up.from,
			.events = POLLIN};
		fds[3 + 2 * i] =
		    (struct pollfd){.fd = pair == NULL || pair->down.ended ? -1 : pair->down.from,
			.events = POLLIN};
	}
	if (poll(fds, 2 + 2 * MAX_PAIRS, timeout) <= 0)
		return;
	for (i = 0; i < MAX_PAIRS; i++) {
		if (fds[2 + 2 * i].revents != 0 && pairs[i] != NULL)
			pair_read_request(i);
		if (fds[3 + 2 * i].revents != 0 && pairs[i] != NULL)
			pair_read_answer(pairs[i]);
	}
	if (fds[1].revents != 0)
		pair_open();
	if (fds[0].revents != 0)
		hear_order(control);
}

static int
tell(const char *control, const char *order)
{
	struct sockaddr_un addr = unix_address(control);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[2];

	if (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
		fail(control);
	if (write(fd, order, strlen(order)) < 0)
		fail(control);
	if (read(fd, answer, sizeof answer) == sizeof answer || strcmp(order, "quit") == 0)
		return 0;
	fputs("flaky_proxy: no answer\n", stderr);
	return 1;
}

int
main(int argc, char **argv)
{
	struct sockaddr_un addr;
	int control;

	if (argc != 4) {
		fputs("usage: flaky_proxy CONTROL LOG TARGET | tell CONTROL ORDER\n", stderr);
		return 64;
	}
	if (strcmp(argv[1], "tell") == 0)
		return tell(argv[2], argv[3]);
	alarm(600);
	signal(SIGPIPE, SIG_IGN);
	target = argv[3];
	requests_log = fopen(argv[2], "ae");
	if (requests_log == NULL)
		fail(argv[2]);
	addr = unix_address(argv[1]);
	control = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(control, (struct sockaddr *)&addr, sizeof addr) != 0 || listen(control, 8) != 0)
		fail(argv[1]);
	listen_again();
	printf("%d\n", ntohs(port));
	fflush(stdout);
	for (;;)
		serve(control);
}
