# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""Real servers for the rack: one Redis, a Sentinel set, a Cluster, independent nodes. Each has an
address of its own at the bridge, and connects from it, so that rules can part them."""

import os
import shutil
import signal
import socket
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "walk"))
from wire import ErrorReply, parse  # noqa: E402

from machines import SERVER_IP, call, spawn  # noqa: E402

PORT = 6379
SENTINEL_PORT = 26379


# A node of a cluster may not touch a key of a slot that it has not, and lost with what it has there: nobody asks it.
EVERLASTING = """
    local out = {}
    for _, key in ipairs(redis.call('KEYS', 'lock:*')) do
        if redis.pcall('PTTL', key) == -1 then out[#out + 1] = key end
    end
    return out"""


def ask(ip, *words, port=PORT, timeout=1.0):
    """The answer; None: there was none in time."""
    try:
        with socket.create_connection((ip, port), timeout) as link:
            link.settimeout(timeout)
            parts = [b"*%d\r\n" % len(words)]
            for word in words:
                word = str(word).encode()
                parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
            link.sendall(b"".join(parts))
            data = b""
            while True:
                try:
                    return parse(data, 0)[0]
                except IndexError:
                    more = link.recv(65536)
                    if not more:
                        return None
                    data += more
    except OSError:
        return None


def wait_for(what, seconds, question):
    end = time.monotonic() + seconds
    while not question():
        if time.monotonic() > end:
            raise RuntimeError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.05)


class Redis:
    """A redis-server, or a sentinel, that can be killed, stopped and started again."""

    def __init__(self, directory, number, *options, sentinel=None):
        self.ip = SERVER_IP % number
        self.number = number
        self.port = SENTINEL_PORT if sentinel else PORT
        self.dir = os.path.join(directory, ("sentinel" if sentinel else "node") + str(number))
        self.options = options
        self.sentinel = sentinel
        self.process = None
        self.stopped = False
        os.makedirs(self.dir)
        self.clock = self.dir + ".clock"
        self.shift = self.farthest = 0
        self.set_clock(0)
        if sentinel:
            with open(self.dir + "/conf", "w", encoding="ascii") as file:
                file.write(f"port {self.port}\nbind {self.ip}\nbind-source-addr {self.ip}\ndir {self.dir}\n" + sentinel)
        self.start()

    def set_clock(self, shift_ms):
        """The file is written in place: the server has it open."""
        self.shift, self.farthest = shift_ms, max(self.farthest, shift_ms)
        with open(self.clock, "r+" if os.path.exists(self.clock) else "w", encoding="ascii") as file:
            file.write(f"shift {shift_ms:<20d}\n")

    def shows_clock(self):
        """Is it as far from this machine's as it was set?"""
        answer = self.ask("TIME", timeout=0.3)
        if not isinstance(answer, list):
            return False
        shift = int(answer[0]) * 1000 + int(answer[1]) / 1000 - time.time() * 1000
        return abs(shift - self.shift) < 300

    def start(self):
        words = [self.dir + "/conf", "--sentinel"] if self.sentinel else [
            "--port", str(self.port), "--bind", self.ip, "--bind-source-addr", self.ip, "--dir", self.dir,
            "--save", "", "--daemonize", "no", "--protected-mode", "no", *self.options]
        environment = {**os.environ, "SERVER_CLOCK": self.clock}
        if not self.sentinel:
            environment["LD_PRELOAD"] = os.environ["TORTURE_CLOCK"]
        self.stopped = False
        with open(self.dir + ".log", "a", encoding="ascii") as log:
            self.process = spawn(["redis-server", *words], cwd=self.dir, env=environment, stdout=log, stderr=log)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.runs():
            self.process.kill()
            self.process.wait()

    def stop(self):
        self.stopped = True
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.stopped = False
        if self.runs():
            self.process.send_signal(signal.SIGCONT)

    def forget(self):
        """What it had on disk is gone; only while it does not run."""
        for name in os.listdir(self.dir):
            if name != "conf" and not name.startswith("nodes"):
                path = os.path.join(self.dir, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)

    def heal(self):
        if self.runs():
            self.resume()
        else:
            self.start()

    def ask(self, *words, timeout=1.0):
        return ask(self.ip, *words, port=self.port, timeout=timeout)

    def answers(self):
        return self.ask("PING") == "PONG"


# To the disk before the answer: what was confirmed is there after a crash of the process.
KEEPING = ("--appendonly", "yes", "--appendfsync", "always")


class Single:
    def __init__(self, directory, _ttl_ms):
        self.servers = [Redis(directory, 1, *KEEPING)]
        wait_for("redis", 10, self.is_whole)
        self.options = ["-S", f"redis://{SERVER_IP % 1}"]

    def is_whole(self):
        return all(server.answers() for server in self.servers)

    def masters(self):
        return self.servers

    def all(self):
        return self.servers

    def mend(self):
        """What has to be done by hand when all servers are well."""

    def leftovers(self):
        """Locks that are still taken, and keys that never expire, when all is well: who does not say is no proof."""
        masters = self.masters()
        found = [] if masters else ["nobody is there who could say which keys are left"]
        for server in masters:
            keys = server.ask("KEYS", "lock:job*", timeout=3)
            answer = server.ask("EVAL", EVERLASTING, 0, timeout=3)
            if not isinstance(keys, list) or not isinstance(answer, list):
                found.append(f"{server.ip} does not say which keys are left: {keys}, {answer}")
                continue
            found += [f"{key} is left, on {server.ip}" for key in keys if "#" not in key]
            found += [f"{key} has no expiry, on {server.ip}" for key in answer]
        return found

    def everlasting(self, timeout):
        """Keys that never expire: there are none, at no instant. And how many servers have said so."""
        found, answers = [], 0
        for server in self.servers:
            if server.runs() and not server.stopped:
                answer = server.ask("EVAL", EVERLASTING, 0, timeout=timeout)
                if isinstance(answer, list):
                    answers += 1
                    found += [f"{key} has no expiry, on {server.ip}" for key in answer]
        return found, answers

    def heal(self):
        """A key expires at an instant of the server's clock: where that was ahead when a holder died, the clock has to
        get there for the lock to be free, and does now."""
        for server in self.all():
            server.set_clock(server.farthest)
            server.heal()

    def end(self):
        for server in self.all():
            server.kill()


class Quorum(Single):
    def __init__(self, directory, ttl_ms, count, quarantine=False):
        self.servers = [Redis(directory, number, *KEEPING) for number in range(1, count + 1)]
        wait_for("the nodes", 10, self.is_whole)
        self.options = []
        for server in self.servers:
            self.options += ["-S", f"redis://{server.ip}"]
        self.options += ["--quarantine", f"{ttl_ms}ms" if quarantine else "0"]


class Sentinel(Single):
    def __init__(self, directory, _ttl_ms, down_after_ms=500):
        replica = ("--replicaof", SERVER_IP % 1, str(PORT))
        common = (*KEEPING, "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", "--repl-timeout", "5")
        self.servers = [Redis(directory, number, *common, *(replica if number > 1 else ())) for number in (1, 2, 3)]
        wait_for("replicas", 20, lambda: self.replicas_of(SERVER_IP % 1) == 2)
        self.sentinels = [
            Redis(directory, number, sentinel=f"sentinel monitor main {SERVER_IP % 1} {PORT} 2\n"
                  f"sentinel down-after-milliseconds main {down_after_ms}\nsentinel failover-timeout main 3000\n")
            for number in (1, 2, 3)
        ]
        wait_for("sentinels", 20, self.is_whole)
        places = ",".join(f"{sentinel.ip}:{SENTINEL_PORT}" for sentinel in self.sentinels)
        self.options = ["-S", f"redis+sentinel://{places}/main"]

    def replicas_of(self, ip):
        return str(ask(ip, "INFO", "replication")).count("state=online")

    def master(self, sentinel=0):
        place = self.sentinels[sentinel].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "main")
        return place[0] if isinstance(place, list) else None

    def masters(self):
        return [server for server in self.servers if server.ip == self.master()]

    def is_whole(self):
        ips = {self.master(number) for number in range(3)}
        if len(ips) != 1 or None in ips or self.replicas_of(ips.pop()) != 2:
            return False
        for sentinel in self.sentinels:
            state = sentinel.ask("SENTINEL", "MASTER", "main")
            if not isinstance(state, list):
                return False
            about = dict(zip(state[::2], state[1::2]))
            replicas = sentinel.ask("SENTINEL", "REPLICAS", "main")
            flags = [dict(zip(r[::2], r[1::2]))["flags"] for r in replicas] if isinstance(replicas, list) else []
            well = flags == ["slave"] * 2
            if not well or about["flags"] != "master" or about["num-other-sentinels"] != "2":
                return False
        return True

    def all(self):
        return self.servers + self.sentinels


class Cluster(Single):
    """Three masters and a replica of each."""

    def __init__(self, directory, _ttl_ms):
        options = (*KEEPING, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
                   "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0")
        self.servers = [Redis(directory, number, *options) for number in range(1, 7)]
        wait_for("the nodes", 10, lambda: all(server.answers() for server in self.servers))
        places = [f"{server.ip}:{PORT}" for server in self.servers]
        call("redis-cli", "--cluster", "create", *places, "--cluster-replicas", "1", "--cluster-yes")
        wait_for("the cluster", 30, self.is_whole)
        self.options = ["-S", f"redis+cluster://{places[0]},{places[1]},{places[2]}"]

    def masters(self):
        return [server for server in self.servers if str(server.ask("ROLE")).startswith("['master'")]

    def is_whole(self):
        for server in self.servers:
            about = str(server.ask("CLUSTER", "INFO"))
            if any(f"cluster_{word}" not in about for word in ("state:ok", "slots_pfail:0", "slots_fail:0")):
                return False
            about = str(server.ask("INFO", "replication"))
            if "role:slave" in about and "master_link_status:up" not in about:
                return False
        return len(self.masters()) == 3

    def mend(self):
        """A slot whose move has met a dead master is half here and half there until somebody sees to it."""
        maps = "".join(str(server.ask("CLUSTER", "NODES")) for server in self.servers)
        if "->-" in maps or "-<-" in maps:
            for server in self.masters():
                call("redis-cli", "--cluster", "fix", f"{server.ip}:{PORT}", "--cluster-yes", check=False)
            end = time.monotonic() + 5
            while not self.is_whole() and time.monotonic() < end:
                time.sleep(0.1)

    def owner(self, key):
        """The master that has the key's slot, and the slot."""
        slot = self.servers[0].ask("CLUSTER", "KEYSLOT", key)
        for server in self.servers:
            ranges = server.ask("CLUSTER", "SLOTS")
            if isinstance(ranges, list) and not isinstance(ranges, ErrorReply):
                for first, last, master, *_ in ranges:
                    if isinstance(slot, int) and first <= slot <= last:
                        return next((s for s in self.servers if s.ip == master[0]), None), slot
        return None, slot
