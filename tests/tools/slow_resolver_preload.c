/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/*
 * slow_resolver: a name look-up that hangs.
 *
 * Preloaded, getaddrinfo(3) works as ever until the file $SLOW_RESOLVER_FLAG exists; from then on
 * each call writes a line with its pid and the name to $SLOW_RESOLVER_FLAG.calls and sleeps 60 s.
 * A numeric address (AI_NUMERICHOST) is not looked up anywhere and never hangs.
 */
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef int
look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static void
hang(const char *flag, const char *node)
{
	struct timespec minute = {60, 0};
	char path[4096];
	FILE *calls;

	snprintf(path, sizeof path, "%s.calls", flag);
	calls = fopen(path, "ae");
	if (calls != NULL) {
		fprintf(calls, "%ld %s\n", (long)getpid(), node == NULL ? "" : node);
		fclose(calls);
	}
	while (nanosleep(&minute, &minute) != 0)
		;
}

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
    struct addrinfo **result)
{
	const char *flag = getenv("SLOW_RESOLVER_FLAG");
	look_up *real = NULL;

	*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	if (real == NULL)
		return EAI_SYSTEM;
	if (hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0)
		return real(node, service, hints, result);
	if (flag != NULL && access(flag, F_OK) == 0)
		hang(flag, node);
	return real(node, service, hints, result);
}
