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
 *     on WHAT ORDER      ORDER comes into force when the next request that begins with WHAT
 * arrives, before anything is done with it. WHAT is a command, say EVAL, or the name of a script of
 * dlock: ACQUIRE, RENEW, RELEASE every WHAT ORDER   the same with each one until `pass` stop PID
 * that process stands still pass               all is well again; what was held back is delivered
 * now
 *
 * and, for `on` and `every`, what befalls the one connection that the request came on; the request
 * itself reaches the server, but for the last two:
 *
 *     here drop          its answers are thrown away from now on, and it stays open
 *     here half          its next answer comes to the half, and then nothing
 *     here cut           instead of its next answer comes a RST
 *     here end           instead of its next answer comes an orderly end
 *     here delay MS      its answers come MS later
 *     here keep          its requests are held back, answers are not, until `pass`
 *     here orphan        the same, and the client gets a RST at once
 *
 * LOG gets a line for each piece of request that arrives: the BOOTTIME in nanoseconds, the number
 * of the connection, how many bytes, the name of its first command or of dlock's script; a line
 * `... 0 !FAULT` when a fault strikes that connection, and one `... 0 !closed` when the client has
 * closed it.
 *
 * Ends with the order "quit", or by itself after ten minutes.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "proxy_fault.h"
#include "proxy_half.h"
#include "proxy_request.h"
#include "proxy_sockets.h"
#include "stop_process.h"

#define MAX_PAIRS 64

struct pair {
	long number;
	enum fault fault;
	long long delay_ns;   /* for FAULT_DELAY */
	struct half up, down; /* up: requests, down: answers */
};

static struct {
	long long delay_ns;
	bool drop, blackhole;
	char answer[512]; /* for answer-once; empty: none */
	char trigger[32]; /* the request at which `later` is obeyed; empty: none */
	char later[512];
	bool every_time;
} mode;

static const char *target;
static FILE *requests_log;
static int listener = -1;
static in_port_t port;
static struct pair *pairs[MAX_PAIRS];
static long pair_count;

static void
pair_open(void)
{
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	int server, i;

	if (client < 0)
		return;
	server = dial(target);
	for (i = 0; i < MAX_PAIRS && pairs[i] != NULL; i++)
		;
	if (server < 0 || i == MAX_PAIRS) {
		close(client);
		if (server >= 0)
			close(server);
		return;
	}
	pairs[i] = calloc(1, sizeof *pairs[i]);
	if (pairs[i] == NULL)
		fail("calloc");
	pairs[i]->number = ++pair_count;
	half_init(&pairs[i]->up, client, server);
	half_init(&pairs[i]->down, server, client);
}

static void
pair_close(int i, bool reset)
{
	struct pair *pair = pairs[i];

	while (pair->up.first != NULL)
		half_drop_first(&pair->up);
	while (pair->down.first != NULL)
		half_drop_first(&pair->down);
	if (reset)
		reset_by_close(pair->up.from);
	else if (pair->up.from >= 0)
		close(pair->up.from);
	close(pair->up.to);
	free(pair);
	pairs[i] = NULL;
}

static void
log_line(const struct pair *pair, ssize_t len, const char *mark, const char *name)
{
	fprintf(requests_log, "%lld %ld %zd %s%s\n", now_ns(), pair->number, len, mark, name);
	fflush(requests_log);
}

static void
let_all_through(void)
{
	struct chunk *chunk;
	int i;

	for (i = 0; i < MAX_PAIRS; i++) {
		if (pairs[i] == NULL)
			continue;
		pairs[i]->fault = FAULT_NONE;
		for (chunk = pairs[i]->up.first; chunk != NULL; chunk = chunk->next)
			chunk->due_ns = 0;
	}
}

static void
strike(struct pair *pair, const char *what)
{
	size_t kind;

	for (kind = FAULT_DROP; kind <= FAULT_ORPHAN; kind++) {
		if (strncmp(what, fault_names[kind], strlen(fault_names[kind])) == 0)
			break;
	}
	if (kind > FAULT_ORPHAN) {
		fprintf(stderr, "flaky_proxy: unknown fault '%s'\n", what);
		return;
	}
	pair->fault = (enum fault)kind;
	if (pair->fault == FAULT_DELAY)
		pair->delay_ns = atoll(what + 6) * 1000000LL;
	log_line(pair, 0, "!", fault_names[kind]);
	if (pair->fault == FAULT_ORPHAN) {
		reset_by_close(pair->up.from);
		pair->up.from = pair->down.to = -1;
		pair->up.ended = true;
	}
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
		mode.every_time = false;
	} else if (sscanf(order, "every %31s %511[^\n]", mode.trigger, mode.later) == 2) {
		mode.every_time = true;
	} else if (strncmp(order, "stop ", 5) == 0) {
		stop_process((pid_t)atoi(order + 5));
	} else if (strcmp(order, "pass") == 0) {
		memset(&mode, 0, sizeof mode);
		let_all_through();
		if (listener < 0)
			listener = listen_on(&port);
	} else if (strcmp(order, "quit") == 0) {
		exit(0);
	} else
		fprintf(stderr, "flaky_proxy: unknown order '%s'\n", order);
}

/* Is it time for what `on` or `every` asked for? False when the connection has not survived it. */
static bool
pair_trigger(int i, const char *name, const char *data, size_t len)
{
	char command[32];

	name_command(command, data, len);
	if (mode.trigger[0] == '\0' ||
	    (strcmp(mode.trigger, name) != 0 && strcmp(mode.trigger, command) != 0))
		return true;
	if (!mode.every_time)
		mode.trigger[0] = '\0';
	if (strncmp(mode.later, "here ", 5) == 0)
		strike(pairs[i], mode.later + 5);
	else
		obey(mode.later);
	return pairs[i] != NULL;
}

static void
pair_read_request(int i)
{
	struct pair *pair = pairs[i];
	char data[65536], name[32];
	ssize_t len = read(pair->up.from, data, sizeof data);

	if (len <= 0) {
		pair->up.ended = true;
		log_line(pair, 0, "!", "closed");
		return;
	}
	name_request(name, data, (size_t)len);
	log_line(pair, len, "", name);
	if (!pair_trigger(i, name, data, (size_t)len))
		return;
	if (mode.answer[0] != '\0') {
		half_queue(&pair->down, mode.answer, strlen(mode.answer), 0);
		mode.answer[0] = '\0';
		return;
	}
	half_queue(&pair->up, data, (size_t)len, pair->fault >= FAULT_KEEP ? HELD_BACK : 0);
}

static void
pair_read_answer(int i)
{
	struct pair *pair = pairs[i];
	char data[65536];
	ssize_t len = read(pair->down.from, data, sizeof data);
	long long delay_ns = mode.delay_ns + pair->delay_ns;

	if (len <= 0) {
		pair->down.ended = true;
		return;
	}
	switch (pair->fault) {
	case FAULT_CUT:
		pair_close(i, true);
		return;
	case FAULT_END:
		pair->down.ended = true;
		return;
	case FAULT_HALF:
		pair->fault = FAULT_DROP;
		len /= 2;
		break;
	case FAULT_DROP:
		return;
	case FAULT_NONE:
	case FAULT_DELAY:
	case FAULT_KEEP:
	case FAULT_ORPHAN:
		break;
	}
	if (!mode.drop)
		half_queue(&pair->down, data, (size_t)len, delay_ns == 0 ? 0 : now_ns() + delay_ns);
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
			pair_read_answer(i);
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
	control = listen_at(argv[1]);
	listener = listen_on(&port);
	printf("%d\n", ntohs(port));
	fflush(stdout);
	for (;;)
		serve(control);
}
