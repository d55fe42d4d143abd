"""The package as its users meet it, with both libraries and the program that was installed with it."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List

import folkmoot
import numpy
import pandas
import polars
import pyarrow.parquet
import pytest
from folkmoot import part, quoted, ron

CARD = """(
    question: "Does one more epoch pay?",
    dataset: GraphClasses(n_graphs: 60, n_classes: 3),
    partition: LabelSkew(n_clients: 6, alpha: 0.5, min_size: 4),
    strategy: FedAvg(
        model: (encoder: Gin, hidden: 8, readout: Sum),
        inputs: Degree(most: 16),
        split: Shares(train: 0.7, validation: 0.1),
        protocol: (rounds: 3),
    ),
    network: Links(uplink: (latency_ms: Constant(40.0)), up_bytes_per_s: Constant(1e6)),
    sweep: (axes: { "strategy.training.epochs": [1, 2] }, seeds: [1, 2], headline: ["test_accuracy"]),
)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def sweep(folder: Path) -> folkmoot.Sweep:
    return folkmoot.sweep(CARD, out=folder / "sweep", threads=1)


@pytest.fixture(scope="module")
def tiny(folder: Path) -> folkmoot.Run:
    return folkmoot.run("fed-avg/tiny", out=folder / "tiny", threads=1)


@pytest.fixture(scope="module")
def dry(folder: Path) -> folkmoot.Run:
    return folkmoot.run("fed-avg/tiny", dry_run=True, out=folder / "dry-tiny", threads=1)


@pytest.fixture(params=["pandas", "polars"])
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    folkmoot.frames(request.param)
    yield {"pandas": pandas, "polars": polars}[request.param]


def rows(frame: Any) -> List[Dict[str, Any]]:
    return list(frame.to_dict("records") if isinstance(frame, pandas.DataFrame) else frame.to_dicts())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (7, "7"),
        (numpy.int64(7), "7"),
        (0.1, "0.1"),
        (1.0, "1.0"),
        (numpy.float64(0.1), "0.1"),
        (1e-5, "1e-05"),
        (float("-inf"), "-inf"),
        (float("nan"), "NaN"),
        (None, "None"),
        ("Gin", "Gin"),
        (quoted('a "b" \\'), '"a \\"b\\" \\\\"'),
        ([1, [2.0]], "[1, [2.0]]"),
        ((1, "A"), "(1, A)"),
        ({"a.b": [1]}, '{"a.b": [1]}'),
        (part("Shares", train=0.7), "Shares(train: 0.7)"),
        (part(epochs=5, optimiser="Adam"), "(epochs: 5, optimiser: Adam)"),
    ],
)
def test_values_are_written_as_cards_write_them(value: Any, text: str) -> None:
    assert ron(value) == text


def test_other_values_are_refused() -> None:
    with pytest.raises(TypeError, match="of the kind object"):
        ron({"a": [object()]})


def test_what_is_set_is_what_the_program_reads(folder: Path) -> None:
    question = 'A "quoted" word, a \\ and é,\nin two lines'
    settings = {
        "question": quoted(question),
        "strategy.training": part(epochs=2, rate=1e-5, optimiser="Adam"),
        "strategy.training.fedprox_mu": numpy.float64(0.5),
        "strategy.protocol.rounds": numpy.int64(1),
        "strategy.split": part("Shares", train=0.5, validation=0.25),
        "deadline_ms": None,
        "observe": [],
        "sweep.axes": {"strategy.training.epochs": [1, 3]},
    }
    made = folkmoot.run(CARD, set=settings, seed=2**64 - 1, out=folder / "set", threads=1)
    assert made.seed == 2**64 - 1
    written = question.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    words = [f'"{written}"', "epochs: 2", "learning_rate: 1e-5", "fedprox_mu: 0.5", "rounds: 1", "train: 0.5"]
    for word in words:
        assert word in made.scenario, made.scenario


def test_errors_are_the_programs(folder: Path) -> None:
    with pytest.raises(folkmoot.FolkmootError, match="did you mean `epochs`|epochs"):
        folkmoot.run(CARD, set={"strategy.training.epoch": 1}, out=folder / "never")
    with pytest.raises(folkmoot.FolkmootError, match="already exists and is never overwritten"):
        folkmoot.run("fed-avg/tiny", out=folder)
    with pytest.raises(folkmoot.FolkmootError, match="neither a file nor a shipped card"):
        folkmoot.run("fed-avg/tinyy")
    with pytest.raises(folkmoot.FolkmootError, match="has no manifest.json"):
        folkmoot.Run(folder)
    assert not (folder / "never").exists()


def test_no_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOLKMOOT_BIN", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda *_: "/nowhere")
    with pytest.raises(folkmoot.FolkmootError, match="FOLKMOOT_BIN"):
        folkmoot.run("fed-avg/tiny")


def test_a_card_may_be_a_path_and_gives_the_same_run_as_its_text(folder: Path, sweep: folkmoot.Sweep) -> None:
    (folder / "mine.ron").write_text(CARD)
    by_path = folkmoot.run(folder / "mine.ron", set={"strategy.training.epochs": 1}, seed=1, out=folder / "by-path", threads=1)
    assert by_path.manifest["name"] == "mine" and by_path.seed == 1
    assert by_path.manifest["result_fingerprint"] == sweep.runs[0].manifest["result_fingerprint"]


def test_options_are_handed_on(folder: Path) -> None:
    dry = folkmoot.run(CARD, seed=0, dry_run=True, out=folder / "dry", threads=1)
    assert dry.seed == 0 and dry.manifest["dry_run"]


def test_what_a_run_warns_of_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"warnings": ["nothing was learned"]}')
    monkeypatch.setattr("folkmoot.made", lambda *_: tmp_path)
    with pytest.warns(UserWarning, match="nothing was learned") as warned:
        folkmoot.run("fed-avg/tiny")
    assert [warning.filename for warning in warned] == [__file__]


def test_frames_need_a_library_and_one_that_is_known(monkeypatch: pytest.MonkeyPatch, tiny: folkmoot.Run) -> None:
    with pytest.raises(ValueError, match="not of 'numpy'"):
        folkmoot.frames("numpy")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(folkmoot.FolkmootError, match="which is not installed"):
        tiny.rounds


def test_tables_have_the_columns_that_are_stated(library: Any, sweep: folkmoot.Sweep, tiny: folkmoot.Run) -> None:
    for made in [tiny, *sweep.runs]:
        for name in ("rounds", "messages", "scores", "privacy", "clients", "timing"):
            frame = getattr(made, name)
            assert isinstance(frame, library.DataFrame)
            header = (made.path / f"{name}.csv").read_text().splitlines()[0].split(",")
            assert list(frame.columns) == header
            assert len(frame) == len((made.path / f"{name}.csv").read_text().splitlines()) - 1
    assert len(tiny.observations) == 0 and len(tiny.readings) == 0


def test_frames_of_two_runs_go_together(library: Any, sweep: folkmoot.Sweep, tiny: folkmoot.Run, dry: folkmoot.Run) -> None:
    # One writes 0 where the other writes 3.6, and one has nothing where the others have numbers.
    for name in ("rounds", "messages", "scores", "readings", "privacy", "clients", "observations", "timing"):
        frames = [getattr(made, name) for made in (tiny, dry, sweep.runs[0])]
        types = [dict(zip(frame.columns, frame.dtypes)) for frame in frames]
        assert types[0] == types[1] == types[2], name
        assert len(library.concat(frames)) == sum(map(len, frames))


def test_values_are_read_to_the_last_bit(library: Any, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "scores.csv").write_text(
        'round,virtual_s,split,metric,value,n\n0,4e-9,nan,"a,""b""\nc",0.1,9007199254740993\n1,1e16,,NA,inf,0\n2,0,x,y,nan,1\n'
    )
    (tmp_path / "timing.csv").write_text("stage,seconds,peak_memory_bytes\nload,1,\n")
    made = folkmoot.Run(tmp_path)
    first, second, third = rows(made.scores)
    assert first == {"round": 0, "virtual_s": 4e-9, "split": "nan", "metric": 'a,"b"\nc', "value": 0.1, "n": 2**53 + 1}
    assert (second["split"], second["metric"], second["value"], second["virtual_s"]) == ("", "NA", float("inf"), 1e16)
    assert numpy.isnan(third["value"])
    (timing,) = rows(made.timing)
    assert all(timing[name] is None or timing[name] is pandas.NA for name in ("peak_memory_bytes", "memory_bytes"))


def test_summary_and_artifacts(library: Any, tiny: folkmoot.Run) -> None:
    assert tiny.summary["update_messages"] == sum(row["sent"] for row in rows(tiny.messages) if row["kind"] == "update")
    model = tiny.artifact("model.npy")
    assert model.dtype == numpy.float32 and model.ndim == 1 and len(model) > 0
    assert "model.npy" in tiny.artifacts
    with pytest.raises(folkmoot.FolkmootError, match="has no artifact nothing.npy; it has: .*model.npy"):
        tiny.artifact("nothing.npy")


def test_embeddings_are_an_artifact_by_a_short_name(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "artifacts").mkdir()
    rows_of_nodes = numpy.arange(34 * 3, dtype=numpy.float32).reshape(34, 3)
    numpy.save(tmp_path / "artifacts" / "embeddings.npy", rows_of_nodes)
    assert (folkmoot.Run(tmp_path).embeddings == rows_of_nodes).all()


def test_points_and_runs_say_which_they_are(library: Any, sweep: folkmoot.Sweep) -> None:
    points = rows(sweep.points)
    assert [(row["strategy.training.epochs"], row["seed"]) for row in points] == [(1.0, 1), (1.0, 2), (2.0, 1), (2.0, 2)]
    assert [(run.axes["strategy.training.epochs"], run.seed) for run in sweep.runs] == [(1.0, 1), (1.0, 2), (2.0, 1), (2.0, 2)]
    for row, run in zip(points, sweep.runs):
        # A point counts all warnings of its run; a summary, which the result hash is of, those that the run had when the record began.
        assert row["warnings"] == len(run.manifest["warnings"])
        numbers = {name: number for name, number in run.summary.items() if name != "warnings"}
        assert {name: row[name] for name in numbers} == numbers


def test_curves_join_scores_with_the_bytes_until_then(library: Any, sweep: folkmoot.Sweep) -> None:
    by_hand = []
    for run in sweep.runs:
        sent = [(row["round"], row["payload_bytes"] + row["header_bytes"]) for row in rows(run.messages)]
        for row in rows(run.scores):
            row["bytes"] = sum(size for at, size in sent if at <= row["round"])
            by_hand.append({**run.axes, "seed": run.seed, **row})
    curves = rows(sweep.curves)
    assert sorted(str(sorted(row.items())) for row in curves) == sorted(str(sorted(row.items())) for row in by_hand)
    assert len({row["bytes"] for row in curves}) == 3
    names = ["strategy.training.epochs", "seed", "round", "virtual_s", "bytes", "split", "metric", "value", "n"]
    assert list(sweep.curves.columns) == names
    assert rows(sweep.runs[0].curves) == [{name: row[name] for name in names[1:]} for row in curves[: len(rows(sweep.runs[0].scores))]]


def test_a_parquet_file_has_the_values_and_types_of_the_curves(library: Any, tmp_path: Path, sweep: folkmoot.Sweep) -> None:
    path = tmp_path / "below" / "curves.parquet"
    sweep.to_parquet(path)
    sweep.runs[0].to_parquet(tmp_path / "run.parquet")
    folkmoot.frames("polars")
    for read in (polars.read_parquet(path), polars.from_arrow(pyarrow.parquet.read_table(path))):
        assert isinstance(read, polars.DataFrame)
        assert read.schema == sweep.curves.schema
        assert read.equals(sweep.curves)
    assert polars.read_parquet(tmp_path / "run.parquet").equals(sweep.runs[0].curves)


def test_tensorboard_reads_what_was_scored(tmp_path: Path, sweep: folkmoot.Sweep) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    sweep.to_tensorboard(tmp_path / "board")
    folkmoot.frames("polars")
    for run in sweep.runs:
        board = EventAccumulator(str(tmp_path / "board" / run.path.name), size_guidance={"scalars": 0}).Reload()
        tags = board.Tags()["scalars"]
        assert len(tags) == 2 * len({(row["metric"], row["split"]) for row in rows(run.scores)})
        for tag in tags:
            metric, split = tag.split("/")
            by_bytes = metric.endswith("_by_bytes")
            of_tag = [row for row in rows(run.curves) if (row["metric"], row["split"]) == (metric.replace("_by_bytes", ""), split)]
            wanted = [(row["virtual_s"], row["bytes" if by_bytes else "round"], float(numpy.float32(row["value"]))) for row in of_tag]
            assert [(event.wall_time, event.step, event.value) for event in board.Scalars(tag)] == wanted


def test_event_files_have_the_same_name_and_bytes_whenever_they_are_made(tmp_path: Path, sweep: folkmoot.Sweep) -> None:
    sweep.to_tensorboard(tmp_path / "a")
    sweep.to_tensorboard(tmp_path / "b")
    for run in sweep.runs:
        run.to_tensorboard(tmp_path / run.path.name)
        assert [path.name for path in (tmp_path / "a" / run.path.name).iterdir()] == ["events.out.tfevents.folkmoot"]
        places = [tmp_path / "a" / run.path.name, tmp_path / "b" / run.path.name, tmp_path / run.path.name]
        assert len({(place / "events.out.tfevents.folkmoot").read_bytes() for place in places}) == 1


@pytest.mark.parametrize("form, there", [("parquet", "scores.parquet"), ("tensorboard", "board")])
def test_the_program_names_the_command_that_works(tmp_path: Path, sweep: folkmoot.Sweep, form: str, there: str) -> None:
    command = [folkmoot.program.program(), "export", os.path.relpath(sweep.path, tmp_path), f"--{form}"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 2
    python, *rest = shlex.split(said.stderr.split("\nhelp: ")[1])
    assert python == "python"
    subprocess.run([sys.executable, *rest], cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == [there]
    again = subprocess.run([sys.executable, *rest], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 2 and f"error: {there} already exists and is never overwritten" in again.stderr


@pytest.mark.parametrize("form, module", [("parquet", "pyarrow"), ("tensorboard", "tensorboard")])
def test_a_missing_library_is_named_with_its_pip_command(
    form: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sweep: folkmoot.Sweep
) -> None:
    folkmoot.frames("pandas")
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(folkmoot.FolkmootError, match=f"help: python -m pip install {module}$"):
        getattr(sweep, f"to_{form}")(tmp_path / "made")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_an_interrupt_keeps_what_is_finished(folder: Path) -> None:
    card = CARD.replace("rounds: 3", "rounds: 1000000")
    script = f"import folkmoot; folkmoot.run({card!r}, out='stopped', threads=1)"
    process = subprocess.Popen([sys.executable, "-c", script], cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        while not (folder / "stopped" / "rounds.csv").exists() and process.poll() is None:
            pass
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in err and "folkmoot.resume('stopped'" in err
    stopped = folkmoot.Run(folder / "stopped")
    assert not stopped.manifest["finished"] and len(stopped.rounds) > 0 and (folder / "stopped" / "checkpoint").exists()


def test_the_notebook_goes_from_a_card_to_a_figure() -> None:
    from nbclient import NotebookClient

    notebook = importlib.import_module("nbformat").read(Path(__file__).parents[1] / "examples" / "card_to_figure.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code), "outputs are not kept"
    NotebookClient(notebook, timeout=600).execute()
    kinds = [kind for cell in code for output in cell.outputs for kind in output.get("data", {})]
    assert kinds.count("image/png") == 1 and kinds.count("text/html") >= 2


ATTACKERS = sorted((Path(__file__).parents[2] / "algorithms").glob("*/examples/own_attack*.py"))


@pytest.mark.parametrize("example", ATTACKERS, ids=lambda path: path.parts[-3])
def test_an_attacker_of_ones_own_reads_messages_that_a_run_kept(example: Path, tmp_path: Path) -> None:
    names = runpy.run_path(str(example))
    found = names["main"](tmp_path)
    first = found[names["PARTS"][0]]
    assert first["found"] > first["by chance"] + 0.05, found
    assert set(found) == set(names["PARTS"])


def test_a_budget_is_computed_without_a_run() -> None:
    spent = folkmoot.budget(noise=1.0, rate=0.1, rounds=60)
    assert (spent.found, spent.accountant, spent.delta) == ("epsilon", "pld", 1e-5)
    # dp-accounting 0.6.0 gives 5.5727 from above and 5.5427 from below.
    assert spent.epsilon is not None and 5.5426 < spent.epsilon < 5.6
    noise = folkmoot.budget(epsilon=spent.epsilon, rate=0.1, rounds=60)
    assert noise.found == "noise" and 0.999 < noise.noise < 1.002
    assert folkmoot.budget(epsilon=spent.epsilon, noise=1.0, clients="100/1000", sampling="poisson").rounds == 60
    # A number of clients is a sample of fixed size, which costs more.
    fixed = folkmoot.budget(noise=200, clients="50/100", rounds=50)
    poisson = folkmoot.budget(noise=200, rate=0.5, rounds=50)
    assert fixed.epsilon is not None and poisson.epsilon is not None
    assert 0.18 < fixed.epsilon < 0.275 and poisson.epsilon < 0.06 and "replace" in fixed.neighbours
    with pytest.raises(folkmoot.FolkmootError, match="two of epsilon=, noise= and rounds="):
        folkmoot.budget(noise=1.0)


def test_a_text_that_a_spreadsheet_would_compute_is_read_without_its_apostrophe() -> None:
    written = ["'=1+1", "'+a", "''-d", "'e", "-1.5", "a=b", ""]
    table = "arm,n\n" + "".join(f"{cell},1\n" for cell in written)
    read = ["=1+1", "+a", "'-d", "'e", "-1.5", "a=b", ""]
    assert [row[0] for row in folkmoot.results._cells(table)][1:] == read
    # As the book says it for pandas alone.
    assert [re.sub(r"^'(?='*[=+@-])", "", cell) for cell in written] == read
