#!/usr/bin/python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""agent PLAN: what runs on one machine of the rack: so many dlocks at a time, one after the other, until the file
`stop` is there; then it waits for the last ones. PLAN is a file of JSON (torture writes it). Each run is a line in runs.M
(records.py)."""

import json
import os
import random
import signal
import sys
import time

MODES = ("exclusive", "shared", "slots")


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Agent:
    def __init__(self, plan):
        self.plan = plan
        self.random = random.Random(plan["seed"])
        self.next_run = plan["first_run"]
        self.living = {}  # pid -> what the line begins with, and which lock
        self.log = open(f"{plan['dir']}/runs.{plan['machine']}", "a", encoding="ascii", buffering=1)
        self.rest_until = 0

    def words(self, run, lock):
        """The command line of one run, and its mode."""
        plan, chance = self.plan, self.random
        kind = plan["locks"][lock]
        mode = 0 if kind == "exclusive" else 2 if kind == "slots" else int(chance.random() < 0.7)
        words = [plan["dlock"], "-vv", "--ttl", f"{plan['ttl_ms']}ms", "-k", "100ms"]
        words += plan["options"]
        words += ["-n"] if chance.random() < 0.15 else ["-w", f"{chance.uniform(0.3, 8):.2f}"]
        if kind == "slots":
            words += ["--slots", str(plan["slots"])]
        elif mode == 1:
            words += ["-s"]
        if plan["watch"] and chance.random() < 0.2:
            words += ["--watch"]
        hold = chance.choices((5, 30, 100, 300, 700, 1500, 4000, 9000), (8, 8, 8, 16, 8, 8, 6, 2))[0]
        if plan["at_least"] and chance.random() < 0.05:
            words += ["--at-least", "400ms"]
        flags = ("t" if chance.random() < 0.5 else "") + ("d" if chance.random() < 0.3 else "") or "-"
        words += ["--descendants", "kill"] if "d" in flags else []
        words += [f"job{lock}", plan["witness"], plan["dir"] + "/records", plan["store"]]
        return [*words, str(run), str(plan["machine"]), str(lock), str(mode), str(hold), flags], mode

    def start(self):
        run, self.next_run = self.next_run, self.next_run + 1
        lock = self.random.randrange(len(self.plan["locks"]))
        words, mode = self.words(run, lock)
        begin = now_ns()
        null = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
        out = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
        log = (os.POSIX_SPAWN_OPEN, 2, f"{self.plan['dir']}/log/{run}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        pid = os.posix_spawn(words[0], words, os.environ, file_actions=[null, out, log], setpgroup=0, setsigmask=[])
        self.living[pid] = f"{run}\t{self.plan['machine']}\t{lock}\t{mode}\t{self.plan['ttl_ms'] * 10**6}\t{begin}"

    def reap(self):
        while self.living:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid in self.living:
                code = os.waitstatus_to_exitcode(status)
                self.log.write(f"{self.living.pop(pid)}\t{now_ns()}\t{code}\n")
                # As people do who find no server: else hundreds of attempts a second would be all that goes on.
                if code == 69:
                    self.rest_until = time.monotonic() + self.random.uniform(0.05, 0.25)

    def run(self):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        stop = self.plan["dir"] + "/stop"
        deadline = None
        while True:
            stopping = os.path.exists(stop)
            if stopping:
                deadline = deadline or time.monotonic() + self.plan["patience_s"]
                if not self.living or time.monotonic() > deadline:
                    break
            elif len(self.living) < self.plan["contenders"] and time.monotonic() >= self.rest_until:
                self.start()
            full = stopping or len(self.living) >= self.plan["contenders"]
            signal.sigtimedwait({signal.SIGCHLD}, 0.05 if full else self.random.uniform(0, 0.02))
            self.reap()
        for line in self.living.values():
            self.log.write(f"{line}\t{now_ns()}\t-\n")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        Agent(json.load(file)).run()


if __name__ == "__main__":
    main()
