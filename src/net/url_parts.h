/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* What the files behind net/url.h share: url.c takes a URL apart, url_places.c the hosts in it,
 * url_query.c what follows its ?, url_postgres.c what is libpq's. */
#ifndef DLOCK_NET_URL_PARTS_H
#define DLOCK_NET_URL_PARTS_H

#include "net/url.h"

#define URL_EXAMPLE "redis://localhost:6379"
#define URL_SENTINEL_EXAMPLE "redis+sentinel://host1,host2,host3/service"

/* A run of the text that is being taken apart. */
struct span {
	const char *start;
	size_t length;
};

/* -- url.c ------------------------------------------------------------------------------------ */

/* Undoes percent-encoding. `what` it is, for the sentence. */
bool
url_decode(char *out, size_t size, struct span from, const char *what, struct problem *problem);

bool
url_parse_number(struct span digits, int least, int most, const char *what, int *number,
    struct problem *problem);

/* -- url_places.c ----------------------------------------------------------------------------- */

/* host[:port] or [address][:port] */
bool
url_parse_place(struct span text, int default_port, struct url_place *place,
    struct problem *problem);

/* Several of them, with commas between. */
bool
url_parse_places(struct url *url, struct span text, int default_port, struct problem *problem);

/* -- url_postgres.c --------------------------------------------------------------------------- */

bool
url_parse_postgres(struct url *url, const char *rest, enum url_unknown_keys unknown,
    struct problem *problem);

/* As url_print. */
void
url_print_postgres(const struct url *url, char *out, size_t size);

/* -- url_query.c ------------------------------------------------------------------------------ */

bool
url_parse_query(struct url *url, const char *query, enum url_unknown_keys unknown,
    struct problem *problem);

#endif
