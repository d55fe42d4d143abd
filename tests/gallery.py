"""The figures of the book's gallery, made again from their cards.

    python3 tests/gallery.py PROGRAM [--python PYTHON] [--write] [--out DIR] [CARD ...]
    python3 tests/gallery.py PROGRAM [--python PYTHON] --choose [CARD ...]

With the versions that made them, figures and values are compared exactly, and each interval in the
text must be one that the program prints. With other versions, the means over seeds may differ by
5 %, or by 0.05 for a metric from 0 to 1. `--write` replaces figures and values. `--choose` runs the
grid of learning rates on validation items, and prints the best rate of each arm and the card's own.

PYTHON (default: FOLKMOOT_PYTHON, else this one) has the packages; a card that lacks one or its data
set (FOLKMOOT_DATA) is named, and not made. It takes minutes.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CARDS = ROOT / "sim/python/examples/gallery"
FIGURES = ROOT / "sim/book/src/gallery"
PAGE = ROOT / "scenarios/python/book/gallery.md"
VALUES = CARDS / "values.json"
#: Of each card: its figure of those that it names, and what it needs.
NEEDS = {
    "gatv2": ("curves-test-accuracy", ["torch", "torch_geometric"], "planetoid"),
    "drift": ("curves-test-accuracy", [], None),
    "fed_proto": ("curves-test-reported-accuracy", ["torch"], None),
    "heads": ("curves-test-reported-accuracy", ["torch"], None),
    "links": ("headline", ["torch", "torch_geometric"], "planetoid"),
    "digits": ("headline", ["torch", "sklearn"], None),
    "phones": ("headline", ["flwr"], None),
    "curious": ("headline", [], None),
}
#: One grid for all arms. The seeds are none of those of the cards.
RATES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
SEEDS = [101, 102, 103]
#: Cards whose grid takes long: one seed.
LONG = ["gatv2", "links"]
#: Settings of the grid: validation items where the card has none, and arms that have a rate.
SHARES = "strategy.split=Shares(train: 0.5, validation: 0.1)"
CHOICES = {
    "gatv2": [],
    "drift": [],
    "fed_proto": [SHARES],
    "heads": [SHARES],
    "links": ['sweep.arms={"trained": {}}', 'sweep.baseline=""'],
    "digits": ["strategy.split=Shares(train: 0.6, validation: 0.1)"],
    "curious": ['sweep.arms={"the client\'s update": {}}', 'sweep.baseline=""'],
}
#: Loaded by each worker: scores on validation items; the test items are not read.
VALIDATION = """
from folkmoot import app

made = app.Shard.__init__

def init(self, client, arrays, facts):
    made(self, client, {**arrays, "test_mask": arrays["val_mask"]}, facts)

app.Shard.__init__ = init
"""
#: The same for edges: of those to train on, a fifth is held out once more.
EDGES = """
import numpy as np, torch
from folkmoot.examples import links

split = links.split

def again(shard):
    edges, _, others = split(shard)
    rng = np.random.default_rng([101, shard.client or 0])
    is_out = torch.tensor(rng.random(edges.shape[1]) < 0.2)
    pairs = torch.tensor(np.sort(rng.integers(shard.num_nodes, size=(2, 20 * len(is_out))), axis=0))
    ends = torch.tensor(shard.edge_index)
    is_edge = torch.isin(pairs[0] * shard.num_nodes + pairs[1], ends[0] * shard.num_nodes + ends[1])
    pairs = pairs[:, ~is_edge & (pairs[0] < pairs[1])]
    return edges[:, ~is_out], edges[:, is_out], pairs[:, : int(is_out.sum())]

links.split = again
"""


class Gallery:
    def __init__(self, program, python, temp):
        self.program, self.python, self.temp = program, python, temp
        self.paths = [str(ROOT / "sim/python")]

    def call(self, *words, python_paths=()):
        paths = os.pathsep.join([*python_paths, *self.paths, os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "FOLKMOOT_PYTHON": self.python, "PYTHONPATH": paths}
        done = subprocess.run(list(map(str, words)), env=env, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def lacks(self, name):
        """What a card needs and is not here."""
        _, packages, data = NEEDS[name]
        find = "import importlib.util, sys; find = importlib.util.find_spec"
        code = f"{find}; print([name for name in sys.argv[1:] if not find(name)])"
        found = self.call(self.python, "-c", code, "numpy", "cloudpickle", *packages).strip()
        if found != "[]":
            return f"{self.python} lacks {found}"
        folder = pathlib.Path(os.environ.get("FOLKMOOT_DATA", "data"))
        return f"{folder / data} is missing" if data and not (folder / data).is_dir() else None

    def swept(self, name, out, *settings, python_paths=()):
        words = ["sweep", CARDS / f"{name}.ron", "--out", out, "-j", 1, "--quiet"]
        words += [word for setting in settings for word in ("--set", setting)]
        if name == "digits":
            if not (self.temp / "digits.npz").exists():
                self.call(self.python, "-m", "folkmoot.examples.digits", self.temp / "digits.npz")
            words += ["--data", self.temp]
        self.call(self.program, *words, python_paths=python_paths)
        return Swept(out)

    def make(self, name, is_written):
        """Makes a figure and its values again, and compares or writes them."""
        swept = self.swept(name, self.temp / name)
        self.call(self.program, "plot", swept.folder, "--width", 84, "--no-title")
        figure = (swept.folder / "figures" / f"{NEEDS[name][0]}.svg").read_bytes()
        kept = json.loads(VALUES.read_text()) if VALUES.exists() else {}
        made = {"versions": swept.versions, "values": swept.values}
        if is_written:
            (FIGURES / f"{name}.svg").write_bytes(figure)
            kept[name] = made
            VALUES.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
            kept = json.loads(VALUES.read_text())
        if json.loads(json.dumps(made["versions"])) != kept[name]["versions"]:
            print(f"  {name}: other versions, so means alone are compared: {made['versions']}")
            return list(apart(name, swept.values, kept[name]["values"]))
        wrong = []
        if figure != (FIGURES / f"{name}.svg").read_bytes():
            wrong.append(f"{name}.svg differs from what the card gives")
        if made["values"] != kept[name]["values"]:
            wrong.append(f"{name}: values differ from those in {VALUES.name}")
        text = self.call(self.program, "show", swept.folder)
        return wrong + [f"{name}: {number} is not in its table" for number in unprinted(name, text)]

    def choose(self, name):
        """The rate that is best on validation items, for each arm, and the card's own."""
        with tempfile.TemporaryDirectory() as folder:
            code = EDGES if name == "links" else VALIDATION
            (pathlib.Path(folder) / "sitecustomize.py").write_text(code)
            card = (CARDS / f"{name}.ron").read_text()
            seeds = SEEDS[:1] if name in LONG else SEEDS
            others = re.search(r"axes: \{ (.*) \}", card)
            axes = f'"strategy.config.learning_rate": {RATES}, {others[1] if others else ""}'
            settings = [f"sweep.axes={{{axes}}}", f"sweep.seeds={seeds}", *CHOICES[name]]
            if name == "curious":
                settings.append('sweep.headline=["test_accuracy"]')
            out = self.temp / f"{name}-rates"
            swept = self.swept(name, out, *settings, python_paths=[folder])
        scores = {}
        for row in swept.rows:
            at = (row["arm"], float(row["strategy.config.learning_rate"]))
            scores.setdefault(at, []).append(float(row[swept.headline[0]]))
        means = {at: statistics.fmean(values) for at, values in scores.items()}
        for arm in dict.fromkeys(arm for arm, _ in means):
            of_arm = {rate: mean for (other, rate), mean in means.items() if other == arm}
            best = max(of_arm, key=of_arm.get)
            listed = ", ".join(f"{rate}: {mean:.3f}" for rate, mean in of_arm.items())
            print(f"  {name}, {arm}: {best}  ({swept.headline[0]} {listed})", flush=True)


class Swept:
    """What a sweep left behind."""

    def __init__(self, folder):
        self.folder = folder
        self.headline = json.loads((folder / "sweep.json").read_text())["headline"]
        with open(folder / "points.csv", newline="") as file:
            self.rows = list(csv.DictReader(file))
        manifests = sorted(folder.glob("points/*/manifest.json"))
        facts = [json.loads(path.read_text())["public_facts"] for path in manifests]
        # Arms import different libraries; what one of them has is the stack.
        self.versions = {}
        for versions in (fact["versions"] for fact in facts):
            self.versions.update({k: v for k, v in versions.items() if v is not None})

    @property
    def values(self):
        """The primary metrics of each run."""
        runs = {}
        for row, path in zip(self.rows, sorted((self.folder / "points").iterdir())):
            name = path.name.split("-", 1)[1]
            runs[name] = {metric: float(row[metric]) for metric in self.headline}
        return runs


def apart(name, made, kept):
    """Means over seeds that differ by more than the tolerance."""

    def means(values):
        found = {}
        for run, metrics in values.items():
            for metric, value in metrics.items():
                found.setdefault((run.rsplit("-seed=", 1)[0], metric), []).append(value)
        return {at: statistics.fmean(each) for at, each in found.items()}

    new, old = means(made), means(kept)
    if new.keys() != old.keys():
        yield f"{name}: arms, axes or metrics are others than those in {VALUES.name}"
        return
    for at, value in old.items():
        most = 0.05 if 0 <= value <= 1 else 0.05 * abs(value)
        if abs(new[at] - value) > most:
            yield f"{name}: {' '.join(at)} is {new[at]:.6g}, was {value:.6g}"


def section(name):
    """The text of the page between the figure of a card and the next heading."""
    return PAGE.read_text().split(f"/{name}.svg)")[1].split("\n## ")[0]


def unprinted(name, text):
    """Intervals of the page that the table of the sweep lacks."""
    for number in re.findall(r"[+−]?\d+(?:\.\d+)? ± \d+(?:\.\d+)?", section(name)):
        if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d.]*\d)", text):
            yield number


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--python", default=os.environ.get("FOLKMOOT_PYTHON", sys.executable))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the sweeps, which then stay")
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("cards", nargs="*")
    args = parser.parse_intermixed_args()
    assert set(NEEDS) == {path.stem for path in CARDS.glob("*.ron")}, "a card has no figure"
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        out = args.out or pathlib.Path(folder)
        gallery = Gallery(args.program.resolve(), args.python, out.resolve())
        for name in args.cards or (CHOICES if args.choose else NEEDS):
            lacks = gallery.lacks(name)
            if lacks:
                print(f"NOT RUN: {name}: {lacks}")
            elif args.choose:
                gallery.choose(name)
            else:
                found = gallery.make(name, args.write)
                print(f"  {name}: {'; '.join(found) or 'as in the book'}", flush=True)
                wrong += found
    sys.exit("\n".join(wrong) or None)


if __name__ == "__main__":
    main()
