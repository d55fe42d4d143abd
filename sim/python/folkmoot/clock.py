"""The system's clock as an app reads it where jobs are repeated to compare their results.

A job is repeated within a second, so that an app which draws a seed from whole seconds would pass.
The repetition reads a clock that is days ahead.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import Iterator

#: How far ahead the clock of a repeated job is, in seconds: no whole number of days or hours.
AHEAD = 275_907
_ahead = 0


def move() -> None:
    """Puts `time.time` and `time.time_ns` on this clock, for code that is imported afterwards."""
    read, read_ns = time.time, time.time_ns
    setattr(time, "time", lambda: read() + _ahead)
    setattr(time, "time_ns", lambda: read_ns() + _ahead * 10**9)


@contextmanager
def later(is_later: bool) -> Iterator[None]:
    """Has the clock ahead in a block, if `is_later`."""
    global _ahead
    _ahead = AHEAD if is_later else 0
    try:
        yield
    finally:
        _ahead = 0
