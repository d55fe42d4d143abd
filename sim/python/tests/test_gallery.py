"""The examples of the book's gallery, each on small data."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Dict, Mapping, Optional

import folkmoot as fm
import pytest
import small
from folkmoot.app import Rng
from small import CARDS, EXAMPLES

APPS = Path(fm.__file__).parent / "examples"
#: Lines of an app that are not blank.
MOST_LINES = 70


def _needs(*packages: str) -> None:
    missing = small.missing(*packages)
    if missing:
        pytest.skip(f"did not run, since these are not installed: {', '.join(missing)}")


def _run(
    name: str,
    folder: Path,
    seed: int = 1,
    workers: int = 1,
    config: Optional[Mapping[str, Any]] = None,
) -> fm.Run:
    """A small run of an example. What its data set is made of is made in `folder`."""
    example = EXAMPLES[name]
    _needs("numpy", *example.packages)
    if name == "digits" and not (folder / small.DIGITS).exists():
        small.make_digits(folder)
    out = folder / f"run-{len(list(folder.glob('run-*')))}"
    settings = {**example.settings(), "strategy.workers": workers}
    if config is not None:
        settings["strategy.config"] = config
    return fm.run(
        example.path,
        set=settings,
        seed=seed,
        out=out,
        data=str(folder),
        threads=workers,
        python=sys.executable,
    )


def _hash(run: fm.Run) -> str:
    return str(run.manifest["result_fingerprint"])


def test_every_card_of_the_gallery_is_tried() -> None:
    cards = {path.stem for path in CARDS.glob("*.ron")}
    assert cards == {example.card for example in EXAMPLES.values()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_one_result_at_one_and_two_workers(name: str, tmp_path: Path) -> None:
    one, two = _run(name, tmp_path), _run(name, tmp_path, workers=2)
    assert _hash(one) == _hash(two)
    assert 0 < one.summary[EXAMPLES[name].score] <= 1
    # The hash is of what the example computes.
    assert _hash(_run(name, tmp_path, seed=2)) != _hash(one)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_app_is_short(name: str) -> None:
    if name == "phones":
        folder = CARDS.parent / "flower" / "messages"
        lines = [line for path in folder.glob("*.py") for line in path.read_text().splitlines()]
    else:
        lines = (APPS / f"{name}.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) <= (80 if name == "phones" else MOST_LINES)
    assert name not in ("fed_prox", "scaffold") or len(lines) <= 30


def test_clients_of_fed_proto_send_prototypes_of_unlike_networks(tmp_path: Path) -> None:
    _needs("numpy", "torch")
    import numpy as np

    app = importlib.import_module("folkmoot.examples.fed_proto")
    facts = fm.Facts({"n_clients": 3, "n_features": 5, "n_classes": 2})
    config = {"epochs": 1, "learning_rate": 0.01, "pull": 1.0}
    arrays = {"x": np.ones((4, 5), np.float32), "y": np.array([0, 1, 0, 1])}
    arrays.update({mask: np.ones(4, bool) for mask in ("train_mask", "test_mask")})
    shapes, sent = [], []
    for client in range(3):
        rng = Rng(bytes(32))
        shard, ctx = fm.Shard(client, arrays, facts), fm.Context(rng, 0, client, 1, config, "cpu")
        update = app.train(app.initial(facts, rng), shard, ctx)
        shapes.append(sorted(tuple(array.shape) for array in update.state.values()))
        sent.append({key: tuple(array.shape) for key, array in dict(update.arrays).items()})
        assert dict(update.arrays)["counts"].flatten().tolist() == [2, 2]
    assert shapes[0] != shapes[1] != shapes[2] != shapes[0]
    assert sent == [{"sums": (2, app.N_DIMS), "counts": (2, 1)}] * 3
    # They are pulled towards prototypes that others sent.
    pulled = _run("fed_proto", tmp_path)
    free = _run("fed_proto", tmp_path, config={"epochs": 3, "learning_rate": 0.01, "pull": 0.0})
    assert _hash(pulled) != _hash(free)


def test_heads_stay_at_the_clients(tmp_path: Path) -> None:
    config = {"epochs": 1, "learning_rate": 0.1}
    sent: Dict[int, float] = {}
    for n in range(3):
        shared = [fm.quoted(part) for part in ("body", "head")[:n]]
        run = _run("heads", tmp_path, config={**config, "shared": shared})
        sent[n] = run.summary["update_payload_bytes"] / run.summary["update_messages"]
    # A number of samples, then the body's 12 × 32 + 32 and the head's 32 × 3 + 3 parameters.
    assert sent == {0: 4 + 4 * 1, 1: 4 + 4 * 416, 2: 4 + 4 * (416 + 99)}


def test_the_attack_beats_chance_and_its_control_does_not(tmp_path: Path) -> None:
    hits = {}
    for is_control in (False, True):
        config = {"epochs": 1, "learning_rate": 0.1, "is_control": is_control}
        runs = [_run("curious", tmp_path, seed, config=config) for seed in (1, 2, 3)]
        hits[is_control] = sum(run.summary["test_attack_accuracy"] for run in runs) / len(runs)
        # The server learns nothing more by guessing: the model is the same.
        assert len({run.summary["test_accuracy"] for run in runs}) > 1
    # 60 guesses of one of ten classes: more than 14 right ones are less likely than 1 % by chance.
    assert hits[False] > 0.8, hits
    assert hits[True] <= 14 / 60, hits
