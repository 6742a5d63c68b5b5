#!/usr/bin/python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""liar_nodes.py LOG [PLACE]: two nodes of a cluster that send whoever asks for a slot to each other, for
ever; with PLACE (host:port) both send him there, with LIAR_ASKS the first one as if the slot were moving. Prints their ports on a line. LOG gets a line for each
command: when, in seconds, and its first word."""

import os
import selectors
import socket
import sys
import time



def crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def take(data):
    """The words of the first command in there, and the rest; None: it is not complete."""
    try:
        head, rest = data.split(b"\r\n", 1)
        words = []
        for _ in range(int(head[1:])):
            size, rest = rest.split(b"\r\n", 1)
            size = int(size[1:])
            if len(rest) < size + 2:
                return None
            words.append(rest[:size])
            rest = rest[size + 2 :]
        return words, rest
    except ValueError:
        return None


log = open(sys.argv[1], "a", buffering=1, encoding="utf-8")
listeners = []
for _ in range(2):
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(50)
    listeners.append(listener)
ports = [listener.getsockname()[1] for listener in listeners]
places = [sys.argv[2]] * 2 if len(sys.argv) > 2 else [f"127.0.0.1:{port}" for port in reversed(ports)]
poll = selectors.DefaultSelector()
for at, listener in enumerate(listeners):
    poll.register(listener, selectors.EVENT_READ, (at, None))
print(*ports, flush=True)


def answer(words, place):
    name = words[0].upper()
    log.write(f"{time.monotonic():.6f} {name.decode()}\n")
    if name == b"TIME":
        return b"*2\r\n$10\r\n%d\r\n$1\r\n0\r\n" % time.time()
    if name == b"SCRIPT":
        return b"*%d\r\n" % (len(words) - 2) + b":0\r\n" * (len(words) - 2)
    if name in (b"EVAL", b"EVALSHA", b"EXISTS"):
        key = words[3] if name != b"EXISTS" else words[1]
        word = b"ASK" if "LIAR_ASKS" in os.environ and place == places[0] else b"MOVED"
        return b"-%s %d %s\r\n" % (word, crc16(key) % 16384, place.encode())
    return b"+OK\r\n"


while True:
    for event, _ in poll.select():
        at, kept = event.data
        if kept is None:
            client, _ = event.fileobj.accept()
            poll.register(client, selectors.EVENT_READ, (at, bytearray()))
            continue
        got = event.fileobj.recv(65536)
        kept += got
        if not got:
            poll.unregister(event.fileobj)
            event.fileobj.close()
            continue
        while kept:
            taken = take(bytes(kept))
            if taken is None:
                break
            kept[:] = taken[1]
            event.fileobj.sendall(answer(taken[0], places[at]))
