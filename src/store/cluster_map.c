/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/cluster_map.h"

#include <string.h>
#include <strings.h>

#include "store/cluster_redirect.h"

void
cluster_map_init(struct cluster_map *map, const struct url_place *seeds, size_t seed_count)
{
	map->seeds = seeds;
	map->seed_count = seed_count;
	map->known_count = 0;
	map->turn = 0;
	cluster_map_forget_owner(map);
}

void
cluster_map_forget_owner(struct cluster_map *map)
{
	map->owner.port = 0;
	map->guest.port = 0;
	map->is_doubted = false;
}

bool
cluster_map_same(const struct url_place *one, const struct url_place *other)
{
	return one->port == other->port && strcasecmp(one->host, other->host) == 0;
}

/* The others in their order; the owner, which may have come back, is among them or comes at the
 * end. */
static const struct url_place *
nth(const struct cluster_map *map, size_t n)
{
	if (n < map->known_count)
		return &map->known[n];
	n -= map->known_count;
	if (n < map->seed_count)
		return &map->seeds[n];
	return &map->owner;
}

static size_t
count(const struct cluster_map *map)
{
	return map->known_count + map->seed_count + (map->owner.port != 0);
}

void
cluster_map_next(struct cluster_map *map, struct url_place *place)
{
	if (map->guest.port != 0) {
		*place = map->guest;
		map->guest.port = 0;
		return;
	}
	if (map->owner.port != 0 && !map->is_doubted) {
		*place = map->owner;
		return;
	}
	/* One after the other: who names an owner that cannot be reached may know less than the
	 * next. */
	for (size_t i = 0; i < count(map); i++) {
		size_t turn = map->turn++ % count(map);
		*place = *nth(map, turn);
		/* A seed that is the doubted owner waits for the owner's own turn. */
		if (map->owner.port == 0 || turn >= map->known_count + map->seed_count ||
		    !cluster_map_same(place, &map->owner))
			return;
	}
}

void
cluster_map_fail(struct cluster_map *map, const struct url_place *place)
{
	if (map->owner.port != 0 && cluster_map_same(place, &map->owner))
		map->is_doubted = true;
}

void
cluster_map_move(struct cluster_map *map, const struct url_place *owner)
{
	map->owner = *owner;
	map->is_doubted = false;
	map->guest.port = 0;
}

void
cluster_map_invite(struct cluster_map *map, const struct url_place *guest)
{
	map->guest = *guest;
}

bool
cluster_map_read(const char **at, const char *end, const struct url_place *asked,
    struct url_place *place, bool *is_master)
{
	const char *line = *at;
	const char *newline = memchr(line, '\n', (size_t)(end - line));
	size_t length = (size_t)((newline != NULL ? newline : end) - line);
	*at = newline != NULL ? newline + 1 : end;
	if (length <= 2 || (line[0] != 'm' && line[0] != 'r') || line[1] != ' ' ||
	    !cluster_place_read(line + 2, length - 2, place))
		return false;
	*is_master = line[0] == 'm';
	if (place->host[0] == '\0')
		memcpy(place->host, asked->host, sizeof place->host);
	return true;
}

void
cluster_map_learn(struct cluster_map *map, const char *lines, size_t length,
    const struct url_place *asked)
{
	const char *end = lines + length;
	struct url_place place;
	size_t known_count = 0;
	bool is_master;
	while (lines < end && known_count < CLUSTER_MAX_KNOWN) {
		if (cluster_map_read(&lines, end, asked, &place, &is_master) &&
		    !cluster_map_same(&place, &map->owner))
			map->known[known_count++] = place;
	}
	/* Who knows nobody is no help. */
	if (known_count == 0)
		return;
	map->known_count = known_count;
	map->turn = 0;
}
