/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What stands in, in the simulator, for the kernel and for what has a process or a file of its own
 * in life. The linker puts it there (--wrap, see wrapped.list): the real code's call of NAME
 * becomes one of
 * __wrap_NAME, and __real_NAME is the real one.
 *
 *   kernel_time.c, kernel_files.c, kernel_sockets.c, kernel_processes.c    system calls
 *   stand_in_tree.c       run/tree.h: finding and killing processes
 *   stand_in_modules.c    run/spawn.h, run/signals.h, terminal, reports, messages, look-ups,
 * entropy */
#ifndef DLOCK_TESTS_STAND_INS_H
#define DLOCK_TESTS_STAND_INS_H

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <uuid/uuid.h>

#include "job/job_parts.h"
#include "net/resolve.h"

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */

/* -- kernel_time.c ----------------------------------------------------------------------------- */

int
__wrap_clock_gettime(clockid_t clock, struct timespec *now);
int
__wrap_timerfd_create(int clock, int flags);
int
__wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when, struct itimerspec *before);
int
__wrap_timer_create(clockid_t clock, struct sigevent *event, timer_t *timer);
int
__wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
    struct itimerspec *before);
int
__wrap_nanosleep(const struct timespec *time, struct timespec *left);

/* -- kernel_files.c ---------------------------------------------------------------------------- */

int
__wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
ssize_t
__wrap_read(int fd, void *bytes, size_t size);
ssize_t
__wrap_write(int fd, const void *bytes, size_t length);
int
__wrap_close(int fd);
/* Some C libraries know them by the one name, some by the other. */
int
__wrap_fcntl(int fd, int command, ...);
int
__wrap_fcntl64(int fd, int command, ...);
void *
__wrap_mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset);
void *
__wrap_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int
__wrap_munmap(void *address, size_t length);
void *
__real_mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset);
int
__real_munmap(void *address, size_t length);

/* -- kernel_sockets.c -------------------------------------------------------------------------- */

int
__wrap_socket(int domain, int type, int protocol);
int
__wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int
__wrap_connect(int fd, const struct sockaddr *address, socklen_t length);
int
__wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int
__wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
ssize_t
__wrap_send(int fd, const void *bytes, size_t length, int flags);
ssize_t
__wrap_recv(int fd, void *bytes, size_t size, int flags);
int
__wrap_shutdown(int fd, int how);

/* -- kernel_processes.c ------------------------------------------------------------------------ */

pid_t
__wrap_getpid(void);
pid_t
__wrap_getpgid(pid_t pid);
int
__wrap_kill(pid_t pid, int number);
int
__wrap_sigqueue(pid_t pid, int number, const union sigval value);
int
__wrap_waitid(idtype_t which, id_t pid, siginfo_t *info, int options);
pid_t
__wrap_waitpid(pid_t pid, int *status, int options);
int
__wrap_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit);
int
__wrap_prctl(int option, ...);
_Noreturn void
__wrap__exit(int status);

/* -- stand_in_tree.c --------------------------------------------------------------------------- */

int
__wrap_tree_become_subreaper(void);
int
__wrap_tree_signal(struct tree *tree, pid_t root, int number);
int
__wrap_tree_pass_on(struct tree *tree, pid_t root, int number, bool group_has_it);
void
__wrap_tree_kill(struct tree *tree);
int
__wrap_tree_sweep(struct tree *tree);
void
__wrap_tree_reap(struct tree *tree);
bool
__wrap_tree_is_empty(struct tree *tree, pid_t *example, int *count);

/* -- stand_in_modules.c ------------------------------------------------------------------------ */

pid_t
__wrap_spawn_start(struct spawn_plan *plan, int *failure_fd, int *gate_fd);
int
__wrap_spawn_read_failure(int failure_fd, const struct spawn_plan *plan, int *status,
    struct problem *problem);
void
__wrap_birth_await(int fd);
int
__wrap_signals_read(const struct signals *signals, int *number, int *code, int *sender);
void
__wrap_signals_end_waiting(const struct signals *signals);
bool
__wrap_signals_ends_waiter(int number);
_Noreturn void
__wrap_signals_die_of(int number);
void
__wrap_signals_stop_like(int number, int channel);
void
__wrap_terminal_mend(const struct terminal *terminal, bool killed);
void
__wrap_descriptors_let_go(void);
void
__wrap_urgency_raise(void);
void
__wrap_report_write(struct report *report, const struct report_end *end);
bool
__wrap_proc_has_pending(pid_t pid, int number);
int
__wrap_variables_prepare(struct job *job);
void
__wrap_answering_open(struct job *job);
void
__wrap_message_never_block(void);
void
__wrap_message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void
__wrap_message_notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void
__wrap_message_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));
void
__wrap_message_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool
__wrap_resolve_literal(const char *host, int port, struct addresses *addresses);
int
__wrap_resolve_start(struct resolver *resolver, const char *host, int port);
void
__wrap_resolve_cancel(struct resolver *resolver);
void
__wrap_uuid_generate_random(uuid_t uuid);

/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

#endif
