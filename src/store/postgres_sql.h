/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What a PostgreSQL server is asked, as text, and what its answers say. Pure.
 *
 * A lock is an advisory lock of a session: a number of 64 bits, the first eight bytes of SHA-256(K)
 * or what ?dlock_key= says. Beside it stand others, of numbers made in the same way:
 *
 *   lock         exclusively: its holder; shared: each of several holders
 *   line         shared: who waits
 *   group        shared: who has one of several slots, whatever their number
 *   number       shared: the same, and there are N of them
 *   slot + i     exclusively: who has slot i
 *
 * A fencing number is timeline * 2^44 + the number of the transaction that took the lock + the
 * URL's fence_base. It counts when that transaction has been committed, and its commit reaches the
 * disk, because it logs a message: a transaction that changes nothing is not flushed, and its
 * number would be given again after a crash. A promotion begins a new timeline.
 *
 * Who that is stands in a comment in front of each statement, where pg_stat_activity shows it to
 * the same user, and in short in application_name, which everybody sees. */
#ifndef DLOCK_STORE_POSTGRES_SQL_H
#define DLOCK_STORE_POSTGRES_SQL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/identity.h"
#include "base/keys.h"
#include "lock/store.h"
#include "net/url.h"

#define POSTGRES_STATEMENT 8192
/* A comment with its record: the server keeps 1023 bytes of a statement. */
#define POSTGRES_COMMENT 1000
#define POSTGRES_APPLICATION 64
/* Of slots: as many numbers are set apart. */
#define POSTGRES_SLOTS 1024

struct postgres_numbers {
	int64_t lock, line, group, number, slot;
	char channel[32]; /* of messages to who waits */
};

/* Those of key K at that URL; `slots` is 0 unless the lock has some. */
void
postgres_numbers_make(struct postgres_numbers *numbers, const struct url *url, const char *key,
    int slots);

/* "dlock web3:4711": what administrators see. */
void
postgres_make_application(const struct identity *identity, char out[POSTGRES_APPLICATION]);

/* What is written of who asks. since_us 0, fence empty: not known yet. `record` is identity.h's. */
struct postgres_record {
	const char *token, *key, *record, *fence;
	int64_t since_us;
};

void
postgres_write_comment(char out[POSTGRES_COMMENT], const struct postgres_record *record);

/* Reads a statement of somebody's that begins with such a comment, which may be cut. False: it does
 * not. token and key are empty where they are not known. */
bool
postgres_read_comment(const char *statement, struct identity *identity, char token[TOKEN_SIZE],
    char key[KEY_SIZE]);

/* "dlock web3:4711 #176...": host, pid and fence of who shows no more. False: it is none. */
bool
postgres_read_application(const char *application, struct identity *identity);

/* -- statements: false, it does not fit ------------------------------------------------------- */

struct postgres_acquire {
	const struct postgres_numbers *numbers;
	enum lock_mode mode;
	int slots;
	int64_t ttl_ms;
	int64_t fence_base;
	const char *comment, *application;
	bool joins;           /* be one who waits, if it is held */
	bool is_joined;       /* it is one already */
	const char *ancestor; /* as in struct store_request */
	bool under;
};

/* The columns of its one row. */
enum postgres_acquire_column {
	ACQUIRE_WORD, /* G granted, H held, N it has another number of slots */
	ACQUIRE_FENCE,
	ACQUIRE_SLOT,
	ACQUIRE_BACKEND,
	ACQUIRE_CLOCK,   /* the server's, us */
	ACQUIRE_TICKET,  /* when this session began, us */
	ACQUIRE_WAITING, /* how many others wait */
	ACQUIRE_RANK,    /* how many of those came before */
	ACQUIRE_HOLDER,  /* its last statement, application_name, user, start of that statement */
	ACQUIRE_HOLDER_APPLICATION,
	ACQUIRE_HOLDER_USER,
	ACQUIRE_HOLDER_SINCE,
	ACQUIRE_HOLDER_BACKEND,
};

bool
postgres_write_acquire(char out[POSTGRES_STATEMENT], const struct postgres_acquire *acquire);

/* One row: whether the lock is still had, and the session's backend. */
bool
postgres_write_renew(char out[POSTGRES_STATEMENT], const struct postgres_numbers *numbers,
    const char *comment);

/* Gives up all that the session has, and tells who waits. One row: whether the lock was had.
 * `ticket`: of one who only waited, to be told to the others; 0: a holder's. */
bool
postgres_write_release(char out[POSTGRES_STATEMENT], const struct postgres_numbers *numbers,
    const char *comment, int64_t ticket);

/* The condition that a row of pg_locks, named `alias`, is of that number here, and granted. Returns
 * `out`, of POSTGRES_CONDITION bytes. */
#define POSTGRES_CONDITION 256
const char *
postgres_write_condition(char out[POSTGRES_CONDITION], const char *alias, int64_t number);

/* A whole number; false: it is none. */
bool
postgres_read_number(const char *text, int64_t *number);

#endif
