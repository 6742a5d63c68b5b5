# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""Which faults on which servers, and what dlock promises there.

"exclusion": the servers keep what they have confirmed, clocks are true, and of OUTER and RUNNER one at most is hit.
No two living commands of one lock, besides all that "fence" promises.

"fence": servers forget, fail over without having agreed, have wrong clocks, or whole machines are paused. Two may live
at a time for a while; that the numbers increase in the order of possession, that no write with a lower number lands,
that no command outlives its lease (where its machine was not paused), that nothing is left over: all this still
holds."""

from dataclasses import dataclass, field

from postgres import PostgresLocks
from servers import Cluster, Quorum, Sentinel, Single

PROCESSES = {
    "kill_outer": 8, "kill_runner": 4, "kill_command": 16, "term_outer": 16, "kill_waiter": 16, "term_waiter": 16,
    "stop_outer": 20, "stop_runner": 20, "stop_command": 20, "stop_waiter": 16,
}
NETWORK = {"cut_machine": 2, "cut_answers": 2, "cut_requests": 2, "reset_connections": 4, "lose_packets": 2}
CLIENTS = {"pause_clients": 1, "kill_clients": 6, "break_lock": 4}
PLAIN = {**PROCESSES, **NETWORK, **CLIENTS}
KEPT = {**PLAIN, "stop_server": 1, "crash_server": 1}


@dataclass
class Round:
    engine: object
    promises: str
    faults: dict
    ttl_ms: int = 2000
    burners: int = 0  # processes that only compute, for each processor
    watch: bool = True
    at_least: bool = True
    shared: bool = True  # shared locks and slots too
    options: list = field(default_factory=list)
    hooks: str = ""  # of the test build
    guarded: bool = True  # the store
    wrapper: str = ""  # a program in dlock's place
    planted: str = ""  # what the rack has to find: a part of the line that says so


def calm_sentinel(directory, ttl_ms):
    """Its sentinels do not take a busy machine for a dead master."""
    return Sentinel(directory, ttl_ms, down_after_ms=4000)


def quorum(count, quarantine=False):
    return lambda directory, ttl_ms: Quorum(directory, ttl_ms, count, quarantine)


NODES = {**PROCESSES, **NETWORK, **CLIENTS, "cut_server": 4, "stop_server": 4, "crash_server": 4}

FORGETFUL = {**PLAIN, "forget_server": 1, "flush_server": 3, "delete_key": 8, "expire_key": 8, "steal_key": 4}
SENTINEL_CRASH = {
    **PLAIN, "rush_failover": 0.4, "crash_master": 0.3, "stop_master": 0.3, "crash_sentinel": 1, "stop_sentinel": 1,
    "part_servers": 0.4, "pause_machine": 3,
}
CLUSTER_CRASH = {
    **PLAIN, "move_slot": 2, "take_over": 1, "crash_master": 0.6, "stop_master": 0.6, "part_servers": 0.6,
    "pause_machine": 3,
}
SESSIONS = {**PROCESSES, **NETWORK, "stop_server": 1}
NO_KEYS = {"watch": False, "at_least": False}
ALONE = {"shared": False, "watch": False}

ROUNDS = {
    "single": Round(Single, "exclusion", KEPT),
    "single-loaded": Round(Single, "exclusion", KEPT, burners=2, ttl_ms=3000),
    "single-paused": Round(Single, "fence", {**KEPT, "pause_machine": 8}),
    "single-forgets": Round(Single, "fence", FORGETFUL),
    "single-clock": Round(Single, "fence", {**KEPT, "step_clock": 6}),
    "sentinel-planned": Round(calm_sentinel, "exclusion", {**PLAIN, "plan_failover": 4}, ttl_ms=4000),
    "sentinel-crash": Round(Sentinel, "fence", SENTINEL_CRASH, ttl_ms=4000),
    "cluster-moves": Round(Cluster, "exclusion", {**PLAIN, "move_slot": 3}, ttl_ms=3000),
    "cluster-crash": Round(Cluster, "fence", CLUSTER_CRASH, ttl_ms=3000),
    "postgres": Round(PostgresLocks, "exclusion", SESSIONS, **NO_KEYS),
    "postgres-ends": Round(PostgresLocks, "fence", {**SESSIONS, "crash_server": 1, "end_session": 8, "break_lock": 4,
                           "pause_machine": 4}, **NO_KEYS),
    "redlock-3": Round(quorum(3), "exclusion", NODES, **ALONE),
    "redlock-5-forgets": Round(quorum(5, True), "exclusion", {**NODES, "forget_server": 3}, **ALONE),
    "redlock-5-clock": Round(quorum(5), "fence", {**NODES, "step_clock": 4, "delete_key": 8, "expire_key": 8,
                             "pause_machine": 4}, **ALONE),
}

# What the rack has to find, or it is not worth having.
PLANTS = {
    "no-lock": Round(Single, "exclusion", PROCESSES, wrapper="no-lock", planted="lived at the same time"),
    "runs-on": Round(Single, "exclusion", KEPT, options=["--on-lost", "signal"], planted="outlived its lease"),
    "unkillable": Round(Single, "exclusion", KEPT, hooks="unkillable", planted="outlived its lease"),
    "naive-quorum": Round(quorum(3), "exclusion", NODES, hooks="naive-quorum", planted="came after", **ALONE),
    "liar": Round(Single, "exclusion", {**KEPT, "forget_server": 2}, planted="lived at the same time"),
    "unguarded": Round(Single, "fence", {**KEPT, "pause_machine": 30}, guarded=False, planted="landed after"),
}
