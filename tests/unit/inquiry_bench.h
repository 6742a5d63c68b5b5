/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/inquiry on a bench: a child is RUNNER, and the test asks it. */
#ifndef DLOCK_TESTS_INQUIRY_BENCH_H
#define DLOCK_TESTS_INQUIRY_BENCH_H

#include "run/inquiry.h"

#define RUNNER_TOKEN "0b5ec1f2-8d0a-4a52-9f43-cd7b14f63d4c"

struct inquiry_bench {
	struct held_entry entry; /* the RUNNER */
	int listener;            /* its socket, -1: the child alone has it */
	struct inquiry_answer answer;
};

extern struct inquiry_bench inquiry;

/* A socket with a new name, in this process. */
void
runner_listen(void);

/* A child that is RUNNER: it does what `act` does, for 30 s at most; and its end. */
void
runner_start(void (*act)(void));
void
runner_end(void);

/* In RUNNER: waits for a question; answers it, and says in the answer's key who asked by pid and
 * uid, in its reason which kind of question it was. */
void
runner_hear(struct inquiry_question *question, struct inquiry_peer *peer);
void
runner_say(const struct inquiry_peer *peer, const struct inquiry_question *question, int verdict);

/* Asks it, for 2 s at most; the answer is in inquiry.answer. */
enum inquiry_result
runner_ask(enum inquiry_kind kind);

#endif
