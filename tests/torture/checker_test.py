#!/usr/bin/python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""checker.py on logs that were made up: what is as it should be gives nothing, each violation is seen, and named."""

import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import records
from checker import MS, Fault, Logs, Record, Run, check, figures

TTL = 2000 * MS
FIRST, SECOND = 1, 2


def command(run, begin, last, fence, **more):
    """In milliseconds; it ends by itself."""
    about = {"machine": 1, "lock": 5, "mode": 0, "end": last * MS, **more}
    return Record(run=run, begin=begin * MS, last=last * MS, fence=fence, **about)


def dlock(run, start, end, status=0, confirmed=None, mode=0):
    confirmed = [start + 1] if confirmed is None else confirmed
    return Run(run, 1, 5, mode, TTL, start * MS, end * MS, status, [t0 * MS for t0 in confirmed])


def two(**more):
    """One run after the other, as it should be."""
    logs = Logs(
        records=[command(FIRST, 10, 500, 7), command(SECOND, 520, 900, 8)],
        runs={FIRST: dlock(FIRST, 0, 510), SECOND: dlock(SECOND, 505, 910)},
        faults=[],
        accepted=[(5, 7, FIRST), (5, 7, FIRST), (5, 8, SECOND)],
        slots={9: 2},
    )
    for name, value in more.items():
        setattr(logs, name, value)
    return logs


class Checks(unittest.TestCase):
    def violates(self, logs, *parts):
        found = check(logs)
        self.assertEqual(len(found), len(parts), found)
        for line, part in zip(found, parts):
            self.assertIn(part, line)

    def test_all_is_well(self):
        self.violates(two())

    def test_overlap(self):
        logs = two()
        logs.records[1].begin = 499 * MS
        logs.runs[SECOND].confirmed = [498 * MS]
        self.violates(logs, "lock 5: run 1 (machine 1, exclusive, fence 7) and run 2 (machine 1, exclusive, "
                            "fence 8) lived at the same time, for 1.0 ms")
        logs.promises_exclusion = False
        self.violates(logs)

    def test_overlap_of_a_descendant(self):
        logs = two()
        logs.records.append(command(FIRST, 20, 530, 7, is_descendant=True))
        self.violates(logs, "a descendant in run 1")

    def test_a_tree_does_not_overlap_itself(self):
        logs = two()
        logs.records.append(command(FIRST, 20, 480, 7, is_descendant=True))
        self.violates(logs)

    def test_readers_may_be_together_and_no_writer_with_them(self):
        logs = two()
        for record in logs.records:
            record.mode = 1
        logs.records[1].begin = 400 * MS
        self.violates(logs)
        logs.records[0].mode = 0
        self.violates(logs, "shared, fence 8) lived at the same time")

    def test_slots(self):
        logs = two(slots={5: 2})
        for number, record in enumerate(logs.records):
            record.mode, record.slot, record.begin = 2, number, 10 * MS
        logs.accepted = []
        self.violates(logs)
        logs.slots = {5: 1}
        self.violates(logs, "lived at the same time")
        logs.slots = {5: 2}
        logs.records[1].slot = 0
        self.violates(logs, "lived at the same time")

    def test_lease(self):
        logs = two()
        logs.runs[SECOND] = dlock(SECOND, 505, 3010, 79, [506, 900])
        logs.records[1].last, logs.records[1].end = 2899 * MS, 0
        self.violates(logs)
        logs.records[1].last = 2901 * MS
        self.violates(logs, "run 2 (machine 1, exclusive, fence 8) outlived its lease by 1.0 ms")
        # RUNNER was stopped before it could say that it had renewed.
        logs.faults = [Fault(905 * MS, "stop_runner", SECOND, 1)]
        self.violates(logs)
        logs.records[1].last = 2906 * MS
        self.violates(logs, "outlived its lease")
        # Its machine stood still, and no other's.
        logs.faults = [Fault(2000 * MS, "pause_machine", machine=2, until=4000 * MS)]
        self.violates(logs, "outlived its lease")
        logs.faults = [Fault(2000 * MS, "pause_machine", machine=1, until=4000 * MS)]
        self.violates(logs)
        # When the lease was over, that is, and from then on: not at another time.
        logs.faults = [Fault(600 * MS, "pause_machine", machine=1, until=2000 * MS)]
        self.violates(logs, "outlived its lease")
        logs.faults = [Fault(2903 * MS, "pause_machine", machine=1, until=4000 * MS)]
        self.violates(logs, "outlived its lease")
        logs.faults = [Fault(2800 * MS, "pause_machine", machine=1, until=2902 * MS)]
        self.violates(logs, "outlived its lease")
        logs.faults.append(Fault(2901 * MS, "pause_machine", machine=1, until=2907 * MS))
        self.violates(logs)

    def test_fences(self):
        logs = two(accepted=[])
        logs.records[1].fence = 7
        self.violates(logs, "run 1 (machine 1, exclusive, fence 7) and run 2 (machine 1, exclusive, fence 7) "
                            "have the same number")
        logs.records[1].fence = 6
        self.violates(logs, "run 2 (machine 1, exclusive, fence 6) came after run 1 (machine 1, exclusive, fence 7)")
        # It was sent before the first one began: nobody knows who came first.
        logs.runs[SECOND].confirmed = [9 * MS]
        self.violates(logs)

    def test_fences_not_only_of_neighbours(self):
        logs = two(accepted=[])
        logs.records.append(command(3, 1000, 1100, 6))
        logs.runs[3] = dlock(3, 950, 1110)
        self.violates(logs, "run 3 (machine 1, exclusive, fence 6) came after run 2")

    def test_store(self):
        logs = two(accepted=[(5, 8, SECOND), (6, 1, 3), (5, 7, FIRST)])
        self.violates(logs, "a write of run 1 with 7 landed after one of run 2 with 8")
        logs = two()
        logs.records[0].refused = 1
        self.violates(logs, "run 1 (machine 1, exclusive, fence 7) lived and was refused")
        logs.promises_exclusion = False
        self.violates(logs)

    def test_statuses(self):
        logs = two()
        logs.runs[FIRST].status = None
        self.violates(logs, "run 1 (machine 1, lock 5) has not ended")
        logs.runs[FIRST].status = -9
        self.violates(logs, "ended with -9, which nothing explains")
        logs.faults = [Fault(5, "kill_outer", FIRST)]
        self.violates(logs)
        logs.faults = [Fault(5, "kill_outer", SECOND)]
        self.violates(logs, "ended with -9, which nothing explains")
        unexplained, ran = "nothing explains", "and its command ran"
        for status, words in ((71, unexplained), (-11, unexplained), (75, ran), (69, ran)):
            logs.runs[FIRST].status = status
            self.violates(logs, words)

    def test_success_without_the_command(self):
        logs = two()
        logs.records[0].end = 0
        self.violates(logs, "run 1 (machine 1, lock 5) ended with 0, and its command did not come to its end")
        del logs.records[0]
        self.violates(logs, "did not come to its end")

    def test_command_run_twice(self):
        logs = two()
        logs.records.append(command(FIRST, 501, 502, 7))
        self.violates(logs, "have the same number", "ran its command 2 times")

    def test_nothing_to_compare_with(self):
        logs = two()
        logs.runs[FIRST].confirmed = []
        self.violates(logs, "run 1 (machine 1, exclusive, fence 7) lived, and no request of its dlock was confirmed")
        del logs.runs[FIRST]
        self.violates(logs, "run 1 (machine 1, exclusive, fence 7) is of no run that was noted")

    def test_rest(self):
        logs = two(survivors=["4711 dlock"], unkept_keys=["lock:job5 has no expiry"],
                   descriptors=[("runner", 41), ("outer", 9)])
        logs.records[0].fds = 4
        self.violates(logs, "was given 4 descriptors", "runner has 41 descriptors", "survived: 4711 dlock",
                      "key: lock:job5 has no expiry")

    def test_figures(self):
        logs = two()
        logs.records[1].begin = 400 * MS
        found = figures(logs)
        self.assertEqual((found["runs"], found["commands"], found["overlaps"], found["writes"]), (2, 2, 1, 3))


class Reading(unittest.TestCase):
    def test_what_was_written_is_read(self):
        with tempfile.TemporaryDirectory() as place:
            records.create(place + "/records", 10)
            with open(place + "/records", "r+b") as file:
                file.write(records.HEADER.pack(3))
                file.write(records.RECORD.pack(100, 200, 0, 2**53 + 1, 42, 7, 1, 5, 2, 3, 1, 3, 4, 5, 6))
                file.write(records.RECORD.pack(*[0] * 15))  # killed before its first stamp
                file.write(records.RECORD.pack(300, 400, 400, 9, 43, 8, 2, 5, 0, -1, 0, 3, 0, 0, 0))
            os.mkdir(place + "/log")
            for name, text in (
                ("runs.1", "7\t1\t5\t2\t2000000000\t1\t9\t-9\n8\t2\t5\t0\t2000000000\t1\t9\t-\n9\t2\t5"),
                ("log/7", "dlock: acquired\ndlock: confirmed t0=3.000000004 ttl=2000ms\ndlock: confirmed t0=4."),
                ("faults", "5\tkill_outer\t7\t1\t0\n"),
                ("accepted", "5\t9007199254740993\t7\n"),
                ("round.json", '{"promises": "fence", "slots": {"5": 2}}'),
                ("keys", ""),
                ("survivors", "1 dlock\n"),
                ("descriptors", "outer\t9\n"),
            ):
                with open(f"{place}/{name}", "w", encoding="ascii") as file:
                    file.write(text)
            logs = records.read(place)
        first, second = logs.records
        self.assertEqual((first.run, first.lock, first.mode, first.slot, first.fence), (7, 5, 2, 3, 2**53 + 1))
        self.assertEqual((first.pid, first.is_descendant, first.fds, first.accepted, first.refused),
                         (42, True, 3, 4, 5))
        self.assertEqual((second.run, second.machine, second.end), (8, 2, 400))
        self.assertEqual(logs.runs[7].confirmed, [3_000_000_004])
        self.assertEqual((logs.runs[7].status, logs.runs[8].status), (-9, None))
        self.assertEqual((logs.accepted, logs.slots, logs.promises_exclusion), ([(5, 2**53 + 1, 7)], {5: 2}, False))
        self.assertEqual((logs.survivors, logs.descriptors), (["1 dlock"], [("outer", 9)]))


if __name__ == "__main__":
    unittest.main()
