#!/usr/bin/env python3
# Copyright (c) 2026 the dlock authors
# SPDX-License-Identifier: MIT
"""tls_peer.py MODE [ARG...]: who may stand at the other end of a connection, or in the middle of it.

    silent [ADDRESS [PORT]]  accepts, and says nothing
    say TEXT                 answers TEXT to whatever comes, and closes
    close                    closes as soon as something came
    reset                    resets the connection then
    drip PORT                passes on to PORT of 127.0.0.1 and back, one byte at a time
    trickle PORT             passes on to PORT of 127.0.0.1, and back a byte every 50 ms
    old CERTIFICATE KEY      a server that has nothing newer than TLS 1.1
    named NAME CERTIFICATE KEY
                             one that has a certificate for NAME alone, and for who asks for no name

Prints its port. Ends with the test.
"""
import selectors
import socket
import ssl
import struct
import sys
import time


def listen(address="127.0.0.1", port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen()
    print(listener.getsockname()[1], flush=True)
    return listener


def silent(address="127.0.0.1", port="0"):
    listener = listen(address, int(port))
    kept = []
    while True:
        kept.append(listener.accept())


def say(text):
    listener = listen()
    while True:
        peer, _ = listener.accept()
        try:
            peer.recv(4096)
            peer.sendall(text.encode().decode("unicode_escape").encode("latin-1"))
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(4096):
                pass
        except OSError:
            pass
        peer.close()


def close():
    listener = listen()
    while True:
        peer, _ = listener.accept()
        peer.recv(65536)
        peer.close()


def reset():
    listener = listen()
    while True:
        peer, _ = listener.accept()
        peer.recv(65536)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()


def trickle(port):
    listener = listen()
    while True:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", int(port)))
        try:
            server.sendall(client.recv(65536))
            while byte := server.recv(1):
                client.sendall(byte)
                time.sleep(0.05)
        except OSError:
            pass
        client.close()
        server.close()


def drip(port):
    listener = listen()
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ, None)
    while True:
        for key, _ in selector.select():
            if key.data is None:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", int(port)))
                for one, other in (client, server), (server, client):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    selector.register(one, selectors.EVENT_READ, other)
                continue
            try:
                byte = key.fileobj.recv(1)
                if byte:
                    key.data.sendall(byte)
                    continue
            except OSError:
                pass
            for end in key.fileobj, key.data:
                selector.unregister(end)
                end.close()
            break


def shake_hands(context):
    listener = listen()
    while True:
        peer, _ = listener.accept()
        try:
            peer = context.wrap_socket(peer, server_side=True)
            # Closed with something unread it would be a reset, if that had come by then.
            peer.settimeout(2)
            peer.recv(65536)
            peer.close()
        except (OSError, ssl.SSLError):
            peer.close()


def old(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.load_cert_chain(certificate, key)
    shake_hands(context)


def named(name, certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.sni_callback = lambda _socket, asked, _context: (
        None if asked in (None, name) else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    )
    shake_hands(context)


MODES = {
    "silent": silent,
    "say": say,
    "close": close,
    "reset": reset,
    "trickle": trickle,
    "drip": drip,
    "old": old,
    "named": named,
}

if __name__ == "__main__":
    MODES[sys.argv[1]](*sys.argv[2:])
