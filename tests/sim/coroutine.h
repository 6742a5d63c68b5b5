/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* A stack of its own for code that waits in the middle of things, as processes do. */
#ifndef DLOCK_TESTS_COROUTINE_H
#define DLOCK_TESTS_COROUTINE_H

#include <setjmp.h>
#include <stdbool.h>
#include <ucontext.h>

struct coroutine {
	void (*body)(void *context);
	void *context;
	void *stack; /* NULL: none was ever begun, or it was given back */
	bool is_begun;
	jmp_buf here;
	ucontext_t birth;
};

/* Runs it until it pauses; body must not return. From the scheduler. */
void
coroutine_run(struct coroutine *coroutine);

/* Within it: back to who ran it. */
void
coroutine_pause(struct coroutine *coroutine);

/* Gives its stack back; what was on it is forgotten. Not of one that runs. */
void
coroutine_forget(struct coroutine *coroutine);

#endif
