/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* The statements of store/postgres_sql.h. Each is one, and so one transaction: what of it has no
 * order of its own is put in order by CTEs that are materialized, of which each needs the one
 * before it. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "store/postgres_sql.h"

/* 2^44: transactions of one timeline. */
#define TIMELINE_FACTOR "17592186044416"

struct writer {
	char *out;
	size_t used;
	bool is_full;
};

static void __attribute__((format(printf, 2, 3)))
put(struct writer *writer, const char *format, ...)
{
	va_list arguments;
	size_t room = POSTGRES_STATEMENT - writer->used;
	va_start(arguments, format);
	int length = vsnprintf(writer->out + writer->used, room, format, arguments);
	va_end(arguments);
	writer->is_full = writer->is_full || length < 0 || (size_t)length >= room;
	if (!writer->is_full)
		writer->used += (size_t)length;
}

/* The lock is had exclusively, or not. */
static void
put_exclusive(struct writer *writer, const struct postgres_numbers *numbers)
{
	put(writer,
	    "WITH g AS MATERIALIZED (SELECT pg_try_advisory_lock(%" PRId64
	    ") AS got, NULL::int AS slot, false AS odd)",
	    numbers->lock);
}

/* Is that session's statement one of the dlock with that token? False: there is none, or it is no
 * token. */
static bool
write_ancestor(char *out, size_t size, const char *ancestor)
{
	out[0] = '\0';
	if (ancestor == NULL || ancestor[0] == '\0' ||
	    ancestor[strspn(ancestor, "0123456789abcdef-")] != '\0')
		return false;
	snprintf(out, size, "a.query LIKE '/*dlock_token=%.40s%%'", ancestor);
	return true;
}

/* The lock, shared; not while an ancestor has it, if that is not wanted. */
static void
put_base(struct writer *writer, const struct postgres_acquire *acquire)
{
	char lock[POSTGRES_CONDITION], is_ancestor[96];
	int64_t number = acquire->numbers->lock;
	put(writer, "WITH s AS MATERIALIZED (SELECT ");
	if (acquire->under && write_ancestor(is_ancestor, sizeof is_ancestor, acquire->ancestor))
		put(writer,
		    "CASE WHEN EXISTS (SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = "
		    "l.pid WHERE %s AND %s) THEN false ELSE pg_try_advisory_lock_shared(%" PRId64
		    ") END",
		    postgres_write_condition(lock, "l", number), is_ancestor, number);
	else
		put(writer, "pg_try_advisory_lock_shared(%" PRId64 ")", number);
	put(writer, " AS base), ");
}

/* It is had, unless others have slots of it: then it is given back. */
static void
put_shared(struct writer *writer, const struct postgres_acquire *acquire)
{
	char others[POSTGRES_CONDITION];
	const struct postgres_numbers *numbers = acquire->numbers;
	put_base(writer, acquire);
	put(writer,
	    "c AS MATERIALIZED (SELECT base, base AND EXISTS (SELECT 1 FROM pg_locks x WHERE %s) "
	    "AS clash FROM s), "
	    "g AS MATERIALIZED (SELECT base AND NOT clash AS got, NULL::int AS slot, false AS odd, "
	    "CASE WHEN clash THEN pg_advisory_unlock_shared(%" PRId64 ") END AS undone FROM c)",
	    postgres_write_condition(others, "x", numbers->group), numbers->lock);
}

/* The same with the marks of slots, and then the first free one of them. */
static void
put_slots(struct writer *writer, const struct postgres_acquire *acquire)
{
	char all[POSTGRES_CONDITION], same[POSTGRES_CONDITION], any[POSTGRES_CONDITION];
	const struct postgres_numbers *numbers = acquire->numbers;
	postgres_write_condition(all, "x", numbers->lock);
	postgres_write_condition(same, "y", numbers->number);
	postgres_write_condition(any, "x", numbers->group);
	put_base(writer, acquire);
	put(writer,
	    "m AS MATERIALIZED (SELECT base, CASE WHEN base THEN "
	    "pg_try_advisory_lock_shared(%" PRId64
	    ") END AS one, CASE WHEN base THEN pg_try_advisory_lock_shared(%" PRId64
	    ") END AS two FROM s), ",
	    numbers->group, numbers->number);
	put(writer,
	    "c AS MATERIALIZED (SELECT base, one, two, base AND EXISTS (SELECT 1 FROM pg_locks x "
	    "WHERE %s AND NOT EXISTS (SELECT 1 FROM pg_locks y WHERE %s AND y.pid=x.pid)) AS "
	    "clash, EXISTS (SELECT 1 FROM pg_locks x WHERE %s AND NOT EXISTS (SELECT 1 FROM "
	    "pg_locks y WHERE %s AND y.pid=x.pid)) AS odd FROM m), ",
	    all, same, any, same);
	put(writer,
	    "t AS MATERIALIZED (SELECT base, one, two, odd, CASE WHEN base AND one AND two AND NOT "
	    "clash THEN (SELECT i FROM generate_series(0, %d) i WHERE c.base AND "
	    "pg_try_advisory_lock(%" PRId64 " + i) LIMIT 1) END AS slot FROM c), ",
	    acquire->slots - 1, numbers->slot);
	put(writer,
	    "g AS MATERIALIZED (SELECT slot IS NOT NULL AS got, slot, odd, CASE WHEN slot IS NULL "
	    "AND base THEN pg_advisory_unlock_shared(%" PRId64
	    ") END AS a, CASE WHEN slot IS NULL AND one THEN pg_advisory_unlock_shared(%" PRId64
	    ") END AS b, CASE WHEN slot IS NULL AND two THEN pg_advisory_unlock_shared(%" PRId64
	    ") END AS c FROM t)",
	    numbers->lock, numbers->group, numbers->number);
}

/* What goes with the grant: it counts only when all of this has been committed. */
static void
put_grant(struct writer *writer, const struct postgres_acquire *acquire)
{
	const struct postgres_numbers *numbers = acquire->numbers;
	put(writer,
	    ", CASE WHEN g.got THEN pg_logical_emit_message(true, 'dlock', '') END"
	    ", CASE WHEN g.got THEN set_config('idle_session_timeout', '%" PRId64 "', false) END"
	    ", CASE WHEN g.got THEN set_config('application_name', '%s #' || f.fence, false) END",
	    acquire->ttl_ms, acquire->application);
	if (acquire->is_joined)
		put(writer, ", CASE WHEN g.got THEN pg_advisory_unlock_shared(%" PRId64 ") END",
		    numbers->line);
	else if (acquire->joins)
		put(writer,
		    ", CASE WHEN NOT g.got THEN pg_try_advisory_lock_shared(%" PRId64 ") END",
		    numbers->line);
	/* Who waits need not try. Where several may hold it, others may still. */
	put(writer,
	    ", CASE WHEN g.got AND w.waiting > 0 THEN pg_notify('%s', '%c' || CASE WHEN %s THEN "
	    "b.ticket ELSE 0 END) END",
	    numbers->channel, acquire->mode == MODE_EXCLUSIVE ? 't' : 's',
	    acquire->is_joined ? "true" : "false");
}

bool
postgres_write_acquire(char out[POSTGRES_STATEMENT], const struct postgres_acquire *acquire)
{
	struct writer writer = {.out = out};
	char lock[POSTGRES_CONDITION], line[POSTGRES_CONDITION];
	char is_ancestor[96], first[128] = "";
	const struct postgres_numbers *numbers = acquire->numbers;
	if (write_ancestor(is_ancestor, sizeof is_ancestor, acquire->ancestor))
		snprintf(first, sizeof first, "(%s) DESC NULLS LAST,", is_ancestor);
	put(&writer, "%s ", acquire->comment);
	switch (acquire->mode) {
	case MODE_EXCLUSIVE:
		put_exclusive(&writer, numbers);
		break;
	case MODE_SHARED:
		put_shared(&writer, acquire);
		break;
	case MODE_SLOTS:
		put_slots(&writer, acquire);
		break;
	}
	put(&writer,
	    " SELECT CASE WHEN g.got THEN 'G' WHEN g.odd THEN 'N' ELSE 'H' END, f.fence, g.slot, "
	    "pg_backend_pid(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, b.ticket, "
	    "w.waiting, w.rank, h.query, h.application_name, h.usename, "
	    "(extract(epoch FROM h.query_start) * 1000000)::bigint, h.pid");
	put_grant(&writer, acquire);
	put(&writer,
	    " FROM g CROSS JOIN LATERAL (SELECT CASE WHEN g.got THEN "
	    "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint * " TIMELINE_FACTOR
	    " + pg_current_xact_id()::text::bigint + %" PRId64 " END AS fence OFFSET 0) f"
	    " CROSS JOIN LATERAL (SELECT (extract(epoch FROM backend_start) * 1000000)::bigint AS "
	    "ticket, backend_start FROM pg_stat_get_activity(pg_backend_pid())) b"
	    " CROSS JOIN LATERAL (SELECT count(*) AS waiting, count(*) FILTER (WHERE "
	    "a.backend_start < b.backend_start) AS rank FROM pg_locks l LEFT JOIN pg_stat_activity a "
	    "ON a.pid = l.pid WHERE %s AND l.pid <> pg_backend_pid()) w",
	    acquire->fence_base, postgres_write_condition(line, "l", numbers->line));
	put(&writer,
	    " LEFT JOIN LATERAL (SELECT a.query, a.application_name, a.usename, a.query_start, l.pid "
	    "FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid WHERE NOT g.got AND %s "
	    "AND l.pid <> pg_backend_pid() ORDER BY %s a.query_start LIMIT 1) h ON true",
	    postgres_write_condition(lock, "l", numbers->lock), first);
	return !writer.is_full;
}

bool
postgres_write_renew(char out[POSTGRES_STATEMENT], const struct postgres_numbers *numbers,
    const char *comment)
{
	struct writer writer = {.out = out};
	char lock[POSTGRES_CONDITION];
	put(&writer,
	    "%s SELECT EXISTS (SELECT 1 FROM pg_locks l WHERE %s AND l.pid = pg_backend_pid()), "
	    "pg_backend_pid()",
	    comment, postgres_write_condition(lock, "l", numbers->lock));
	return !writer.is_full;
}

bool
postgres_write_release(char out[POSTGRES_STATEMENT], const struct postgres_numbers *numbers,
    const char *comment, int64_t ticket)
{
	struct writer writer = {.out = out};
	char lock[POSTGRES_CONDITION], line[POSTGRES_CONDITION], word[32] = "f";
	if (ticket != 0)
		snprintf(word, sizeof word, "l%" PRId64, ticket);
	put(&writer,
	    "%s WITH c AS MATERIALIZED (SELECT EXISTS (SELECT 1 FROM pg_locks l WHERE %s AND l.pid = "
	    "pg_backend_pid()) AS own, EXISTS (SELECT 1 FROM pg_locks l WHERE %s AND l.pid <> "
	    "pg_backend_pid()) AS waited) "
	    "SELECT own, pg_advisory_unlock_all(), CASE WHEN waited THEN pg_notify('%s', '%s') END "
	    "FROM c",
	    comment, postgres_write_condition(lock, "l", numbers->lock),
	    postgres_write_condition(line, "l", numbers->line), numbers->channel, word);
	return !writer.is_full;
}
