"""The configurations that are compared: sizes in bytes, rates in bytes/s, times in seconds."""

import dataclasses
import random
from typing import Optional


@dataclasses.dataclass(frozen=True)
class Configuration:
    name: str
    clients: int
    #: Payload of a model.
    size: int
    #: Rates of each client's link.
    up: float
    down: float
    #: Compute time of each client.
    seconds: tuple
    rounds: int
    #: Updates in FedBuff's buffer; 0 for FedAvg.
    buffer: int = 0
    latency_ms: float = 0.0
    #: Rates of the server's link.
    server_up: Optional[float] = None
    server_down: Optional[float] = None

    @property
    def parameters(self):
        return self.size // 4


def equal(n, seconds):
    return (seconds,) * n


def stragglers(n, seconds, factor, share=0.25):
    """So many clients at the end take `factor` times as long."""
    n_slow = max(1, round(n * share))
    return equal(n - n_slow, seconds) + equal(n_slow, seconds * factor)


def spread(n, median, sigma):
    """Log-normal compute times."""
    dice = random.Random(n)
    return tuple(round(median * dice.lognormvariate(0, sigma), 3) for _ in range(n))


K, M = 1e3, 1e6
#: The rules of slow start were chosen with these.
KNOWN = [
    Configuration("avg-4-slow", 4, 100_000, 0.1 * M, 0.1 * M, equal(4, 0.3), 5),
    Configuration("avg-8", 8, 500_000, 1 * M, 1 * M, equal(8, 0.3), 8),
    Configuration("avg-16-large", 16, 2_000_000, 1 * M, 1 * M, equal(16, 0.5), 3),
    Configuration("avg-32", 32, 250_000, 1 * M, 1 * M, equal(32, 0.5), 8),
    Configuration("avg-4-fast", 4, 4_000_000, 10 * M, 10 * M, equal(4, 0.2), 10),
    Configuration("avg-8-asymmetric", 8, 400_000, 0.25 * M, 2 * M, equal(8, 0.3), 6),
    Configuration("avg-8-stragglers", 8, 300_000, 1 * M, 2 * M, stragglers(8, 0.2, 4), 8),
    Configuration("avg-32-spread", 32, 100_000, 0.5 * M, 1 * M, spread(32, 0.2, 0.6), 8),
    Configuration("avg-8-20ms", 8, 250_000, 1 * M, 1 * M, equal(8, 0.3), 10, latency_ms=20),
    Configuration("avg-4-50ms", 4, 1_000_000, 5 * M, 5 * M, equal(4, 0.3), 8, latency_ms=50),
    Configuration("avg-4-100ms", 4, 1_000_000, 10 * M, 10 * M, equal(4, 0.3), 8, latency_ms=100),
    Configuration("avg-8-100ms-small", 8, 20_000, 1 * M, 1 * M, equal(8, 0.2), 16, latency_ms=100),
    Configuration(
        "avg-8-server", 8, 300_000, 1 * M, 1 * M, equal(8, 0.3), 4,
        latency_ms=10, server_up=2 * M, server_down=2 * M,
    ),
    Configuration("avg-16-server", 16, 250_000, 10 * M, 10 * M, equal(16, 0.3), 4, server_up=4 * M, server_down=4 * M),
    Configuration("avg-32-server", 32, 200_000, 1 * M, 1 * M, equal(32, 0.3), 6, server_up=10 * M, server_down=10 * M),
    Configuration(
        "avg-8-server-stragglers", 8, 300_000, 1 * M, 1 * M, stragglers(8, 0.2, 5), 5,
        latency_ms=20, server_up=2 * M, server_down=4 * M,
    ),
    Configuration("buff-8", 8, 250_000, 1 * M, 1 * M, stragglers(8, 0.3, 4), 20, 4),
    Configuration("buff-16-spread", 16, 100_000, 0.5 * M, 1 * M, spread(16, 0.4, 0.8), 40, 4),
    Configuration("buff-32", 32, 250_000, 1 * M, 1 * M, spread(32, 0.5, 0.5), 30, 8),
    Configuration("buff-8-50ms", 8, 200_000, 2 * M, 2 * M, spread(8, 0.3, 0.5), 60, 2, latency_ms=50),
    Configuration(
        "buff-16-server", 16, 200_000, 2 * M, 2 * M, spread(16, 0.4, 0.6), 40, 4,
        server_up=4 * M, server_down=4 * M,
    ),
    Configuration(
        "buff-32-server", 32, 100_000, 1 * M, 1 * M, spread(32, 0.4, 0.6), 40, 8,
        latency_ms=20, server_up=6 * M, server_down=6 * M,
    ),
]
#: These were run for the first time when the rules stood.
HELD_OUT = [
    Configuration("avg-8-30ms", 8, 400_000, 2 * M, 2 * M, spread(8, 0.8, 0.4), 6, latency_ms=30),
    Configuration("avg-16-80ms", 16, 150_000, 0.5 * M, 0.5 * M, equal(16, 0.4), 8, latency_ms=80),
    Configuration("avg-4-10ms", 4, 2_000_000, 8 * M, 8 * M, stragglers(4, 0.2, 3), 8, latency_ms=10),
    Configuration("avg-4-50ms-idle", 4, 1_500_000, 3 * M, 3 * M, equal(4, 2.0), 4, latency_ms=50),
    Configuration("buff-16-100ms", 16, 150_000, 2 * M, 1 * M, spread(16, 0.5, 0.6), 40, 4, latency_ms=100),
    Configuration(
        "buff-24-server", 24, 150_000, 1 * M, 2 * M, spread(24, 0.4, 0.5), 40, 6,
        latency_ms=30, server_up=5 * M, server_down=3 * M,
    ),
]
ALL = KNOWN + HELD_OUT
