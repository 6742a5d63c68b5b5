/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* hostile_server: a Redis that is friendly up to one step and then is not.
 *
 *     hostile_server DIRECTORY STEP [once]
 *
 * Listens on a free port of 127.0.0.1 for each kind of hostility and prints "NAME PORT" lines, then
 * "ready". Friendly is: AUTH, SELECT and CLIENT SETNAME are OK, TIME is the time, and dlock's
 * scripts get the answers of a server on which nobody else has a lock.
 *
 * STEP is where hostility begins, on each connection, or with `once` on the first that comes to it:
 *
 *     connect                          before anything was asked
 *     auth select setname time         in the place of that answer
 *     acquire renew release            likewise, of that script
 *     look                             likewise; renewals are told that another has the lock
 *     idle                             100 ms after the acquire and each renewal, unasked
 *
 * DIRECTORY/NAME gets a line for each connection (connect), each script that had a friendly answer
 * (acquire, renew, release) and each act of hostility (hostile), with the BOOTTIME in nanoseconds
 * before it. A process for each connection. Ends with its parent, or after two minutes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOW "$16\r\n1764000000000000\r\n"
#define TEXT(text) text, sizeof(text) - 1
#define MEGABYTE 1048576L
#define PIECE 16384
#define WORDS 24

enum manner {
	GO_ON,   /* and answer what follows as if nothing were */
	SILENCE, /* say nothing any more, read on */
	CLOSE,
	FLOOD,   /* `more` over and over, as fast as it is taken */
	TRICKLE, /* `more`, a byte each 100 ms */
	LONG,    /* 16 kB of `more` and a line end, then as GO_ON */
	LONGER,  /* a megabyte of it, then silence */
};

static const struct hostility {
	const char *name;
	enum manner manner;
	const char *first;
	size_t first_length;
	const char *more;
	size_t more_length;
} hostilities[] = {
    {"silence", SILENCE, TEXT(""), TEXT("")},
    {"close", CLOSE, TEXT(""), TEXT("")},
    {"half-then-silence", SILENCE, TEXT("*3\r\n$7\r\nGRAN"), TEXT("")},
    {"half-then-close", CLOSE, TEXT("*3\r\n$7\r\nGRAN"), TEXT("")},
    {"garbage", SILENCE, TEXT("\x8f\x00\xff\x1b]0;x\x07\r\n\x00\x01\x02 {}[]"), TEXT("")},
    {"nul-bytes", FLOOD, TEXT("\0"), TEXT("\0\0\0\0")},
    {"web-server", CLOSE, TEXT("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<html>"),
	TEXT("")},
    {"tls-server", CLOSE, TEXT("\x15\x03\x03\x00\x02\x02\x0a"), TEXT("")},
    {"ssh-server", SILENCE, TEXT("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), TEXT("")},
    {"string-flood", FLOOD, TEXT("$600000000\r\n"), TEXT("x")},
    {"string-trickle", TRICKLE, TEXT("$600000000\r\n"), TEXT("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")},
    {"string-of-2-to-the-64", FLOOD, TEXT("$18446744073709551617\r\n"), TEXT("x")},
    {"array-flood", FLOOD, TEXT("*100000000\r\n"), TEXT(":1\r\n")},
    {"array-of-2-to-the-32", FLOOD, TEXT("*4294967297\r\n"), TEXT(":1\r\n")},
    {"array-nested", FLOOD, TEXT(""), TEXT("*1\r\n")},
    {"array-nested-wide", FLOOD, TEXT(""), TEXT("*8\r\n")},
    {"negative-string", SILENCE, TEXT("$-2\r\nab\r\n"), TEXT("")},
    {"negative-array", SILENCE, TEXT("*-2\r\n:1\r\n"), TEXT("")},
    {"line-flood", FLOOD, TEXT("+"), TEXT("OK")},
    {"number-flood", FLOOD, TEXT(":"), TEXT("1")},
    {"error-of-16-kilobytes", LONG, TEXT("-ERR "), TEXT("no \x1b[31m")},
    {"error-of-a-megabyte", LONGER, TEXT("-ERR "), TEXT("no \x1b[31m")},
    {"error-that-drives-a-terminal", GO_ON, TEXT("-ERR \x1b]0;owned\x07\x9b\x31m \xff oh\r\n"),
	TEXT("")},
    {"number-out-of-range", GO_ON, TEXT(":99999999999999999999999\r\n"), TEXT("")},
    {"largest-number", GO_ON, TEXT(":9223372036854775807\r\n"), TEXT("")},
    {"number", GO_ON, TEXT(":5\r\n"), TEXT("")},
    {"nil", GO_ON, TEXT("$-1\r\n"), TEXT("")},
    {"empty-array", GO_ON, TEXT("*0\r\n"), TEXT("")},
    {"empty-string", GO_ON, TEXT("$0\r\n\r\n"), TEXT("")},
    {"string", GO_ON, TEXT("$2\r\nOK\r\n"), TEXT("")},
    {"pong", GO_ON, TEXT("+PONG\r\n"), TEXT("")},
    {"ok", GO_ON, TEXT("+OK\r\n"), TEXT("")},
    {"ok-flood", FLOOD, TEXT(""), TEXT("+OK\r\n")},
    {"one-flood", FLOOD, TEXT(""), TEXT(":1\r\n")},
    {"nil-flood", FLOOD, TEXT(""), TEXT("*-1\r\n")},
    {"push", GO_ON, TEXT(">3\r\n+message\r\n+a\r\n+b\r\n"), TEXT("")},
    {"resp3-null", GO_ON, TEXT("_\r\n"), TEXT("")},
    {"resp3-map", GO_ON, TEXT("%1\r\n+proto\r\n:3\r\n"), TEXT("")},
    {"published-message", GO_ON, TEXT("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n"), TEXT("")},
    {"time-of-nonsense", GO_ON, TEXT("*2\r\n$2\r\n-5\r\n$3\r\nsix\r\n"), TEXT("")},
    {"fence-of-letters", GO_ON, TEXT("*4\r\n$7\r\nGRANTED\r\n$4\r\nabcd\r\n" NOW ":0\r\n"),
	TEXT("")},
    {"fence-of-two-lines", GO_ON, TEXT("*4\r\n$7\r\nGRANTED\r\n$6\r\n1\nPS=x\r\n" NOW ":0\r\n"),
	TEXT("")},
    {"grant-with-a-nul", GO_ON, TEXT("*4\r\n$8\r\nGRANTED\0\r\n$1\r\n1\r\n" NOW ":0\r\n"),
	TEXT("")},
    {"grant-without-a-clock", GO_ON, TEXT("*4\r\n$7\r\nGRANTED\r\n$1\r\n1\r\n$1\r\nx\r\n:0\r\n"),
	TEXT("")},
    {"late-for-ever", GO_ON, TEXT("*3\r\n$4\r\nLATE\r\n:0\r\n" NOW), TEXT("")},
    {"answer-by-trickle", TRICKLE, TEXT(""), TEXT(":1\r\n")},
};
#define HOSTILITIES (sizeof hostilities / sizeof *hostilities)

static const char *directory, *step;
static bool once;

/* -- the connection --------------------------------------------------------------------------- */

static const struct hostility *kind;
static int connection;
static bool has_been_hostile; /* when idle: a second time would be no other test */

static void
note(const char *word)
{
	char path[4096], line[64];
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	snprintf(path, sizeof path, "%s/%s", directory, kind->name);
	int length =
	    snprintf(line, sizeof line, "%lld%09ld %s\n", (long long)now.tv_sec, now.tv_nsec, word);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, (size_t)length) != length)
		_exit(1);
	close(fd);
}

static void
say(const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(connection, bytes, length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			_exit(0);
		bytes += sent;
		length -= (size_t)sent;
	}
}

/* A piece of `more` over and over, so that a flood is one. */
static size_t
fill(char piece[PIECE])
{
	size_t length = 0;
	while (kind->more_length > 0 && length + kind->more_length <= PIECE) {
		memcpy(piece + length, kind->more, kind->more_length);
		length += kind->more_length;
	}
	return length;
}

static _Noreturn void
be_silent(void)
{
	char ignored[4096];
	while (recv(connection, ignored, sizeof ignored, 0) > 0)
		;
	_exit(0);
}

static void
be_hostile(void)
{
	char piece[PIECE];
	size_t length = fill(piece);
	const struct timespec pause = {.tv_nsec = 100000000};
	note("hostile");
	say(kind->first, kind->first_length);
	switch (kind->manner) {
	case GO_ON:
		return;
	case SILENCE:
		be_silent();
	case CLOSE:
		_exit(0);
	case FLOOD:
		for (;;)
			say(piece, length);
	case TRICKLE:
		for (size_t i = 0; i < kind->more_length; i++) {
			nanosleep(&pause, NULL);
			say(kind->more + i, 1);
		}
		be_silent();
	case LONG:
		say(piece, length);
		say(TEXT("\r\n"));
		return;
	case LONGER:
		for (long said = 0; said < MEGABYTE; said += (long)length)
			say(piece, length);
		say(TEXT("\r\n"));
		be_silent();
	}
}

/* Is it time? With `once` a file decides which connection is the first. */
static bool
is_time(const char *now)
{
	char path[4096];
	if (strcmp(step, now) != 0)
		return false;
	if (!once)
		return true;
	snprintf(path, sizeof path, "%s/%s.once", directory, kind->name);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* -- friendly answers ------------------------------------------------------------------------- */

static void
say_time(void)
{
	struct timespec now;
	char text[64], us[24];
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(us, sizeof us, "%ld", now.tv_nsec / 1000);
	int length = snprintf(text, sizeof text, "*2\r\n$10\r\n%010lld\r\n$%zu\r\n%s\r\n",
	    (long long)now.tv_sec, strlen(us), us);
	say(text, (size_t)length);
}

static void
answer_script(int count, char **words)
{
	/* EVAL, the script, the number of keys, the keys, the token, ... */
	const char *now = strcmp(words[2], "1") == 0       ? "renew"
	    : strstr(words[1], "hand_on") != NULL          ? "release"
	    : count > 10 && strcmp(words[10], "look") == 0 ? "look"
							   : "acquire";
	if (is_time(now)) {
		be_hostile();
		return;
	}
	note(now);
	if (strcmp(now, "acquire") == 0)
		say(TEXT("*4\r\n$7\r\nGRANTED\r\n$16\r\n1764000000000001\r\n" NOW ":0\r\n"));
	else if (strcmp(now, "look") == 0)
		say(TEXT("*3\r\n$4\r\nFREE\r\n:0\r\n" NOW));
	else if (strcmp(now, "renew") == 0 && strcmp(step, "look") == 0)
		say(TEXT(":-1\r\n"));
	else
		say(TEXT(":1\r\n"));
}

static void
answer(int count, char **words)
{
	static const struct {
		const char *command, *step;
	} easy[] = {{"AUTH", "auth"}, {"SELECT", "select"}, {"CLIENT", "setname"}};
	if (strcmp(words[0], "SCRIPT") == 0)
		say(TEXT("*3\r\n:0\r\n:0\r\n:0\r\n"));
	for (size_t i = 0; i < sizeof easy / sizeof *easy; i++) {
		if (strcmp(words[0], easy[i].command) == 0 && is_time(easy[i].step))
			be_hostile();
		else if (strcmp(words[0], easy[i].command) == 0)
			say(TEXT("+OK\r\n"));
	}
	if (strcmp(words[0], "TIME") == 0 && is_time("time"))
		be_hostile();
	else if (strcmp(words[0], "TIME") == 0)
		say_time();
	else if (strcmp(words[0], "EVAL") == 0 && count >= 5)
		answer_script(count, words);
}

/* Takes one command off the front of `in`, whose words are ended by NULs in place: how many bytes
 * it had, 0: it is not complete. dlock sends nothing but arrays of strings. */
static size_t
take_command(char *in, size_t used, int *count, char *words[WORDS])
{
	char *at = in, *end = in + used;
	long items = 0;
	*count = 0;
	for (long i = -1; i < items; i++) {
		char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2);
		if (line_end == NULL)
			return 0;
		long number = strtol(at + 1, NULL, 10);
		at = line_end + 2;
		if (i < 0) {
			items = number;
			continue;
		}
		if (end - at < number + 2)
			return 0;
		if (*count < WORDS)
			words[(*count)++] = at;
		at += number + 2;
	}
	/* Only now: a command that was half there is read again. */
	for (int i = 0; i < *count; i++) {
		char *length = words[i] - 2;
		while (*length != '$')
			length--;
		words[i][strtol(length + 1, NULL, 10)] = '\0';
	}
	return (size_t)(at - in);
}

static _Noreturn void
serve(void)
{
	static char in[65536];
	char *words[WORDS];
	size_t used = 0, taken;
	int count;
	note("connect");
	if (is_time("connect"))
		be_hostile();
	for (;;) {
		struct pollfd poll_in = {.fd = connection, .events = POLLIN};
		bool idle = strcmp(step, "idle") == 0 && !has_been_hostile;
		if (poll(&poll_in, 1, idle ? 100 : -1) == 0 && is_time("idle")) {
			has_been_hostile = true;
			be_hostile();
			continue;
		}
		if (poll_in.revents == 0)
			continue;
		ssize_t got = recv(connection, in + used, sizeof in - used, 0);
		if (got <= 0)
			_exit(0);
		used += (size_t)got;
		while (used > 0 && (taken = take_command(in, used, &count, words)) > 0) {
			answer(count, words);
			memmove(in, in + taken, used - taken);
			used -= taken;
		}
	}
}

/* -- listening -------------------------------------------------------------------------------- */

static int
listen_somewhere(in_port_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 64) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
		perror("hostile_server");
		exit(1);
	}
	*port = ntohs(address.sin_port);
	return fd;
}

int
main(int argc, char **argv)
{
	struct pollfd listeners[HOSTILITIES];
	if (argc < 3) {
		fprintf(stderr, "usage: hostile_server DIRECTORY STEP [once]\n");
		return 64;
	}
	directory = argv[1];
	step = argv[2];
	once = argc > 3;
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < HOSTILITIES; i++) {
		in_port_t port;
		listeners[i] = (struct pollfd){.fd = listen_somewhere(&port), .events = POLLIN};
		printf("%s %u\n", hostilities[i].name, (unsigned int)port);
	}
	puts("ready");
	fflush(stdout);
	alarm(120);
	while (poll(listeners, HOSTILITIES, -1) > 0 || errno == EINTR) {
		for (size_t i = 0; i < HOSTILITIES; i++) {
			if (!(listeners[i].revents & POLLIN))
				continue;
			connection = accept(listeners[i].fd, NULL, NULL);
			kind = &hostilities[i];
			if (connection >= 0 && fork() == 0) {
				alarm(120);
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				serve();
			}
			close(connection);
		}
	}
	return 1;
}
