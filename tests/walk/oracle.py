# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What must hold after each step, whatever the clients do. It judges the state of the keys before and
after the step by what each client was told, and knows nothing of how the scripts work."""

import collections

from clients import ASK_LIMIT_US, CLAIM_MS
from state import TYPES

MONTH_MS = 31 * 86400 * 1000
POLL_US, FORGET_US = 3000000, 150000000
SLACK_US = 2000


class Violation(Exception):
    pass


class Step:
    """One step: what was done, by whom (an Attempt or None), what was answered. serves: its script
    must leave no free lock to somebody who waits. forced: it was done behind dlock's back."""

    def __init__(self, label, actor=None, answer=None, serves=False, forced=False):
        self.label, self.actor, self.answer = label, actor, answer
        self.serves, self.forced = serves, forced
        self.heard = {}  # token -> messages that have come in this step


def need(condition, sentence):
    if not condition:
        raise Violation(sentence)


class Oracle:
    def __init__(self, attempts, fence_mode):
        self.attempts = attempts  # token -> Attempt, all there have ever been
        self.fence_mode = fence_mode
        self.last_fence = 0
        self.free_since = None
        self.unaware = None  # a waiter that force was used behind
        self.shortened = False  # somebody has given the marker a shorter life
        self.grants = collections.Counter()

    def name_of(self, token):
        return self.attempts[token].name if token in self.attempts else token

    # -- who is alive

    def lives(self, state, token, slack_us=SLACK_US):
        """A waiter that nobody may pass over; with a slack below 0: one that may perhaps live."""
        record, attempt = state.records.get(token), self.attempts.get(token)
        if record is None or attempt is None:
            return False
        silent = state.now - int(record.get("seen", 0)) + slack_us
        if record.get("push") in ("1", "2"):
            return attempt.link is not None and silent < FORGET_US
        return silent < POLL_US

    def first_alive(self, state):
        """The first in line, if it surely lives; who surely does not is not in line."""
        for token in state.line:
            if self.lives(state, token):
                return token
            if self.lives(state, token, -SLACK_US):
                break
        return None

    # -- the checks

    def check(self, step, before, after):
        if step.forced:
            self.note_force(before, after)
        self.check_keys(after)
        self.check_possession(step, after)
        self.check_marker(after)
        new = [token for token in after.places if token not in before.places]
        new.sort(key=lambda token: self.place_in_line(before, token))
        slots = {place.slot for token, place in before.places.items() if token in after.places}
        for token in new:
            self.check_grant(step, before, after, token, slots)
        self.check_line(after)
        self.check_answer(step, before, after)
        self.check_messages(step, before, after, new)
        self.check_idle(step, after)

    def check_keys(self, state):
        for key, kind in zip(state.keys, TYPES):
            if not key.exists or key.type != kind:
                continue
            if key is state.lock and state.kind == "foreign":
                continue
            if key is state.fence and self.fence_mode == "counter":
                need(key.pttl == -1, "the fence of a counter has an expiry")
                continue
            name = ("K", "fence", "info", "queue", "members")[state.keys.index(key)]
            need(key.pttl >= 0, f"{name} has no expiry")
            need(key.pttl < MONTH_MS * 2, f"{name} has an expiry far too late: {key.pttl}")

    def note_force(self, before, after):
        """Somebody has written to the keys without dlock: who lost by it is not wronged."""
        for token in before.places:
            if token not in after.places or after.lock.pttl != before.lock.pttl:
                self.attempts[token].void = True
        self.shortened = True
        # What was lost is no measure any more where the clock does not lead.
        if before.fence.exists and not after.fence.exists:
            if self.fence_mode == "counter" or self.last_fence >= after.now:
                self.last_fence = 0

    def check_possession(self, step, after):
        for attempt in self.attempts.values():
            if attempt.phase not in ("held", "lost", "resting") or attempt.void:
                continue
            if attempt.sure_until <= after.now + SLACK_US:
                continue
            need(attempt.token in after.places,
                 f"{attempt.name} has the lock for {(attempt.sure_until - after.now) // 1000} ms "
                 "more, but the server does not keep it")

    def check_marker(self, after):
        """Only what goes together, and each in a slot of its own."""
        slots = []
        for token, place in after.places.items():
            attempt = self.attempts.get(token)
            need(attempt is not None, f"unknown holder {token}")
            need(attempt.mode == after.mode, f"{attempt.name} ({attempt.mode}) under {after.mode}")
            slots.append(place.slot)
        if after.kind == "slots":
            need(len(slots) == len(set(slots)), f"a slot twice: {slots}")
            need(all(0 <= slot < after.slots for slot in slots), f"slots out of range: {slots}")
        if after.kind in ("shared", "slots"):
            last = max(place.until_us for place in after.places.values())
            covered = after.now + after.lock.pttl * 1000 >= last - SLACK_US
            need(covered or self.shortened, "the marker ends before its members")
            self.shortened = self.shortened and not covered

    def check_grant(self, step, before, after, token, slots):
        attempt, place = self.attempts[token], after.places[token]
        asked = attempt is step.actor
        self.grants[f"{'asked' if asked else 'served'}-{after.kind}"] += 1
        need(not place.mark, f"{attempt.name} comes with the mark {place.mark}")
        need(attempt.haunts or attempt.phase in ("new", "waiting", "vanished"),
             f"{attempt.name} is granted the lock, and is {attempt.phase}")
        need(asked or token in before.line, f"{attempt.name} is granted the lock unasked")
        longest = attempt.ttl_ms if asked else CLAIM_MS
        need(place.until_us <= after.now + longest * 1000 + SLACK_US,
             f"{attempt.name} is granted the lock for too long")
        self.check_order(step, before, after, token)
        if after.kind == "slots":
            free = min(set(range(after.slots)) - slots, default=None)
            need(place.slot == free, f"slot {place.slot} for {attempt.name}, {free} is free")
            slots.add(place.slot)

    def place_in_line(self, state, token):
        """Its ticket, which a waiter that was forgotten brings along; a newcomer comes last."""
        if token in state.tickets:
            return state.tickets[token]
        return float(self.attempts[token].ticket) or float("inf")

    def check_order(self, step, before, after, token):
        """Nobody who was there before and is alive has been passed over."""
        position = self.place_in_line(before, token)
        for other in before.line:
            if before.tickets[other] >= position:
                break
            if other in after.places or not self.lives(before, other):
                continue
            left = step.actor is not None and step.actor.token == other and "leave" in step.label
            need(left, f"{self.name_of(token)} has overtaken {self.name_of(other)}")

    def check_line(self, after):
        for token in after.line:
            attempt = self.attempts.get(token)
            need(attempt is not None, f"unknown waiter {token}")
            need(token not in after.places or attempt.haunts,
                 f"{attempt.name} has the lock and is in line")
            need(attempt.phase in ("new", "waiting", "vanished") or attempt.haunts,
                 f"{attempt.name} is in line, and is {attempt.phase}")

    def check_answer(self, step, before, after):
        answer, actor = step.answer, step.actor
        if not isinstance(answer, list) or actor is None:
            return
        place = after.places.get(actor.token)
        owns = place is not None and not place.mark
        kind = answer[0]
        if kind in ("GRANTED", "OWNED"):
            need(owns, f"{actor.name} was told {kind} and has nothing")
            need(place.until_us >= after.now + actor.ttl_ms * 1000 - SLACK_US,
                 f"{actor.name} has less than its TTL")
            need(int(answer[3]) == (place.slot or 0), f"{actor.name} is told a slot not its own")
            self.check_fence(step, after, int(answer[1]))
            return
        if kind in ("LATE", "UNUSUAL"):
            need(before.content() == after.content(), f"{kind}, and something has changed")
            return
        need(not owns, f"{actor.name} was told {kind} and has the lock")
        if kind == "SLOTS":
            need(after.kind == "slots" and after.slots == answer[1] and after.mode != actor.mode,
                 f"the slots are said to be {answer[1]}")
        elif kind in ("BUSY", "FULL"):
            others = before.kind == "slots" and actor.mode.startswith("slots") and before.mode != actor.mode
            need(not others or "touch" in step.label, f"{before.mode} for {actor.mode}, and not told")
            rank = after.line.index(actor.token) if actor.token in after.line else -1
            need(answer[5] == rank or "wait" not in step.label,
                 f"{actor.name} is told rank {answer[5]}, and has {rank}")
            need(rank >= 0 or "wait" not in step.label or int(answer[6]) == len(after.line),
                 f"{actor.name} is told that {answer[6]} wait: {len(after.line)}")
            need(abs(answer[1] - after.time_to_wait(actor.mode)) <= 1,
                 f"{actor.name} is told to wait {answer[1]} ms: {after.time_to_wait(actor.mode)}")
            before_it = [token for token in after.line if token != actor.token]
            need(kind == "BUSY" or len(before_it) >= actor.crowd, "too few wait to be FULL")
            if kind == "BUSY" and actor.token in after.line and actor.token not in before.line:
                alive = [token for token in before_it if self.lives(after, token)]
                need(actor.crowd < 0 or actor.ticket != "0" or len(alive) < actor.crowd,
                     f"{len(alive)} wait, and {actor.name} is not told FULL")

    def check_fence(self, step, after, fence):
        actor = step.actor
        need(str(fence) == after.records[actor.token].get("fence"),
             f"told the fence {fence}, in the record is another")
        need(fence > actor.minimum, f"fence {fence} is not above {actor.minimum}")
        if fence != actor.drawn:
            need(fence > self.last_fence, f"fence {fence} of {actor.name} after {self.last_fence}")
            actor.drawn = self.last_fence = fence
        elif step.label.startswith(("try", "wait", "confirm")):
            need(fence >= self.last_fence, f"fence {fence} of {actor.name} after {self.last_fence}")

    def check_messages(self, step, before, after, new):
        for token in new:
            attempt = self.attempts[token]
            if attempt is step.actor or attempt.link is None:
                continue
            if before.records.get(token, {}).get("push") == "1":
                need("G" in step.heard.get(token, []), f"{attempt.name} is not told of its grant")
        for token, messages in step.heard.items():
            for message in messages:
                if message == "G":
                    need(token in after.places, f"{self.name_of(token)} is told of no grant")
                else:
                    need(message.startswith("H:"), f"unknown message {message}")
                    need(token in after.line, f"{self.name_of(token)} is told of a place not its own")
                    ms = after.time_to_wait(self.attempts[token].mode)
                    need(abs(int(message[2:]) - ms) <= 1, f"{message}, and it is {ms} ms")
        head = self.first_alive(after)
        if not step.serves or head is None:
            return
        old = self.first_alive(before)
        attempt = self.attempts[head]
        if head != old and attempt is not step.actor and after.records[head]["push"] == "1":
            need(any(m.startswith("H:") for m in step.heard.get(head, [])),
                 f"{attempt.name} is not told that it is first now")

    def check_idle(self, step, after):
        """A lock that the first in line could have is not left lying there."""
        head = self.first_alive(after)
        # What force frees is found when a timer says so: it was set for the time before.
        if step.forced or self.shortened:
            self.unaware = head
            self.shortened = self.shortened and after.lock.exists
        elif head != self.unaware or head in step.heard or step.actor is self.attempts.get(head):
            self.unaware = None
        if head is None or not after.admits(self.attempts[head].mode):
            self.free_since = None
            return
        attempt = self.attempts[head]
        need(not step.serves, f"{attempt.name} waits and could have the lock: not served")
        acts = attempt.phase in ("new", "waiting") and not attempt.stopped
        if self.unaware or not acts:
            return
        if self.free_since is None:
            self.free_since = after.now
        limit = min(66, 5.5 * (attempt.rank + 1)) * 1000000 if attempt.rank else 1100000
        if attempt.unanswered:
            limit = max(limit, ASK_LIMIT_US + SLACK_US)
        free_ms = (after.now - self.free_since) // 1000
        need(after.now - self.free_since <= limit,
             f"{attempt.name} waits and could have the lock since {free_ms} ms")
