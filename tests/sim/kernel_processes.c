/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* System calls about processes and signals. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "stand_ins.h"
#include "task.h"
#include "trace.h"
#include "world.h"

static int
refuse(int error)
{
	errno = error;
	return -1;
}

pid_t
__wrap_getpid(void)
{
	return current == NULL ? 1 : current->pid;
}

/* Who sends signals here stands outside of the group. */
pid_t
__wrap_getpgid(pid_t pid)
{
	return pid;
}

int
__wrap_kill(pid_t pid, int number)
{
	struct task *task = tasks_find(pid);
	task_step();
	if (task == NULL || task->is_reaped)
		return refuse(ESRCH);
	task_signal(task, number, SI_USER, current->pid);
	return 0;
}

int
__wrap_sigqueue(pid_t pid, int number, const union sigval value)
{
	struct task *task = tasks_find(pid);
	(void)value;
	if (task == NULL || task->is_reaped)
		return refuse(ESRCH);
	task_signal(task, number, SI_QUEUE, current->pid);
	return 0;
}

/* Of one child, never waiting. */
int
__wrap_waitid(idtype_t which, id_t pid, siginfo_t *info, int options)
{
	struct task *task = tasks_find((int)pid);
	(void)which;
	if (task == NULL || task->is_reaped || task->parent != current)
		return refuse(ECHILD);
	memset(info, 0, sizeof *info);
	if ((options & WEXITED) && !task->is_alive) {
		task->is_reaped = true;
		info->si_pid = task->pid;
		info->si_code = task->code;
		info->si_status = task->status;
	} else if ((options & WSTOPPED) && task->has_stopped_news) {
		task->has_stopped_news = false;
		info->si_pid = task->pid;
		info->si_code = CLD_STOPPED;
		info->si_status = SIGSTOP;
	} else if ((options & WCONTINUED) && task->has_continued_news) {
		task->has_continued_news = false;
		info->si_pid = task->pid;
		info->si_code = CLD_CONTINUED;
		info->si_status = SIGCONT;
	}
	return 0;
}

pid_t
__wrap_waitpid(pid_t pid, int *status, int options)
{
	siginfo_t info;
	(void)status;
	(void)options;
	if (__wrap_waitid(P_PID, (id_t)pid, &info, WEXITED) != 0)
		return -1;
	return info.si_pid;
}

int
__wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
	(void)set;
	(void)info;
	int64_t until = world.now + limit->tv_sec * NS_PER_S + limit->tv_nsec;
	while (current->signal_count == 0 && world.now < until)
		__wrap_poll(NULL, 0, 1);
	current->signal_count = 0;
	return SIGCHLD;
}

int
__wrap_prctl(int option, ...)
{
	(void)option;
	return 0;
}

_Noreturn void
__wrap__exit(int status)
{
	task_exit(CLD_EXITED, status);
}
