"""Runs and sweeps of Folkmoot, and their results as frames and arrays.

    run = folkmoot.run("fed-avg/small", set={"strategy.protocol.rounds": 5})
    run.scores                                  # a frame
    sweep = folkmoot.sweep("my-card.ron", out="runs/mine")
    sweep.curves                                # every score by round, virtual time and bytes

Frames are of pandas where it is installed, else of polars; `frames("polars")` chooses. The type of every column is stated here, so that
frames of two runs always go together, whatever their numbers. Files are read when they are asked for, each time.
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from .app import Context, Facts, Metric, Model, Shard, Update, evaluate, initial, measured, train
from .items import Items, client_data, evaluate_at_client, gradient, predict
from .notebook import App, stored
from .program import AnyPath, FolkmootError, OnEvent, call, failure, flags, in_python, made, part, quoted, ron, started, warned
from .results import Figure, Frame, Run, Sweep, frames
from .server import Aggregate, Clients, ClientUpdate, aggregate, select
from .strategy import SERVER, Down, Event, Gaussian, Laplace, Participant, Peer, Strategy, Up

__all__ = [
    "SERVER",
    "Aggregate",
    "Budget",
    "ClientUpdate",
    "Clients",
    "Comparison",
    "Context",
    "Down",
    "Event",
    "Facts",
    "Figure",
    "FolkmootError",
    "Frame",
    "Gaussian",
    "Items",
    "Laplace",
    "Metric",
    "Model",
    "Participant",
    "Peer",
    "Run",
    "Shard",
    "Strategy",
    "Sweep",
    "Up",
    "Update",
    "aggregate",
    "budget",
    "client_data",
    "compare",
    "evaluate",
    "evaluate_at_client",
    "frames",
    "gradient",
    "initial",
    "load",
    "measured",
    "part",
    "plot",
    "predict",
    "progress",
    "quoted",
    "report",
    "resume",
    "ron",
    "run",
    "save",
    "select",
    "sweep",
    "train",
    "verify",
]


def save(
    data: Any,
    path: AnyPath,
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


def load(path: AnyPath, to: str = "arrays") -> Any:
    """What `save` wrote: "arrays", a dict; "pyg", a `Data` or a list of them; or "networkx", a graph or a list of them."""
    return importlib.import_module("folkmoot.graphs").load(path, to)


def _saved(data: Any, partition: Any, settings: Optional[Mapping[str, Any]]) -> Tuple[Optional[AnyPath], Dict[str, Any]]:
    """The folder of the data, and settings with the data set: a graph is saved under a name that its content gives."""
    found = dict(settings or {})
    if isinstance(partition, str):
        found = {"partition": partition, **found}
        partition = None
    if data is None or isinstance(data, (str, os.PathLike)):
        if partition is not None:
            raise FolkmootError("partition: clients of items need the graph as data=; help: name a partition of cards, such as 'Louvain(n_clients: 8)'")
        return data, found
    given = {} if partition is None else {"client": partition}
    path = Path(importlib.import_module("folkmoot.graphs").save(data, None, given, Path("runs", "data").absolute()))
    clients = {} if partition is None else {"partition": part("Given")}
    return path.parent, {"dataset": part("Npz", path=quoted(path.name)), **clients, **found}


def _with_app(settings: Mapping[str, Any], app: Optional[App]) -> Mapping[str, Any]:
    return settings if app is None else {**settings, "strategy.app": quoted(stored(app))}


def _machine(python: Optional[AnyPath], check_determinism: Union[str, float, None], **options: Any) -> Dict[str, Any]:
    """Options of every command that computes: workers run this interpreter, unless another is named."""
    share = f"{100 * check_determinism:g}%" if isinstance(check_determinism, (int, float)) else check_determinism
    return {"python": sys.executable if python is None else os.fspath(python), "check_determinism": share, **options}


def run(
    card: AnyPath,
    *,
    set: Optional[Mapping[str, Any]] = None,
    seed: Optional[int] = None,
    out: Optional[AnyPath] = None,
    exists: str = "error",
    data: Any = None,
    partition: Any = None,
    threads: Optional[int] = None,
    max_memory: Optional[str] = None,
    dry_run: bool = False,
    trace: bool = False,
    checkpoint_every: Optional[str] = None,
    app: Optional[App] = None,
    python: Optional[AnyPath] = None,
    job_timeout: Optional[int] = None,
    check_determinism: Union[str, float, None] = None,
    on_event: Optional[OnEvent] = None,
) -> Run:
    """Runs a card: a name, a path, or its text (what has a line end or begins with a bracket), which is stored in `runs/cards`.
    `set` changes its fields, see `ron`.

    `data` is the folder with the data sets, or a graph as `save` takes it: it is saved in `runs/data` and replaces the card's data set.
    `partition` is a partition of cards, such as `"Louvain(n_clients: 8)"`, or the client of each node or graph of `data`.

    `app` is the file of an app, or names with its functions such as `globals()`; the card's strategy is then `Python(...)`. Workers run
    `python`, by default this interpreter. A job may take `job_timeout` seconds, without limit by default; the share
    `check_determinism` of jobs, such as 0.05, is done twice, and the run fails if two results differ.

    If the directory `out` exists, that is an error; with `exists="reuse"` one that has the result of this very run is read, and an
    unfinished one is resumed. `checkpoint_every` is `"20rounds"`, `"10min"` or `"3600virtual_s"`; `trace` writes `trace.json.gz`.
    `on_event` is called with a dict for each round, score, warning and end while the program runs; `progress` is such a function.
    """
    if exists not in ("error", "reuse"):
        raise ValueError(f'exists: must be "error" or "reuse", got {exists!r}')
    data, settings = _saved(data, partition, set)
    machine = _machine(python, check_determinism, threads=threads, max_memory=max_memory, job_timeout=job_timeout)
    options = {"seed": seed, "out": out, "data": data, "dry_run": dry_run, "reuse": exists == "reuse", "trace": trace}
    options["checkpoint_every"] = checkpoint_every
    result = Run(made("run", card, _with_app(settings, app), {**options, **machine}, on_event))
    _warn([result])
    return result


def sweep(
    card: AnyPath,
    *,
    set: Optional[Mapping[str, Any]] = None,
    out: Optional[AnyPath] = None,
    data: Any = None,
    partition: Any = None,
    threads: Optional[int] = None,
    max_memory: Optional[str] = None,
    dry_run: bool = False,
    app: Optional[App] = None,
    python: Optional[AnyPath] = None,
    job_timeout: Optional[int] = None,
    check_determinism: Union[str, float, None] = None,
    only_missing: bool = False,
    on_event: Optional[OnEvent] = None,
) -> Sweep:
    """Runs every point of a card's sweep, or with `only_missing` those that the sweep `out` lacks; the other arguments are those of `run`."""
    data, settings = _saved(data, partition, set)
    machine = _machine(python, check_determinism, threads=threads, max_memory=max_memory, job_timeout=job_timeout)
    options = {"out": out, "data": data, "dry_run": dry_run, "only_missing": only_missing}
    result = Sweep(made("sweep", card, _with_app(settings, app), {**options, **machine}, on_event))
    _warn(result.runs)
    return result


def resume(
    path: AnyPath,
    *,
    data: Optional[AnyPath] = None,
    threads: Optional[int] = None,
    max_memory: Optional[str] = None,
    checkpoint_every: Optional[str] = None,
    python: Optional[AnyPath] = None,
    job_timeout: Optional[int] = None,
    check_determinism: Union[str, float, None] = None,
    allow_changed_code: bool = False,
    on_event: Optional[OnEvent] = None,
) -> Union[Run, Sweep]:
    """Goes on with a run or sweep that was stopped; with `allow_changed_code` also if your own code was changed, which the manifest
    then names. `data` is by default the folder that the run was given; the other arguments are those of `run`."""
    machine = _machine(python, check_determinism, threads=threads, max_memory=max_memory, job_timeout=job_timeout)
    options = {"data": _data_of(path, data), "checkpoint_every": checkpoint_every, "allow_changed_code": allow_changed_code}
    call("resume", os.fspath(path), "--quiet", *flags(**options, **machine), on_event=on_event)
    return _dir(path)


def verify(
    path: AnyPath,
    *,
    data: Optional[AnyPath] = None,
    threads: Optional[int] = None,
    max_memory: Optional[str] = None,
    python: Optional[AnyPath] = None,
    job_timeout: Optional[int] = None,
    check_determinism: Union[str, float, None] = None,
) -> None:
    """Repeats a run or sweep, and raises `FolkmootError` unless its result hashes come out again. The arguments are those of `resume`."""
    machine = _machine(python, check_determinism, threads=threads, max_memory=max_memory, job_timeout=job_timeout)
    call("verify", os.fspath(path), *flags(data=_data_of(path, data), **machine))


def _data_of(path: AnyPath, data: Optional[AnyPath]) -> Optional[AnyPath]:
    """The data folder of a directory: the one that the command in its manifest names, if no other is given."""
    if data is not None or not any((Path(path) / name).is_file() for name in ("manifest.json", "sweep.json")):
        return data
    words = shlex.split(str(_dir(path).manifest["command"]))
    return words[words.index("--data") + 1] if "--data" in words else None


def report(path: AnyPath, other: Optional[AnyPath] = None, *, out: Optional[AnyPath] = None) -> Path:
    """Writes a result, or the comparison of two, as one HTML page; by default in the directory. Returns its path."""
    others = [] if other is None else [os.fspath(other)]
    return Path(call("report", os.fspath(path), *others, *flags(out=out)).strip().splitlines()[-1])


def plot(
    path: AnyPath,
    only: Optional[str] = None,
    *,
    width: Optional[float] = None,
    height: Optional[float] = None,
    font_size: Optional[float] = None,
    title: bool = True,
    pdf: bool = False,
    arms: Union[Sequence[str], Mapping[str, str], None] = None,
    highlight: Optional[Sequence[str]] = None,
    panels: Optional[str] = None,
    xlim: Optional[Tuple[float, float]] = None,
    ylim: Optional[Tuple[float, float]] = None,
    log: Optional[str] = None,
) -> List[Path]:
    """Draws the figures of a result again, or `only` those of a name (`*` matches any text); sizes in mm, those of letters in points.

    `arms` are drawn in this order, under new names if it is a mapping; those to `highlight` in colour, the others in grey.
    `panels` are letters such as `"ac"`. Ranges are in base units; `log` is `"x"`, `"y"`, `"xy"` or `"none"`. Returns the paths of
    the files.
    """
    named = [f"{old}={new}" for old, new in arms.items()] if isinstance(arms, Mapping) else arms
    lists = {"arms": named, "highlight": highlight, "panels": panels, "xlim": xlim, "ylim": ylim}
    texts = {name: ",".join(map(str, values)) for name, values in lists.items() if values is not None}
    # A range may begin with a minus sign.
    given = [f"--{name}={text}" for name, text in texts.items()]
    options = {"only": only, "width": width, "height": height, "font_size": font_size, "no_title": not title, "pdf": pdf, "log": log}
    return [Path(line) for line in call("plot", os.fspath(path), *given, *flags(**options)).splitlines()]


class Comparison:
    """What `compare` found: `same`, and `text` in words."""

    def __init__(self, same: bool, text: str) -> None:
        self.same = same
        self.text = text

    def __bool__(self) -> bool:
        return self.same

    def __repr__(self) -> str:
        return self.text


def compare(a: AnyPath, b: AnyPath) -> Comparison:
    """The first difference between two runs, or the differences between the metrics of two sweeps."""
    done = started("compare", os.fspath(a), os.fspath(b))
    if done.returncode not in (0, 1) or done.stderr.startswith("error:"):
        raise failure(done)
    return Comparison(done.returncode == 0, done.stdout.strip())


class Budget(NamedTuple):
    """Privacy of noise in repeated rounds; `found` names what `budget` computed."""

    found: str
    #: The least total that an accountant proves; `None` if none proves one.
    epsilon: Optional[float]
    delta: float
    #: `basic`, `advanced`, `renyi`, `pld` (privacy-loss distributions) or `none`.
    accountant: str
    #: Standard deviation of Gaussian noise divided by the clipping norm; scale of Laplace noise divided by the sensitivity.
    noise: float
    rounds: int
    rate: float
    neighbours: str
    epsilon_basic: Optional[float]
    epsilon_advanced: Optional[float]
    epsilon_renyi: Optional[float]
    epsilon_pld: Optional[float]


def budget(
    card: Optional[AnyPath] = None,
    *,
    epsilon: Optional[float] = None,
    noise: Optional[float] = None,
    rounds: Optional[int] = None,
    delta: Optional[float] = None,
    rate: Optional[float] = None,
    clients: Optional[str] = None,
    sampling: Optional[str] = None,
    mechanism: Optional[str] = None,
) -> Budget:
    """Privacy of training, without a run: of two of `epsilon`, `noise` and `rounds` the third, or the epsilon of a private `card`.

    `rate` is the probability of each client to be in a round (Poisson sampling), or `clients` is `"50/1000"`, a sample of fixed
    size; `sampling="poisson"`, `"fixed"` or `"none"` overrules that. `mechanism` is `"gaussian"` or `"laplace"`. The default of
    `delta` is 1e-5.
    """
    numbers = {"epsilon": epsilon, "noise": noise, "rounds": rounds, "delta": delta, "rate": rate}
    if card is not None and epsilon is not None:
        raise FolkmootError("budget: a card has its noise and its rounds; help: budget(epsilon=…, rounds=…, rate=…) gives a noise")
    options = flags(**numbers, clients=clients, sampling=sampling, mechanism=mechanism, format="json")
    answers = json.loads(call("budget", *([] if card is None else [os.fspath(card)]), *options))
    return Budget(**answers[0])


def progress(event: Mapping[str, Any]) -> None:
    """Prints a line on stderr for each round and end: `run(…, on_event=progress)`."""
    where = f"point {event['point']}, " if "point" in event else ""
    if event["event"] == "round":
        print(f"{where}round {event['round'] + 1}, {event['virtual_s']:g} virtual seconds", file=sys.stderr)
    elif event["event"] == "end":
        print(f"{where}{event['dir']}: done", file=sys.stderr)


def _dir(path: AnyPath) -> Union[Run, Sweep]:
    return Sweep(path) if (Path(path) / "sweep.json").is_file() else Run(path)


def _warn(runs: Iterable[Run]) -> None:
    for text in dict.fromkeys(text for made in runs for text in made.manifest["warnings"]):
        warned(in_python(text))
