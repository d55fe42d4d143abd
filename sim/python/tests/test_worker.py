"""Workers without Folkmoot: values that are kept, models as one vector, and frames over a socket."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

np = pytest.importorskip("numpy")

import folkmoot as fm  # noqa: E402
from folkmoot.refused import Refused  # noqa: E402
from folkmoot.wire import PROTOCOL, Array, Channel, pack, unpack  # noqa: E402
from folkmoot.worker import Model  # noqa: E402


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -(2**60), 0.1, float("inf"), "text", b"\x00\xff", [1, (2.5, None)], {"a": {3: "x"}, "b": []}],
)
def test_plain_values_come_back(value: Any) -> None:
    arrays: Dict[str, Array] = {}
    form = json.loads(json.dumps(pack(value, arrays)))
    assert unpack(form, arrays) == value


def test_arrays_come_back_and_objects_are_refused() -> None:
    arrays: Dict[str, Array] = {}
    kept = {"m": [np.arange(6).reshape(2, 3), np.zeros((0, 4), np.float16), np.array(True)], "n": np.float32(2)}
    back = unpack(json.loads(json.dumps(pack(kept, arrays))), arrays)
    for one, other in zip([*kept["m"], kept["n"]], [*back["m"], back["n"]]):
        assert one.dtype == other.dtype and one.shape == other.shape and (one == other).all()
    with pytest.raises(TypeError, match=r"state\['m'\]\[0\]: a set cannot be kept"):
        pack({"m": [{1}]}, {})


def test_a_model_is_a_vector_in_which_whole_numbers_and_running_statistics_stand_last() -> None:
    arrays = {
        "steps": np.array(7),
        "norm.running_mean": np.full(2, 0.5, np.float32),
        "norm.weight": np.array([1.5, 2.5]),
        "mask": np.array([True, False]),
    }
    model, flat = Model.of(arrays, "initial")
    assert flat.tolist() == [1.5, 2.5, 7, 0.5, 0.5, 1, 0]
    assert [array["learns"] for array in model.arrays] == [True, False, False, False]
    back = model.arrays_of(flat)
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype and (back[name] == array).all(), name
    # The mean of whole numbers is rounded; what is left out is as it was received.
    assert model.arrays_of(flat + np.float32(0.4))["steps"] == 7
    assert model.flat({"steps": np.array(9)}, flat, "update").tolist() == [1.5, 2.5, 9, 0.5, 0.5, 1, 0]


@pytest.mark.parametrize(
    "arrays, words",
    [
        ({"norm.weight": np.zeros(2)}, "shape"),
        (3, "must be arrays by name"),
        ({"w": np.array([1, "x"], object)}, "object, which cannot be sent"),
        ({"w": np.array([np.inf, 0.0, 0.0])}, "inf at position 0 of 3"),
    ],
)
def test_an_update_that_is_no_model_is_refused(arrays: Any, words: str) -> None:
    model, flat = Model.of({"w": np.zeros(3), "norm.weight": np.zeros(3)}, "initial")
    with pytest.raises(Refused, match=words):
        model.flat(arrays, flat, "update")


APP = """
import folkmoot as fm
import numpy as np

@fm.initial
def initial(facts, rng):
    assert facts.config.get("cost", 7) == 7
    print("made")
    return {"w": rng.numpy.normal(size=(2, facts.n_features))}

@fm.train(cost=lambda shard, config: config["cost"])
def train(params, shard, ctx, state=None):
    if shard.y[0] < 0:
        raise ValueError("no label") if shard.y[0] == -1 else KeyboardInterrupt
    n = 1 if state is None else state["n"] + 1
    return fm.Update({"w": params["w"] + shard.y[0]}, weight=5, metrics={"seen": float(n)}, state={"n": n, "y": shard.y})
"""

Worker = Tuple["subprocess.Popen[bytes]", Channel]


@pytest.fixture
def worker(tmp_path: Path) -> Any:
    mine, theirs = socket.socketpair()
    (tmp_path / "client.py").write_text(APP)
    with open(tmp_path / "worker.log", "wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "folkmoot.worker"], stdin=theirs.fileno(), stdout=log, stderr=log)
    theirs.close()
    stream = mine.makefile("rwb")
    channel = Channel(stream, stream)  # type: ignore[arg-type]
    hello = channel.receive()
    assert hello is not None and hello[0]["protocol"] == PROTOCOL
    yield process, channel
    stream.close()
    mine.close()
    assert process.wait(20) == 0


def ask(channel: Channel, kind: str, arrays: Any = None, **fields: Any) -> Any:
    channel.send({"kind": kind, **fields}, arrays)
    return channel.receive()


def shards(path: Path, ys: List[int]) -> None:
    """The file of shards: two labels of each client."""
    header = json.dumps({"clients": list(range(len(ys))), "fields": [["y", "int64", [None]]]}).encode()
    start = 16 + len(header) + 16 * len(ys)
    index = b"".join(struct.pack("<QQ", start + 16 * at, 2) for at in range(len(ys)))
    body = b"".join(struct.pack("<qq", y, y) for y in ys)
    path.write_bytes(b"FKSHARD1" + struct.pack("<Q", len(header)) + header + index + body)


def test_a_worker_trains_keeps_and_reports_errors(worker: Worker, tmp_path: Path) -> None:
    _, channel = worker
    settings = {"path": str(tmp_path / "client.py"), "config": {"cost": 7}, "device": "cpu", "deterministic": True}
    described, _ = ask(channel, "app", **settings)
    assert described["kind"] == "app", described
    assert described["versions"]["numpy"] == np.__version__
    assert "blas" in described["versions"]["blas"] or "mkl" in described["versions"]["blas"]
    facts = {"n_clients": 2, "n_features": 3, "n_classes": 2, "is_graph_level": False}
    made, arrays = ask(channel, "initial", facts=facts, seed="01" * 32)
    assert arrays["params"].shape == (6,)
    shards(tmp_path / "data", [4, -1, -2])
    assert ask(channel, "open", data=str(tmp_path / "data"), facts=facts, spec=made["spec"], n_rounds=3)[0]["kind"] == "opened"
    assert ask(channel, "costs", clients=[0, 1])[1]["costs"].tolist() == [7, 7]
    params = {"params": arrays["params"]}
    one, first = ask(channel, "train", params, client=0, round=0, seed="02" * 32)
    assert (one["weight"], one["metrics"]) == (5, [["seen", 1.0, 1, "train", None, None]])
    assert np.allclose(first["update"], arrays["params"] + 4)
    update = first.pop("update")
    two, _ = ask(channel, "train", {"params": update, **first}, client=0, round=1, seed="03" * 32, state=one["state"])
    assert two["metrics"][0][1] == 2.0
    error, _ = ask(channel, "train", params, client=1, round=0, seed="02" * 32)
    assert error["error"] == "ValueError: no label"
    assert "in train" in error["traceback"] and "worker.py" not in error["traceback"]
    error, _ = ask(channel, "train", params, client=2, round=0, seed="02" * 32)
    assert error["error"] == "KeyboardInterrupt, raised by the app: an interrupt of the run does not reach workers"
    assert "in train" in error["traceback"] and "worker.py" not in error["traceback"]
    # It goes on after an error, and what the app prints is in the log.
    assert ask(channel, "costs", clients=[1])[0]["kind"] == "costs"
    assert (tmp_path / "worker.log").read_text() == "made\n"


def test_large_arrays_go_through_shared_memory(worker: Worker, tmp_path: Path) -> None:
    _, channel = worker
    from folkmoot.wire import INLINE, Region

    for name in ("request", "reply"):
        (tmp_path / name).touch()
    paths = {name: str(tmp_path / name) for name in ("request", "reply")}
    assert ask(channel, "regions", **paths)[0]["kind"] == "regions"
    channel.outgoing, channel.incoming = Region(paths["request"]), Region(paths["reply"])
    (tmp_path / "client.py").write_text(APP.replace("rng.numpy.normal(size=(2, facts.n_features))", "np.arange(facts.n_features)[:, None] / 2"))
    settings = {"path": str(tmp_path / "client.py"), "config": {}, "device": "cpu", "deterministic": True}
    assert ask(channel, "app", **settings)[0]["kind"] == "app"
    n = INLINE
    made, arrays = ask(channel, "initial", facts={"n_features": n}, seed="00" * 32)
    assert (arrays["params"] == np.arange(n) / 2).all()
    shards(tmp_path / "data", [1])
    ask(channel, "open", data=str(tmp_path / "data"), facts={}, spec=made["spec"], n_rounds=1)
    reply = ask(channel, "train", {"params": arrays["params"]}, client=0, round=0, seed="00" * 32)
    assert (reply[1]["update"] == np.arange(n) / 2 + 1).all()
    assert Path(paths["request"]).stat().st_size >= 4 * n <= Path(paths["reply"]).stat().st_size


def test_metrics_and_decorators_check_their_arguments() -> None:
    with pytest.raises(ValueError, match="better: must be"):
        fm.Metric(0.5, better="more")
    with pytest.raises(ValueError, match="n: must be at least 0"):
        fm.Metric(0.5, n=-1)
    with pytest.raises(TypeError, match="cost: must be a function"):
        fm.train(cost=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="on: must be"):
        fm.evaluate(on="server")


@fm.initial
def _initial(facts: fm.Facts, rng: Any) -> Any:
    return [np.full(facts.n_features, _half())]


def _half() -> float:
    return 0.5


@fm.train(cost=lambda shard, config: 1.0)
def _train(params: Any, shard: fm.Shard, ctx: fm.Context) -> fm.Update:
    return fm.Update(params)


def test_functions_of_a_notebook_reach_a_worker_with_what_they_call(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cloudpickle")
    from folkmoot.notebook import stored

    monkeypatch.chdir(tmp_path)
    _, channel = worker
    path = stored(globals())
    text = Path(path).with_suffix(".py").read_text()
    assert "return [np.full(facts.n_features, _half())]" in text and "def _half() -> float:" in text
    described, _ = ask(channel, "app", path=path, config={}, device="cpu", deterministic=True)
    assert described["kind"] == "app", described
    _, arrays = ask(channel, "initial", facts={"n_features": 3}, seed="00" * 32)
    assert arrays["params"].tolist() == [0.5] * 3
    with pytest.raises(ValueError, match="or a class of fm.Strategy, got initial"):
        stored({"initial": _initial})
