"""Passes each packet between two devices after a fixed time: the latency of the links.

    python3 relay.py DEVICE DEVICE MS

Packets keep their order. Segments that the kernel has joined stay joined, by the header of virtio.
"""

import collections
import select
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR, ALL = 263, 15, 0x0003


def opened(device):
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    end.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        # Beyond the machine's limit for sockets, as root may: SO_SNDBUFFORCE, SO_RCVBUFFORCE.
        end.setsockopt(socket.SOL_SOCKET, 33 if option == socket.SO_RCVBUF else 32, 1 << 26)
    end.bind((device, ALL))
    return end


def main():
    first, second = opened(sys.argv[1]), opened(sys.argv[2])
    latency = float(sys.argv[3]) / 1000
    out, waiting = {first: second, second: first}, collections.deque()
    buffer = bytearray(70_000)
    while True:
        due = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
        for end in select.select([first, second], [], [], due)[0]:
            now = time.monotonic()
            for _ in range(64):
                try:
                    n, (_, _, kind, *_) = end.recvfrom_into(buffer, 0, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    break
                if kind != socket.PACKET_OUTGOING:
                    waiting.append((now + latency, out[end], bytes(buffer[:n])))
        while waiting and waiting[0][0] <= time.monotonic():
            _, end, packet = waiting.popleft()
            end.send(packet)


if __name__ == "__main__":
    main()
