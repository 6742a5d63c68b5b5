# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""The logs of a round, as they lie in its directory, for checker.py.

records      of tests/tools/torture_witness.c
runs.M       of machine M: tab-separated, the fields of checker.Run
log/RUN      what that dlock -vv said
faults       tab-separated: at, kind, run, machine, until
accepted     lock, fence, run, in the order in which the store took them
round.json   what the round promises, and how many slots which lock has
keys, survivors, descriptors   a line for each thing that was found"""

import json
import os
import re
import struct

from checker import Fault, Logs, Record, Run

HEADER = struct.Struct("=Q120x")
RECORD = struct.Struct("=4q11i52x")
CONFIRMED = re.compile(r"confirmed t0=(\d+)\.(\d{9}) ")


def create(path, room):
    """An empty file of records. Nothing of it is on the disk before it is written to."""
    with open(path, "wb") as file:
        file.truncate(HEADER.size + room * RECORD.size)


def read_records(path):
    with open(path, "rb") as file:
        (count,) = HEADER.unpack(file.read(HEADER.size))
        data = file.read(count * RECORD.size)
    records = []
    for values in RECORD.iter_unpack(data[: len(data) // RECORD.size * RECORD.size]):
        begin, last, end, fence, pid, run, machine, lock, mode, slot, left, fds, accepted, refused, _ = values
        # Killed before its first stamp: it has claimed its place and nothing more.
        if begin:
            lived = (run, machine, lock, mode, begin, last, end, fence, pid, slot)
            records.append(Record(*lived, bool(left), fds, accepted, refused))
    return records


def lines(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.endswith("\n")]


def read_runs(directory):
    runs = {}
    for name in os.listdir(directory):
        if not name.startswith("runs."):
            continue
        for words in lines(os.path.join(directory, name)):
            *numbers, status = words
            run = Run(*map(int, numbers), None if status == "-" else int(status))
            runs[run.run] = run
    for run in runs.values():
        path = os.path.join(directory, "log", str(run.run))
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                run.confirmed = [int(a) * 10**9 + int(b) for a, b in CONFIRMED.findall(file.read())]
    return runs


def read(directory):
    def path(name):
        return os.path.join(directory, name)

    with open(path("round.json"), encoding="utf-8") as file:
        about = json.load(file)
    return Logs(
        records=read_records(path("records")),
        runs=read_runs(directory),
        faults=[Fault(int(at), kind, *map(int, more)) for at, kind, *more in lines(path("faults"))],
        accepted=[tuple(map(int, words)) for words in lines(path("accepted"))],
        slots={int(lock): count for lock, count in about["slots"].items()},
        promises_exclusion=about["promises"] == "exclusion",
        unkept_keys=["\t".join(words) for words in lines(path("keys"))],
        survivors=["\t".join(words) for words in lines(path("survivors"))],
        descriptors=[(what, int(count)) for what, count in lines(path("descriptors"))],
    )
