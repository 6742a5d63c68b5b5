/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/sentinel_view.h"

#include <string.h>

#include "base/values.h"

/* -- answers ---------------------------------------------------------------------------------- */

static bool
is_text(const struct reply *reply)
{
	return reply->kind == REPLY_STRING && strlen(reply->text) == reply->length;
}

/* The value of a field in an array of names and values; NULL: there is none. */
static const char *
find_field(const struct reply *fields, const char *name)
{
	for (size_t i = 0; i + 1 < fields->count; i += 2) {
		if (is_text(fields->items[i]) && strcmp(fields->items[i]->text, name) == 0)
			return is_text(fields->items[i + 1]) ? fields->items[i + 1]->text : NULL;
	}
	return NULL;
}

static bool
read_place(const char *host, const char *port, struct url_place *place)
{
	int64_t number;
	struct problem ignored;
	if (host == NULL || port == NULL || host[0] == '\0' || strlen(host) >= sizeof place->host ||
	    !value_parse_count(port, 1, 65535, &number, &ignored))
		return false;
	memset(place, 0, sizeof *place);
	memcpy(place->host, host, strlen(host));
	place->port = (int)number;
	return true;
}

/* Of words with commas between. */
static bool
has_flag(const char *flags, const char *flag)
{
	size_t length = strlen(flag);
	for (const char *at = flags; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, flag, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

static bool
is_away(const char *flags)
{
	return has_flag(flags, "s_down") || has_flag(flags, "o_down");
}

static int64_t
read_count(const struct reply *fields, const char *name)
{
	const char *text = find_field(fields, name);
	int64_t number = 0;
	struct problem ignored;
	if (text == NULL || !value_parse_count(text, 0, INT64_MAX, &number, &ignored))
		return 0;
	return number;
}

bool
sentinel_read_master(const struct reply *reply, struct sentinel_view *view)
{
	if (reply->kind != REPLY_ARRAY ||
	    !read_place(find_field(reply, "ip"), find_field(reply, "port"), &view->master))
		return false;
	const char *flags = find_field(reply, "flags");
	view->knows = true;
	view->is_down = flags != NULL && is_away(flags);
	view->is_failing_over = flags != NULL && has_flag(flags, "failover_in_progress");
	view->epoch = read_count(reply, "config-epoch");
	view->quorum = read_count(reply, "quorum");
	view->others = read_count(reply, "num-other-sentinels");
	return true;
}

bool
sentinel_read_replicas(const struct reply *reply, struct sentinel_view *view)
{
	if (reply->kind != REPLY_ARRAY)
		return false;
	for (size_t i = 0; i < reply->count; i++) {
		const struct reply *fields = reply->items[i];
		struct url_place place;
		if (fields->kind != REPLY_ARRAY ||
		    !read_place(find_field(fields, "ip"), find_field(fields, "port"), &place))
			return false;
		const char *flags = find_field(fields, "flags");
		view->listed++;
		const char *role = find_field(fields, "role-reported");
		if (flags == NULL || (!is_away(flags) && !has_flag(flags, "disconnected"))) {
			view->alive++;
			view->claimants += role != NULL && strcmp(role, "master") == 0;
		}
		if (view->replica_count < VIEW_MAX_REPLICAS)
			view->replicas[view->replica_count++] = place;
	}
	return true;
}

/* The value of a line of INFO into `value`; false: there is none, or it is longer. */
static bool
find_line(const struct reply *info, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);
	if (!is_text(info))
		return false;
	for (const char *at = info->text; at != NULL; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, length) != 0 || at[length] != ':')
			continue;
		at += length + 1;
		length = strcspn(at, "\r\n");
		if (length == 0 || length >= size)
			return false;
		memcpy(value, at, length);
		value[length] = '\0';
		return true;
	}
	return false;
}

/* What one server's INFO says of the history of its data. */
struct history {
	bool is_master;
	bool follows; /* a master, and is connected to it */
	char id[64], former_id[64];
};

/* From [age, text]. */
static bool
read_history(const struct reply *one, struct history *history)
{
	char role[16], link[16] = "";
	if (one->kind != REPLY_ARRAY || one->count != 2)
		return false;
	const struct reply *info = one->items[1];
	if (!find_line(info, "role", role, sizeof role) ||
	    !find_line(info, "master_replid", history->id, sizeof history->id) ||
	    !find_line(info, "master_replid2", history->former_id, sizeof history->former_id))
		return false;
	find_line(info, "master_link_status", link, sizeof link);
	history->is_master = strcmp(role, "master") == 0;
	history->follows = strcmp(role, "slave") == 0 && strcmp(link, "up") == 0;
	return true;
}

/* Has somebody gone on from where the claimant still is? */
static bool
is_left_behind(const struct reply *servers, size_t claimant)
{
	struct history own, other;
	if (!read_history(servers->items[claimant], &own) || !own.is_master)
		return false;
	for (size_t i = 0; i < servers->count; i++) {
		if (i != claimant && read_history(servers->items[i], &other) &&
		    (i == 0 ? other.is_master : other.follows) &&
		    strcmp(other.former_id, own.id) == 0 && strcmp(other.id, own.id) != 0)
			return true;
	}
	return false;
}

void
sentinel_read_info(const struct reply *reply, const char *service, struct sentinel_view *view)
{
	const struct reply *servers = NULL; /* the master first */
	if (reply->kind != REPLY_ARRAY)
		return;
	for (size_t i = 0; i + 1 < reply->count; i += 2) {
		if (is_text(reply->items[i]) && strcmp(reply->items[i]->text, service) == 0)
			servers = reply->items[i + 1];
	}
	if (servers == NULL || servers->kind != REPLY_ARRAY)
		return;
	for (size_t i = 1; i < servers->count && view->demoted < view->claimants; i++) {
		struct history claimant;
		bool is_old = is_left_behind(servers, i);
		view->demoted += is_old;
		if (!is_old && read_history(servers->items[i], &claimant) && claimant.is_master &&
		    strlen(claimant.id) < sizeof view->claimant_id)
			memcpy(view->claimant_id, claimant.id, strlen(claimant.id) + 1);
	}
}

bool
sentinel_has_gone_on(const struct reply *info, const char *id)
{
	char role[16], former_id[64];
	return find_line(info, "role", role, sizeof role) && strcmp(role, "master") == 0 &&
	    find_line(info, "master_replid2", former_id, sizeof former_id) &&
	    strcmp(former_id, id) == 0;
}

/* The next word of a text with single blanks between; its length, 0: no more. */
static size_t
next_word(const char **at)
{
	*at += **at == ' ';
	return strcspn(*at, " ");
}

bool
sentinel_read_switch(const struct reply *reply, const char *service, struct url_place *place)
{
	char words[2][256]; /* the new host, the new port */
	if (reply->kind != REPLY_ARRAY || reply->count != 3 || !is_text(reply->items[0]) ||
	    !is_text(reply->items[1]) || !is_text(reply->items[2]) ||
	    strcmp(reply->items[0]->text, "message") != 0 ||
	    strcmp(reply->items[1]->text, "+switch-master") != 0)
		return false;
	/* service oldhost oldport newhost newport */
	const char *at = reply->items[2]->text;
	size_t length = strlen(service);
	if (strncmp(at, service, length) != 0 || at[length] != ' ')
		return false;
	at += length;
	for (int i = 0; i < 2; i++)
		at += next_word(&at);
	for (int i = 0; i < 2; i++) {
		length = next_word(&at);
		if (length == 0 || length >= sizeof words[i])
			return false;
		memcpy(words[i], at, length);
		words[i][length] = '\0';
		at += length;
	}
	return *at == '\0' && read_place(words[0], words[1], place);
}

/* -- several ---------------------------------------------------------------------------------- */

bool
sentinel_same_place(const struct url_place *one, const struct url_place *other)
{
	return one->port == other->port && strcmp(one->host, other->host) == 0;
}

static bool
has_heard_of(const struct sentinel_view *view, const struct url_place *place)
{
	bool heard = sentinel_same_place(&view->master, place);
	for (size_t i = 0; i < view->replica_count && !heard; i++)
		heard = sentinel_same_place(&view->replicas[i], place);
	return heard;
}

/* Adds what a view says of its master to the choice, or what it knows of another one's. */
static void
count_view(struct sentinel_choice *choice, const struct sentinel_view *view)
{
	choice->support += has_heard_of(view, &choice->master);
	if (!sentinel_same_place(&view->master, &choice->master))
		return;
	/* Whoever has an older epoch knows older replicas. */
	if (choice->votes == 0 || view->epoch > choice->epoch) {
		choice->epoch = view->epoch;
		choice->away = 0;
	}
	if (view->epoch == choice->epoch && view->listed - view->alive > choice->away)
		choice->away = view->listed - view->alive;
	choice->is_failing_over = choice->is_failing_over || view->is_failing_over;
	choice->votes++;
}

static bool
is_of(const struct sentinel_view *view, const struct sentinel_choice *choice)
{
	return view->knows && view->epoch == choice->epoch &&
	    sentinel_same_place(&view->master, &choice->master);
}

/* Replicas that count, as the one that sees most of them says, when so many of those who claim to
 * be masters do not. One that has become a replica meanwhile is no claimant to who knows. */
static int64_t
count_alive(const struct sentinel_choice *choice, const struct sentinel_view *const *views,
    size_t count, int64_t demoted)
{
	int64_t most = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_of(views[i], choice))
			continue;
		int64_t less = views[i]->claimants < demoted ? views[i]->claimants : demoted;
		most = views[i]->alive - less > most ? views[i]->alive - less : most;
	}
	return most;
}

/* Whoever has an older epoch knows older replicas. What one can tell of claimants is true for those
 * whom others have as well. */
static void
count_replicas(struct sentinel_choice *choice, const struct sentinel_view *const *views,
    size_t count)
{
	int64_t demoted = 0;
	for (size_t i = 0; i < count; i++) {
		if (!is_of(views[i], choice))
			continue;
		demoted = views[i]->demoted > demoted ? views[i]->demoted : demoted;
		if (choice->claimant_id[0] == '\0')
			memcpy(choice->claimant_id, views[i]->claimant_id,
			    sizeof choice->claimant_id);
	}
	choice->alive = count_alive(choice, views, count, demoted);
	choice->alive_less_one = count_alive(choice, views, count, demoted + 1);
}

/* Does the first come before the other? */
static bool
is_better(const struct sentinel_choice *one, const struct sentinel_choice *other, size_t answers)
{
	bool known = 2 * one->support > answers, other_known = 2 * other->support > answers;
	if (known != other_known)
		return known;
	if (one->epoch != other->epoch)
		return one->epoch > other->epoch;
	return one->votes > other->votes;
}

static void
sort(struct sentinel_choice *choices, size_t count, size_t answers)
{
	for (size_t i = 1; i < count; i++) {
		for (size_t k = i; k > 0 && is_better(&choices[k], &choices[k - 1], answers); k--) {
			struct sentinel_choice swapped = choices[k];
			choices[k] = choices[k - 1];
			choices[k - 1] = swapped;
		}
	}
}

size_t
sentinel_choose(const struct sentinel_view *const *views, size_t count,
    struct sentinel_choice *choices, size_t size)
{
	size_t found = 0, answers = 0;
	for (size_t i = 0; i < count; i++) {
		bool is_new = views[i]->knows;
		answers += views[i]->knows;
		for (size_t k = 0; k < found && is_new; k++)
			is_new = !sentinel_same_place(&choices[k].master, &views[i]->master);
		if (!is_new || found == size)
			continue;
		struct sentinel_choice *choice = &choices[found++];
		*choice = (struct sentinel_choice){.master = views[i]->master};
		for (size_t k = 0; k < count; k++) {
			if (views[k]->knows)
				count_view(choice, views[k]);
		}
		count_replicas(choice, views, count);
	}
	sort(choices, found, answers);
	return found;
}
