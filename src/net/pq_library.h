/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The functions of libpq that net/pq_link.c calls, looked up when a URL names PostgreSQL: linked,
 * libpq would make every start eight times as long. All of them are in libpq.so.5, whichever
 * release that is of; what stands here is that library's ABI, so that a build needs no headers of
 * it. */
#ifndef DLOCK_NET_PQ_LIBRARY_H
#define DLOCK_NET_PQ_LIBRARY_H

#include <stddef.h>

#include "base/problem.h"

typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;

struct pq_notification {
	char *channel;
	int backend;
	char *payload;
};

struct pq_option {
	char *keyword, *variable, *compiled, *value, *label, *display;
	int size;
};

enum pq_polling {
	PQ_POLLING_FAILED,
	PQ_POLLING_READING,
	PQ_POLLING_WRITING,
	PQ_POLLING_OK,
};

enum pq_status {
	PQ_COMMAND_OK = 1,
	PQ_TUPLES_OK = 2,
};

#define PQ_ERRORS_VERBOSE 2
#define PQ_DIAG_SEVERITY 'V'
#define PQ_DIAG_SQLSTATE 'C'
#define PQ_DIAG_MESSAGE_PRIMARY 'M'

/* What it returns, its name, its parameters. */
#define PQ_LIBRARY_FUNCTIONS(X)                                                                    \
	X(PGconn *, PQconnectStartParams, (const char *const *, const char *const *, int))         \
	X(int, PQconnectPoll, (PGconn *))                                                          \
	X(int, PQstatus, (const PGconn *))                                                         \
	X(int, PQsocket, (const PGconn *))                                                         \
	X(void, PQfinish, (PGconn *))                                                              \
	X(char *, PQerrorMessage, (const PGconn *))                                                \
	X(int, PQsetErrorVerbosity, (PGconn *, int))                                               \
	X(void *, PQsetNoticeReceiver, (PGconn *, void (*)(void *, const PGresult *), void *))     \
	X(int, PQserverVersion, (const PGconn *))                                                  \
	X(int, PQbackendPID, (const PGconn *))                                                     \
	X(int, PQsetnonblocking, (PGconn *, int))                                                  \
	X(int, PQsendQueryParams,                                                                  \
	    (PGconn *, const char *, int, const unsigned int *, const char *const *, const int *,  \
		const int *, int))                                                                 \
	X(int, PQconsumeInput, (PGconn *))                                                         \
	X(int, PQisBusy, (PGconn *))                                                               \
	X(int, PQflush, (PGconn *))                                                                \
	X(PGresult *, PQgetResult, (PGconn *))                                                     \
	X(void, PQclear, (PGresult *))                                                             \
	X(int, PQresultStatus, (const PGresult *))                                                 \
	X(char *, PQresultErrorField, (const PGresult *, int))                                     \
	X(int, PQntuples, (const PGresult *))                                                      \
	X(int, PQnfields, (const PGresult *))                                                      \
	X(char *, PQgetvalue, (const PGresult *, int, int))                                        \
	X(int, PQgetisnull, (const PGresult *, int, int))                                          \
	X(struct pq_notification *, PQnotifies, (PGconn *))                                        \
	X(void, PQfreemem, (void *))                                                               \
	X(struct pq_option *, PQconninfoParse, (const char *, char **))                            \
	X(struct pq_option *, PQconndefaults, (void))                                              \
	X(void, PQconninfoFree, (struct pq_option *))

struct pq_library {
/* NOLINTBEGIN(bugprone-macro-parentheses): types and parameters have none */
#define PQ_LIBRARY_MEMBER(type, name, parameters) type(*name) parameters;
	PQ_LIBRARY_FUNCTIONS(PQ_LIBRARY_MEMBER)
#undef PQ_LIBRARY_MEMBER
	/* NOLINTEND(bugprone-macro-parentheses) */
};

/* Loads it, the first time; it stays until the process ends. NULL and why (is_system). */
const struct pq_library *
pq_library_load(struct problem *why);

#endif
