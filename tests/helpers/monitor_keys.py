#!/usr/bin/python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""monitor_keys.py PREFIX <MONITOR: every command of a script in there touches a key that the script was
given and nothing else, and what it was given are locks' keys and siblings. Prints how many scripts and
commands that were, and each command once; status 1 at the first that is not so."""

import re
import sys

WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
KEYLESS = {"time", "pubsub", "scan"}
SIBLING = re.compile(r"(?:fence|info|queue|members)")

prefix = sys.argv[1]
declared, scripts, commands, seen = set(), 0, 0, set()


def fail(sentence):
    sys.exit(f"{sentence}: {line.strip()[-300:]}")


def is_sibling(key, lock):
    name, brace, tag = key[len(lock) + 1 :].partition("{")
    return key.startswith(lock + "#") and SIBLING.fullmatch(name) and (tag == lock + "}" or not brace)


for line in sys.stdin:
    words = WORD.findall(line)
    if not words:
        continue
    command = words[0].lower()
    if " lua] " not in line.partition('"')[0]:
        if command == "eval" and f'"{prefix}' in line:
            count = int(words[2])
            declared = words[3 : 3 + count]
            scripts += 1
            if not all(key.startswith(prefix) for key in declared):
                fail("a key without the prefix")
            # One lock's, or several locks' to look at.
            locks = [key for key in declared if "#" not in key]
            for key in declared:
                if key not in locks and not any(is_sibling(key, lock) for lock in locks):
                    fail("a key that is no sibling of another")
        elif command in ("eval", "evalsha"):
            declared = None  # not dlock's
        continue
    if declared is None or command in KEYLESS:
        continue
    commands += 1
    seen.add(command)
    if command in ("publish", "spublish"):
        if not any(words[1].startswith(key + ":") for key in declared):
            fail("a channel of no key of the script")
    elif words[1] not in declared:
        fail("a key that the script was not given")

print(f"{scripts} scripts, {commands} commands: {' '.join(sorted(seen))}")
