"""Run and sweep directories as frames, arrays and numbers."""

from __future__ import annotations

import csv
import html
import importlib
import importlib.util
import io
import json
import re
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from .program import AnyPath, FolkmootError, call, started

#: How the names of scores of a split begin.
_SPLITS = ("train_", "validation_", "test_")

#: A frame of pandas or polars.
Frame = Any

# Columns by table: i whole number, m one that may be missing, u one of 64 bits, f float (missing: null), s text, b truth.
_CURVE = "seed:u round:i virtual_s:f bytes:i split:s metric:s value:f n:i"
_TABLES = {
    "rounds": "round:i virtual_s:f cohort:i completed:i dropped:i late:i staleness_mean:f",
    "messages": "phase:s round:i kind:s direction:s sent:i delivered:i dropped:i in_flight:i retried:i payload_bytes:i header_bytes:i "
    "expected_messages:f materialised:b",
    "scores": "round:i virtual_s:f split:s metric:s value:f n:i",
    "readings": "round:i virtual_s:f metric:s value:f n:i",
    "privacy": "mechanism:s unit:s releases:i epsilon_per_release:f delta_per_release:f epsilon_max_client:f epsilon_mean_client:f "
    "composition:s epsilon_claimed:f delta_total:f epsilon_basic:f epsilon_advanced:f epsilon_renyi:f "
    "epsilon_pld:f epsilon_total:f accountant:s",
    "clients": "client:i shard_size:i rounds:i uplink_bytes:i downlink_bytes:i peer_bytes:i compute_s:f online_s:f",
    "absences": "client:i from_s:f until_s:f",
    "partition": "client:i clients:i shard_size:i inner_edges:i cut_edges:i label:s items:i",
    "client_scores": "client:i items:i accuracy:f loss:f validation_accuracy:f",
    "controls": "control:s metric:s value:f n:i",
    "observations": "round:i metric:s value:f",
    "timing": "stage:s seconds:f peak_memory_bytes:m memory_bytes:m",
}
_PARSERS: Dict[str, Callable[[str], Any]] = {"i": int, "m": int, "u": int, "f": float, "s": str, "b": "true".__eq__}
_PANDAS = {"i": "int64", "m": "Int64", "u": "uint64", "f": "float64", "s": "str", "b": "bool"}
_POLARS = {"i": "Int64", "m": "Int64", "u": "UInt64", "f": "Float64", "s": "String", "b": "Boolean"}
_chosen: Optional[str] = None


def frames(library: str) -> None:
    """Chooses the library that frames are of: "pandas" or "polars"."""
    global _chosen
    if library not in ("pandas", "polars"):
        raise ValueError(f'frames are of "pandas" or of "polars", not of {library!r}')
    _chosen = library


def library() -> str:
    names = [_chosen] if _chosen else ["pandas", "polars"]
    for name in names:
        if importlib.util.find_spec(name):
            return name
    raise FolkmootError(f"frames need {' or '.join(names)}, which is not installed\n  help: python -m pip install {names[0]}")


#: A text that a spreadsheet would take for a formula has one more apostrophe in the file of a table.
_FORMULA = re.compile(r"'(?='*[=+\-@])")


def _cells(text: str) -> Iterator[List[str]]:
    """The rows of a table, each cell as the text that was written."""
    for row in csv.reader(io.StringIO(text, newline="")):
        yield [cell[1:] if _FORMULA.match(cell) else cell for cell in row]


def _frame(text: str, columns: Mapping[str, str], rest: str = "s") -> Frame:
    """The table `text` with the types of `columns`; columns that are not among them have the type `rest`."""
    header, *rows = _cells(text)
    types = {**{name: columns.get(name, rest) for name in header}, **columns}
    cells = dict(zip(header, zip(*rows))) if rows else {}
    # Directories of earlier versions lack some columns.
    blank = [""] * len(rows)
    data: Dict[str, List[Any]] = {}
    for name, kind in types.items():
        parse = _PARSERS[kind]
        data[name] = [parse(cell) if cell or kind == "s" else None for cell in cells.get(name, blank)]
    name = library()
    module = importlib.import_module(name)
    if name == "polars":
        return module.DataFrame(data, schema={name: getattr(module, _POLARS[kind]) for name, kind in types.items()})
    return module.DataFrame({name: module.Series(data[name], dtype=_PANDAS[kind]) for name, kind in types.items()})


def _columns(spec: str) -> Dict[str, str]:
    return {name: kind for name, kind in (column.split(":") for column in spec.split())}


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
        # Columns that only some runs have are of numbers.
        return _frame(path.read_text(encoding="utf-8") if path.exists() else ",".join(columns), columns, rest="f")


class Figure:
    """A figure on the disk: its SVG file, beside a PNG file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Figure({str(self.path)!r})"

    def _repr_svg_(self) -> str:
        return self.path.read_text(encoding="utf-8")


class _Dir:
    """A directory that the program made."""

    _manifest: str

    def __init__(self, path: AnyPath, axes: Optional[Mapping[str, Any]] = None) -> None:
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
        return _frame(call("export", str(self.path), "--long-csv"), {**self._axis_types(), **_columns(_CURVE)})

    @property
    def figures(self) -> List[str]:
        """The names of the figures that are drawn; `figure` draws others."""
        return sorted({path.stem for path in (self.path / "figures").glob("*.svg")})

    def figure(self, name: str) -> Figure:
        """A figure, which a notebook shows; it is drawn if it is not there yet. `"headline"` shows the primary metrics: of a sweep
        for each arm, of a run the first one that has a score in each round."""
        names = self._headline_figures() if name == "headline" else [name]
        for stem in names:
            try:
                if stem not in self.figures:
                    call("plot", str(self.path), "--only", stem)
                return Figure(self.path / "figures" / f"{stem}.svg")
            except FolkmootError as error:
                if "there is no figure" not in str(error):
                    raise
        # The program names all that can be drawn, also those that are not drawn yet.
        listed = started("plot", str(self.path), "--only", "-").stderr.partition("; there are ")[2].strip()
        if not listed:
            raise FolkmootError(f"{self.path} has no figure {name}: nothing in it can be drawn")
        first = listed.split(", ")[0]
        raise FolkmootError(f"{self.path} has no figure {name}; it has: {listed}\n  help: folkmoot.plot({str(self.path)!r}, only={first!r})")

    def _headline_figures(self) -> List[str]:
        return ["headline"]

    def __str__(self) -> str:
        """What `folkmoot show` prints: the question and its answer."""
        return call("show", str(self.path)).rstrip()

    def _repr_html_(self) -> str:
        try:
            figure = self.figure("headline")._repr_svg_()
        except FolkmootError:
            figure = ""
        return self._table_html() + figure

    def _table_html(self) -> str:
        raise NotImplementedError

    def to_parquet(self, path: AnyPath) -> None:
        """Writes `curves` to a new Parquet file, with the types of the frame."""
        importlib.import_module("folkmoot.exports").parquet(self, path)

    def to_tensorboard(self, folder: AnyPath) -> None:
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
    absences, partition, client_scores, controls = _Table("absences"), _Table("partition"), _Table("client_scores"), _Table("controls")

    @property
    def seed(self) -> int:
        """The seed of every random stream."""
        return int(self.manifest["seed"])

    @property
    def summary(self) -> Dict[str, float]:
        """The run's numbers by name."""
        # What is no finite number stands there as text.
        return {name: float(value) for name, value in json.loads(self._text("summary.json")).items()}

    def _headline_figures(self) -> List[str]:
        scores = [name.partition("_")[2] for name in self.manifest["headline"] if name.startswith(_SPLITS)]
        return [f"score-{metric.replace('_', '-')}-by-round" for metric in scores]

    def _table_html(self) -> str:
        """The primary metrics, with their baselines."""
        is_finished = self.manifest.get("finished", False)
        summary, terms, units = self.summary if is_finished else {}, self.manifest.get("terms", {}), self.manifest.get("units", {})
        rows = ""
        for name in self.manifest.get("headline", []):
            if name not in summary:
                continue
            better = terms.get(name.partition("_")[2] if name.startswith(_SPLITS) else name, {}).get("better")
            baselines = {other.partition("@")[2]: value for other, value in summary.items() if other.startswith(f"{name}@")}
            cells = [
                name + {"higher": " ↑", "lower": " ↓"}.get(better, ""),
                f"{summary[name]:.6g}",
                units.get(name, "").replace("count", ""),
                ", ".join(f"{baseline} {value:.6g}" for baseline, value in baselines.items()),
            ]
            rows += "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
        head = f"<p>{html.escape(self.manifest['name'])}, seed {self.seed}, {'finished' if is_finished else 'not finished'}</p>"
        return head + (f"<table><tr><th>metric</th><th>value</th><th>unit</th><th>baselines</th></tr>{rows}</table>" if rows else "")

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

    def to_latex(self) -> str:
        """The table of its primary metrics for a paper, with the rules of the package booktabs."""
        return call("export", str(self.path), "--latex")

    def to_markdown(self) -> str:
        """The same table in Markdown."""
        return call("export", str(self.path), "--markdown")

    def _table_html(self) -> str:
        return call("export", str(self.path), "--html")

    @property
    def points(self) -> Frame:
        """A row a finished point: its axes, its seed, and every number of its summary. Axes of numbers alone are floats, others text."""
        return _frame(self._text("points.csv"), {"point": "i", **self._axis_types(), "seed": "u"}, rest="f")

    @property
    def runs(self) -> List[Run]:
        """The runs of the finished points, in their order; `Run.axes` and `Run.seed` say which each is."""
        folders = {int(path.name.split("-")[0]): path for path in (self.path / "points").glob("[0-9]*")}
        types = self._axis_types().items()
        header, *cells = _cells(self._text("points.csv"))
        rows = [dict(zip(header, row)) for row in cells]
        return [Run(folders[int(row["point"])], {axis: _PARSERS[kind](row[axis]) for axis, kind in types}) for row in rows]
