"""Clocks of repeated jobs: each from which a seed could come is ahead, and all run on."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: What an app may read, in seconds.
CLOCKS = [
    "time.time()",
    "time.time_ns() / 1e9",
    "time.monotonic()",
    "time.monotonic_ns() / 1e9",
    "time.perf_counter()",
    "time.perf_counter_ns() / 1e9",
    "time.process_time()",
    "time.clock_gettime(time.CLOCK_REALTIME)",
    "time.mktime(time.localtime())",
    "time.mktime(time.localtime(None))",
    "calendar.timegm(time.gmtime())",
    "time.mktime(time.strptime(time.ctime()))",
    "time.mktime(time.strptime(time.asctime()))",
    "int(time.strftime('%s'))",
    "datetime.datetime.now().timestamp()",
    "datetime.datetime.now(datetime.timezone.utc).timestamp()",
    "datetime.datetime.now(tz=datetime.timezone.utc).timestamp()",
    "datetime.datetime.today().timestamp()",
    "datetime.datetime.utcnow().timestamp()",
    "datetime.date.today().toordinal() * 86400",
    "now_of_an_import.now().timestamp()",
]
SCRIPT = """
import calendar, copy, pickle, sys, warnings
from folkmoot import clock
warnings.simplefilter("ignore")
made_before = __import__("datetime").datetime(2020, 1, 2)
clock.move()
import datetime, time
from datetime import datetime as now_of_an_import
for text in sys.argv[1:]:
    before = eval(text)
    with clock.later(True):
        ahead = eval(text)
    assert abs(ahead - before - clock.AHEAD) < 86400 * ("date.today" in text) + 5, (text, before, ahead)
    assert abs(eval(text) - before) < 5 or "date.today" in text, text
# Given times are not moved, and classes are still those of values of all origins.
with clock.later(True):
    assert time.gmtime(0).tm_year == 1970 and time.strftime("%Y", time.gmtime(0)) == "1970"
    assert datetime.datetime.fromtimestamp(0, datetime.timezone.utc).year == 1970
assert isinstance(made_before, datetime.datetime) and isinstance(made_before, datetime.date)
now = datetime.datetime.now()
assert pickle.loads(pickle.dumps(now)) == now == copy.deepcopy(now) and now > made_before
assert isinstance(now - made_before, datetime.timedelta) and issubclass(datetime.datetime, datetime.date)
"""


def test_every_clock_is_ahead_where_a_job_is_repeated() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT, *CLOCKS], check=True)


def test_libraries_of_dates_work_with_moved_clocks() -> None:
    pytest.importorskip("pandas")
    code = "from folkmoot import clock; clock.move(); import pandas, datetime; t = pandas.Timestamp(datetime.datetime.now())"
    code += "; assert isinstance(t, datetime.datetime); assert len(pandas.date_range(t, periods=3, freq='D')) == 3"
    code += "; assert pandas.Series([datetime.date.today()]).iloc[0] == datetime.date.today()"
    subprocess.run([sys.executable, "-c", code], check=True)
