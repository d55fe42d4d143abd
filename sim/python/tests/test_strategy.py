"""Whole algorithms and functions of the server, called as a worker calls them."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Tuple

import pytest

np = pytest.importorskip("numpy")

import folkmoot as fm  # noqa: E402
from folkmoot.refused import Refused  # noqa: E402
from folkmoot.worker import App, Worker  # noqa: E402

SEED = "00" * 32
CALLS: List[Tuple[Mapping[str, Any], Mapping[str, Any]]] = []


class Mine(fm.Strategy):
    messages = {"model": fm.Down, "update": fm.Up("train", "end"), "token": fm.Peer(absent="tell")}
    mechanisms = {"sum": fm.Gaussian(1.0, clip=2.0)}

    def on_server(self, event: fm.Event, cx: fm.Participant) -> None:
        cx.state["n"] = cx.state.get("n", 0) + 1
        cx.send([0, 2], "model", {"w": np.arange(3.0), "n": 7})
        if event.kind == "timer":
            noisy = cx.release("sum", {1: {"a": np.ones(2, np.float32), "b": 3.0}})
            cx.state.update(noisy)
            cx.finish()

    def on_client(self, event: fm.Event, cx: fm.Participant) -> None:
        cx.compute(5.0, "work", {"x": event.arrays.get("w")})
        cx.timer(0.5, "late")
        cx.send(fm.SERVER, "update", phase="end")
        cx.send(int(cx.me) - 1, "token", {"own": cx.rng.numpy.random()})

    def work(self, shard: Any, args: Dict[str, Any], ctx: fm.Context) -> Any:
        return {"x": args["x"] * 2, "round": ctx.round}


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    import sys
    from types import ModuleType

    module = ModuleType("an_app")
    module.__file__ = __file__
    module.Mine = Mine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "an_app", module)
    worker = Worker()
    worker.app = App("an_app", {"rate": 0.5}, "cpu", True, ["strategy"])
    worker.facts, worker.n_rounds = fm.Facts({"n_clients": 3}), 4
    CALLS.clear()

    def ask_run(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Any:
        CALLS.append((header, arrays))
        return {"kind": "released"}, {"values": np.array([10.0, 20.0, 30.0])}

    worker.ask_run = ask_run
    return worker


def handle(worker: Worker, client: Any, event: Dict[str, Any], arrays: Any = None, **more: Any) -> Any:
    header = {"kind": "handle", "client": client, "now": 1.5, "round": 2, "event_round": 2, "deadline": None}
    reply, out = worker.handle({**header, "seed": SEED, "event": event, **more}, dict(arrays or {}))
    return json.loads(json.dumps(reply)), out


def test_a_handler_returns_its_actions_in_order_and_the_state(worker: Worker) -> None:
    reply, out = handle(worker, None, {"kind": "start"}, state={"dict": [["n", 4]]})
    (send,) = reply["actions"]
    assert (send["do"], send["to"], send["message"], send["phase"]) == ("send", [0, 2], "model", "strategy")
    placed = dict(send["arrays"])
    assert out[placed["w"]].tolist() == [0, 1, 2] and out[placed["n"]].shape == ()
    assert reply["state"] == {"dict": [["n", 5]]}
    event = {"kind": "message", "name": "model", "sender": "server", "arrays": [["w", "e0"]]}
    reply, out = handle(worker, 1, event, {"e0": np.ones(2)})
    assert [action["do"] for action in reply["actions"]] == ["compute", "timer", "send", "send"]
    compute, timer, update, token = reply["actions"]
    assert (timer["tag"], update["to"], update["phase"], token["to"]) == ("late", [None], "end", [0])
    args = {own: out[key] for own, key in compute["args"]["arrays"]}
    header = {"kind": "perform", "client": None, "round": 2, "seed": SEED, "function": "work"}
    performed, result = worker.handle({**header, "args": compute["args"]["form"]}, args)
    assert performed["result"] == {"dict": [["x", {"array": "s0"}], ["round", 2]]}
    assert result["s0"].tolist() == [2, 2]


def test_a_release_sends_what_was_asked_for_before_it_and_keeps_shapes(worker: Worker) -> None:
    reply, out = handle(worker, None, {"kind": "timer", "tag": None})
    ((header, arrays),) = CALLS
    assert (header["call"], header["mechanism"], [action["do"] for action in header["actions"]]) == ("release", "sum", ["send"])
    assert arrays["values"].tolist() == [[1.0, 1.0, 3.0]]
    assert [action["do"] for action in reply["actions"]] == ["finish"]
    kept = {name: out[form["array"]] for name, form in reply["state"]["dict"] if isinstance(form, dict)}
    assert kept["a"].dtype == np.float32 and kept["a"].tolist() == [10, 20] and float(kept["b"]) == 30


def test_declarations_are_checked_where_the_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"messages\['up'\]: must be fm.Down, fm.Up or fm.Peer"):
        type("Wrong", (fm.Strategy,), {"messages": {"up": 1}})
    with pytest.raises(TypeError, match=r"mechanisms\['m'\]: must be fm.Gaussian"):
        type("Wrong", (fm.Strategy,), {"mechanisms": {"m": 0.5}})
    with pytest.raises(ValueError, match="noise_multiplier: must be finite and greater than 0, got 0"):
        fm.Gaussian(0, 1.0)
    with pytest.raises(ValueError, match='absent: must be "wait", "tell" or "drop"'):
        fm.Up(absent="never")
    with pytest.raises(TypeError, match=r'metrics: must be a list of names, such as \["loss"\]'):
        fm.select(metrics="loss")


def test_an_app_without_the_class_is_refused(worker: Worker) -> None:
    with pytest.raises(Refused, match="has no class of fm.Strategy; it has a function with @fm.train"):
        App("folkmoot.examples.softmax", {}, "cpu", True, ["strategy"])
