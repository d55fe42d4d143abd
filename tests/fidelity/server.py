"""A server: FedAvg in synchronous rounds, or FedBuff with a buffer of K updates.

    python3 server.py PORT CLIENTS PARAMETERS ROUNDS K

K is 0 for FedAvg. Waits for all clients, then starts the clock. Prints, as JSON, the seconds and
the accuracy at the end of each round, and the messages and bytes each way.
"""

import json
import math
import selectors
import socket
import struct
import sys
import time

from task import HEADER, prepare


class Peer:
    """A connection: what is to be sent, and what has come of a message."""

    def __init__(self, stream):
        self.stream, self.out, self.sent_at = stream, [], None
        self.client = struct.unpack("<I", stream.recv(4, socket.MSG_WAITALL))[0]
        self.expect(bytearray(HEADER.size))
        self.round = None
        stream.setblocking(False)

    def expect(self, data):
        self.data, self.n_read = data, 0


class Server:
    def __init__(self, n_clients, n_parameters, n_rounds, buffer):
        self.n_clients, self.n_rounds, self.buffer = n_clients, n_rounds, buffer
        self.model = bytearray(4 * n_parameters)
        self.accuracy, self.round, self.updates, self.ends = 0.0, 0, [], []
        self.counts = {"down": [0, 0], "up": [0, 0]}
        self.selector = selectors.DefaultSelector()
        self.peers = {}

    def count(self, way, n):
        self.counts[way][0] += 1
        self.counts[way][1] += n

    def ask(self, client):
        """Queues the model: all clients are sent to at the same time."""
        peer = self.peers[client]
        struct.pack_into("<f", self.model, 0, self.accuracy)
        peer.asked_in, peer.asked_with = self.round, struct.unpack_from("<f", self.model)[0]
        peer.out += [memoryview(HEADER.pack(len(self.model), self.round)), memoryview(bytes(self.model))]
        self.count("down", len(self.model))
        self.selector.modify(peer.stream, selectors.EVENT_READ | selectors.EVENT_WRITE, peer)

    def write(self, peer):
        while peer.out:
            try:
                n = peer.stream.send(peer.out[0][: 1 << 18])
            except BlockingIOError:
                return
            peer.out[0] = peer.out[0][n:]
            if not peer.out[0]:
                peer.out.pop(0)
        self.selector.modify(peer.stream, selectors.EVENT_READ, peer)

    def read(self, peer):
        while True:
            try:
                n = peer.stream.recv_into(memoryview(peer.data)[peer.n_read :])
            except BlockingIOError:
                return
            if not n:
                raise ConnectionError(f"client {peer.client} has left")
            peer.n_read += n
            if peer.n_read < len(peer.data):
                continue
            if peer.round is None:
                n_payload, peer.round = HEADER.unpack(peer.data)
                peer.expect(bytearray(n_payload))
                continue
            data, peer.round = peer.data, None
            peer.expect(bytearray(HEADER.size))
            self.count("up", len(data))
            self.take(peer, struct.unpack_from("<f", data, 4)[0])

    def take(self, peer, accuracy):
        """An update has come: as a model in FedAvg, as a change with a discount in FedBuff."""
        staleness = self.round - peer.asked_in
        self.updates.append((accuracy, accuracy - peer.asked_with, 1 / math.sqrt(1 + staleness)))
        full = len(self.updates) >= (self.buffer or self.n_clients)
        if full:
            n = len(self.updates)
            if self.buffer:
                self.accuracy += sum(change * discount for _, change, discount in self.updates) / n
            else:
                self.accuracy = sum(accuracy for accuracy, _, _ in self.updates) / n
            self.updates = []
            self.round += 1
            self.ends.append((time.monotonic() - self.began, self.accuracy))
        if self.round >= self.n_rounds:
            return
        for client in [peer.client] if self.buffer else range(self.n_clients) if full else []:
            self.ask(client)

    def run(self, port):
        with socket.create_server(("", port), backlog=self.n_clients) as listener:
            prepare(listener)
            for _ in range(self.n_clients):
                stream, _ = listener.accept()
                peer = Peer(stream)
                self.peers[peer.client] = peer
                self.selector.register(stream, selectors.EVENT_READ, peer)
        time.sleep(0.5)
        self.began = time.monotonic()
        for client in range(self.n_clients):
            self.ask(client)
        while self.round < self.n_rounds:
            for key, events in self.selector.select():
                if events & selectors.EVENT_WRITE:
                    self.write(key.data)
                if events & selectors.EVENT_READ and self.round < self.n_rounds:
                    self.read(key.data)
        print(json.dumps({"rounds": self.ends, **self.counts}))


if __name__ == "__main__":
    port, *settings = map(int, sys.argv[1:])
    Server(*settings).run(port)
