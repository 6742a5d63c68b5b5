/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What words.c, values.c and templates.c share: for them alone. */
#ifndef DLOCK_TESTS_REPLAY_WORDS_PARTS_H
#define DLOCK_TESTS_REPLAY_WORDS_PARTS_H

#include "../unit/tap.h"
#include "words.h"

#define TOKENS 6
#define PICK(schedule, list) ((list)[below((schedule), (int64_t)COUNT_OF(list))])

/* A command in words, with what stands for something in them:
 *
 *   %k  a key                  %h  one of a hash with short fields     %v  a value, often odd
 *   %z  a key of a sorted set
 *   %f  a field or member      %i  an integer, some odd                %m  milliseconds
 *   %T  a time, ms             %s  a score                             %r  an end of a range
 *   %t  a token                %c  a channel                           %I  a client's id
 *   %S  a script's hash        %P  a password
 *
 * and in the arguments of scripts:
 *
 *   %M  mode                   %q  mode at a node                      %W  kind of lock
 *   %L  least fence            %F  fence mode                          %n  number
 *   %N  not after              %R  record                              %K  ticket
 *   %X  most waiters           %A  ancestor                            %U  under
 *   %b  rest                   %y  force                               %Z  where to go on
 *   %g  what check does
 *
 * A word with ? before it may be there or not. A template that begins with ! answers in any order.
 */
extern const char *const templates[];
extern const size_t template_count;

struct script_row {
	const char *name, *text, *sha1;
	const char *keys; /* lock, fence, rfence, info, queue, members */
	const char *arguments;
	bool any_order;
};

extern const struct script_row scripts[];
extern const size_t script_count;

/* Uniform in [0, most). */
int64_t
below(struct schedule *schedule, int64_t most);

/* A word that is wrong at most places. */
const char *
pick_odd(struct schedule *schedule);

/* The key of lock number `lock`: its own (l), or its sibling with that first letter. `out` has 64
 * bytes. */
void
write_key(char *out, int64_t lock, char kind);

/* What the letter stands for. `lock`: of a script, the lock that it is about. `out` has 512 bytes.
 */
void
write_for(struct schedule *schedule, char kind, int64_t lock, char *out);

#endif
