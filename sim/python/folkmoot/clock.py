"""The system's clocks as an app reads them where jobs are repeated to compare their results.

A job is repeated within a second, so that an app which draws a seed from whole seconds would pass.
The repetition reads clocks that are days ahead. Within a job all clocks run as usual, so that
timeouts keep their length.
"""

from __future__ import annotations

import ctypes
import datetime
import gc
import time
from contextlib import contextmanager
from typing import Any, Iterator

#: How far ahead the clocks of a repeated job are, in seconds: no whole number of days or hours.
AHEAD = 275_907
_ahead = 0
#: Clocks that take the same arguments as the original, and what one second is to them.
_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time", "clock_gettime")
#: Functions that read the clock if the argument at this position is left out, and what makes a
#: value for it.
_READERS = {"localtime": (0, "time"), "gmtime": (0, "time"), "ctime": (0, "time"), "asctime": (0, "localtime"), "strftime": (1, "localtime")}


def move() -> None:
    """Puts the clocks of `time` and `datetime` on this one, for code that is imported afterwards."""
    for name in _CLOCKS:
        for clock, second in ((name, 1), (f"{name}_ns", 10**9)):
            if hasattr(time, clock):
                _move_clock(clock, second)
    for name, (position, of) in _READERS.items():
        _move_reader(name, position, of)
    # The class itself: another one in its place would be none to libraries in C. `today` asks `time.time`.
    members = gc.get_referents(datetime.datetime.__dict__)[0]
    for name in ("now", "utcnow"):
        members[name] = _moved_date(members[name])
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime.datetime))


def _move_clock(name: str, second: int) -> None:
    read = getattr(time, name)
    setattr(time, name, lambda *which: read(*which) + _ahead * second)


def _move_reader(name: str, position: int, of: str) -> None:
    read = getattr(time, name)

    def moved(*values: Any) -> Any:
        is_now = len(values) == position or (len(values) == position + 1 and values[-1] is None)
        return read(*values[:position], getattr(time, of)()) if is_now else read(*values)

    setattr(time, name, moved)


def _moved_date(read: Any) -> Any:
    def moved(of: Any, *zone: Any, **named: Any) -> Any:
        return read.__get__(None, of)(*zone, **named) + datetime.timedelta(seconds=_ahead)

    return classmethod(moved)


@contextmanager
def later(is_later: bool) -> Iterator[None]:
    """Has the clocks ahead in a block, if `is_later`."""
    global _ahead
    _ahead = AHEAD if is_later else 0
    try:
        yield
    finally:
        _ahead = 0
