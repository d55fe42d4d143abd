"""Runs and sweeps of Folkmoot, and their results as frames and arrays.

    run = folkmoot.run("fed-avg/small", set={"strategy.protocol.rounds": 5})
    run.scores                                  # a frame
    sweep = folkmoot.sweep("my-card.ron", out="runs/mine")
    sweep.curves                                # every score by round, virtual time and bytes

Frames are of pandas where it is installed, else of polars; `frames("polars")` chooses. The type of every column is stated here, so that
frames of two runs always go together, whatever their numbers. Files are read when they are asked for, each time.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import json
import numbers
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from .app import Context, Facts, Metric, Model, Shard, Update, evaluate, initial, measured, train
from .items import Items, client_data, evaluate_at_client, gradient, predict
from .notebook import App, stored

__all__ = [
    "Context",
    "Facts",
    "FolkmootError",
    "Frame",
    "Items",
    "Metric",
    "Model",
    "Run",
    "Shard",
    "Sweep",
    "Update",
    "client_data",
    "evaluate",
    "evaluate_at_client",
    "frames",
    "gradient",
    "initial",
    "load",
    "measured",
    "part",
    "predict",
    "quoted",
    "ron",
    "run",
    "save",
    "sweep",
    "train",
]

#: A frame of pandas or polars.
Frame = Any
_Path = Union[str, "os.PathLike[str]"]

# Columns by table: i whole number, m one that may be missing, u one of 64 bits, f float (missing: null), s text, b truth.
_CURVE = "seed:u round:i virtual_s:f bytes:i split:s metric:s value:f n:i"
_TABLES = {
    "rounds": "round:i virtual_s:f cohort:i completed:i dropped:i late:i staleness_mean:f",
    "messages": "phase:s round:i kind:s direction:s sent:i delivered:i dropped:i in_flight:i retried:i payload_bytes:i header_bytes:i "
    "expected_messages:f materialised:b",
    "scores": "round:i virtual_s:f split:s metric:s value:f n:i",
    "readings": "round:i virtual_s:f metric:s value:f n:i",
    "privacy": "mechanism:s unit:s releases:i epsilon_per_release:f delta_per_release:f epsilon_max_client:f epsilon_mean_client:f "
    "composition:s epsilon_claimed:f delta_total:f epsilon_basic:f epsilon_advanced:f epsilon_renyi:f",
    "clients": "client:i shard_size:i rounds:i uplink_bytes:i downlink_bytes:i peer_bytes:i compute_s:f online_s:f",
    "observations": "round:i metric:s value:f",
    "timing": "stage:s seconds:f peak_memory_bytes:m memory_bytes:m",
}
_PARSERS: Dict[str, Callable[[str], Any]] = {"i": int, "m": int, "u": int, "f": float, "s": str, "b": "true".__eq__}
_PANDAS = {"i": "int64", "m": "Int64", "u": "uint64", "f": "float64", "s": "str", "b": "bool"}
_POLARS = {"i": "Int64", "m": "Int64", "u": "UInt64", "f": "Float64", "s": "String", "b": "Boolean"}
_chosen: Optional[str] = None


class FolkmootError(Exception):
    """What the program said when it failed, or what a directory lacks."""


def frames(library: str) -> None:
    """Chooses the library that frames are of: "pandas" or "polars"."""
    global _chosen
    if library not in ("pandas", "polars"):
        raise ValueError(f'frames are of "pandas" or of "polars", not of {library!r}')
    _chosen = library


def _library() -> str:
    names = [_chosen] if _chosen else ["pandas", "polars"]
    for name in names:
        if importlib.util.find_spec(name):
            return name
    raise FolkmootError(f"frames need {' or '.join(names)}, which is not installed\n  help: python -m pip install {names[0]}")


def _frame(text: str, columns: Mapping[str, str], rest: str = "s") -> Frame:
    """The table `text` with the types of `columns`; columns that are not among them have the type `rest`."""
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    types = {**{name: columns.get(name, rest) for name in header}, **columns}
    cells = dict(zip(header, zip(*rows))) if rows else {}
    # Directories of earlier versions lack some columns.
    blank = [""] * len(rows)
    data: Dict[str, List[Any]] = {}
    for name, kind in types.items():
        parse = _PARSERS[kind]
        data[name] = [parse(cell) if cell or kind == "s" else None for cell in cells.get(name, blank)]
    library = _library()
    module = importlib.import_module(library)
    if library == "polars":
        return module.DataFrame(data, schema={name: getattr(module, _POLARS[kind]) for name, kind in types.items()})
    return module.DataFrame({name: module.Series(data[name], dtype=_PANDAS[kind]) for name, kind in types.items()})


def _columns(spec: str) -> Dict[str, str]:
    return {name: kind for name, kind in (column.split(":") for column in spec.split())}


def quoted(text: str) -> str:
    """`text` as a card writes text, in quotes; bare text is a name or any other RON."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def part(name: str = "", /, **fields: Any) -> str:
    """`Name(field: value)` as a card writes it; without a name, a group of fields."""
    return f"{name}({', '.join(f'{field}: {ron(value)}' for field, value in fields.items())})"


def ron(value: Any) -> str:
    """A value as a card writes it. Text is taken as RON, since most of it is names: `Gin`, `Planetoid(name: Cora)`; for text in quotes
    there is `quoted`. A dict is a map, as in `sweep.axes`; for a group of fields there is `part`."""
    if value is None or isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        text = repr(float(value))
        return "NaN" if text == "nan" else text
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{quoted(str(key))}: {ron(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(ron, value))
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    raise TypeError(f"a card has no value of the kind {type(value).__name__}: {value!r}")


def _program() -> str:
    beside = os.pathsep.join([sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")])
    found = os.environ.get("FOLKMOOT_BIN") or shutil.which("folkmoot", path=beside) or shutil.which("folkmoot")
    if not found:
        raise FolkmootError("there is no program folkmoot beside this package or on the PATH; FOLKMOOT_BIN can name it")
    return found


def _call(*args: str) -> str:
    # In a session of its own, so that an interrupt reaches the program once, which then keeps what is finished.
    pipe = subprocess.PIPE
    process = subprocess.Popen([_program(), *args], stdout=pipe, stderr=pipe, encoding="utf-8", start_new_session=True)
    try:
        out, err = process.communicate()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        raise KeyboardInterrupt(process.communicate()[1].strip()) from None
    if process.returncode:
        raise FolkmootError(err.strip() or f"folkmoot ended with {process.returncode}")
    return out


def _made(command: str, card: _Path, settings: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The directory that a command makes of a card."""
    with tempfile.TemporaryDirectory() as temp:
        if isinstance(card, str) and ("\n" in card or card.lstrip().startswith("(")):
            (Path(temp) / "card.ron").write_text(card, encoding="utf-8")
            card = Path(temp) / "card.ron"
        args = [command, os.fspath(card), "--format", "json"]
        for path, value in settings.items():
            args += ["--set", f"{path}={ron(value)}"]
        for name, value in options.items():
            if value is not None and value is not False:
                args += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return str(json.loads(_call(*args))["dir"])


def save(
    data: Any,
    path: _Path,
    *,
    x: Any = None,
    y: Any = None,
    task: Optional[str] = None,
    y_names: Optional[Iterable[str]] = None,
    edge_attr: Any = None,
    edge_weight: Any = None,
    train_mask: Any = None,
    val_mask: Any = None,
    test_mask: Any = None,
    client: Any = None,
    node_id: Any = None,
    directed: Optional[bool] = None,
    split: int = 0,
    id: Optional[str] = None,
    label: Optional[str] = None,
    features: Optional[Iterable[str]] = None,
    source: Optional[str] = None,
    target: Optional[str] = None,
    weight: Optional[str] = None,
) -> Path:
    """Saves a graph, or a set of graphs, as an archive for `dataset: Npz(path: …)`, and returns its path.

    `data` is a `Data`, a list of `Data` or a data set of PyTorch Geometric, a graph or a list of NetworkX or DGL, a sparse adjacency matrix of
    SciPy, a pandas frame of edges or a pair of frames (nodes, edges), or a dict of arrays with `edge_index` or `adj`. The other arguments add
    what it lacks, or replace what it has, with one row per node, edge or graph. `client` names the client of each node, or of each graph.

    `task` says what `y` is: "classes", "labels" (columns of 0, 1 and missing) or "numbers". By default integers and texts are classes, several
    columns of 0 and 1 are labels, and floats are numbers. `split` chooses a column of masks that have several. `id`, `label`, `features`,
    `source`, `target` and `weight` name columns of frames.

    Equal arrays give equal bytes. Raises `FolkmootError` for `HeteroData`, temporal graphs and arrays that do not fit.
    """
    given = {name: value for name, value in locals().items() if name not in ("data", "path")}
    given["y_names"] = list(y_names) if y_names is not None else None
    return Path(importlib.import_module("folkmoot.graphs").save(data, path, given))


def load(path: _Path, to: str = "arrays") -> Any:
    """What `save` wrote: "arrays", a dict; "pyg", a `Data` or a list of them; or "networkx", a graph or a list of them."""
    return importlib.import_module("folkmoot.graphs").load(path, to)


def _saved(data: Any, settings: Optional[Mapping[str, Any]]) -> Tuple[Optional[_Path], Dict[str, Any]]:
    """The folder of the data, and settings with the data set: a graph is saved under a name that its content gives."""
    found = dict(settings or {})
    if data is None or isinstance(data, (str, os.PathLike)):
        return data, found
    path = Path(importlib.import_module("folkmoot.graphs").save(data, None, {}, Path("runs") / "data"))
    return path.parent, {"dataset": part("Npz", path=quoted(path.name)), **found}


def _with_app(settings: Optional[Mapping[str, Any]], app: Optional[App]) -> Mapping[str, Any]:
    if app is None:
        return settings or {}
    return {**(settings or {}), "strategy.app": quoted(stored(app))}


def run(
    card: _Path,
    *,
    set: Optional[Mapping[str, Any]] = None,
    seed: Optional[int] = None,
    out: Optional[_Path] = None,
    data: Any = None,
    threads: Optional[int] = None,
    dry_run: bool = False,
    app: Optional[App] = None,
    python: Optional[_Path] = None,
) -> Run:
    """Runs a card: a name, a path, or its text (what has a line end or begins with a bracket). `set` changes its fields, see `ron`.

    `data` is the folder with the data sets, or a graph as `save` takes it: it is saved in `runs/data` and replaces the card's data set.

    `app` is the file of an app, or names with its functions such as `globals()`; the card's strategy is then `Python(...)`. Workers run
    `python`, by default this interpreter.
    """
    data, set = _saved(data, set)
    options = {"seed": seed, "out": out, "data": data, "threads": threads, "dry-run": dry_run}
    options["python"] = sys.executable if python is None and app is not None else python
    made = Run(_made("run", card, _with_app(set, app), options))
    _warn([made])
    return made


def sweep(
    card: _Path,
    *,
    set: Optional[Mapping[str, Any]] = None,
    out: Optional[_Path] = None,
    data: Any = None,
    threads: Optional[int] = None,
    dry_run: bool = False,
    app: Optional[App] = None,
    python: Optional[_Path] = None,
) -> Sweep:
    """Runs every point of a card's sweep; the arguments are those of `run`."""
    data, set = _saved(data, set)
    options = {"out": out, "data": data, "threads": threads, "dry-run": dry_run}
    options["python"] = sys.executable if python is None and app is not None else python
    made = Sweep(_made("sweep", card, _with_app(set, app), options))
    _warn(made.runs)
    return made


def _warn(runs: Iterable[Run]) -> None:
    for text in dict.fromkeys(text for made in runs for text in made.manifest["warnings"]):
        warnings.warn(text, stacklevel=3)


class _Table:
    """One of a run's tables, read anew each time."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, made: Optional[Run], owner: Any = None) -> Frame:
        if made is None:
            return self
        # Some runs watch nothing besides, and an unfinished one has not saved all of its tables.
        path = made.path / f"{self.name}.csv"
        columns = _columns(_TABLES[self.name])
        return _frame(path.read_text(encoding="utf-8") if path.exists() else ",".join(columns), columns)


class _Dir:
    """A directory that the program made."""

    _manifest: str

    def __init__(self, path: _Path, axes: Optional[Mapping[str, Any]] = None) -> None:
        self.path = Path(path)
        #: Of a point of a sweep, its value on every axis.
        self.axes: Dict[str, Any] = dict(axes or {})
        #: What was run, and whether it is finished.
        self.manifest: Dict[str, Any] = json.loads(self._text(self._manifest))

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise FolkmootError(f"{self.path} has no {name}: it is no {type(self).__name__.lower()}, or not finished") from None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"

    @property
    def scenario(self) -> str:
        """The card, with every default."""
        return self._text("scenario.ron")

    @property
    def curves(self) -> Frame:
        """Every score by round, virtual seconds and bytes on the wire until then, beside its seed and, of a sweep, its axes."""
        return _frame(_call("export", str(self.path), "--long-csv"), {**self._axis_types(), **_columns(_CURVE)})

    def to_parquet(self, path: _Path) -> None:
        """Writes `curves` to a new Parquet file, with the types of the frame."""
        importlib.import_module("folkmoot.exports").parquet(self, path)

    def to_tensorboard(self, folder: _Path) -> None:
        """Writes every score to a new folder for TensorBoard, with one folder per run of a sweep.

        The wall time of an event is virtual seconds. The step of the tag `metric/split` is the
        round, that of `metric_by_bytes/split` the bytes sent until then.
        """
        importlib.import_module("folkmoot.exports").tensorboard(self, folder)

    def _axis_types(self) -> Dict[str, str]:
        return {}


class Run(_Dir):
    """A run directory."""

    _manifest = "manifest.json"
    rounds, messages, scores, privacy = _Table("rounds"), _Table("messages"), _Table("scores"), _Table("privacy")
    readings, clients, observations, timing = _Table("readings"), _Table("clients"), _Table("observations"), _Table("timing")

    @property
    def seed(self) -> int:
        """The seed of every random stream."""
        return int(self.manifest["seed"])

    @property
    def summary(self) -> Dict[str, float]:
        """The run's numbers by name."""
        # What is no finite number stands there as text.
        return {name: float(value) for name, value in json.loads(self._text("summary.json")).items()}

    @property
    def artifacts(self) -> List[str]:
        """The names of what the strategy left."""
        folder = self.path / "artifacts"
        return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

    def artifact(self, name: str) -> Any:
        """What the strategy left by that name: an array (.npy), a frame of text (.csv), a value (.json), or bytes."""
        if name not in self.artifacts:
            raise FolkmootError(f"{self.path} has no artifact {name}; it has: {', '.join(self.artifacts) or 'none'}")
        path = self.path / "artifacts" / name
        if path.suffix == ".npy":
            return importlib.import_module("numpy").load(path)
        if path.suffix == ".csv":
            return _frame(path.read_text(encoding="utf-8"), {})
        return json.loads(path.read_bytes()) if path.suffix == ".json" else path.read_bytes()

    @property
    def embeddings(self) -> Any:
        """The vectors of the nodes, one a row."""
        return self.artifact("embeddings.npy")


class Sweep(_Dir):
    """A sweep directory."""

    _manifest = "sweep.json"

    def _axis_types(self) -> Dict[str, str]:
        number = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf|nan)", re.IGNORECASE)
        return {axis["path"]: "f" if all(map(number.fullmatch, axis["values"])) else "s" for axis in self.manifest["axes"]}

    @property
    def points(self) -> Frame:
        """A row a finished point: its axes, its seed, and every number of its summary. Axes of numbers alone are floats, others text."""
        return _frame(self._text("points.csv"), {"point": "i", **self._axis_types(), "seed": "u"}, rest="f")

    @property
    def runs(self) -> List[Run]:
        """The runs of the finished points, in their order; `Run.axes` and `Run.seed` say which each is."""
        folders = {int(path.name.split("-")[0]): path for path in (self.path / "points").glob("[0-9]*")}
        types = self._axis_types().items()
        rows = csv.DictReader(io.StringIO(self._text("points.csv"), newline=""))
        return [Run(folders[int(row["point"])], {axis: _PARSERS[kind](row[axis]) for axis, kind in types}) for row in rows]
