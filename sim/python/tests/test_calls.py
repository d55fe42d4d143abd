"""The functions that a notebook has besides run and sweep."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any, Dict, List

import folkmoot
import numpy
import pytest
from folkmoot.program import call, in_python

ROUNDS = {"strategy.protocol.rounds": 3}
SWEEP = {"sweep.axes": {"strategy.protocol.rounds": [1, 2]}, "sweep.baseline": '"1"', "sweep.seeds": [1]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("calls")


@pytest.fixture(scope="module")
def run(folder: Path) -> folkmoot.Run:
    return folkmoot.run("fed-avg/tiny", set=ROUNDS, out=folder / "run", threads=1)


@pytest.fixture(scope="module")
def sweep(folder: Path) -> folkmoot.Sweep:
    return folkmoot.sweep("fed-avg/tiny", set=SWEEP, out=folder / "sweep", threads=1)


def test_events_come_while_the_program_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: List[Dict[str, Any]] = []

    def watch(event: Dict[str, Any]) -> None:
        told.append(event)
        folkmoot.progress(event)

    made = folkmoot.run("fed-avg/tiny", set=ROUNDS, out=folder / "told", on_event=watch)
    rounds = [event["round"] for event in told if event["event"] == "round"]
    assert rounds == [0, 1, 2]
    assert [event["event"] for event in (told[0], told[-1])] == ["start", "end"]
    scores = [event["value"] for event in told if event["event"] == "score"]
    assert scores == [float(value) for value in made.scores["value"]]
    assert capsys.readouterr().err.splitlines()[-1] == f"{folder / 'told'}: done"


def test_an_exception_in_a_callback_stops_the_program(folder: Path) -> None:
    def watch(event: Dict[str, Any]) -> None:
        if event["event"] == "round":
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        folkmoot.run("fed-avg/tiny", set={"strategy.protocol.rounds": 100_000}, out=folder / "stopped", on_event=watch)


def test_results_are_used_again(folder: Path, run: folkmoot.Run) -> None:
    again = folkmoot.run("fed-avg/tiny", set=ROUNDS, out=run.path, exists="reuse")
    assert again.manifest == run.manifest
    with pytest.raises(folkmoot.FolkmootError, match='exists="reuse": .* its card differs\nhelp: choose another out=$'):
        folkmoot.run("fed-avg/tiny", out=run.path, exists="reuse")
    with pytest.raises(folkmoot.FolkmootError, match="choose another out="):
        folkmoot.run("fed-avg/tiny", out=run.path)
    with pytest.raises(ValueError, match='exists: must be "error" or "reuse", got \'replace\''):
        folkmoot.run("fed-avg/tiny", out=run.path, exists="replace")


def test_a_point_that_a_sweep_lacks_is_run(sweep: folkmoot.Sweep) -> None:
    first, second = sweep.runs
    kept = (first.path / "manifest.json").stat().st_mtime_ns
    shutil.rmtree(second.path)
    again = folkmoot.sweep("fed-avg/tiny", set=SWEEP, out=sweep.path, only_missing=True, threads=1)
    assert [one.manifest["result_fingerprint"] for one in again.runs] == [one.manifest["result_fingerprint"] for one in (first, second)]
    assert second.path.is_dir() and (first.path / "manifest.json").stat().st_mtime_ns == kept


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("choose another --out\n  repeat with: folkmoot run own.ron", "choose another out=\n  repeat with: folkmoot.run('own.ron')"),
        (
            "folkmoot run c.ron --set 'a.b=Npz(path: \"x\")' --set c=3 --seed 4 --data '/a b'",
            "folkmoot.run('c.ron', set={'a.b': 'Npz(path: \"x\")', 'c': '3'}, seed=4, data='/a b')",
        ),
        ("a data folder (--data DIR or FOLKMOOT_DATA)", "a data folder (data=DIR or FOLKMOOT_DATA)"),
        ("raise --max-memory if there is more", "raise max_memory= if there is more"),
        ("'1KB' for '--max-memory <SIZE>': must be", "'1KB' for 'max_memory=SIZE': must be"),
        ("`folkmoot resume DIR` goes on", "`folkmoot.resume(DIR)` goes on"),
        ("help: folkmoot resume 'it'\\''s' --allow-changed-code", 'help: folkmoot.resume("it\'s", allow_changed_code=True)'),
        ("folkmoot budget --noise 1 --rounds 60 gives epsilon", "folkmoot.budget(noise=1, rounds=60) gives epsilon"),
        ("as in Flower: --set strategy.client_errors=Reply", "as in Flower: set={'strategy.client_errors': 'Reply'}"),
        ("folkmoot list; runs/folkmoot run; --trace-clients N", "folkmoot list; runs/folkmoot run; --trace-clients N"),
    ],
)
def test_ways_out_are_those_of_python(said: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLKMOOT_BIN", "/somewhere/folkmoot")
    assert in_python(said) == found


def test_an_error_names_a_call_that_can_be_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    card = '(dataset: Npz(path: "none.npz"), partition: Iid(n_clients: 2), strategy: FedAvg())'
    with pytest.raises(folkmoot.FolkmootError) as first:
        folkmoot.run(card)
    again = re.search("repeat with: (.*)", str(first.value))
    assert again is not None and "/card.ron" in again[1]
    with pytest.raises(folkmoot.FolkmootError) as second:
        eval(again[1])
    assert str(second.value) == str(first.value)


def test_options_of_the_program_are_arguments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: List[List[str]] = []

    def call(*args: str, on_event: Any = None) -> str:
        calls.append(list(args))
        raise folkmoot.FolkmootError("not run")

    monkeypatch.setattr(folkmoot.program, "call", call)
    monkeypatch.setattr(folkmoot, "call", call)
    (tmp_path / "manifest.json").write_text('{"command": "folkmoot run c.ron --data \'/a b\' --seed 3"}')
    every: Dict[str, Any] = {"job_timeout": 60, "check_determinism": 0.05, "max_memory": "4GB"}
    cases: List[Any] = [
        (folkmoot.run, {"checkpoint_every": "5rounds", "trace": True}),
        (folkmoot.sweep, {}),
        (folkmoot.resume, {"checkpoint_every": "5rounds", "allow_changed_code": True}),
        (folkmoot.verify, {}),
    ]
    for function, more in cases:
        with pytest.raises(folkmoot.FolkmootError, match="not run"):
            function(str(tmp_path), **every, **more)
        said = " ".join(calls[-1])
        words = [f"--python {sys.executable}", "--job-timeout 60", "--check-determinism 5%", "--max-memory 4GB"]
        words += [f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in more.items()]
        words += ["--data /a b"] if function in (folkmoot.resume, folkmoot.verify) else []
        assert all(word in said for word in words), said
    with pytest.raises(folkmoot.FolkmootError, match="not run"):
        folkmoot.verify(tmp_path, data="elsewhere", python="python9")
    assert "--data elsewhere --python python9" in " ".join(calls[-1])


def test_a_result_is_verified_compared_reported_and_drawn(folder: Path, run: folkmoot.Run, sweep: folkmoot.Sweep) -> None:
    folkmoot.verify(run.path)
    same = folkmoot.compare(run.path, run.path)
    assert same and same.same
    other = folkmoot.run("fed-avg/tiny", set=ROUNDS, seed=2, out=folder / "other")
    differs = folkmoot.compare(run.path, other.path)
    assert not differs and "seed" in differs.text
    with pytest.raises(folkmoot.FolkmootError):
        folkmoot.compare(run.path, folder / "nowhere")
    assert folkmoot.report(run.path, out=folder / "page.html") == folder / "page.html"
    assert (folder / "page.html").stat().st_size > 10_000
    files = folkmoot.plot(run.path, only="cumulative-bytes", width=84)
    assert all(path.exists() for path in files) and len(files) == 2
    # A figure that is not drawn yet is drawn; the help of a refusal works.
    assert "score-loss-by-round" not in run.figures
    assert run.figure("score-loss-by-round").path.is_file()
    with pytest.raises(folkmoot.FolkmootError, match="has no figure nothing; it has: messages-by-round, ") as refused:
        run.figure("nothing")
    drawn = eval(str(refused.value).partition("help: ")[2])
    assert all(path.exists() for path in drawn) and len(drawn) == 2
    assert run.figure("cumulative-bytes")._repr_svg_().lstrip().startswith("<")


def test_a_notebook_shows_the_question_the_table_and_a_figure(run: folkmoot.Run, sweep: folkmoot.Sweep) -> None:
    page = run._repr_html_()
    assert "result hash" in str(run) and "<svg" in page and "<pre>" not in page
    assert re.search("<td>test_accuracy ↑</td><td>0[.][0-9]+</td><td></td><td>client_majority 0[.][0-9]+, ", page), page
    assert "<td>update_messages ↓</td><td>9</td>" in page, page
    assert run.figure("headline").path.name == "score-accuracy-by-round.svg"
    shown = sweep._repr_html_()
    assert "<table>" in shown and "<svg" in shown
    assert "\\begin{tabular}" in sweep.to_latex() and "|---|" in sweep.to_markdown()


def test_a_run_that_is_not_finished_is_shown_without_numbers(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "a<b", "seed": 3, "finished": false, "headline": ["test_accuracy"]}')
    assert folkmoot.Run(tmp_path)._repr_html_() == "<p>a&lt;b, seed 3, not finished</p>"


def test_every_table_of_a_run_is_a_frame(run: folkmoot.Run) -> None:
    for name in ("absences", "partition", "client_scores", "controls"):
        frame = getattr(run, name)
        assert len(frame.columns) > 2, name
    assert set(run.controls["control"]) >= {"majority_class"}


def test_clients_of_nodes_are_given_as_an_array(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    rng = numpy.random.default_rng(1)
    data = {"edge_index": rng.integers(0, 30, (2, 90)), "x": rng.normal(size=(30, 4)).astype("float32"), "y": numpy.arange(30) % 3}
    card = """(partition: Iid(n_clients: 2), dataset: Karate, strategy: FedAvg(protocol: (rounds: 2),
        split: Shares(train: 0.6, validation: 0.1)))"""
    made = folkmoot.run(card, data=data, partition=numpy.arange(30) // 10, out="given")
    assert sorted(set(made.clients["client"])) == [0, 1, 2]
    cut = folkmoot.run(card, data=data, partition="Iid(n_clients: 5)", out="cut")
    assert len(set(cut.clients["client"])) == 5
    with pytest.raises(folkmoot.FolkmootError, match="partition"):
        folkmoot.run(card, partition=[0, 1], out="none")


APP = """
import folkmoot as fm
import numpy as np

@fm.initial
def initial(facts, rng):
    return {"w": np.zeros(facts.n_features)}

@fm.train(cost=lambda shard, config: 1.0)
def train(params, shard, ctx):
    return fm.Update(params)
"""


def test_check_imports_an_app(folder: Path) -> None:
    card = folder / "own.ron"
    strategy = folkmoot.part("Python", app=folkmoot.quoted("own.py"))
    card.write_text(f"(dataset: ContextualSbm(n_nodes: 40, n_classes: 2, n_features: 3), partition: Iid(n_clients: 4), strategy: {strategy})")
    (folder / "own.py").write_text(APP)
    python = ["--python", sys.executable]
    assert ": OK; " in call("check", str(card), *python)
    with pytest.raises(folkmoot.FolkmootError, match=r"attacks\.0: LossThreshold asks a model about items; add @fm.predict"):
        call("check", str(card), *python, "--set", "strategy.attacks=[LossThreshold()]")
    (folder / "own.py").write_text("import a_package_that_nobody_has\n" + APP)
    with pytest.raises(folkmoot.FolkmootError, match="No module named 'a_package_that_nobody_has'"):
        call("check", str(card), *python)
