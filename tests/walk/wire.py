# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""One connection to a Redis over its Unix socket, the server's clock, and the scripts of dlock as the
build embeds them."""

import ast
import re
import select
import socket


class ErrorReply(str):
    """An answer that begins with -."""


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.settimeout(20)
        self.unread = b""

    def close(self):
        self.socket.close()

    def send(self, words):
        parts = [b"*%d\r\n" % len(words)]
        for word in words:
            word = str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))

    def ask(self, *words):
        self.send(words)
        return self.answer()

    def answer(self):
        while True:
            try:
                value, end = parse(self.unread, 0)
            except IndexError:
                more = self.socket.recv(65536)
                if not more:
                    raise EOFError("the server has closed the connection") from None
                self.unread += more
                continue
            self.unread = self.unread[end:]
            return value

    def waiting(self):
        """Messages that have arrived; does not wait for any."""
        found = []
        while self.unread or select.select([self.socket], [], [], 0)[0]:
            found.append(self.answer())
        return found


def parse(data, at):
    """The value that begins there and where it ends; IndexError when not all of it has come."""
    end = data.find(b"\r\n", at)
    if end < 0:
        raise IndexError
    kind, rest = data[at : at + 1], data[at + 1 : end]
    end += 2
    if kind == b"+":
        return rest.decode(), end
    if kind == b"-":
        return ErrorReply(rest.decode()), end
    if kind == b":":
        return int(rest), end
    length = int(rest)
    if length < 0:
        return None, end
    if kind == b"$":
        if len(data) < end + length + 2:
            raise IndexError
        return data[end : end + length].decode("utf-8", "surrogateescape"), end + length + 2
    values = []
    for _ in range(length):
        value, end = parse(data, end)
        values.append(value)
    return values, end


class Clock:
    """The server's clock, in microseconds: it stands still until it is set (server_clock_preload)."""

    def __init__(self, path, now):
        self.file = open(path, "r+b", buffering=0)
        self.now = now
        self.set(now)

    def set(self, now):
        self.now = now
        self.file.seek(0)
        self.file.write(b"at %-20d\n" % now)


def read_scripts(path):
    """NAME -> text, from the C header that scripts/embed-lua has made."""
    text = open(path, encoding="utf-8").read()
    scripts = {}
    for name, body in re.findall(r"lua_(\w+)\[\] =\n(.*?)\n\t\"\";", text, re.S):
        scripts[name] = "".join(ast.literal_eval(line.strip()) for line in body.splitlines())
    return scripts
