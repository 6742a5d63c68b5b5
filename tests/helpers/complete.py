#!/usr/bin/python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
#
# complete.py SHELL FILE LINE: types LINE and two TABs into an interactive SHELL (bash or zsh) that
# has the completion in FILE, on a terminal of its own, and prints what the shell shows. For bash,
# FILE may be several files separated by colons.

import array
import fcntl
import os
import pty
import re
import select
import sys
import termios
import time

SETUP = {
    "bash": [
        "bind 'set completion-query-items 0'",
        "bind 'set page-completions off'",
        "bind 'set bell-style none'",
        "bind 'set show-all-if-ambiguous on'",
        "bind 'set enable-bracketed-paste off'",
    ],
    "zsh": [
        "unsetopt beep zle_bracketed_paste prompt_sp prompt_cr",
        "unset zle_bracketed_paste",
        "LISTMAX=1000",
        "autoload -U compinit",
    ],
}


def start(shell):
    fd, slave = pty.openpty()
    pid = os.fork()
    if pid == 0:
        os.close(fd)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for standard in (0, 1, 2):
            os.dup2(slave, standard)
        os.close(slave)
        os.environ.update(TERM="dumb", PS1="", HOME="/nonexistent", COLUMNS="200", LINES="200")
        arguments = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
        os.execvp(shell, [shell] + arguments)
    return pid, fd, slave


def is_waiting(pid):
    with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/task/{pid}/children") as children:
        return stat.read().rsplit(")", 1)[1].split()[0] == "S" and children.read() == ""


class Terminal:
    def __init__(self, fd, slave):
        self.fd = fd
        self.slave = slave
        self.until = time.monotonic() + 20

    # Until the shell has read all that was typed and waits for more. (zsh does not show a list while
    # it has something to read.)
    def read_until_idle(self, pid):
        seen, idle = "", 0
        while idle < 3 and time.monotonic() < self.until:
            if select.select([self.fd], [], [], 0.03)[0]:
                seen += os.read(self.fd, 65536).decode(errors="replace")
                idle = 0
                continue
            pending = array.array("i", [0])
            fcntl.ioctl(self.slave, termios.FIONREAD, pending)
            idle = idle + 1 if pending[0] == 0 and is_waiting(pid) else 0
        return seen

    def type(self, text):
        os.write(self.fd, text.encode())

    def read_until(self, pattern):
        seen = ""
        while not re.search(pattern, seen):
            left = self.until - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                sys.exit(f"complete.py: no {pattern!r} in time after: {seen!r}")
            try:
                seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                sys.exit(f"complete.py: the shell has ended after: {seen!r}")
        return seen


def main():
    shell, files, line = sys.argv[1:]
    pid, fd, slave = start(shell)
    terminal = Terminal(fd, slave)
    setup = SETUP[shell][:]
    if shell == "bash":
        setup += [f"source {file}" for file in files.split(":")]
    else:
        setup += [f"fpath=({os.path.dirname(files)} $fpath)", "compinit -u -D"]
    for command in setup:
        terminal.type(command + "\n")
    # A prompt says that the line editor has the terminal. What is typed is echoed, so the mark is one
    # that the shell computes.
    terminal.type("PS1=ready-$((40 + 2))-\n")
    terminal.read_until("ready-42-")
    terminal.type(line + "\t")
    shown = terminal.read_until_idle(pid)
    terminal.type("\t")
    shown += terminal.read_until_idle(pid)
    terminal.type("\x15exit\n")
    os.waitpid(pid, 0)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", shown).replace("\r", "\n").replace("\a", "")
    print(shown)


main()
