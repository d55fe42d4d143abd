"""A worker of `strategy: Flower(...)`: calls the ClientApp of a Flower app, or runs its ServerApp.

python -m folkmoot.flower                      # started by folkmoot
python -m folkmoot.flower --replay FILE        # repeats one message that failed
"""

from __future__ import annotations

import os

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import importlib
import platform
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Dict, Mapping, Tuple

import numpy as np

from . import clock
from ..wire import Array
from ..refused import Refused
from ..worker import Worker, _SetUpTorch, blas, main

Reply = Tuple[Dict[str, Any], Dict[str, Array]]


def _settings(folder: Path) -> Mapping[str, Any]:
    """The table `tool.flwr.app` of a project."""
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    path = folder / "pyproject.toml"
    try:
        project = toml.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refused(
            f"{path} is missing; a Flower app is a folder with a pyproject.toml"
        ) from None
    except ValueError as error:
        raise Refused(f"{path}: {error}") from None
    table = project.get("tool", {}).get("flwr", {}).get("app", {})
    for name in ("serverapp", "clientapp"):
        reference = table.get("components", {}).get(name)
        if not isinstance(reference, str) or reference.count(":") != 1:
            raise Refused(f'{path}: [tool.flwr.app.components] needs {name} = "module:object"')
    return table  # type: ignore[no-any-return]


def _flat(config: Mapping[str, Any], before: str = "") -> Dict[str, Any]:
    """Nested tables as one, with dots in names."""
    flat: Dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{before}{name}."))
        elif isinstance(value, (bool, int, float, str)):
            flat[before + name] = value
        else:
            raise Refused(
                f"[tool.flwr.app.config] {before}{name}: must be a number, text or truth value"
            )
    return flat


def _load(reference: str, kind: type, what: str) -> Any:
    module, _, names = reference.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        if not hasattr(found, name):
            raise Refused(f"{what} {reference}: {module} has no {names}")
        found = getattr(found, name)
    if not isinstance(found, kind):
        raise Refused(f"{what} {reference}: is a {type(found).__name__}, and no {kind.__name__}")
    return found


class FlowerWorker(Worker):
    """Has both components of an app."""

    MODULE = "folkmoot.flower"

    def do_app(self, header: Mapping[str, Any], _: Dict[str, Array]) -> Reply:
        if header.get("memory_bytes"):
            import resource

            resource.setrlimit(resource.RLIMIT_AS, (header["memory_bytes"],) * 2)
        folder = Path(header["path"])
        settings = _settings(folder)
        self.run_config = _flat(settings.get("config", {}))
        for name, value in header["config"].items():
            if name not in self.run_config:
                known = ", ".join(self.run_config) or "none"
                raise Refused(f"run_config: the app has no key {name!r} (its keys: {known})")
            self.run_config[name] = value
        sys.path[0] = str(folder)
        sys.meta_path.insert(0, _SetUpTorch(True))
        try:
            from . import messages
        except ImportError as error:
            raise Refused(str(error)) from None
        import flwr

        self.form = messages
        self.replies = bool(header["error_replies"])
        self._seed(header["seed"])
        components = settings["components"]
        self.server_app = _load(components["serverapp"], messages.ServerApp, "serverapp")
        self.client_app = _load(components["clientapp"], messages.ClientApp, "clientapp")
        torch = sys.modules.get("torch")
        versions = {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "flwr": flwr.__version__,
            "torch": None if torch is None else str(torch.__version__),
            "machine": platform.machine(),
            "cpu_level": os.environ.get("ATEN_CPU_CAPABILITY", "default"),
            "blas": blas(),
        }
        return {"kind": "app", "versions": versions, "forks": hasattr(os, "fork")}, {}

    def do_open(self, header: Mapping[str, Any], _: Dict[str, Array]) -> Reply:
        self.n_clients = header["n_clients"]
        return {"kind": "opened"}, {}

    def _context(self, node: int, node_config: Dict[str, Any], state: Any) -> Any:
        return self.form.Context(
            run_id=self.form.RUN_ID,
            node_id=node,
            node_config=node_config,
            state=state,
            run_config=dict(self.run_config),
        )

    def do_serve(self, header: Mapping[str, Any], _: Dict[str, Array]) -> Reply:
        """Runs the ServerApp. Its calls of the grid are frames from here, in turn with answers."""
        from . import legacy
        from .grid import Ended, RunGrid

        assert self.channel is not None
        if header["folder"] is not None:
            os.makedirs(header["folder"], exist_ok=True)
            os.chdir(header["folder"])
        grid = RunGrid(self.channel)
        legacy.install(grid)
        clock.start(0, grid.wait)
        self._seed(header["seed"])
        node = self.form.SUPERLINK_NODE_ID
        self.form.be(node)
        try:
            self.server_app(grid=grid, context=self._context(node, {}, self.form.RecordDict()))
        except Ended:
            sys.exit(0)
        return {"kind": "done", "metrics": grid.metrics()}, {}

    def do_message(self, header: Mapping[str, Any], arrays: Dict[str, Array]) -> Reply:
        """Calls the ClientApp with a message."""
        form = self.form
        client, node = header["client"], form.node_id(header["client"])
        clock.start(header["now"])
        message = form.instruction(
            form.decoded(arrays["content"]),
            header["type"],
            message_id=form.message_id(header["number"]),
            dst_node_id=node,
            created_at=clock.EPOCH + header["created_at"] / 1e9,
            ttl=header["ttl"] / 1e9,
            group_id=header["group"],
        )
        form.be(node)
        state = form.decoded(arrays["state"]) if "state" in arrays else form.RecordDict()
        node_config = {"partition-id": client, "num-partitions": self.n_clients}
        context = self._context(node, node_config, state)
        self._seed(header["seed"])
        error = None
        # No clock is read in a run: a calibration alone is timed.
        before = time.process_time() if header.get("timed") else None
        try:
            reply = self.client_app(message, context)
        except Exception as raised:
            if not self.replies:
                raise
            traceback.print_exc()
            code, reason = (
                form.ErrorCode.CLIENT_APP_RAISED_EXCEPTION,
                f"{type(raised)}:<'{raised}'>",
            )
            reply = form.Message(form.Error(code, reason), reply_to=message)
        if not isinstance(reply, form.Message):
            raise Refused(f"the ClientApp returned a {type(reply).__name__}, and no Message")
        out: Dict[str, Array] = {}
        n_bytes = 0
        if reply.has_error():
            error = [reply.error.code, reply.error.reason or ""]
        else:
            out["content"], n_bytes = form.sized(reply.content)
        if len(context.state):
            out["state"] = form.encoded(context.state)
        meta = reply.metadata
        return {
            "kind": "replied",
            "bytes": form.message_bytes(reply, n_bytes),
            "created_at": max(round((meta.created_at - clock.EPOCH) * 1e9), 0),
            "ttl": max(round(meta.ttl * 1e9), 0),
            "error": error,
            "cpu_s": None if before is None else time.process_time() - before,
        }, out


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], FlowerWorker()))
