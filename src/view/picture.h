/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A sight for people, and as JSON. Pure. */
#ifndef DLOCK_VIEW_PICTURE_H
#define DLOCK_VIEW_PICTURE_H

#include "view/sight.h"
#include "view/text.h"

/* Room for what picture_describe_party says, and more. */
#define PICTURE_SIZE 2048

/* "deploy@web3 pid 4711 rsync, for 3m12s, label x, fence 1764000000123456", or what is known of a
 * foreign client. Not escaped. Returns `out`. */
const char *
picture_describe_party(const struct sight *sight, const struct party *party, char *out,
    size_t size);

/* For --status: "NAME: " and the above in a line, below it a line each for the holders, if there
 * may be several, and for the waiters. */
void
picture_add_text(struct text *text, const struct sight *sight);

/* For --list: the name, padded to `width` columns, and the rest of its line, which ends with
 * `remark`. */
void
picture_add_name(struct text *text, const char *name, int width);
void
picture_add_row(struct text *text, const struct sight *sight, const char *remark);

/* How many columns the name takes, printed. */
int
picture_width(const char *name);

/* One object, without a newline, as dlock(1) has it under JSON. With `result`, of --break: what it
 * did, and to whom. */
struct picture_result {
	const char *word;
	const struct sight *taken; /* its holders */
	int64_t count;             /* how many they are, should some be missing */
};

/* Of several servers, what each shows. */
struct picture_node {
	const char *server;
	const struct sight *sight; /* NULL: nothing, and `problem` is why */
	const char *problem;
};
struct picture_nodes {
	const struct picture_node *items;
	int count;
};

/* `result` and `nodes` may be NULL. */
void
picture_add_json(struct text *text, const struct sight *sight, const struct picture_result *result,
    const struct picture_nodes *nodes);

#endif
