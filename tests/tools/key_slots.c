/*
 * Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT
 *
 * key_slots PORT COUNT SEED: makes COUNT random names of locks and asks the node of a cluster at
 * that port of 127.0.0.1 for the slot of each of their keys. Prints "NAMES names, KEYS keys,
 * REFUSED refused" and ends with 0 if all keys of each lock are in one slot, the one that dlock
 * itself computes; a name that makes no keys is refused by dlock, and counts as such.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/keys.h"
#include "store/cluster_slot.h"

static unsigned long long state;

static unsigned int
random_below(unsigned int below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(state >> 33) % below;
}

/* Few letters among them, so that braces and hashes meet often; else any byte but NUL. */
static void
make_name(char *name)
{
	static const char pieces[] = "ab{}#{}:\xc3\xa9 \n";
	unsigned int length = 1 + random_below(random_below(8) == 0 ? NAME_MAX_BYTES : 24);
	for (unsigned int i = 0; i < length; i++)
		name[i] = random_below(2) ? pieces[random_below(sizeof pieces - 1)]
					  : (char)(1 + random_below(255));
	name[length] = '\0';
}

static FILE *to_node, *from_node;

static void
ask(const char *key)
{
	size_t length = strlen(key);
	fprintf(to_node, "*3\r\n$7\r\nCLUSTER\r\n$7\r\nKEYSLOT\r\n$%zu\r\n", length);
	fwrite(key, 1, length, to_node);
	fputs("\r\n", to_node);
}

static int
read_slot(void)
{
	char line[64];
	if (fgets(line, sizeof line, from_node) == NULL || line[0] != ':')
		return -1;
	return atoi(line + 1);
}

static bool
open_node(int port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
		return false;
	to_node = fdopen(fd, "w");
	from_node = fdopen(dup(fd), "r");
	return to_node != NULL && from_node != NULL;
}

int
main(int argc, char **argv)
{
	static struct keys keys;
	char name[NAME_MAX_BYTES + 1];
	int refused = 0, asked = 0, count = argc == 4 ? atoi(argv[2]) : 0;
	if (argc != 4 || !open_node(atoi(argv[1]))) {
		perror("key_slots PORT COUNT SEED");
		return 2;
	}
	state = strtoull(argv[3], NULL, 10);
	for (int i = 0; i < count; i++) {
		struct problem problem;
		make_name(name);
		if (!keys_make(&keys, random_below(4) ? "lock:" : "", name, &problem)) {
			refused++;
			continue;
		}
		const char *const all[] = {keys.lock, keys.fence, keys.info, keys.queue,
		    keys.members};
		for (size_t k = 0; k < sizeof all / sizeof *all; k++)
			ask(all[k]);
		fflush(to_node);
		for (size_t k = 0; k < sizeof all / sizeof *all; k++, asked++) {
			int slot = read_slot();
			if (slot != cluster_slot(keys.lock) || slot != cluster_slot(all[k])) {
				printf("name %d: key '%s' is in slot %d, not %d\n", i, all[k], slot,
				    cluster_slot(keys.lock));
				return 1;
			}
		}
	}
	printf("%d names, %d keys, %d refused\n", count, asked, refused);
	return 0;
}
