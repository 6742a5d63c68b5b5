# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""What stands at the keys of the lock, as an onlooker reads it: who has the lock and who waits is
worked out here once more, from what ARCHITECTURE.md says and not from the scripts."""

import re

NAME = "lock:walk"
SIBLINGS = ("fence", "info", "queue", "members")
KEYS = [NAME] + [f"{NAME}#{sibling}{{{NAME}}}" for sibling in SIBLINGS]
LOCK, FENCE, INFO, QUEUE, MEMBERS = KEYS
TOKEN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

LOOK = """
local out = {}
for i, key in ipairs(KEYS) do
    local kind = redis.call('TYPE', key).ok
    local value = false
    if kind == 'string' then
        value = redis.call('GET', key)
    elseif kind == 'hash' then
        value = redis.call('HGETALL', key)
    elseif kind == 'zset' then
        value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    end
    out[i] = {kind, value, redis.call('PTTL', key)}
end
return out
"""
TYPES = ("string", "string", "hash", "zset", "zset")


class Key:
    def __init__(self, answer):
        self.type, self.value, self.pttl = answer

    @property
    def exists(self):
        return self.type != "none"


def pairs(key, kind):
    """[(name, value)] of a hash or a zset; nothing when it is not one."""
    if key.type != kind:
        return []
    return list(zip(key.value[::2], key.value[1::2]))


class Place:
    """One who has the lock, or for whom it is kept: mark is '', 'done' or 'broken'."""

    def __init__(self, name, slot=None, until_us=None):
        mark = re.match(r"dlock!(done|broken):", name)
        self.mark = mark.group(1) if mark else ""
        self.token = name[mark.end() :] if mark else name
        self.slot = slot
        self.until_us = until_us


class State:
    def __init__(self, connection, now):
        self.now = now
        self.keys = [Key(a) for a in connection.ask("EVAL", LOOK, len(KEYS), *KEYS)]
        self.lock, self.fence, self.info, self.queue, self.members = self.keys
        self.records = {
            token: dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
            for token, text in pairs(self.info, "hash")
        }
        self.line = [token for token, _ in pairs(self.queue, "zset")]
        self.tickets = {token: float(score) for token, score in pairs(self.queue, "zset")}
        self.kind, self.slots, self.places = self._read_lock()

    def _read_lock(self):
        """(kind, N, {token: Place}); kind is what stands at K, 'free' also for a marker whose
        members have all passed."""
        if not self.lock.exists:
            return "free", 0, {}
        value = self.lock.value
        if self.lock.type != "string":
            return "foreign", 0, {}
        if TOKEN.fullmatch(value) or re.match(r"dlock!(done|broken):", value):
            place = Place(value, None, self.now + self.lock.pttl * 1000)
            return "exclusive", 0, {place.token: place}
        marker = re.fullmatch(r"dlock!(shared|slots:(\d+))", value)
        if not marker:
            return "foreign", 0, {}
        places = {}
        for name, score in pairs(self.members, "zset"):
            score = float(score)
            if int(score) >= self.now // 1000:
                slot = round((score - int(score)) * 1024)
                place = Place(name, slot, int(score) * 1000)
                places[place.token] = place
        if not places:
            return "free", 0, {}
        return ("slots" if marker.group(2) else "shared"), int(marker.group(2) or 0), places

    @property
    def mode(self):
        return f"slots:{self.slots}" if self.kind == "slots" else self.kind

    def content(self):
        """All that a request can change, without what time alone does; to read a hash may turn its
        order."""
        return [(key.type, pairs(key, "zset") or dict(pairs(key, "hash")) or key.value)
                for key in self.keys]

    def is_about_to_change(self):
        """Some key or member expires in this millisecond or the next."""
        ends = [place.until_us - self.now for place in self.places.values()]
        return any(0 <= key.pttl <= 1 for key in self.keys) or min(ends, default=9999) <= 2000

    def admits(self, mode):
        """Could one of that mode come in, if nobody were before it?"""
        if self.kind == "free":
            return True
        if self.mode != mode or mode == "exclusive":
            return False
        return self.kind == "shared" or len(self.places) < self.slots

    def time_to_wait(self, mode):
        """In how many ms there is room for that mode if nobody does anything; -1: never."""
        if self.kind not in ("shared", "slots"):
            return 0 if self.kind == "free" else self.lock.pttl
        ends = [place.until_us // 1000 - self.now // 1000 for place in self.places.values()]
        return min(ends) if self.mode == mode else max(ends)

    def describe(self, name_of):
        places = " ".join(
            f"{name_of(p.token)}{':' + p.mark if p.mark else ''}"
            f"{f'[{p.slot}]' if self.kind == 'slots' else ''}"
            for p in self.places.values()
        )
        line = " ".join(name_of(token) for token in self.line)
        return f"{self.mode} ({places}) pttl {self.lock.pttl}; in line: {line or '-'}"
