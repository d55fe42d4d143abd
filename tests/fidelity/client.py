"""A client: receives a model, sleeps for its compute time, sends an update.

    python3 client.py SERVER PORT CLIENT SECONDS

Prints the mean seconds from a received model to the beginning of its update.
"""

import contextlib
import socket
import statistics
import struct
import sys
import time

from task import HEADER, prepare, trained


def received(stream, n):
    data = bytearray(n)
    view, n_read = memoryview(data), 0
    while n_read < n:
        n_new = stream.recv_into(view[n_read:])
        if not n_new:
            return None
        n_read += n_new
    return data


def main():
    host, port, client, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    stream = socket.socket()
    prepare(stream)
    stream.connect((host, port))
    stream.sendall(struct.pack("<I", client))
    spent = []
    # The server ends the last round without waiting for whoever still trains.
    with contextlib.suppress(ConnectionError):
        while header := received(stream, HEADER.size):
            n, round_number = HEADER.unpack(header)
            model = received(stream, n)
            if model is None:
                break
            began = time.monotonic()
            update = bytearray(4) + model
            struct.pack_into("<If", update, 0, 1, trained(client, *struct.unpack_from("<f", model)))
            time.sleep(max(began + seconds - time.monotonic(), 0))
            spent.append(time.monotonic() - began)
            stream.sendall(HEADER.pack(len(update), round_number) + update)
    print(statistics.fmean(spent))


if __name__ == "__main__":
    main()
