#!/usr/bin/env python3
"""Runs every shipped card on generated data, with seed 1 and at most three rounds, and records or compares its result hash.

    python3 tests/hashes.py target/release/folkmoot                compares with tests/hashes.csv
    python3 tests/hashes.py target/release/folkmoot --write        writes tests/hashes.csv

A restructuring changes no hash. Data sets that need files are replaced by generated ones of the same kind, so that it runs
anywhere; generated ones of a card stay. Exits with 1 if a hash differs or a card is missing.
"""

import argparse
import concurrent.futures
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CARDS = ROOT / "scenarios"
RECORD = ROOT / "tests" / "hashes.csv"

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
# The length of a run, by algorithm.
SHORT = {
    "Gossip": ["strategy.rounds=3"],
    "WalkSgd": ["strategy.steps=50", "strategy.report_every=10"],
    "Ppgm": ["strategy.training.epochs=3"],
    "LocalGnn": ["strategy.training.epochs=3"],
    "FedWalk": ["strategy.walks_per_node=2"],
    "DeepWalk": ["strategy.walks_per_node=2"],
}
ROUNDS = ["strategy.protocol.rounds=3"]
# Generated graphs have no features, and no published split.
GRAPHS = {name: ["strategy.inputs=Degree()"] for name in ("FedAvg", "Federated", "GwLdp")} | {"Fgcl": ["strategy.inputs=Constant"]}
# Settings of single cards, by the beginning of the name: what a generated set cannot have, or what would take minutes.
MORE = {
    "fed-avg/traces": ["availability=Bernoulli(online_prob: 0.8)", "network=Links()", "devices=Constant(ops_per_s: 1e6)"],
    "fed-avg/cuts-cora": ["strategy.split=Shares()"],
    "fed-gcn/fed-graph": ["strategy.split=Shares()"],
    "federated/sets": ["partition=Iid(n_clients: 4)"],
    "federated/fed-graph": ["partition=Iid(n_clients: 4)"],
    "fedwalk/flickr": ["dataset.n_nodes=300", "dataset.n_classes=5", "dataset.mean_degree=10"],
    "gw-ldp/average": ["partition.centres=Sample(40)"],
    "gw-ldp/clusters": ["partition.centres=Sample(40)"],
    "gw-ldp/five": ["partition.centres=Sample(40)", "strategy.evaluation.only=[1, 2, 3]"],
    "gw-ldp/metrics": ["strategy.evaluation.only=[1, 2, 3]"],
}
SECONDS = 300


def cards():
    """Name and text of every card."""
    for path in sorted(CARDS.rglob("*.ron")):
        if "cards" in path.parts:
            name = path.with_suffix("").as_posix().rpartition("cards/")[2]
            yield name, path.read_text()


def settings(name, text):
    """What shortens a card."""
    text = re.sub(r"//.*", "", text)
    data = re.search(r"\n    dataset: (\w+)", text).group(1)
    algorithm = re.search(r"\n    strategy: (\w+)", text).group(1)
    more = SHORT.get(algorithm, ROUNDS)
    if data in DATA:
        more = more + [f"dataset={DATA[data]}"]
        if DATA[data].startswith("GraphClasses"):
            more = more + GRAPHS.get(algorithm, [])
    if "\n    sweep: (" in text:
        more = more + ["sweep=()"]
    for prefix, its in MORE.items():
        if name.startswith(prefix):
            more = more + its
    return more


def run(program, name, text):
    """The result hash of a card, or the first line of why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        sets = [word for setting in settings(name, text) for word in ("--set", setting)]
        command = [program, "run", name, "--seed", "1", "--quiet", "--threads", "1", "--out", str(out), *sets]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, cwd=folder)
        except subprocess.TimeoutExpired:
            return f"longer than {SECONDS} s"
        if ended.returncode != 0:
            return " ".join(ended.stderr.strip().splitlines()[:2])
        return json.loads((out / "manifest.json").read_text())["result_fingerprint"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("cards", nargs="*", help="these cards alone")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    chosen = [(name, text) for name, text in cards() if not args.cards or name in args.cards]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip([name for name, _ in chosen], pool.map(lambda one: run(program, *one), chosen)))
    if args.write:
        with open(RECORD, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("card", "hash"), *sorted(found.items())])
        return 0
    with open(RECORD, newline="") as file:
        recorded = {row["card"]: row["hash"] for row in csv.DictReader(file)}
    wrong = 0
    for name in sorted(found if args.cards else {**recorded, **found}):
        if found.get(name) != recorded.get(name):
            print(f"{name}: {found.get(name)}, recorded {recorded.get(name)}")
            wrong += 1
    print(f"{len(found) - wrong} of {len(found)} cards as recorded")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
