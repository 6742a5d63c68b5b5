/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* net/link over TLS. At the other end is `openssl s_server`, which sends what it reads from its
 * stdin and prints what it receives; a line K makes it change its keys, and ask for ours. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "link_bench.h"
#include "tap.h"

static struct {
	char directory[64];
	pid_t pid;
	int in, out;    /* its stdin and stdout */
	bool is_strict; /* wants a certificate of ours */
	char printed[65536];
	size_t used;
} server;

static bool
make_certificate(void)
{
	char command[512];
	snprintf(server.directory, sizeof server.directory, "/tmp/dlock-tls.XXXXXX");
	if (mkdtemp(server.directory) == NULL)
		return false;
	snprintf(command, sizeof command,
	    "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
	    "-keyout key -out cert -subj /CN=here -addext subjectAltName=IP:127.0.0.1 -days 2 2>log",
	    server.directory);
	return system(command) == 0;
}

static void
remove_certificate(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", server.directory);
	CHECK_INT(system(command), 0);
}

/* Takes in what the server prints. */
static void
listen_in(void)
{
	ssize_t got;
	while (server.used < sizeof server.printed - 1 &&
	    (got = read(server.out, server.printed + server.used,
		 sizeof server.printed - 1 - server.used)) > 0)
		server.used += (size_t)got;
	server.printed[server.used] = '\0';
}

/* Turns the loop until the server has printed that; returns it, NULL: in vain. */
static const char *
hear(const char *text)
{
	for (int i = 0; i < LINK_LIMIT_MS; i++) {
		listen_in();
		const char *found = strstr(server.printed, text);
		if (found != NULL)
			return found;
		peer_run(&talk.loop, 1);
	}
	return NULL;
}

static void
say(const char *text, size_t length)
{
	CHECK_INT(write(server.in, text, length), (int64_t)length);
}

static void
serve(int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir(server.directory) != 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "cert", "-key",
	    "key", server.is_strict ? "-Verify" : NULL, "1", (char *)NULL);
	_exit(127);
}

/* A server, and a link that is set up to open a connection to it. */
static void
begin(void)
{
	int in[2], out[2];
	link_bench_begin();
	server.used = 0;
	CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	server.pid = fork();
	if (server.pid == 0)
		serve(in[0], out[1]);
	close(in[0]);
	close(out[1]);
	server.in = in[1];
	server.out = out[0];
	fcntl(server.out, F_SETFL, O_NONBLOCK);
	const char *ready = hear("ACCEPT 127.0.0.1:");
	talk.url.scheme = URL_REDIS;
	strcpy(talk.url.host, "127.0.0.1");
	talk.url.port = CHECK(ready != NULL) ? atoi(ready + strlen("ACCEPT 127.0.0.1:")) : 1;
	talk.url.tls.on = true;
	snprintf(talk.url.tls.cacert, sizeof talk.url.tls.cacert, "%s/cert", server.directory);
}

static void
end(void)
{
	link_bench_end();
	kill(server.pid, SIGKILL);
	waitpid(server.pid, NULL, 0);
	close(server.in);
	close(server.out);
}

static void
open_link(void)
{
	link_bench_begin_to_open();
	CHECK(peer_run_until(&talk.loop, &talk.opened, LINK_LIMIT_MS));
	CHECK_INT(talk.line.state, LINK_OPEN);
	/* It is ready for commands when it has said what was agreed upon. */
	CHECK(hear("CIPHER is") != NULL);
	peer_run(&talk.loop, 20);
}

static void
test_unread(void)
{
	tap_case("session tickets are nothing unread; half of an answer is");
	begin();
	open_link();
	CHECK(!link_has_unread(&talk.line));
	CHECK(!talk.answered && !talk.failed);
	say("$3\r\na", 5);
	for (int i = 0; i < 5000 && !link_has_unread(&talk.line); i++)
		usleep(1000);
	CHECK(link_has_unread(&talk.line));
	end();

	tap_case("tickets that come while nobody reads are nothing unread");
	begin();
	link_bench_begin_to_open();
	CHECK(peer_run_until(&talk.loop, &talk.opened, LINK_LIMIT_MS));
	usleep(50000);
	CHECK(!link_has_unread(&talk.line));
	CHECK(!link_has_unread(&talk.line));
	end();
}

static void
test_records(void)
{
	static char text[12000] = "$9000\r\n";
	tap_case("an answer that is longer than a read, and what follows it in the same record");
	memset(text + 7, 'x', 9000);
	memcpy(text + 9007, "\r\n:1\r\n:2\r\n:3\r\n", 15);
	begin();
	open_link();
	say(text, strlen(text));
	for (int i = 0; i < LINK_LIMIT_MS && talk.answers < 4; i++)
		peer_run(&talk.loop, 1);
	CHECK_INT(talk.answers, 4);
	CHECK_INT(talk.last_integer, 3);
	CHECK(!talk.failed);
	end();
}

static void
test_key_update(void)
{
	static const char *const ping[] = {"PING"};
	tap_case("new keys in the middle of a conversation, both ways");
	begin();
	open_link();
	for (int i = 1; i <= 3; i++) {
		char answer[16];
		say("K\n", 2);
		peer_run(&talk.loop, 20);
		CHECK(!link_has_unread(&talk.line));
		link_append(&talk.line, 1, ping);
		CHECK(link_flush(&talk.line));
		CHECK(hear("PING") != NULL);
		server.used = 0;
		talk.answered = false;
		snprintf(answer, sizeof answer, ":%d\r\n", i);
		say(answer, strlen(answer));
		CHECK(peer_run_until(&talk.loop, &talk.answered, LINK_LIMIT_MS));
		CHECK_INT(talk.last_integer, i);
	}
	CHECK(!talk.failed);
	end();
}

static void
test_large_request(void)
{
	static const char *const after[] = {"ENDED"};
	tap_case("a large request to a server that does not read for a while arrives whole");
	begin();
	open_link();
	link_bench_make_narrow();
	kill(server.pid, SIGSTOP);
	for (int i = 0; i < 8; i++) {
		/* More than the buffers of both ends take. */
		link_append(&talk.line, 2, link_bench_large_command);
		CHECK(link_flush(&talk.line));
		peer_run(&talk.loop, 5);
		if (talk.line.out_used > 0)
			break;
	}
	link_append(&talk.line, 1, after);
	CHECK(link_flush(&talk.line));
	CHECK(talk.line.out_sent < talk.line.out_used);
	kill(server.pid, SIGCONT);
	CHECK(hear("ENDED") != NULL);
	CHECK(talk.line.out_used == 0);
	CHECK(!talk.failed);
	/* Whole: not a byte of it is missing. */
	size_t count = 0;
	for (const char *at = server.printed; *at != '\0'; at++)
		count += *at == 'x';
	CHECK(count >= 29999 && count % 29999 < 100);
	end();
}

static void
test_refusal(void)
{
	static const char *const ping[] = {"PING"};
	tap_case("who is refused after the handshake is told why, also when a write fails first");
	server.is_strict = true;
	begin();
	server.is_strict = false;
	link_bench_begin_to_open();
	CHECK(peer_run_until(&talk.loop, &talk.opened, LINK_LIMIT_MS));
	/* The alert has come, and the end behind it; the loop, which would read it, stands still.
	 */
	struct pollfd socket = {.fd = talk.line.watch.fd, .events = POLLRDHUP};
	CHECK_INT(poll(&socket, 1, LINK_LIMIT_MS), 1);
	CHECK_INT(shutdown(socket.fd, SHUT_WR), 0); /* what is sent now fails, as after a reset */
	link_append(&talk.line, 1, ping);
	CHECK(link_flush(&talk.line));
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	CHECK(talk.reason.is_denied);
	CHECK_HAS(talk.reason.text, "the server refuses us: ");
	CHECK_HAS(talk.reason.text, "certificate required");
	end();
}

static void
test_ends(void)
{
	tap_case("a server that hangs up");
	begin();
	open_link();
	kill(server.pid, SIGKILL);
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	CHECK_HAS(talk.reason.text, "closed the connection");
	end();

	tap_case("a server that stands still in the handshake, and then does not");
	begin();
	kill(server.pid, SIGSTOP);
	link_bench_begin_to_open();
	peer_run(&talk.loop, 50);
	struct problem why;
	CHECK_INT(talk.line.state, LINK_SECURING);
	link_explain_delay(&talk.line, &why);
	CHECK_HAS(why.text, "TLS handshake");
	kill(server.pid, SIGCONT);
	CHECK(peer_run_until(&talk.loop, &talk.opened, LINK_LIMIT_MS));
	end();

	tap_case("closed in the handshake: nobody is told");
	begin();
	kill(server.pid, SIGSTOP);
	link_bench_begin_to_open();
	peer_run(&talk.loop, 20);
	link_close(&talk.line);
	kill(server.pid, SIGCONT);
	peer_run(&talk.loop, 50);
	CHECK(!talk.opened && !talk.failed);
	end();

	tap_case("a certificate that is not trusted, or for another name");
	begin();
	strcpy(talk.url.tls.sni, "elsewhere");
	link_bench_begin_to_open();
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	CHECK(talk.reason.is_denied);
	CHECK_HAS(talk.reason.text, "not for 'elsewhere'");
	end();

	tap_case("a file that is not there fails from the loop");
	begin();
	strcat(talk.url.tls.cacert, "s");
	link_bench_begin_to_open();
	CHECK(peer_run_until(&talk.loop, &talk.failed, LINK_LIMIT_MS));
	CHECK(talk.reason.is_setting && !talk.reason.is_denied);
	end();
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	tap_case("openssl makes a certificate");
	if (!CHECK(link_bench_set_up() && make_certificate()))
		return tap_end();
	test_unread();
	test_records();
	test_key_update();
	test_large_request();
	test_refusal();
	test_ends();
	remove_certificate();
	return tap_end();
}
