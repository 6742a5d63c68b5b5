/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "view/check_print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/values.h"
#include "store/cluster_slot.h"

#define NOT_TOLD "not told"

/* A line in the making: pieces are put behind each other. */
struct line {
	char text[TEXT_LINE_MAX];
	size_t used;
};

static void
put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
put(struct line *line, const char *format, ...)
{
	va_list arguments;
	size_t room = sizeof line->text - line->used;
	va_start(arguments, format);
	int length = vsnprintf(line->text + line->used, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		line->used += (size_t)length < room ? (size_t)length : room - 1;
}

static void
end(struct text *text, struct line *line)
{
	text_add_line(text, line->text);
	line->used = 0;
	line->text[0] = '\0';
}

static void
put_ms(struct line *line, int64_t ns)
{
	put(line, "%.3f ms", (double)ns / (double)NS_PER_MS);
}

static void
put_bytes(struct line *line, int64_t bytes)
{
	if (bytes >= INT64_C(10) << 20)
		put(line, "%" PRId64 " MiB", bytes >> 20);
	else
		put(line, "%" PRId64 " KiB", bytes >> 10);
}

static const char *
or_not_told(const char *value)
{
	return value[0] != '\0' ? value : NOT_TOLD;
}

/* -- lines ------------------------------------------------------------------------------------ */

static void
print_way(struct text *text, struct line *line, const struct check_facts *facts)
{
	put(line, "server: %s", facts->server);
	end(text, line);
	if (!facts->is_reached) {
		put(line, "reached: no: %s", facts->problem.text);
		end(text, line);
		return;
	}
	put(line, "reached: ");
	if (facts->lookup_ns >= 0) {
		put(line, "name looked up in ");
		put_ms(line, facts->lookup_ns);
		put(line, ", ");
	}
	put(line, "connected in ");
	put_ms(line, facts->connect_ns);
	put(line, ", logged in in ");
	put_ms(line, facts->login_ns);
	end(text, line);
	if (facts->sentinels >= 0) {
		put(line,
		    "sentinels: %" PRId64 " of %" PRId64 " name %s; there are %" PRId64
		    ", quorum %" PRId64 "; replicas alive: %" PRId64 " of %" PRId64,
		    facts->agreeing, facts->sentinels, facts->master, facts->known_sentinels,
		    facts->quorum, facts->alive_replicas, facts->listed_replicas);
		end(text, line);
	}
	if (facts->seen_as[0] != '\0') {
		put(line,
		    "path: the server sees this connection come from %s: there is a proxy or an "
		    "address translation in between",
		    facts->seen_as);
		end(text, line);
	}
}

static void
print_identity(struct text *text, struct line *line, const struct check_facts *facts)
{
	char age[32];
	put(line, "version: ");
	if (facts->version[0] == '\0')
		put(line, NOT_TOLD);
	else
		put(line, "%s %s", or_not_told(facts->product), facts->version);
	end(text, line);
	put(line, "run id: %s", or_not_told(facts->run_id));
	if (facts->uptime_s >= 0 && facts->uptime_s < INT64_MAX / NS_PER_S)
		put(line, ", up for %s",
		    value_print_duration(age, sizeof age, facts->uptime_s * NS_PER_S));
	end(text, line);
	put(line, "keys: database %d, prefix '%s'", facts->db, facts->prefix);
	end(text, line);
	put(line, "role: %s, mode: %s%s", or_not_told(facts->role), or_not_told(facts->mode),
	    facts->loading > 0 ? ", loading its data" : "");
	end(text, line);
}

static void
print_cluster(struct text *text, struct line *line, const struct check_facts *facts)
{
	if (!facts->is_cluster)
		return;
	put(line, "cluster: state %s", or_not_told(facts->cluster_state));
	if (facts->cluster_slots >= 0)
		put(line,
		    ", %" PRId64 " of %d slots at %" PRId64
		    " masters, replicas of each at least %" PRId64,
		    facts->cluster_slots, CLUSTER_SLOTS, facts->cluster_masters,
		    facts->cluster_replicas);
	end(text, line);
}

static void
print_persistence(struct text *text, struct line *line, const struct check_facts *facts)
{
	put(line, "persistence: ");
	if (facts->aof < 0)
		put(line, NOT_TOLD);
	else if (facts->aof == 0)
		put(line, "no append-only file");
	else
		put(line, "append-only file, appendfsync %s", or_not_told(facts->appendfsync));
	if (facts->save_known && facts->save[0] == '\0')
		put(line, ", no snapshots");
	else if (facts->save_known)
		put(line, ", snapshots (save %s)", facts->save);
	end(text, line);
}

static void
print_limits(struct text *text, struct line *line, const struct check_facts *facts)
{
	put(line, "memory: ");
	if (facts->memory_used < 0)
		put(line, NOT_TOLD);
	else
		put_bytes(line, facts->memory_used);
	if (facts->memory_most > 0) {
		put(line, " of ");
		put_bytes(line, facts->memory_most);
	} else if (facts->memory_most == 0) {
		put(line, ", no limit");
	}
	if (facts->policy[0] != '\0')
		put(line, ", %s", facts->policy);
	end(text, line);
	put(line, "replicas: ");
	if (facts->replicas < 0)
		put(line, NOT_TOLD);
	else
		put(line, "%" PRId64, facts->replicas);
	if (facts->min_replicas >= 0)
		put(line, ", min-replicas-to-write %" PRId64, facts->min_replicas);
	end(text, line);
	put(line, "clients: ");
	if (facts->clients < 0)
		put(line, NOT_TOLD);
	else
		put(line, "%" PRId64, facts->clients);
	if (facts->clients_most >= 0)
		put(line, " of %" PRId64, facts->clients_most);
	if (facts->idle_s > 0)
		put(line, ", cut when idle for %" PRId64 "s", facts->idle_s);
	end(text, line);
}

static void
print_times(struct text *text, struct line *line, const struct check_facts *facts)
{
	char ttl[32], longest[32], sure[32];
	if (facts->clock_error_us >= 0) {
		put(line, "clock: %+.3f ms to this host's, give or take ",
		    (double)facts->clock_us / 1000);
		put_ms(line, facts->clock_error_us * NS_PER_US);
		end(text, line);
	}
	if (facts->rounds > 0) {
		put(line, "round trips: %" PRId64 ", the shortest ", facts->rounds);
		put_ms(line, facts->round_ns[0]);
		put(line, ", the median ");
		put_ms(line, facts->round_ns[facts->rounds / 2]);
		put(line, ", the longest ");
		put_ms(line, facts->round_ns[facts->rounds - 1]);
		end(text, line);
	}
	if (facts->message_ns >= 0) {
		put(line, "hand-off: the next in line was told after ");
		put_ms(line, facts->message_ns);
		end(text, line);
	}
	put(line, "absence of the server that a TTL of %s bridges: %s at the most, %s surely",
	    value_print_duration(ttl, sizeof ttl, facts->terms.ttl_ns),
	    value_print_duration(longest, sizeof longest, lease_longest_outage(&facts->terms)),
	    value_print_duration(sure, sizeof sure, lease_sure_outage(&facts->terms)));
	end(text, line);
}

static void
print_features(struct text *text, struct line *line, const struct check_facts *facts)
{
	static const char *const results[] = {
	    [CHECK_WORKS] = "works",
	    [CHECK_NOT_TRIED] = "not tried",
	    [CHECK_FAILS] = "does not work",
	};
	for (int result = CHECK_WORKS; result >= CHECK_NOT_TRIED; result--) {
		for (int i = 0; i < FEATURES; i++) {
			if (facts->trials[i].result == (enum check_result)result)
				put(line, "%s%s", line->used == 0 ? "" : ", ",
				    check_feature_name((enum check_feature)i));
		}
		if (line->used == 0)
			continue;
		struct line whole = {.used = 0};
		put(&whole, "%s: %s", results[result], line->text);
		line->used = 0;
		end(text, &whole);
	}
	for (int i = 0; i < FEATURES; i++) {
		const struct check_trial *trial = &facts->trials[i];
		if (trial->result != CHECK_FAILS && trial->missing[0] == '\0')
			continue;
		put(line, "%s: %s", results[CHECK_FAILS],
		    check_feature_name((enum check_feature)i));
		if (trial->missing[0] != '\0')
			put(line, ": this user may not use %s", trial->missing);
		else
			put(line, ": %s", trial->why);
		end(text, line);
	}
}

void
check_print_facts(struct text *text, const struct check_facts *facts)
{
	struct line line = {.used = 0};
	print_way(text, &line, facts);
	if (!facts->is_reached)
		return;
	print_identity(text, &line, facts);
	print_cluster(text, &line, facts);
	print_persistence(text, &line, facts);
	print_limits(text, &line, facts);
	print_times(text, &line, facts);
	print_features(text, &line, facts);
}

void
check_print_times(struct text *text, const struct check_facts *facts)
{
	struct line line = {.used = 0};
	print_times(text, &line, facts);
	print_features(text, &line, facts);
}

void
check_print_verdict(struct text *text, const struct check_facts *facts,
    const struct check_judgement *judgement)
{
	struct line line = {.used = 0};
	bool is_told = facts->told[SOURCE_INFO] && facts->told[SOURCE_CONFIG];
	put(&line, "verdict: %s", check_verdict_name(judgement->verdict));
	for (size_t i = 0; i < judgement->count; i++)
		put(&line, "%s%s", i == 0 ? ": " : "; ", judgement->reasons[i].text);
	if (facts->is_reached && !is_told)
		put(&line, "%s%s%s%s not told)",
		    judgement->count == 0 ? ", as far as it is seen (" : " (",
		    facts->told[SOURCE_INFO] ? "" : "INFO",
		    facts->told[SOURCE_INFO] || facts->told[SOURCE_CONFIG] ? "" : " and ",
		    facts->told[SOURCE_CONFIG] ? "" : "CONFIG GET");
	end(text, &line);
}
