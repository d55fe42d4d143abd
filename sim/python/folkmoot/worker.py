"""A worker of `strategy: Python(...)`: calls the functions of an app for a run.

    python -m folkmoot.worker                      # started by folkmoot, with a socket as its standard input
    python -m folkmoot.worker --replay FILE        # repeats one job that failed, from the file that the run left

The first worker imports the app, and forks the others. `wire` has the frames; the crate that starts workers describes them.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import json
import math
import os
import platform
import random
import signal
import socket
import struct
import sys
import time
import traceback
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO, Callable, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple

import numpy as np

from . import app as api
from . import clock, items, server, strategy
from .refused import Refused
from .wire import DTYPES, PROTOCOL, Array, Channel, Region, numpy_to_torch, pack, torch_to_numpy, unpack

#: The largest whole number up to which f32 holds all.
_MOST = 2**24
_SHARDS = b"FKSHARD1"
#: Requests that other modules answer.
_OTHERS = {**items.REQUESTS, **server.REQUESTS, **strategy.REQUESTS}


class _SetUpTorch(importlib.abc.MetaPathFinder):
    """Sets up PyTorch at the end of its import, before an app uses it."""

    def __init__(self, deterministic: bool) -> None:
        self._deterministic = deterministic

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_set_up(module: ModuleType) -> None:
            load(module)
            module.set_num_threads(1)
            if self._deterministic:
                module.use_deterministic_algorithms(True)

        spec.loader.exec_module = load_and_set_up  # type: ignore[method-assign]
        return spec


_CALLED = {"strategy": "class of fm.Strategy"}


def _other_component(functions: Mapping[str, Any]) -> str:
    """Which component of cards runs these functions, for the end of an error."""
    if "strategy" in functions:
        return "; it has a class of fm.Strategy: write strategy: PythonStrategy(app: ...)"
    if "train" in functions:
        return "; it has a function with @fm.train: write strategy: Python(app: ...)"
    return ""


def blas() -> Optional[str]:
    """The libraries of linear algebra that this process has loaded; their sums differ in order."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return None
    paths = {Path(line.split(maxsplit=5)[5]) for line in lines if len(line.split(maxsplit=5)) == 6}
    # Debian's are told apart by their folders.
    named = {"/".join(path.parts[-2:]) for path in paths if "blas" in path.name or "mkl" in path.name}
    return ", ".join(sorted(named)) or None


class App:
    """An app's functions, by kind."""

    def __init__(self, path: str, config: Mapping[str, Any], device: str, deterministic: bool, needs: Sequence[str]) -> None:
        self.config, self.device = dict(config), device
        sys.meta_path.insert(0, _SetUpTorch(deterministic))
        if path.endswith(".pkl"):
            self.folder = str(Path(path).parent)
            sys.path[0] = self.folder
            import cloudpickle

            names = cloudpickle.loads(Path(path).read_bytes())
        elif path.endswith(".py"):
            self.folder = str(Path(path).parent)
            sys.path[0] = self.folder
            spec = importlib.util.spec_from_file_location(Path(path).stem, path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            names = vars(module)
        else:
            module = importlib.import_module(path)
            self.folder = str(Path(module.__file__ or ".").parent)
            names = vars(module)
        self.functions: Dict[str, Tuple[Callable[..., Any], Dict[str, Any]]] = {}
        for name, value in names.items():
            kind, options = getattr(value, api.MARK, (None, {})) if callable(value) else (None, {})
            if kind is None:
                continue
            if kind in self.functions and self.functions[kind][0] is not value:
                other = self.functions[kind][0].__name__
                raise Refused(f"{path} has two functions with @fm.{kind}: {other} and {name}; keep one")
            self.functions[kind] = (value, options)
        for kind in needs:
            if kind not in self.functions:
                raise Refused(f"{path} has no {_CALLED.get(kind, f'function with @fm.{kind}')}{_other_component(self.functions)}")
        costs = {kind: options["cost"] for kind, (_, options) in self.functions.items() if "cost" in options}
        #: Measured costs by kind of function and client.
        self.measured = {kind: self._table(cost) for kind, cost in costs.items() if isinstance(cost, api.Measured)}

    def _table(self, cost: api.Measured) -> Optional[Dict[int, float]]:
        """Without the table, the app can still be measured."""
        try:
            return cost.read(self.folder)
        except FileNotFoundError:
            return None

    def describe(self) -> Dict[str, Any]:
        torch = sys.modules.get("torch")
        is_cuda = self.device != "cpu"
        level = os.environ.get("ATEN_CPU_CAPABILITY", "default")
        return {
            "functions": {kind: {k: v for k, v in options.items() if k in ("on", "metrics", "declared")} for kind, (_, options) in self.functions.items()},
            "versions": {
                "python": platform.python_version(),
                "numpy": np.__version__,
                "torch": None if torch is None else str(torch.__version__),
                "machine": platform.machine(),
                "cpu_level": level,
                "blas": blas(),
            },
            "is_exact": not is_cuda or (torch is not None and bool(torch.are_deterministic_algorithms_enabled())),
            "forks": hasattr(os, "fork") and not is_cuda,
        }


class Model:
    """Between a model's arrays and one flat vector: arrays that learn first, then whole numbers and running statistics."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec
        self.arrays: List[Dict[str, Any]] = list(spec["arrays"])
        self.by_name = {array["name"]: array for array in self.arrays}
        self.length = sum(array["n"] for array in self.arrays)

    @staticmethod
    def of(arrays: Any, what: str) -> Tuple["Model", Array]:
        updated = ["*"]
        if isinstance(arrays, api.Model):
            arrays, updated = arrays.arrays, arrays.updated
        items, container = _items(arrays, what)
        for pattern in updated:
            if not any(fnmatchcase(name, pattern) for name, _ in items):
                known = ", ".join(name for name, _ in items)
                raise Refused(f"{what}: updated names {pattern!r}, and the model has no such array ({known})")
        listed = []
        for name, value in items:
            plain, dtype, library = _plain(value, f"{what}: array {name!r}")
            if plain.size == 0:
                raise Refused(f"{what}: array {name!r} is empty")
            is_statistic = name.split(".")[-1] in ("running_mean", "running_var")
            is_updated = any(fnmatchcase(name, pattern) for pattern in updated)
            learns = plain.dtype.kind == "f" and not is_statistic and is_updated
            array = {"name": name, "dtype": dtype, "library": library, "shape": list(plain.shape), "n": plain.size}
            listed.append({**array, "learns": learns, "updated": is_updated})
        if not any(array["learns"] for array in listed):
            raise Refused(f"{what}: there is no array of floats to train")
        names = [array["name"] for array in listed]
        # What updates bring is the first part of a model, and what learns the first of that.
        listed.sort(key=lambda array: (not array["updated"], not array["learns"]))
        model = Model({"arrays": listed, "order": names, "container": container})
        return model, model.flat(arrays, None, what)

    def flat(self, arrays: Any, received: Optional[Array], what: str) -> Array:
        """The flat vector of arrays; what they leave out is as it was received."""
        items, _ = _items(arrays, what)
        given = dict(items)
        unknown = [name for name in given if name not in self.by_name]
        if unknown:
            known = ", ".join(self.by_name)
            raise Refused(
                f"{what}: array {unknown[0]!r} is not in the model ({known}); return what stays at the client as state=, and give "
                f"what travels a start in @fm.initial"
            )
        values = np.empty(self.length, np.float32)
        at = 0
        for array in self.arrays:
            name, part = array["name"], slice(at, at + array["n"])
            at = part.stop
            if name not in given:
                if received is None:
                    raise Refused(f"{what}: array {name!r} is missing")
                values[part] = received[part]
                continue
            plain, dtype, _ = _plain(given[name], f"{what}: array {name!r}")
            if list(plain.shape) != array["shape"]:
                raise Refused(f"{what}: array {name!r} has shape {tuple(plain.shape)}, and the model's has {tuple(array['shape'])}")
            if (plain.dtype.kind == "f") != (np.dtype(_numpy_name(array["dtype"])).kind == "f"):
                raise Refused(f"{what}: array {name!r} is of {dtype}, and the model's of {array['dtype']}")
            if plain.dtype.kind in "iu" and np.abs(plain.astype(np.float64)).max() > _MOST:
                raise Refused(f"{what}: array {name!r} has a whole number above {_MOST}, which float32 does not hold")
            values[part] = plain.reshape(-1)
            if received is not None and not array.get("updated", True) and not np.array_equal(values[part], received[part]):
                raise Refused(
                    f"{what}: array {name!r} has changed, and updates do not bring it; name it in updated= of fm.Model, or return what "
                    f"changes alone"
                )
            bad = np.flatnonzero(~np.isfinite(values[part]))
            if bad.size:
                raise Refused(f"{what}: array {name!r} has {values[part][bad[0]]} at position {bad[0]} of {array['n']}; {bad.size} numbers are not finite")
        return values

    def arrays_of(self, values: Array) -> Any:
        """The arrays of a flat vector, as the app has them."""
        made: Dict[str, Any] = {}
        at = 0
        for array in self.arrays:
            plain = values[at : at + array["n"]].reshape(array["shape"])
            at += array["n"]
            kind = np.dtype(_numpy_name(array["dtype"]))
            # An array without a dimension stays an array.
            plain = np.asarray(np.rint(plain) if kind.kind in "iub" else plain).astype(kind)
            made[array["name"]] = numpy_to_torch(plain, array["dtype"]) if array["library"] == "torch" else plain
        ordered = {name: made[name] for name in self.spec["order"]}
        container = self.spec["container"]
        return ordered if container == "dict" else list(ordered.values())


def _numpy_name(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else dtype


def _items(arrays: Any, what: str) -> Tuple[List[Tuple[str, Any]], str]:
    if isinstance(arrays, Mapping):
        return [(str(name), value) for name, value in arrays.items()], "dict"
    if isinstance(arrays, (list, tuple)):
        return [(str(at), value) for at, value in enumerate(arrays)], "list"
    raise Refused(f"{what}: must be arrays by name (a dict, a state_dict) or a list of arrays, got a {type(arrays).__name__}")


def _plain(value: Any, what: str) -> Tuple[Array, str, str]:
    if hasattr(value, "detach") and type(value).__module__.split(".")[0] == "torch":
        plain, dtype = torch_to_numpy(value)
        return plain, dtype, "torch"
    plain = np.asarray(value)
    if plain.dtype.name not in DTYPES:
        raise Refused(f"{what} is of {plain.dtype}, which cannot be sent; use one of {', '.join(DTYPES)}")
    return plain, plain.dtype.name, "numpy"


class Shards:
    """The data of all clients, mapped read-only from one file."""

    def __init__(self, path: str) -> None:
        # A view as a plain array: slices of a memmap cost ten times as much.
        self._bytes: Array = np.memmap(path, dtype=np.uint8, mode="r").view(np.ndarray)
        magic, n_header = struct.unpack("<8sQ", self._bytes[:16].tobytes())
        if magic != _SHARDS:
            raise Refused(f"{path} is not a file of shards of this version")
        header = json.loads(self._bytes[16 : 16 + n_header].tobytes())
        self.fields = header["fields"]
        self.clients: Dict[Optional[int], int] = {None if c < 0 else c: at for at, c in enumerate(header["clients"])}
        at = 16 + n_header
        n = len(self.clients) * len(self.fields)
        self._index = self._bytes[at : at + 16 * n].view("<u8").reshape(len(self.clients), len(self.fields), 2)

    def arrays(self, client: Optional[int]) -> Dict[str, Array]:
        found: Dict[str, Array] = {}
        for (name, dtype, shape), (offset, n) in zip(self.fields, self._index[self.clients[client]].tolist()):
            shape = [n if size is None else size for size in shape]
            kind = np.dtype(dtype)
            n_bytes = kind.itemsize * math.prod(shape)
            found[name] = self._bytes[offset : offset + n_bytes].view(kind).reshape(shape)
        return found


class Worker:
    """What a process has been told of a run, and what it does for it."""

    #: The module that starts one, and its requests that are jobs.
    MODULE = "folkmoot.worker"

    def __init__(self) -> None:
        self.channel: Optional[Channel] = None
        self.app: Optional[App] = None
        self.model: Optional[Model] = None
        self.facts = api.Facts({})
        self.n_rounds = 0
        #: Of what an app loads itself.
        self.data_seed = ""
        self.shards: Optional[Shards] = None
        self.alone: Dict[Optional[int], Dict[str, Array]] = {}
        #: Asks the run something while a handler runs.
        self.ask_run: Callable[[Mapping[str, Any], Mapping[str, Array]], Tuple[Dict[str, Any], Dict[str, Array]]]

    def handle(self, header: Mapping[str, Any], arrays: Dict[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        with clock.later(bool(header.get("again"))):
            kind = header["kind"]
            if kind in _OTHERS:
                return _OTHERS[kind](self, header, arrays)
            return getattr(self, "do_" + kind)(header, arrays)  # type: ignore[no-any-return]

    def do_app(self, header: Mapping[str, Any], _: Dict[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        if header.get("checked"):
            clock.move()
        memory = header.get("memory_bytes")
        if memory:
            try:
                import resource
            except ImportError:
                raise ValueError("memory_mb: this system bounds no memory of a process; leave it out") from None
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        self.app = App(header["path"], header["config"], header["device"], header["deterministic"], header.get("needs", ("initial", "train")))
        return {"kind": "app", **self.app.describe()}, {}

    def do_initial(self, header: Mapping[str, Any], _: Dict[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        assert self.app is not None
        function, _options = self.app.functions["initial"]
        rng = self._seed(header["seed"])
        self.facts = api.Facts({**header["facts"], "config": self.app.config})
        self.model, flat = Model.of(function(self.facts, rng), "@fm.initial")
        return {"kind": "initial", "spec": self.model.spec}, {"params": flat}

    def do_open(self, header: Mapping[str, Any], arrays: Dict[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        assert self.app is not None
        self.facts = api.Facts({**header["facts"], "config": self.app.config})
        self.model = Model(header["spec"])
        self.n_rounds = header["n_rounds"]
        self.data_seed = header.get("seed", "")
        if header["data"] is not None:
            self.shards = Shards(header["data"])
        else:
            self.alone = {header["client"]: arrays}
        return {"kind": "opened"}, {}

    def _shard(self, client: Optional[int], shard: Optional[int] = None) -> Any:
        """The data of a client; of a malicious one `shard` may name others."""
        assert self.app is not None
        if "client_data" in self.app.functions:
            seed = hashlib.blake2b(f"{self.data_seed} {client}".encode(), digest_size=32).hexdigest()
            # The job's own draws come afterwards.
            states = random.getstate(), np.random.get_state()
            torch = sys.modules.get("torch")
            torch_state = None if torch is None else torch.get_rng_state()
            config = json.loads(json.dumps(self.app.config))
            ctx = api.Context(self._seed(seed), 0, -1 if client is None else client, self.n_rounds, config, self.app.device)
            data = self.app.functions["client_data"][0](client, ctx)
            random.setstate(states[0])
            np.random.set_state(states[1])
            if torch is not None and torch_state is not None:
                torch.set_rng_state(torch_state)
            return data
        shard = client if shard is None else shard
        arrays = self.alone[shard] if self.shards is None else self.shards.arrays(shard)
        return api.Shard(client, arrays, self.facts)

    def _seed(self, text: str) -> api.Rng:
        """Seeds the global generators, too: user code draws from them."""
        seed = bytes.fromhex(text)
        words = np.frombuffer(hashlib.blake2b(seed, person=b"global").digest(), np.uint32)
        random.seed(int.from_bytes(words.tobytes(), "little"))
        np.random.seed(words)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(int(words[0]) << 32 | int(words[1]))
        return api.Rng(seed)

    def do_costs(self, header: Mapping[str, Any], _: Dict[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        assert self.app is not None
        of = header.get("of", "train")
        cost = self.app.functions[of][1]["cost"]
        table = self.app.measured.get(of)
        if of in self.app.measured and table is None:
            raise Refused(f"{cost.path} was not found beside the app; make it with: folkmoot calibrate CARD --out {cost.path}")
        costs = np.empty(len(header["clients"]), np.float64)
        for at, client in enumerate(header["clients"]):
            if table is not None:
                if client not in table:
                    raise Refused(f"{cost.path} has no row for client {client}")
                value = table[client]
            else:
                self._seed("00" * 32)
                value = cost(self._shard(client), self.app.config)
            costs[at] = value
            if not np.isfinite(costs[at]) or costs[at] < 0:
                raise Refused(f"the cost of client {client} must be a finite number of at least 0, got {value}")
        return {"kind": "costs"}, {"costs": costs}

    def do_train(self, header: Mapping[str, Any], arrays: Dict[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        assert self.app is not None and self.model is not None
        received = arrays.pop("params")
        function, _options = self.app.functions["train"]
        client = header["client"]
        rng = self._seed(header["seed"])
        config = json.loads(json.dumps(self.app.config))
        ctx = api.Context(rng, header["round"], client, self.n_rounds, config, self.app.device, header.get("now", 0.0))
        given = self.model.arrays_of(received.copy())
        shard = self._shard(client, header.get("shard"))
        has_state = _takes_state(function)
        # No clock is read in a run: a calibration alone is timed.
        before = time.process_time() if header.get("timed") else None
        if has_state:
            form = header.get("state")
            update = function(given, shard, ctx, state=None if form is None else unpack(form, arrays))
        else:
            update = function(given, shard, ctx)
        if not isinstance(update, api.Update):
            raise Refused(f"@fm.train returned a {type(update).__name__}; return fm.Update(arrays, ...)")
        reply: Dict[str, Any] = {"kind": "trained", "weight": _weight(update.weight), "metrics": _metrics(update.metrics or {}, "fm.Update metrics", "train")}
        if before is not None:
            reply["cpu_s"] = time.process_time() - before
        out: Dict[str, Array] = {}
        if update.state is not None:
            if not has_state:
                raise Refused("@fm.train returned state= and takes none; add the parameter state=None")
            try:
                reply["state"] = pack(update.state, out)
            except TypeError as error:
                raise Refused(str(error)) from None
        out["update"] = self.model.flat(update.arrays, received, "fm.Update")
        return reply, out

    def do_evaluate(self, header: Mapping[str, Any], arrays: Dict[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        assert self.app is not None and self.model is not None
        self._seed(header["seed"])
        function, _options = self.app.functions["evaluate"]
        found = function(self.model.arrays_of(arrays["params"]), self._shard(header["client"]))
        return {"kind": "evaluated", "metrics": _metrics(found, "@fm.evaluate", "test")}, {}


def _takes_state(function: Callable[..., Any]) -> bool:
    code = function.__code__
    return "state" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] or bool(code.co_flags & 0x08)


def _weight(weight: Any) -> Optional[int]:
    if weight is None:
        return None
    value = float(weight)
    if not 0 <= value < 2**32 or value != int(value):
        raise Refused(f"fm.Update weight: must be a whole number of samples, 0 to 4294967295, got {weight}")
    return int(value)


def _metrics(found: Any, what: str, split: str) -> List[List[Any]]:
    if not isinstance(found, Mapping):
        raise Refused(f"{what}: must be metrics by name, as in {{\"accuracy\": fm.Metric(0.8)}}, got a {type(found).__name__}")
    listed = []
    for name, metric in found.items():
        if not (isinstance(name, str) and name.isidentifier() and name == name.lower()):
            raise Refused(f"{what}: the name of a metric has lower-case letters, digits and underscores, got {name!r}")
        if not isinstance(metric, api.Metric):
            metric = api.Metric(metric, split=split)
        if not np.isfinite(metric.value):
            raise Refused(f"{what}: {name} is {metric.value}; a metric must be finite")
        listed.append([name, metric.value, metric.n, metric.split, metric.better, metric.unit])
    return listed


def _failure(error: BaseException) -> Dict[str, Any]:
    """The frame of an error: the lines of its traceback that are not of this package."""
    if isinstance(error, Refused):
        return {"kind": "error", "error": str(error), "traceback": None}
    here = os.path.dirname(os.path.abspath(__file__))
    own = (here, os.path.join(here, "flower"))
    every = traceback.extract_tb(error.__traceback__)
    # Of an error of this package, its own lines.
    frames = [frame for frame in every if os.path.dirname(os.path.abspath(frame.filename)) not in own] or list(every)
    frames = [frame for frame in frames if not frame.filename.startswith("<frozen")]
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(frames), *traceback.format_exception_only(type(error), error)]
    if isinstance(error, KeyboardInterrupt):
        lines[-1] = f"{lines[-1].strip()}, raised by the app: an interrupt of the run does not reach workers"
    return {"kind": "error", "error": lines[-1].strip(), "traceback": "".join(lines).rstrip()}


def _serve(channel: Channel, worker: Worker) -> None:
    """Answers requests until the stream ends."""

    def ask_run(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Tuple[Dict[str, Any], Dict[str, Array]]:
        channel.send(header, arrays)
        return _answer(channel)

    worker.ask_run = ask_run
    worker.channel = channel
    while True:
        request = channel.receive()
        if request is None or request[0]["kind"] == "close":
            return
        header, arrays = request
        if header["kind"] == "regions":
            channel.incoming, channel.outgoing = Region(header["request"]), Region(header["reply"])
            reply: Tuple[Dict[str, Any], Dict[str, Array]] = ({"kind": "regions"}, {})
        elif header["kind"] == "fork":
            reply = (_fork(header, worker), {})
        elif header["kind"] == "end":
            reply = (_end(header["pid"]), {})
        else:
            try:
                reply = worker.handle(header, arrays)
            # An interrupt of the run does not reach a worker: also this one is the app's.
            except BaseException as error:
                reply = (_failure(error), {})
        sys.stdout.flush()
        sys.stderr.flush()
        channel.send(*reply)


def _answer(channel: Channel) -> Tuple[Dict[str, Any], Dict[str, Array]]:
    answer = channel.receive()
    if answer is None:
        raise EOFError("the run has ended")
    return answer


#: Processes that this one has forked.
_children: List[int] = []


def _fork(header: Mapping[str, Any], worker: Worker) -> Dict[str, Any]:
    """Forks workers that serve on connections to a socket; these are open before anybody is forked."""
    # What is imported stays: no worker's collector need go through it, or copy its pages.
    gc.freeze()
    sockets = []
    for _ in range(header["n"]):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(header["socket"])
        sockets.append(connection)
    for at, connection in enumerate(sockets):
        pid = os.fork()
        if pid == 0:
            _children.clear()
            os.close(0)
            for other in sockets[:at] + sockets[at + 1 :]:
                other.close()
            _speak(connection, worker)
        _children.append(pid)
    for connection in sockets:
        connection.close()
    return {"kind": "forked", "pids": list(_children)}


def _end(pid: int) -> Dict[str, Any]:
    """Ends a worker that was forked here, and says how it ended if it had before."""
    if pid not in _children:
        return {"kind": "ended", "status": None}
    _children.remove(pid)
    # A connection is closed before its process has ended.
    for _ in range(20):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return {"kind": "ended", "status": None}
    if os.WIFSIGNALED(status):
        return {"kind": "ended", "status": f"signal {os.WTERMSIG(status)} ({signal.Signals(os.WTERMSIG(status)).name})"}
    return {"kind": "ended", "status": f"exit code {os.WEXITSTATUS(status)}"}


def _files(connection: socket.socket) -> Tuple[BinaryIO, BinaryIO]:
    """Where a connection is read from and written to."""
    if os.name == "nt":
        return connection.makefile("rb"), connection.makefile("wb")
    # Plain files: those of a socket look at its timeout in Python at each read.
    return open(connection.fileno(), "rb", closefd=False), open(connection.fileno(), "wb", closefd=False)


def _speak(connection: socket.socket, worker: Worker) -> NoReturn:
    """Serves on a connection, then ends this process without the clean-up of the one that it was forked from."""
    channel = Channel(*_files(connection))
    code = 0
    try:
        channel.send({"kind": "hello", "protocol": PROTOCOL, "language": "python", "version": platform.python_version(), "pid": os.getpid()})
        _serve(channel, worker)
    except (BrokenPipeError, ConnectionResetError):
        pass
    except BaseException:
        traceback.print_exc()
        code = 1
    for pid in _children:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def replay(path: str, worker: Worker) -> int:
    """Repeats the job of a file in this process, so that a debugger can follow it, and prints what it returns."""
    with open(path, "rb") as file:
        channel = Channel(file, None)
        # The file has the answers of the run in their order.
        worker.ask_run = lambda header, arrays: _answer(channel)
        while True:
            request = channel.receive()
            if request is None:
                return 0
            header, arrays = request
            environment = header.get("environment", {})
            if any(os.environ.get(name) != value for name, value in environment.items()):
                # Some of it is read when Python or NumPy starts.
                os.environ.update(environment)
                os.execv(sys.executable, [sys.executable, "-m", worker.MODULE, "--replay", path])
            reply, out = worker.handle(header, arrays)
            if header["kind"] not in ("app", "open"):
                digest = hashlib.sha256(b"".join(array.tobytes() for array in out.values())).hexdigest()
                shown = {name: value for name, value in reply.items() if name not in ("kind", "state")}
                of = f"client {header['client']}" if "client" in header else "the server"
                print(f"{header['kind']} of {of} in round {header['round']}: {shown}")
                for name, array in out.items():
                    print(f"  {name}: {array.dtype} {array.shape}")
                print(f"  digest {digest[:16]}")


def _connection() -> socket.socket:
    """The connection to the run: the standard input, or on systems without such sockets what FOLKMOOT_CONNECT names."""
    port, _, secret = os.environ.pop("FOLKMOOT_CONNECT", "").partition(" ")
    if not port:
        return socket.socket(fileno=0)
    connection = socket.create_connection(("127.0.0.1", int(port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(secret.encode() + b"\n")
    return connection


def main(arguments: Sequence[str], worker: Worker) -> int:
    if len(arguments) == 2 and arguments[0] == "--replay":
        return replay(arguments[1], worker)
    if arguments:
        print(f"usage: python -m {worker.MODULE} [--replay FILE]", file=sys.stderr)
        return 2
    try:
        connection = _connection()
    except OSError:
        print(f"python -m {worker.MODULE} is started by folkmoot; to repeat a job, give --replay FILE", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _speak(connection, worker)


if __name__ == "__main__":
    # Other modules of the package import this one by its name.
    sys.modules["folkmoot.worker"] = sys.modules["__main__"]
    sys.exit(main(sys.argv[1:], Worker()))
