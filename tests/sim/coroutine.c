/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "coroutine.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "stand_ins.h"

#define STACK_SIZE ((size_t)256 << 10)
#define MOST_SPARE 128

/* Stacks that nobody uses: a new one costs a fault for each page. */
static void *spare[MOST_SPARE];
static int spare_count;

static jmp_buf outside;

static void *
get_stack(void)
{
	if (spare_count > 0)
		return spare[--spare_count];
	void *stack = __real_mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* A guard below. */
	if (stack == MAP_FAILED || mprotect(stack, 4096, PROT_NONE) != 0)
		abort();
	return stack;
}

static void
begin(unsigned int high, unsigned int low)
{
	struct coroutine *coroutine = (void *)(((uintptr_t)high << 32) | low);
	coroutine->body(coroutine->context);
	abort(); /* it must not return */
}

/* makecontext(3) makes the stack, but each swapcontext(3) is a system call: after the first entry
 * setjmp(3) does. */
void
coroutine_run(struct coroutine *coroutine)
{
	uintptr_t self = (uintptr_t)coroutine;
	if (_setjmp(outside) != 0)
		return;
	if (coroutine->is_begun)
		_longjmp(coroutine->here, 1);
	coroutine->is_begun = true;
	coroutine->stack = get_stack();
	getcontext(&coroutine->birth);
	coroutine->birth.uc_stack.ss_sp = coroutine->stack;
	coroutine->birth.uc_stack.ss_size = STACK_SIZE;
	coroutine->birth.uc_link = NULL;
	makecontext(&coroutine->birth, (void (*)(void))begin, 2, (unsigned int)(self >> 32),
	    (unsigned int)self);
	setcontext(&coroutine->birth);
	abort();
}

void
coroutine_pause(struct coroutine *coroutine)
{
	if (_setjmp(coroutine->here) == 0)
		_longjmp(outside, 1);
}

void
coroutine_forget(struct coroutine *coroutine)
{
	if (coroutine->stack == NULL)
		return;
	if (spare_count == MOST_SPARE)
		__real_munmap(coroutine->stack, STACK_SIZE);
	else
		spare[spare_count++] = coroutine->stack;
	coroutine->stack = NULL;
}
