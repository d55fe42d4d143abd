#!/usr/bin/env python3
"""Runs every shipped card on generated data, with seed 1 and at most three rounds, and records or compares its result hash.

    python3 tests/hashes.py target/release/folkmoot                compares with scenarios/*/hashes.csv
    python3 tests/hashes.py target/release/folkmoot --write        writes scenarios/*/hashes.csv, with names of cards their rows alone

A restructuring changes no hash. Data sets that need files are replaced by generated ones of the same kind, so that it runs
anywhere; generated ones of a card stay. Settings that shorten a card are below `hashes` in the `trials.json` of its folder:

- `short`: the length of a run, by algorithm; three rounds without
- `graphs`: what an algorithm needs where generated graphs have no features
- `more`: settings of single cards, by the beginning of the name, for what a generated set cannot have or what would take minutes

Exits with 1 if a hash differs or a card is missing.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import trials

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Cards of clients in Python import the package; FOLKMOOT_PYTHON names a Python with NumPy.
os.environ["PYTHONPATH"] = str(ROOT / "sim/python")
SCENARIOS = ROOT / "scenarios"

CITATIONS = "ContextualSbm(n_nodes: 1000, n_classes: 4, n_features: 24)"
# Generated data in place of sets that need files.
DATA = {
    "BlogCatalog": "DcSbm(n_nodes: 200, n_classes: 4)",
    "Mat": "DcSbm(n_nodes: 200, n_classes: 4)",
    "Musae": CITATIONS,
    "EmailEuCore": "DcSbm(n_nodes: 200, n_classes: 4)",
    "Rmat": "DcSbm(n_nodes: 200, n_classes: 4)",
    "Planetoid": CITATIONS,
    "Npz": CITATIONS,
    "TuDataset": "GraphClasses(n_graphs: 80, n_classes: 2)",
    "TuDatasets": "GraphClasses(n_graphs: 80, n_classes: 2)",
    "Molecules": "GraphClasses(n_graphs: 80, n_classes: 2)",
    "FunctionGraphs": "ControlFlow(n_functions: 30, n_nodes: (6, 12))",
}
ROUNDS = ["strategy.protocol.rounds=3"]
SECONDS = 300


def cards():
    """Folder, name and text of every card."""
    for path in sorted(SCENARIOS.glob("*/cards/**/*.ron")):
        folder = path.relative_to(SCENARIOS).parts[0]
        name = path.with_suffix("").relative_to(SCENARIOS / folder / "cards").as_posix()
        yield folder, name, path.read_text()


def settings(its, name, text):
    """What shortens a card, by what its folder says of hashes."""
    text = re.sub(r"//.*", "", text)
    data = re.search(r"\n    dataset: (\w+)", text).group(1)
    algorithm = re.search(r"\n    strategy: (\w+)", text).group(1)
    more = its.get("short", {}).get(algorithm, ROUNDS)
    if data in DATA:
        more = more + [f"dataset={DATA[data]}"]
        if DATA[data].startswith("GraphClasses"):
            more = more + its.get("graphs", {}).get(algorithm, [])
    if "\n    sweep: (" in text:
        more = more + ["sweep=()"]
    for prefix, of_card in its.get("more", {}).items():
        if name.startswith(prefix):
            more = more + of_card
    return more


def run(program, name, sets):
    """The result hash of a card, or the first line of why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        command = [program, "run", *trials.words(name, sets), "--seed", "1", "--quiet", "--threads", "1", "--out", str(out)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=folder)
        except subprocess.TimeoutExpired:
            return f"longer than {SECONDS} s"
        if ended.returncode != 0:
            return " ".join(ended.stderr.strip().splitlines()[:2])
        return json.loads((out / "manifest.json").read_text())["result_fingerprint"]


def read(path):
    """The recorded hashes of a file, by card."""
    if not path.exists():
        return {}
    with open(path, newline="") as file:
        return {row["card"]: row["hash"] for row in csv.DictReader(file)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("cards", nargs="*", help="these cards alone")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_intermixed_args()
    program = str(pathlib.Path(args.program).resolve())
    files = trials.files()
    chosen = [(folder, name, settings(files[folder].get("hashes", {}), name, text)) for folder, name, text in cards()]
    chosen = [one for one in chosen if not args.cards or one[1] in args.cards]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip([name for _, name, _ in chosen], pool.map(lambda one: run(program, *one[1:]), chosen)))
    if args.write:
        for folder in {folder for folder, _, _ in chosen}:
            path = SCENARIOS / folder / "hashes.csv"
            rows = read(path) if args.cards else {}
            rows |= {name: found[name] for of, name, _ in chosen if of == folder}
            with open(path, "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([("card", "hash"), *sorted(rows.items())])
        return 0
    recorded = {}
    for path in SCENARIOS.glob("*/hashes.csv"):
        recorded |= read(path)
    wrong = 0
    for name in sorted(found if args.cards else {**recorded, **found}):
        if found.get(name) != recorded.get(name):
            print(f"{name}: {found.get(name)}, recorded {recorded.get(name)}")
            wrong += 1
    print(f"{len(found) - wrong} of {len(found)} cards as recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
