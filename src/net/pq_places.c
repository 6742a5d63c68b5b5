/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/pq_parts.h"

/* A variable of the environment while libpq looks at it. */
struct borrowed {
	const char *name;
	char *saved;
	bool is_changed;
};

static void
lend(struct borrowed *variable, const char *name, const char *value)
{
	const char *old = getenv(name);
	*variable = (struct borrowed){.name = name};
	if (value == NULL || value[0] == '\0')
		return;
	variable->saved = old != NULL ? strdup(old) : NULL;
	variable->is_changed = true;
	setenv(name, value, 1);
}

static void
give_back(struct borrowed *variable)
{
	if (variable->is_changed && variable->saved != NULL)
		setenv(variable->name, variable->saved, 1);
	else if (variable->is_changed)
		unsetenv(variable->name);
	free(variable->saved);
}

static const char *
value_of(const struct pq_option *options, const char *keyword)
{
	for (; options != NULL && options->keyword != NULL; options++) {
		if (strcmp(options->keyword, keyword) == 0)
			return options->value;
	}
	return NULL;
}

/* The part of a list with commas between, all of it if it has but one. False: there is none. */
static bool
take_part(const char *list, size_t index, char *out, size_t size)
{
	out[0] = '\0';
	if (list == NULL)
		return index == 0;
	const char *at = list;
	if (strchr(list, ',') == NULL) {
		snprintf(out, size, "%s", list);
		return index == 0;
	}
	for (size_t i = 0; i < index; i++) {
		at = strchr(at, ',');
		if (at++ == NULL)
			return false;
	}
	snprintf(out, size, "%.*s", (int)strcspn(at, ","), at);
	return true;
}

/* Is it a name for others to look up? */
static bool
is_name(const struct pq_place *place)
{
	struct addresses literal;
	return place->address[0] == '\0' && place->host[0] != '\0' && place->host[0] != '/' &&
	    place->host[0] != '@' && !resolve_literal(place->host, 0, &literal);
}

/* The places as the URL, a service file or the environment name them, in libpq's order. */
static bool
list_places(struct pq_link *link, struct problem *why)
{
	const struct pq_library *library = link->library;
	struct borrowed service, file;
	char *error = NULL;
	struct pq_option *given = library->PQconninfoParse(link->url->libpq, &error);
	link->place_count = 0;
	if (given == NULL) {
		pq_link_take_error(error != NULL ? error : "out of memory", NULL, why);
		library->PQfreemem(error);
		return false;
	}
	lend(&service, "PGSERVICE", value_of(given, "service"));
	lend(&file, "PGSERVICEFILE", value_of(given, "servicefile"));
	struct pq_option *found = library->PQconndefaults();
	give_back(&service);
	give_back(&file);
	static const char *const keywords[] = {"host", "hostaddr", "port"};
	const char *values[3];
	/* A URL that says where the server is says both: libpq takes no address from elsewhere. */
	for (size_t i = 0; i < 3; i++) {
		values[i] = value_of(given, keywords[i]);
		if (values[i] == NULL)
			values[i] = value_of(found, keywords[i]);
	}
	struct pq_place *place = link->places;
	for (size_t i = 0; i < PQ_MAX_PLACES; i++, place++) {
		bool has_host = take_part(values[0], i, place->host, sizeof place->host);
		bool has_address = take_part(values[1], i, place->address, sizeof place->address);
		if (!has_host && !has_address)
			break;
		if (!take_part(values[2], i, place->port, sizeof place->port))
			take_part(values[2], 0, place->port, sizeof place->port);
		link->place_count++;
	}
	char more[2];
	bool fits = link->place_count < PQ_MAX_PLACES ||
	    (!take_part(values[0], PQ_MAX_PLACES, more, sizeof more) &&
		!take_part(values[1], PQ_MAX_PLACES, more, sizeof more));
	if (!fits)
		problem_set(why, "too many hosts: at most %d can be named", PQ_MAX_PLACES);
	library->PQconninfoFree(given);
	library->PQconninfoFree(found);
	return fits;
}

/* -- names ------------------------------------------------------------------------------------ */

/* The addresses of one name in the place of its place. */
static void
insert_addresses(struct pq_link *link, const struct pq_name *name, size_t at)
{
	size_t count = name->addresses.count;
	struct pq_place place = link->places[at];
	size_t behind = link->place_count - at - 1;
	if (count + at > PQ_MAX_PLACES)
		count = PQ_MAX_PLACES - at;
	if (at + count + behind > PQ_MAX_PLACES)
		behind = PQ_MAX_PLACES - at - count;
	memmove(&link->places[at + count], &link->places[at + 1], behind * sizeof *link->places);
	link->place_count = at + count + behind;
	for (size_t i = 0; i < count; i++) {
		link->places[at + i] = place;
		getnameinfo((const struct sockaddr *)&name->addresses.items[i],
		    name->addresses.lengths[i], link->places[at + i].address,
		    sizeof link->places[at + i].address, NULL, 0, NI_NUMERICHOST);
	}
}

/* All that is known by now. From the last one on, so that the places before it stay where they are.
 */
static void
end_looking_up(struct pq_link *link)
{
	pq_places_cancel(link);
	for (size_t i = link->name_count; i-- > 0;)
		insert_addresses(link, &link->names[i], link->names[i].place);
	link->name_count = 0;
	if (link->place_count == 0 && link->problem.text[0] == '\0')
		problem_set(&link->problem, "the name look-up has not answered");
	pq_connect_next(link);
}

static void
on_found(void *context, const struct addresses *addresses, const struct problem *why)
{
	struct pq_name *name = context;
	struct pq_link *link = name->link;
	name->is_done = true;
	name->addresses = *addresses;
	if (addresses->count == 0)
		link->problem = *why;
	for (size_t i = 0; i < link->name_count; i++) {
		if (!link->names[i].is_done)
			return;
	}
	end_looking_up(link);
}

/* Half of the time is over. What has been found must do; where nothing has, there is the other
 * half.
 */
static void
on_patience(void *context, struct instant now)
{
	struct pq_link *link = context;
	size_t known = link->place_count - link->name_count;
	(void)now;
	for (size_t i = 0; i < link->name_count; i++)
		known += link->names[i].addresses.count;
	if (known > 0)
		end_looking_up(link);
}

void
pq_places_cancel(struct pq_link *link)
{
	loop_stop_timer(link->loop, &link->patience);
	for (size_t i = 0; i < link->name_count; i++)
		resolve_cancel(&link->names[i].resolver);
}

void
pq_places_find(struct pq_link *link)
{
	struct problem why;
	if (!list_places(link, &why)) {
		pq_link_fail(link, &why);
		return;
	}
	link->name_count = 0;
	for (size_t i = 0; i < link->place_count; i++) {
		struct pq_name *name = &link->names[link->name_count];
		if (!is_name(&link->places[i]))
			continue;
		/* libpq would look it up, and wait for that. */
		if (link->name_count == PQ_MAX_NAMES) {
			problem_set(&why,
			    "too many hosts are names: at most %d can be looked up, others must "
			    "be addresses",
			    PQ_MAX_NAMES);
			pq_link_fail(link, &why);
			return;
		}
		name->link = link;
		name->place = i;
		name->is_done = false;
		name->addresses.count = 0;
		name->resolver.loop = link->loop;
		name->resolver.done = on_found;
		name->resolver.context = name;
		link->name_count++;
		if (resolve_start(&name->resolver, link->places[i].host, 0) != 0) {
			problem_set_errno(&why, "cannot look up a name", errno);
			why.is_system = true;
			pq_link_fail(link, &why);
			return;
		}
	}
	if (link->name_count == 0) {
		pq_connect_next(link);
		return;
	}
	struct instant now = clock_now();
	link->patience = (struct timer){.due = on_patience, .context = link};
	loop_set_timer(link->loop, &link->patience,
	    instant_plus(now, instant_between(now, link->deadline) / 2));
}
