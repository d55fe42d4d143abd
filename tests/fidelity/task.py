"""What server, clients and the app of the card have in common: messages, and a learning curve.

A model is `n` numbers, of which the first one learns: a client moves it towards 1 by a share of the
way. The number is the accuracy. An update is a `u32`, the number of samples, and the numbers.
"""

import socket
import struct

#: Length of the payload, round, and zeros up to the header that Folkmoot counts.
HEADER = struct.Struct("<QI28x")


def gain(client):
    return 0.05 + 0.01 * (client % 4)


def trained(client, accuracy):
    return accuracy + gain(client) * (1 - accuracy)


def prepare(stream):
    """CUBIC, whatever the machine uses, and no waiting for more bytes."""
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
