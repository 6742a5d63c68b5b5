# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""One round: the servers, the agents, one fault after the other; then all is made well again, and what is left is
looked at before checker.py has its say."""

import heapq
import itertools
import json
import os
import random
import signal
import subprocess
import time

import checker
import records
from machines import Tree, call, children, is_living, now_ns, read_proc, spawn
from server_faults import KINDS

LOCKS = 30
CONTENDERS = 16  # on each machine
SLOTS = 3
OURS = (b"dlock\n", b"dlock-run\n", b"torture_witness\n")


class Rack:
    def __init__(self, plan, directory, seed, machines, store, args, tools):
        self.plan, self.dir, self.random = plan, directory, random.Random(seed)
        self.machines, self.store, self.args, self.tools = machines, store, args, tools
        self.locks_count = LOCKS
        self.ttl = plan.ttl_ms / 1000
        self.faults, self.counts, self.tries = [], {}, {}
        self.hit, self.paused, self.parted = set(), set(), False
        self.undo, self.order = [], itertools.count()
        self.keys, self.looks, self.descriptors = [], 0, {}
        self.survivors, self.violations, self.figures = [], [], {}
        self.burners, self.breaks, self.broken = [], [], 0
        kinds = ["exclusive"] * (LOCKS - 8) + ["shared"] * 4 + ["slots"] * 4
        self.locks = kinds if plan.shared else ["exclusive"] * LOCKS
        os.makedirs(directory + "/log")
        os.chmod(directory, 0o755)
        self.engine = plan.engine(directory, plan.ttl_ms)

    # what faults.py asks for

    def note(self, kind, run=-1, machine=-1, until=0):
        fault = checker.Fault(now_ns(), kind, run, machine, until)
        self.faults.append(fault)
        return fault

    def later(self, seconds, what):
        heapq.heappush(self.undo, (time.monotonic() + seconds, next(self.order), what))

    def some_key(self):
        return f"lock:job{self.random.randrange(LOCKS)}"

    def part(self, one, other, on):
        for source, target in ((one, other), (other, one)):
            call("iptables", "-w", "-A" if on else "-D", "INPUT", "-s", source, "-d", target, "-j", "DROP")

    def start_break(self, name):
        words = [self.dlock(), "--break", *self.engine.options, name]
        self.breaks.append(spawn(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        self.broken += sum(one.poll() == 0 for one in self.breaks)
        self.breaks = [one for one in self.breaks if one.poll() is None]

    # the round

    def dlock(self):
        """The one under test, or what the plan has in its place."""
        build = os.path.dirname(self.tools)
        if self.plan.hooks:
            return os.path.join(build, "test", "dlock")
        if self.plan.wrapper:
            return os.path.join(os.path.dirname(os.path.abspath(__file__)), self.plan.wrapper)
        return os.path.abspath(os.environ.get("DLOCK") or os.path.join(build, "..", "dlock"))

    def agent_plan(self, machine):
        plan = self.plan
        return {
            "seed": self.random.randrange(2**32), "machine": machine.number, "first_run": machine.number * 1_000_000,
            "dir": self.dir, "dlock": self.dlock(), "witness": self.tools + "/torture_witness",
            "store": self.store.dir, "ttl_ms": plan.ttl_ms, "locks": self.locks,
            "slots": SLOTS,
            "options": self.engine.options + plan.options, "watch": plan.watch, "at_least": plan.at_least,
            "contenders": CONTENDERS, "patience_s": 60,
        }

    def start(self):
        records.create(self.dir + "/records", 200_000)
        self.store.begin(self.plan.guarded)
        slots = {lock: SLOTS for lock, kind in enumerate(self.locks) if kind == "slots"}
        about = {"promises": self.plan.promises, "slots": slots}
        with open(self.dir + "/round.json", "w", encoding="utf-8") as file:
            json.dump(about, file)
        os.environ.update(DLOCK_CONFIG="/dev/null", DLOCK_TEST_HOOKS=self.plan.hooks)
        for machine in self.machines:
            path = f"{self.dir}/plan.{machine.number}"
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.agent_plan(machine), file)
            machine.start([os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.py"), path])
        for _ in range(self.plan.burners * (os.cpu_count() or 2)):
            self.burners.append(spawn(["sh", "-c", "while :; do :; done"]))

    def torment(self, seconds):
        kinds, weights = list(self.plan.faults), list(self.plan.faults.values())
        now = time.monotonic()
        end, turn, look = now + seconds, now, now
        while now < end:
            while self.undo and self.undo[0][0] <= now:
                heapq.heappop(self.undo)[2]()
            if now >= turn:
                kind = self.random.choices(kinds, weights)[0]
                self.tries[kind] = self.tries.get(kind, 0) + 1
                if KINDS[kind](self):
                    self.counts[kind] = self.counts.get(kind, 0) + 1
                    turn = max(turn + 1 / self.args.rate, now - 1)
                else:
                    turn = now + 0.002
            if now >= look:
                self.look()
                look = now + 1
            after = time.monotonic()
            time.sleep(max(0, min(turn, self.undo[0][0] if self.undo else turn) - after))
            now = time.monotonic()

    def look(self):
        """At what must hold at every instant."""
        for machine in self.machines:
            for tree in map(Tree, children(machine.agent.pid)[:4]):
                for who in ("outer", "runner"):
                    pid = getattr(tree, who)
                    try:
                        count = len(os.listdir(f"/proc/{pid}/fd")) if pid else 0
                    except OSError:
                        continue
                    self.descriptors[who] = max(self.descriptors.get(who, 0), count)
        found, answers = self.engine.everlasting(0.2)
        self.keys += found
        self.looks += answers

    def make_well(self):
        for burner in self.burners + self.breaks:
            burner.kill()
            burner.wait()
        while self.undo:
            heapq.heappop(self.undo)[2]()
        call("iptables", "-w", "-F")
        for machine in self.machines:
            machine.freezer.set(False)
            machine.heal()
        self.engine.heal()
        with open(self.dir + "/stop", "w", encoding="ascii"):
            pass
        for machine in self.machines:
            machine.agent.wait()
        end = time.monotonic() + 60
        for turn in itertools.count(1):
            whole = self.engine.is_whole()
            if whole or time.monotonic() > end:
                break
            self.engine.heal()
            if turn % 20 == 0:
                self.engine.mend()
            time.sleep(0.3)
        self.engine.mend()
        if not whole:
            self.keys.append("all of them: the servers have not come back within 60 s")
        # Of a lock that was free there was nothing to break.
        if "break_lock" in self.counts:
            self.counts["break_lock"] = self.broken

    def look_after(self):
        """What is left when nobody wants anything any more, and whether the locks can be had."""
        for name in os.listdir("/proc"):
            if name.isdigit() and read_proc(name, "comm") in OURS and is_living(name):
                words = read_proc(name, "cmdline").replace(b"\0", b" ").decode(errors="replace")
                self.survivors.append(f"{name} {words}")
                os.kill(int(name), signal.SIGKILL)  # the next round has its own
        lives = [
            spawn([self.dlock(), "--ttl", "2s", "-w", "20s", *self.engine.options, f"job{lock}", "true"],
                  stderr=open(f"{self.dir}/last.{lock}", "w", encoding="utf-8"))
            for lock in range(LOCKS)
        ] if not self.plan.wrapper else []
        for lock, life in enumerate(lives):
            if life.wait() != 0:
                self.keys.append(f"lock:job{lock} cannot be had when all is well again: status {life.returncode}")
        self.keys += self.engine.leftovers() + self.engine.everlasting(3)[0]

    def write_down(self):
        def put(name, rows):
            with open(f"{self.dir}/{name}", "w", encoding="utf-8") as file:
                file.writelines("\t".join(map(str, row)) + "\n" for row in rows)

        put("faults", [(f.at, f.kind, f.run, f.machine, f.until) for f in self.faults])
        put("keys", [(key,) for key in self.keys])
        put("survivors", [(text,) for text in self.survivors])
        put("descriptors", self.descriptors.items())
        with open(self.dir + "/accepted", "w", encoding="ascii") as file:
            file.write(self.store.accepted())


MANY_TRIES = 50


def find_blindness(rack):
    """What a round must have seen, or it proves nothing."""
    found = []
    if rack.figures["commands"] < 20:
        found.append(f"{rack.figures['commands']} commands ran: a round in which nothing goes on proves nothing")
    if rack.figures["writes"] * 2 < rack.figures["commands"]:
        writes = rack.figures["writes"]
        found.append(f"{writes} writes landed: a store to which hardly anything is written proves nothing")
    if rack.looks == 0:
        found.append("nobody was ever asked for keys that do not expire")
    for kind, tries in rack.tries.items():
        if tries >= MANY_TRIES and not rack.counts.get(kind):
            found.append(f"{kind} was tried {tries} times, and never had an effect")
    return found


def run_round(rack):
    rack.start()
    try:
        rack.torment(rack.args.seconds)
        rack.make_well()
        rack.look_after()
    finally:
        rack.write_down()
        rack.engine.end()
    logs = records.read(rack.dir)
    rack.violations = checker.check(logs)
    rack.figures = checker.figures(logs)
    rack.violations += find_blindness(rack)
