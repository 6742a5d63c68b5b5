# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""Simulated clients. An Attempt is one run of dlock, from its first request to its last: it knows what
it was told and nothing else, and keeps time as a waiter does. Requests is how a script is called."""

from state import KEYS, LOCK, MEMBERS, QUEUE
from wire import Connection, ErrorReply

ASK_LIMIT_US = 2000000  # for so long a request is wanted
CLAIM_MS = 3000


class Attempt:
    def __init__(self, token, name, mode, ttl_ms):
        self.token, self.name, self.mode, self.ttl_ms = token, name, mode, ttl_ms
        self.minimum = 0  # the fence must be more than this
        self.crowd = -1  # --max-waiters
        # new; waiting; held; resting: released, with a rest; lost: told so; vanished; over
        self.phase = "new"
        self.link = None  # its subscription
        self.sharded = False  # to a channel of the slot, as in a cluster
        self.stopped = False
        self.wants = "try"
        self.ticket = "0"
        self.rank = 0  # as it was told
        self.due = None  # when its timer wakes it
        self.unanswered = None  # what it has asked in vain
        self.woken = False  # it was told that it is its turn, and has not been answered BUSY since
        self.sure_until = 0  # in server time; what it believes itself
        self.broken = False
        self.void = False  # somebody else has taken its lock by force
        self.haunts = False  # a request of it was executed after it had gone
        self.drawn = 0  # the last fence that it was answered, heard or not

    @property
    def channel(self):
        return f"{QUEUE}:{self.token}"

    def listen(self, path):
        self.link = Connection(path)
        self.link.ask("SSUBSCRIBE" if self.sharded else "SUBSCRIBE", self.channel)

    def cut(self):
        if self.link:
            self.link.close()
            self.link = None

    def messages(self):
        return [m[2] for m in self.link.waiting()] if self.link else []

    def end(self, phase="over"):
        self.cut()
        self.phase = phase
        self.due = None

    # -- what an answer tells it

    def learn_acquire(self, answer, now, verb):
        kind = "ERROR" if isinstance(answer, ErrorReply) else answer[0]
        self.woken = self.woken and kind == "ERROR"
        if kind in ("GRANTED", "OWNED"):
            self.end("held")
            self.sure_until = now + self.ttl_ms * 1000
        elif kind == "BUSY" and verb == "wait":
            self.phase = "waiting"
            self.ticket = answer[6]
            self.set_timer(now, int(answer[1]), int(answer[5]))
        elif verb == "wait" and self.phase == "waiting":
            self.due = now + 500000  # an error; it will ask again
        elif kind != "LATE":
            self.end()

    def learn_renew(self, answer, now):
        if answer == 1:
            self.sure_until = now + self.ttl_ms * 1000
        else:
            self.phase = "lost"

    def set_timer(self, now, ms, rank):
        self.rank = rank
        if not self.link:
            self.due = now + 500000
        elif rank == 0:
            self.due = now + (ms * 1000 + 5000 if ms >= 0 else 1000000)
        else:
            self.due = now + min(60, 5 * (rank + 1)) * 1000000

    def learn_message(self, message, now, latency):
        if self.phase != "waiting":
            return
        if message == "G":
            self.woken = True
            self.due = now + latency
        elif message.startswith("H:"):
            self.set_timer(now, int(message[2:]), 0)


def record_of(attempt):
    return f"host=walk\npid=1\nmode={attempt.mode}\n"


class Requests:
    """The words of each script call; what a schedule has in common."""

    def __init__(self, scripts, fence_mode):
        self.scripts, self.fence_mode = scripts, fence_mode

    def acquire(self, attempt, verb, not_after):
        return ["EVAL", self.scripts["acquire"], 5, *KEYS, attempt.token, attempt.ttl_ms, verb,
                attempt.minimum + 1, self.fence_mode, not_after, record_of(attempt), attempt.mode,
                attempt.ticket, attempt.crowd, "", "", "shard" if attempt.sharded else ""]

    def confirm(self, attempt, not_after):
        """Who has been told that it is its turn asks so first, if that is all there is to it."""
        return ["EVAL", self.scripts["confirm"], 4, *KEYS[:4], attempt.token, attempt.ttl_ms,
                attempt.minimum + 1, self.fence_mode, not_after, record_of(attempt)]

    def renew(self, attempt):
        if attempt.mode == "exclusive":
            return ["EVAL", self.scripts["renew"], 1, LOCK, attempt.token, attempt.ttl_ms]
        return ["EVAL", self.scripts["renew_member"], 2, LOCK, MEMBERS, attempt.token,
                attempt.ttl_ms, f"dlock!{attempt.mode}"]

    def release(self, attempt, rest_ms):
        return ["EVAL", self.scripts["release"], 5, *KEYS, attempt.token, rest_ms]

    def break_lock(self, attempt, by_force, not_after):
        return ["EVAL", self.scripts["break"], 5, *KEYS, attempt.token, "yes" if by_force else "no",
                "host=walk\npid=2\n", not_after]
