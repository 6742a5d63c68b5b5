/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

#include "cli/engine.h"

#include "run/testing.h"

static struct store *
open_redis(struct engine *engine, const struct options *options, struct loop *loop,
    const struct engine_terms *terms)
{
	engine->redis = (struct redis_settings){
	    .url = &options->url,
	    .route = terms->route,
	    .secret = terms->password->sources[0],
	    .server = terms->server,
	    .keys = terms->keys,
	    .token = terms->token,
	    .record = terms->record,
	    .mode = terms->mode,
	    .max_waiters = options->max_waiters,
	    .min_fence = options->min_fence,
	    .fence_mode = options->fence_mode,
	    .wait_replicas = options->wait_replicas,
	    .watch = options->watch,
	    .prepare = terms->prepare,
	    .prepare_context = terms->prepare_context,
	};
	return redis_store_new(loop, &engine->redis);
}

static struct store *
open_quorum(struct engine *engine, struct options *options, struct loop *loop,
    const struct engine_terms *terms)
{
	for (int i = 0; i < options->url_count; i++) {
		struct redlock_member *member = &engine->members[i];
		member->url = options_url(options, i);
		member->secret = terms->password->sources[i];
		url_print(member->url, member->server, sizeof member->server);
	}
	engine->redlock = (struct redlock_settings){
	    .members = engine->members,
	    .count = options->url_count,
	    .server = terms->server,
	    .keys = terms->keys,
	    .record = terms->record,
	    .ttl_ns = terms->lease->ttl_ns,
	    .drift_ns = terms->lease->drift_ns,
	    .min_fence = options->min_fence,
	    .quarantine_ns = options->quarantine_ns,
	    .naive = testing_hook("naive-quorum"),
	    .prepare = terms->prepare,
	    .prepare_context = terms->prepare_context,
	    .secret_helper = terms->password->asked.source.helper,
	    .seed = terms->seed,
	};
	return redlock_store_new(loop, &engine->redlock);
}

static struct store *
open_postgres(struct engine *engine, const struct options *options, struct loop *loop,
    const struct engine_terms *terms)
{
	engine->postgres = (struct postgres_settings){
	    .url = &options->url,
	    .secret = terms->password->sources[0],
	    .server = terms->server,
	    .keys = terms->keys,
	    .token = terms->token,
	    .record = terms->record,
	    .identity = terms->identity,
	    .mode = options->mode,
	    .slots = options->slots,
	    .ttl_ns = terms->lease->ttl_ns,
	    .max_waiters = options->max_waiters,
	    .min_fence = options->min_fence,
	    .prepare = terms->prepare,
	    .prepare_context = terms->prepare_context,
	    .seed = terms->seed,
	};
	return postgres_store_new(loop, &engine->postgres);
}

struct store *
engine_open(struct engine *engine, struct options *options, struct loop *loop,
    const struct engine_terms *terms)
{
	engine->kind = options->url_count > 1     ? ENGINE_QUORUM
	    : options->url.scheme == URL_POSTGRES ? ENGINE_POSTGRES
						  : ENGINE_REDIS;
	switch (engine->kind) {
	case ENGINE_REDIS:
		break;
	case ENGINE_QUORUM:
		return open_quorum(engine, options, loop, terms);
	case ENGINE_POSTGRES:
		return open_postgres(engine, options, loop, terms);
	}
	return open_redis(engine, options, loop, terms);
}

void
engine_free(const struct engine *engine, struct store *store)
{
	switch (engine->kind) {
	case ENGINE_REDIS:
		redis_store_free(store);
		break;
	case ENGINE_QUORUM:
		redlock_store_free(store);
		break;
	case ENGINE_POSTGRES:
		postgres_store_free(store);
		break;
	}
}
