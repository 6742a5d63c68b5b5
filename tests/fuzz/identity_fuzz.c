/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* base/identity: the record of a holder, in which another host, or anybody with redis-cli, may have
 * written anything. */
#include "base/identity.h"

#include "base/message.h"
#include "fuzz.h"

static bool
is_ended(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static void
check_bounds(const struct identity *identity)
{
	FUZZ_CHECK(is_ended(identity->host, sizeof identity->host));
	FUZZ_CHECK(is_ended(identity->boot_id, sizeof identity->boot_id));
	FUZZ_CHECK(is_ended(identity->user, sizeof identity->user));
	FUZZ_CHECK(is_ended(identity->command, sizeof identity->command));
	FUZZ_CHECK(is_ended(identity->label, sizeof identity->label));
	FUZZ_CHECK(is_ended(identity->fence, sizeof identity->fence));
}

/* What one host writes the other reads, but for what the server adds. */
static void
check_round_trip(const struct identity *identity)
{
	char record[IDENTITY_RECORD];
	struct identity again;
	identity_write(identity, record);
	FUZZ_CHECK(is_ended(record, sizeof record));
	for (const char *byte = record; *byte != '\0'; byte++)
		FUZZ_CHECK((unsigned char)*byte >= 0x20 || *byte == '\n');
	identity_read(&again, record, strlen(record));
	FUZZ_CHECK(again.pid == identity->pid && again.started == identity->started);
	FUZZ_CHECK(again.since_us == 0 && again.fence[0] == '\0');
	/* A field that does not fit is left out whole. */
	FUZZ_CHECK(again.host[0] == '\0' || strcmp(again.host, identity->host) == 0);
	FUZZ_CHECK(again.user[0] == '\0' || strcmp(again.user, identity->user) == 0);
	FUZZ_CHECK(again.command[0] == '\0' || strcmp(again.command, identity->command) == 0);
	FUZZ_CHECK(again.label[0] == '\0' || strcmp(again.label, identity->label) == 0);
	if (strlen(record) < IDENTITY_RECORD / 2 - 64) {
		FUZZ_CHECK(strcmp(again.host, identity->host) == 0);
		FUZZ_CHECK(strcmp(again.label, identity->label) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct identity identity;
	char line[1024], cut[32], shown[4096];
	char *record = malloc(size > 0 ? size : 1);
	if (record == NULL)
		return 0;
	memcpy(record, data, size);
	memset(&identity, 0xa5, sizeof identity);
	identity_read(&identity, record, size);
	free(record);
	check_bounds(&identity);
	check_round_trip(&identity);

	memset(line, 0xa5, sizeof line);
	identity_describe(&identity, identity.since_us, line, sizeof line);
	FUZZ_CHECK(is_ended(line, sizeof line) && strchr(line, '@') != NULL);
	identity_describe(&identity, -1, cut, sizeof cut);
	FUZZ_CHECK(is_ended(cut, sizeof cut));
	message_escape(shown, sizeof shown, line);
	for (const char *byte = shown; *byte != '\0'; byte++)
		FUZZ_CHECK((unsigned char)*byte >= 0x20 && *byte != 0x7f);
	return 0;
}
