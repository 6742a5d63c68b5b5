#!/usr/bin/env python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# late_confirm.py SOCKET SCRIPTS: a waiter has been made holder, for a claim of 3 s. Its confirmation comes
# after the time that it names, and then in time: prints what each is told, and the key's ms behind it.

import sys

from state import KEYS, LOCK
from wire import Connection, read_scripts

LOCK_INFO = KEYS[2]
asking = Connection(sys.argv[1])
script = read_scripts(sys.argv[2])["confirm"]
asking.ask("SET", LOCK, "token", "PX", 3000)
asking.ask("HSET", LOCK_INFO, "token", "host=x\nmode=exclusive\nsince=1\nseen=1\npush=1\n")
seconds, us = asking.ask("TIME")
now = int(seconds) * 1000000 + int(us)
for not_after in now - 1, now + 10000000:
    answer = asking.ask("EVAL", script, 4, *KEYS[:4], "token", 30000, 1, "clock", not_after, "host=x\n")
    print(answer[0], "prolonged" if int(asking.ask("PTTL", LOCK)) > 3000 else "as it was")
