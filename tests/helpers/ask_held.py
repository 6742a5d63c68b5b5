#!/usr/bin/env python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""ask_held.py ADDRESS TOKEN: asks the RUNNER that listens there, as dlock --held does (run/inquiry.h),
and prints what its answer says: the verdict, then every byte of the rest but NULs."""

import os
import socket
import struct
import sys

QUESTION = "@8sQi37s0Q"  # struct inquiry_question
ANSWER = "@8sQi"  # what struct inquiry_answer begins with
HELD = 1

address, token = sys.argv[1:]
asker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
asker.bind("")  # the kernel makes a name up
asker.settimeout(5)
nonce = int.from_bytes(os.urandom(8), "little")
question = struct.pack(QUESTION, b"dlock 2", nonce, HELD, token.encode())
asker.sendto(question, b"\0dlock-" + address.encode())
answer = asker.recv(65536)
_, nonce_back, verdict = struct.unpack_from(ANSWER, answer)
assert nonce_back == nonce
print("verdict", verdict)
print(answer[struct.calcsize(ANSWER) :].replace(b"\0", b""))
