# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What the logs of a round say about dlock's promises. Pure: from lists to a list of violations, so that it
is tested with logs that were made up (checker_test.py).

All instants are nanoseconds of CLOCK_BOOTTIME. An interval of a witness is what was surely lived: from its first
stamp to its last one. So an overlap that is found is one, and one shorter than a few milliseconds may be missed."""

import bisect
from collections import defaultdict
from dataclasses import dataclass, field

SHARED, SLOTS = 1, 2
MODES = ("exclusive", "shared", "slots")
# OUTER and RUNNER: what they inherit, pages, timers, pipes, sockets. Ten would do; a leak has hundreds.
MOST_DESCRIPTORS = 40
MS = 1_000_000


@dataclass
class Record:
    """One process that was run under a lock, as it noted itself."""

    run: int
    machine: int
    lock: int
    mode: int
    begin: int
    last: int
    end: int  # 0: it was killed
    fence: int
    pid: int = 0
    slot: int = -1
    is_descendant: bool = False
    fds: int = 3
    accepted: int = 0
    refused: int = 0


@dataclass
class Run:
    """One dlock, as who started it noted it."""

    run: int
    machine: int
    lock: int
    mode: int
    ttl: int
    start: int
    end: int
    status: int  # negative: died of that signal; None: has not ended
    confirmed: list = field(default_factory=list)  # t0 of each confirmed request, as dlock -vv says


@dataclass
class Fault:
    at: int
    kind: str
    run: int = -1  # of which run, where it is one
    machine: int = -1
    until: int = 0


@dataclass
class Logs:
    records: list
    runs: dict  # number -> Run
    faults: list
    accepted: list  # (lock, fence, run), as they landed
    slots: dict  # lock -> how many
    promises_exclusion: bool = True
    unkept_keys: list = field(default_factory=list)  # found by the driver: text
    survivors: list = field(default_factory=list)
    descriptors: list = field(default_factory=list)  # (what, count)


def ms(ns):
    return f"{ns / MS:.1f} ms"


def name_of(record):
    who = "a descendant in " if record.is_descendant else ""
    return f"{who}run {record.run} (machine {record.machine}, {MODES[record.mode]}, fence {record.fence})"


def conflict(one, other):
    """May these two not live at the same time?"""
    if one.run == other.run:
        return False
    if one.mode == SLOTS and other.mode == SLOTS:
        return one.slot == other.slot
    return not (one.mode == SHARED and other.mode == SHARED)


def by_lock(items):
    found = defaultdict(list)
    for item in items:
        found[item.lock].append(item)
    return found


def overlaps(logs):
    """(lock, one, other, for how long), each pair once, and too many holders of slots."""
    found = []
    for lock, records in by_lock(logs.records).items():
        living = []
        for record in sorted(records, key=lambda r: r.begin):
            living = [other for other in living if other.last > record.begin]
            for other in living:
                if conflict(record, other):
                    found.append((lock, other, record, min(other.last, record.last) - record.begin))
            living.append(record)
            holders = {r.run for r in living if r.mode == SLOTS}
            if len(holders) > logs.slots.get(lock, len(holders)):
                found.append((lock, living[0], record, record.last - record.begin))
    return found


def check_overlap(logs):
    if not logs.promises_exclusion:
        return []
    return [
        f"lock {lock}: {name_of(one)} and {name_of(other)} lived at the same time, "
        f"for {ms(length)} from {other.begin}"
        for lock, one, other, length in overlaps(logs)
    ]


def was_asleep(logs, machine, at, last):
    """Was that machine paused at the instant `at`, when something was due, and perhaps again, without a break, until
    `last`?"""
    pauses = sorted((f.at, f.until) for f in logs.faults if f.kind == "pause_machine" and f.machine == machine)
    end = None
    for begin, until in pauses:
        if begin <= at <= until or (end is not None and begin <= end):
            end = max(until, end or 0)
    return end is not None and last <= end


def check_leases(logs):
    """No command outlives its lease: also where nobody else wants the lock, and whatever the server does."""
    runner_faults = defaultdict(int)
    for fault in logs.faults:
        if fault.kind in ("stop_runner", "kill_runner"):
            runner_faults[fault.run] = max(runner_faults[fault.run], fault.at)
    found = []
    for record in logs.records:
        run = logs.runs.get(record.run)
        if run is None or not run.confirmed:
            continue
        # A RUNNER that was hit may have confirmed a renewal and not have come to say so.
        expiry = max(max(run.confirmed), runner_faults[record.run]) + run.ttl
        if record.last > expiry and not was_asleep(logs, record.machine, expiry, record.last):
            found.append(f"lock {record.lock}: {name_of(record)} outlived its lease by {ms(record.last - expiry)}")
    return found


def check_fences(logs):
    """Who acquired later has the higher number. An acquisition is between the send of the request that was
    confirmed and the first stamp; two that may have been at the same time are in no order. All differ."""
    found = []
    commands = [record for record in logs.records if not record.is_descendant]
    for lock, records in by_lock(commands).items():
        owner = {}
        for record in records:
            other = owner.setdefault(record.fence, record)
            if other is not record:
                found.append(f"lock {lock}: {name_of(other)} and {name_of(record)} have the same number")
        earlier = sorted(records, key=lambda r: r.begin)
        begins = [record.begin for record in earlier]
        highest, best = [], None
        for record in earlier:
            best = record if best is None or record.fence > best.fence else best
            highest.append(best)
        for record in records:
            run = logs.runs.get(record.run)
            if run is None or not run.confirmed:
                continue
            before = bisect.bisect_left(begins, min(run.confirmed))
            if before and highest[before - 1].fence > record.fence:
                found.append(f"lock {lock}: {name_of(record)} came after {name_of(highest[before - 1])}")
    return found


def check_store(logs):
    """No number falls in the order in which writes have landed; and while exclusion is promised, nobody who
    lived was refused."""
    found, last = [], {}
    for lock, fence, run in logs.accepted:
        higher, other = last.get(lock, (0, 0))
        if fence < higher:
            found.append(
                f"lock {lock}: a write of run {run} with {fence} landed after one of run {other} with {higher}"
            )
        last[lock] = (fence, run)
    if logs.promises_exclusion:
        found += [
            f"lock {record.lock}: {name_of(record)} lived and was refused: a higher number had been there"
            for record in logs.records
            if record.refused
        ]
    return found


# What a run may end with when nothing has hit it: its command's status, conflict, unreachable, lost.
PLAIN = (0, 69, 75, 79)
SIGNALS = {"kill_outer": -9, "kill_runner": -9, "kill_command": -9, "term_outer": -15}


def check_statuses(logs):
    found = []
    commands = defaultdict(list)
    for record in logs.records:
        if not record.is_descendant:
            commands[record.run].append(record)
    hit = defaultdict(set)
    for fault in logs.faults:
        hit[fault.run].add(SIGNALS.get(fault.kind))
    for run in logs.runs.values():
        ran = commands[run.run]
        what = f"run {run.run} (machine {run.machine}, lock {run.lock})"
        if run.status is None:
            found.append(f"{what} has not ended")
        elif run.status not in PLAIN and run.status not in hit[run.run]:
            found.append(f"{what} ended with {run.status}, which nothing explains")
        if len(ran) > 1:
            found.append(f"{what} ran its command {len(ran)} times")
        if run.status in (69, 75) and ran:
            found.append(f"{what} ended with {run.status}, and its command ran")
        if run.status == 0 and not (ran and ran[0].end):
            found.append(f"{what} ended with 0, and its command did not come to its end")
    return found


def check_rest(logs):
    found = [f"{name_of(record)} was given {record.fds} descriptors" for record in logs.records if record.fds != 3]
    found += [f"{what} has {count} descriptors" for what, count in logs.descriptors if count > MOST_DESCRIPTORS]
    found += [f"survived: {text}" for text in logs.survivors]
    found += [f"key: {text}" for text in logs.unkept_keys]
    return found


def check_sight(logs):
    """Of each command it is known until when its dlock has the lock: else leases and numbers have been compared with
    nothing, and all seems well."""
    found = []
    for record in logs.records:
        run = logs.runs.get(record.run)
        if run is None:
            found.append(f"lock {record.lock}: {name_of(record)} is of no run that was noted")
        elif not run.confirmed:
            found.append(f"lock {record.lock}: {name_of(record)} lived, and no request of its dlock was confirmed")
    return found


CHECKS = (check_overlap, check_leases, check_fences, check_store, check_statuses, check_sight, check_rest)


def check(logs):
    """All violations, a line each."""
    return [line for one in CHECKS for line in one(logs)]


def figures(logs):
    """What the report says of a round: name -> number."""
    commands = [record for record in logs.records if not record.is_descendant]
    statuses = defaultdict(int)
    for run in logs.runs.values():
        statuses[run.status] += 1
    return {
        "runs": len(logs.runs),
        "commands": len(commands),
        "renewals": sum(max(len(run.confirmed) - 1, 0) for run in logs.runs.values()),
        "lost": statuses[79],
        "conflicts": statuses[75],
        "unreachable": statuses[69],
        "overlaps": len(overlaps(logs)),
        "writes": len(logs.accepted),
        "refused": sum(record.refused for record in logs.records),
    }
