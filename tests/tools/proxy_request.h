/* Copyright (c) 2026 the dlock authors */
/* SPDX-License-Identifier: MIT */

/* What a piece of request is called in flaky_proxy's log, and in its orders. */
#ifndef TESTS_TOOLS_PROXY_REQUEST_H
#define TESTS_TOOLS_PROXY_REQUEST_H

#include <stdio.h>
#include <string.h>

#include "lua_scripts.h"

/* "*3\r\n$4\r\nEVAL\r\n..." is an EVAL, an EVALSHA, too; anything else a "?". */
static inline void
name_command(char name[32], const char *data, size_t len)
{
	char head[64] = "";

	memcpy(head, data, len < sizeof head - 1 ? len : sizeof head - 1);
	strcpy(name, "?");
	sscanf(head, "*%*d\r\n$%*d\r\n%31[A-Za-z]", name);
	if (strcmp(name, "EVALSHA") == 0)
		name[4] = '\0';
}

/* dlock's scripts are told apart by words that one of them alone has, or by their hashes. What
 * stands around a script (MULTI, UNSUBSCRIBE, ...) is one request with it. */
static inline void
name_request(char name[32], const char *data, size_t len)
{
	static const char eval[] = "\r\n$4\r\nEVAL\r\n";
	static const char evalsha[] = "\r\n$7\r\nEVALSHA\r\n";

	name_command(name, data, len);
	if (memmem(data, len, evalsha, sizeof evalsha - 1) != NULL) {
		if (memmem(data, len, lua_acquire_sha1, 40) != NULL)
			strcpy(name, "ACQUIRE");
		else if (memmem(data, len, lua_confirm_sha1, 40) != NULL)
			strcpy(name, "CONFIRM");
		else if (memmem(data, len, lua_release_sha1, 40) != NULL)
			strcpy(name, "RELEASE");
		return;
	}
	if (memmem(data, len, eval, sizeof eval - 1) == NULL)
		return;
	if (memmem(data, len, "GRANTED", 7) != NULL)
		strcpy(name, "ACQUIRE");
	else if (memmem(data, len, "UNUSUAL", 7) != NULL)
		strcpy(name, "CONFIRM");
	else if (memmem(data, len, "hand_on", 7) != NULL)
		strcpy(name, "RELEASE");
	else if (memmem(data, len, "PEXPIRE", 7) != NULL)
		strcpy(name, "RENEW");
}

#endif
