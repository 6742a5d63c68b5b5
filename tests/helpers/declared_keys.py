#!/usr/bin/env python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""declared_keys.py FILE LOCK: FILE is what MONITOR said. Each script's KEYS are LOCK and siblings of
it and nothing else, each key that a script touched is one of them, each channel that it spoke to is
one of the queue's. Prints how many scripts there were; 1 and what was wrong otherwise."""

import re
import sys

path, lock = sys.argv[1:]
allowed = [lock] + [f"{lock}#{name}{{{lock}}}" for name in ("fence", "info", "queue", "members")]
channels = f"{lock}#queue{{{lock}}}:"
KEYLESS = {"time", "ping", "info"}
word = re.compile(rb'"((?:[^"\\]|\\.)*)"')
line_form = re.compile(rb"^[0-9.]+ \[[0-9]+ ([^\]]*)\] (.*)$")

scripts = touched = 0
declared = None
problems = []
for line in open(path, "rb"):
    parts = line_form.match(line.rstrip(b"\n"))
    if not parts:
        continue
    words = [w.decode("latin-1") for w in word.findall(parts[2])]
    command = words[0].lower()
    if parts[1] != b"lua":
        declared = None
        if command in ("eval", "evalsha"):
            scripts += 1
            count = int(words[2])
            declared = words[3 : 3 + count]
            if not declared or declared[0] != lock or not set(declared) <= set(allowed):
                problems.append(f"KEYS are {declared}")
        continue
    if declared is None:
        problems.append(f"a script that was not seen: {words}")
    elif command in ("publish", "spublish"):
        if not words[1].startswith(channels):
            problems.append(f"channel {words[1]}")
    elif command == "pubsub":
        if any(not name.startswith(channels) for name in words[2:]):
            problems.append(f"{words}")
    elif command in ("del", "exists", "unlink"):
        touched += 1
        if not set(words[1:]) <= set(declared):
            problems.append(f"{words}, declared {declared}")
    elif command not in KEYLESS:
        touched += 1
        if words[1] not in declared:
            problems.append(f"{words}, declared {declared}")
print(f"{scripts} scripts, {touched} keys touched")
for problem in problems[:10]:
    print(problem)
sys.exit(1 if problems or not scripts or not touched else 0)
