"""A run from Python alone, as a notebook makes one: a graph, functions with NumPy, and everything that follows a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("cloudpickle")

import folkmoot as fm  # noqa: E402

RATE = 0.5
SETTINGS = {"split": fm.part("Shares", train=0.5, validation=0.1), "protocol": fm.part(rounds=4)}
STRATEGY = fm.part("Python", app=fm.quoted(""), **SETTINGS)
CARD = f"(dataset: Karate, partition: Iid(n_clients: 4), strategy: {STRATEGY})"


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Dict[str, Any]:
    return {"w": np.zeros((facts.n_features, facts.n_classes), np.float32)}


def odds(x: Any, w: Any) -> Any:
    raised = np.exp(x @ w)
    return raised / raised.sum(1, keepdims=True)


@fm.train(cost=lambda shard, config: 6.0 * shard.x.size)
def train(params: Any, shard: fm.Shard, ctx: fm.Context) -> fm.Update:
    x, y = shard.x[shard.train_mask], shard.y[shard.train_mask]
    w = params["w"] - RATE * x.T @ (odds(x, params["w"]) - np.eye(params["w"].shape[1])[y]) / len(y)
    return fm.Update({"w": w}, weight=len(y))


@fm.evaluate
def evaluate(params: Any, shard: fm.Shard) -> Dict[str, fm.Metric]:
    mask = shard.test_mask
    hits = (shard.x[mask] @ params["w"]).argmax(1) == shard.y[mask]
    return {"accuracy": fm.Metric(hits.mean(), better="higher", unit="fraction", n=len(hits))} if len(hits) else {}


def graph() -> Dict[str, Any]:
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    x = rng.normal(size=(80, 4)).astype(np.float32) + y[:, None]
    return {"edge_index": rng.integers(0, 80, (2, 200)), "x": x, "y": y}


def test_a_graph_and_functions_are_run_verified_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FOLKMOOT_PYTHON", "VIRTUAL_ENV", "FOLKMOOT_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(tmp_path)
    made = fm.run(CARD, app=globals(), data=graph(), partition=np.arange(80) // 20, out="r", check_determinism=1.0, threads=2)
    assert made.summary["test_accuracy"] > 0.7 and made.scores["metric"].isin(["accuracy"]).any()
    assert "def odds" in next(Path("r", "program").rglob("app.py")).read_text()

    def stop(event: Dict[str, Any]) -> None:
        if event["event"] == "round" and event["round"] == 1:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError):
        fm.run(CARD, app=globals(), data=graph(), set={"strategy.protocol.rounds": 300}, out="half", on_event=stop)
    half = fm.Run("half")
    assert not half.manifest["finished"]
    # From another folder, the data and the interpreter are found again.
    os.chdir("/")
    fm.verify(tmp_path / "r")
    ended = fm.resume(tmp_path / "half")
    assert isinstance(ended, fm.Run) and ended.manifest["finished"]


def test_a_card_that_names_an_app_runs_this_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FOLKMOOT_PYTHON", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    card = CARD.replace('app: ""', 'app: "folkmoot.examples.softmax"').replace("Karate", "ContextualSbm(n_nodes: 80, n_features: 4)")
    config = {"strategy.config": {"epochs": 1, "learning_rate": 0.1, "momentum": 0.0}}
    made = fm.run(card, set=config, out=tmp_path / "r")
    assert made.manifest["finished"]


def test_a_seed_of_the_day_and_an_interrupt_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = Path(__file__).read_text().partition("\ndef graph()")[0].replace("CARD = ", "_ = ")
    card = CARD.replace('app: ""', 'app: "own.py"').replace("Karate", "ContextualSbm(n_nodes: 80, n_classes: 2, n_features: 4)")
    (tmp_path / "card.ron").write_text(card)
    noise = "+ np.random.default_rng(datetime.date.today().toordinal()).normal(size=w.shape)"
    for change, words in [
        (noise, "differ"),
        ("+ interrupted()", "KeyboardInterrupt, raised by the app(?s:.*)in interrupted"),
    ]:
        changed = code.replace('fm.Update({"w": w}', f'fm.Update({{"w": w {change}}}')
        assert changed != code
        (tmp_path / "own.py").write_text(changed + "\nimport datetime\ndef interrupted():\n    raise KeyboardInterrupt\n")
        with pytest.raises(fm.FolkmootError, match=words) as ended:
            fm.run(tmp_path / "card.ron", out=tmp_path / f"r{len(change)}", check_determinism=1.0, threads=2)
        assert "worker.py" not in str(ended.value)
