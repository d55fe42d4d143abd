"""Virtual time for apps: `time.sleep`, `time.time` and other clocks of this process.

Importing this module replaces them, before an app is imported. They are the real ones until
`start` is called.
"""

from __future__ import annotations

import time
import timeit
from typing import Callable, Optional

#: Virtual time 0, in seconds since 1970: the first of January 2020.
EPOCH = 1_577_836_800.0
_NS = 1_000_000_000

#: The virtual time, in nanoseconds; None for real clocks.
_now: Optional[int] = None
_wait: Callable[[int], int] = lambda until: until
_real_sleep = time.sleep


def start(now: int, wait: Optional[Callable[[int], int]] = None) -> None:
    """Sets the time. `wait` is called with the end of a sleep and returns the time then; without
    it, a sleep takes no time but its own."""
    global _now, _wait
    _now = now
    _wait = wait or (lambda until: until)


def set_now(now: int) -> None:
    global _now
    _now = now


def now() -> int:
    """The virtual time, in nanoseconds."""
    return _now or 0


def wall() -> float:
    """The virtual time as seconds since 1970."""
    return EPOCH + now() / _NS


def sleep(seconds: float) -> None:
    if _now is None:
        _real_sleep(seconds)
    else:
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        set_now(_wait(_now + round(seconds * _NS)))


def _replace(name: str, value: Callable[[int], object]) -> None:
    real = getattr(time, name)

    def clock() -> object:
        return real() if _now is None else value(_now)

    setattr(time, name, clock)


_replace("time", lambda at: EPOCH + at / _NS)
_replace("time_ns", lambda at: int(EPOCH) * _NS + at)
for _name in ("monotonic", "perf_counter"):
    _replace(_name, lambda at: at / _NS)
    _replace(_name + "_ns", lambda at: at)
time.sleep = sleep  # type: ignore[assignment]
timeit.default_timer = time.perf_counter
