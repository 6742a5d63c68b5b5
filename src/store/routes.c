/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "store/routes.h"

#include "store/cluster.h"
#include "store/sentinel.h"

int
route_open(struct route **route, struct loop *loop, const struct route_settings *settings)
{
	const struct sentinel_settings sentinel = {
	    .url = settings->url,
	    .secret = settings->sentinel_secret,
	    .limit_ns = settings->limit_ns,
	    .listens = settings->listens,
	};
	*route = NULL;
	switch (settings->url->scheme) {
	case URL_REDIS:
	case URL_UNIX:
	case URL_POSTGRES:
		return 0;
	case URL_CLUSTER:
		*route = cluster_route_new(loop, settings->url, settings->key);
		break;
	case URL_SENTINEL:
		*route = sentinel_route_new(loop, &sentinel);
		break;
	}
	return *route != NULL ? 0 : -1;
}

void
route_free(struct route *route)
{
	if (route != NULL)
		route->operations->free(route);
}
