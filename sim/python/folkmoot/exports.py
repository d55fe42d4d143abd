"""Curves of a run or sweep for other programs: Parquet files and event files of TensorBoard.

| form        | content                                                                          |
|-------------|----------------------------------------------------------------------------------|
| Parquet     | the table `curves`, with its types                                               |
| TensorBoard | one folder per run of a sweep, with one file of scalars: wall time is virtual    |
|             | seconds; the step of `metric/split` is the round, that of                        |
|             | `metric_by_bytes/split` the bytes sent until then                                |

The columns and their types are those of `Run.curves`. Needs libraries that the package itself does
not: the extras `parquet` and `tensorboard`.
"""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any, Iterator, Tuple, Union

from .program import AnyPath, FolkmootError, call, warned
from .results import Run, Sweep, library

#: TensorBoard reads every file with `tfevents` in its name.
EVENTS = "events.out.tfevents.folkmoot"


def needed(module: str, packages: str, purpose: str) -> Any:
    """The module, of which `pip install packages` is the way to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise FolkmootError(f"{purpose} needs {module} ({error})\n  help: python -m pip install {packages}") from error


@contextlib.contextmanager
def new(path: AnyPath) -> Iterator[Path]:
    """A place for a file or folder that takes the name `path`, which must be free, once it is whole."""
    path = Path(path)
    if os.path.lexists(path):
        raise FolkmootError(f"{path} already exists and is never overwritten; choose another path")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as temp:
        part = Path(temp) / "part"
        yield part
        os.rename(part, path)


def parquet(made: Union[Run, Sweep], path: AnyPath) -> None:
    """See `Run.to_parquet`."""
    if library() == "pandas":
        needed("pyarrow", "pyarrow", "writing a Parquet file with pandas")
    _note_unfinished(made)
    with new(path) as part:
        curves = made.curves
        curves.write_parquet(part) if library() == "polars" else curves.to_parquet(part, engine="pyarrow", index=False)


def tensorboard(made: Union[Run, Sweep], folder: AnyPath) -> None:
    """See `Run.to_tensorboard`."""
    purpose = "writing event files"
    records = needed("tensorboard.summary.writer.record_writer", "tensorboard", purpose)
    event = needed("tensorboard.compat.proto.event_pb2", "tensorboard", purpose).Event
    summary = needed("tensorboard.compat.proto.summary_pb2", "tensorboard", purpose).Summary
    runs = made.runs if isinstance(made, Sweep) else [made]
    if not runs:
        raise FolkmootError(f"{made.path}: no run is finished yet")
    _note_unfinished(made)
    with new(folder) as part:
        for run in runs:
            place = part / run.path.name if isinstance(made, Sweep) else part
            place.mkdir(parents=True)
            with open(place / EVENTS, "wb") as file:
                writer = records.RecordWriter(file)
                writer.write(event(file_version="brain.Event:2").SerializeToString())
                for tag, virtual_s, step, score in _scalars(run):
                    content = summary(value=[summary.Value(tag=tag, simple_value=score)])
                    writer.write(event(wall_time=virtual_s, step=step, summary=content).SerializeToString())


def _scalars(run: Run) -> Iterator[Tuple[str, float, int, float]]:
    """Tag, virtual seconds, step and value of every event."""
    table = io.StringIO(call("export", str(run.path), "--long-csv"), newline="")
    for row in csv.DictReader(table):
        virtual_s, score = float(row["virtual_s"]), float(row["value"])
        yield f"{row['metric']}/{row['split']}", virtual_s, int(row["round"]), score
        yield f"{row['metric']}_by_bytes/{row['split']}", virtual_s, int(row["bytes"]), score


def _note_unfinished(made: Union[Run, Sweep]) -> None:
    if not made.manifest["finished"]:
        warned(f"{made.path} is not finished: the export has its results until now")
