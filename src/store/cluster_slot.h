/* Copyright (c) 2026 the dlock authors
 * SPDX-License-Identifier: MIT */

/* Which of a Redis Cluster's slots a key is in (redis.io, cluster specification, "Key distribution
 * model" and "Hash tags"). Pure. */
#ifndef DLOCK_STORE_CLUSTER_SLOT_H
#define DLOCK_STORE_CLUSTER_SLOT_H

#define CLUSTER_SLOTS 16384

/* 0 to CLUSTER_SLOTS - 1. What stands between the first { and the first } after it decides, unless
 * that is empty; else the whole key. */
int
cluster_slot(const char *key);

#endif
