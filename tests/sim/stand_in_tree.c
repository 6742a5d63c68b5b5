/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* run/tree.h: the processes below the current one. */
#include <signal.h>

#include "stand_ins.h"
#include "task.h"

static bool
is_helper(const struct tree *tree, const struct task *task)
{
	for (int i = 0; i < TREE_MAX_HELPERS; i++) {
		if (tree->helpers[i] != NULL && *tree->helpers[i] == task->pid)
			return true;
	}
	return false;
}

static bool
is_below(const struct tree *tree, const struct task *task, pid_t root)
{
	for (; task != NULL && !is_helper(tree, task); task = task->parent) {
		if (task->parent != NULL && task->parent->pid == root)
			return true;
	}
	return false;
}

static int
send_below(struct tree *tree, pid_t root, int number)
{
	int sent = 0;
	for (int i = 0; i < tasks_count(); i++) {
		struct task *task = tasks_get(i);
		if (!task->is_alive || !is_below(tree, task, root))
			continue;
		task_signal(task, number, SI_USER, current->pid);
		sent++;
	}
	return sent;
}

int
__wrap_tree_become_subreaper(void)
{
	return 0;
}

int
__wrap_tree_signal(struct tree *tree, pid_t root, int number)
{
	task_step();
	int sent = send_below(tree, root, number);
	if (number != SIGKILL)
		send_below(tree, root, SIGCONT);
	return sent;
}

int
__wrap_tree_pass_on(struct tree *tree, pid_t root, int number, bool group_has_it)
{
	return number == 0 || group_has_it ? 0 : send_below(tree, root, number);
}

void
__wrap_tree_kill(struct tree *tree)
{
	task_step();
	send_below(tree, current->pid, SIGKILL);
}

static bool
is_child(const struct tree *tree, const struct task *task)
{
	return task->parent == current && !task->is_reaped && !is_helper(tree, task);
}

static void
reap(struct tree *tree, struct task *task)
{
	task->is_reaped = true;
	if (tree->known == task->pid)
		tree->known = 0;
	if (tree->reaped != NULL)
		tree->reaped(tree->context, task->pid, task->code, task->status);
}

int
__wrap_tree_sweep(struct tree *tree)
{
	int left = 0;
	for (int i = 0; i < tasks_count(); i++) {
		struct task *task = tasks_get(i);
		if (!is_child(tree, task))
			continue;
		if (task->is_alive) {
			left++;
			tree->example = task->pid;
			task_signal(task, SIGKILL, SI_USER, current->pid);
		} else {
			reap(tree, task);
		}
	}
	return left;
}

void
__wrap_tree_reap(struct tree *tree)
{
	for (int i = 0; i < tasks_count(); i++) {
		struct task *task = tasks_get(i);
		if (is_child(tree, task) && !task->is_alive)
			reap(tree, task);
	}
}

bool
__wrap_tree_is_empty(struct tree *tree, pid_t *example, int *count)
{
	*count = 0;
	*example = 0;
	for (int i = 0; i < tasks_count(); i++) {
		const struct task *task = tasks_get(i);
		if (!is_child(tree, task))
			continue;
		*example = task->pid;
		++*count;
	}
	return *count == 0;
}
