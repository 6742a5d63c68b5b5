# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""The rack's network and its "machines": each a network namespace at a bridge and a control group that can be
frozen, with an agent in it (agent.py) that runs dlocks. All of it is inside the private namespaces that `torture` has
made, so that addresses and ports are free, rules of iptables are nobody else's, and nothing outside can be hit."""

import os
import signal
import subprocess
import time

SERVER_IP = "10.9.1.%d"
MACHINE_IP = "10.9.2.%d"
HURRY = 4
FREEZERS = ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup")


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def call(*words, check=True):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def make_network(servers):
    call("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    call("ip", "link", "set", "lo", "up")
    call("ip", "link", "add", "br0", "type", "bridge")
    call("ip", "link", "set", "br0", "up")
    for number in range(1, servers + 1):
        call("ip", "addr", "add", SERVER_IP % number + "/16", "dev", "br0")


def spawn(words, **more):
    """A process with the nice value that this one began with: who torments has its turn before who is tormented, or
    with every processor busy nothing would happen."""
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, preexec_fn=lambda: os.nice(HURRY), **more)


def hurry():
    os.nice(-HURRY)


class Freezer:
    """A control group, of whichever kind there is."""

    def __init__(self, name):
        for root in FREEZERS:
            self.path = os.path.join(root, name)
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            if os.path.exists(self.path + "/freezer.state"):
                self.file, self.words = "freezer.state", ("THAWED", "FROZEN")
                return
            if os.path.exists(self.path + "/cgroup.freeze"):
                self.file, self.words = "cgroup.freeze", ("0", "1")
                return
            os.rmdir(self.path)
        raise RuntimeError("no control group freezer, neither v1 nor v2")

    def set(self, frozen):
        with open(os.path.join(self.path, self.file), "w", encoding="ascii") as file:
            file.write(self.words[frozen])

    def remove(self):
        self.set(False)
        for _ in range(100):
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.02)


def children(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except OSError:
        pass
    return found


def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def is_living(pid):
    stat = read_proc(pid, "stat").rpartition(b") ")[2]
    return bool(stat) and stat[:1] not in (b"Z", b"X")


class Tree:
    """A dlock that holds: the pids of OUTER, RUNNER and COMMAND, and which run it is."""

    def __init__(self, outer):
        self.outer = outer
        self.runner = self.command = None
        words = read_proc(outer, "cmdline").split(b"\0")
        # torture_witness RECORDS STORE RUN ...: the last eight are the witness's arguments.
        self.run = int(words[-7]) if len(words) > 9 and words[-7].isdigit() else -1
        for child in children(outer):
            if read_proc(child, "comm") == b"dlock-run\n":
                self.runner = child
                for grandchild in children(child):
                    if read_proc(grandchild, "comm") == b"torture_witness"[:15] + b"\n":
                        self.command = grandchild


class Machine:
    def __init__(self, number, tag):
        self.number = number
        self.name = f"m{number}"
        self.agent = None
        self.cuts = 0
        self.freezer = Freezer(f"{tag}.{number}")
        call("ip", "netns", "add", self.name)
        call("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        call("ip", "link", "set", f"v{number}", "master", "br0", "up")
        call("ip", "-n", self.name, "addr", "add", MACHINE_IP % number + "/16", "dev", "eth0")
        call("ip", "-n", self.name, "link", "set", "eth0", "up")
        call("ip", "-n", self.name, "link", "set", "lo", "up")

    def start(self, command):
        """The agent: in the control group before it is anything else."""
        script = 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"'
        inside = ["nsenter", f"--net=/run/netns/{self.name}", "sh", "-c", script, "sh", self.freezer.path]
        self.agent = spawn([*inside, *command])

    def iptables(self, *words):
        call("ip", "netns", "exec", self.name, "iptables", "-w", *words)

    def heal(self):
        self.iptables("-F")

    def remove(self):
        if self.agent and self.agent.poll() is None:
            self.freezer.set(False)
            self.agent.kill()
            self.agent.wait()
        self.freezer.remove()


def send(pid, number, parent):
    """A signal to a process that is still that parent's child: the number may be another's by now."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if pid not in children(parent):
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
