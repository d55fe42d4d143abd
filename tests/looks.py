#!/usr/bin/env python3
"""Counts how often each recorded number was looked at, from the history of the record.

A look is a commit in which a number of a run has more seeds than before and at least three, which a verdict takes: from
then on its verdict could be read. A number whose seeds all came at once was looked at once. Writes `looks.csv` beside each
`scenarios/*/measured.csv` with the columns run,metric,looks, for numbers with more than one look. Run it after recording runs
and before committing them:

    python3 tests/looks.py
"""

import csv
import io
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Where the records lay before each had a folder.
BEFORE = {"classifiers": "methods", "gw_ldp": "gw-ldp", "walks": "fedwalk"}
# What names in runs and metrics were before, and are today.
RENAMED = {
    "AsPrinted": "AsPublished",
    "as printed": "as published",
    "normal noise": "Gaussian noise",
    "4.2, right form": "4.2, corrected",
    "epsilon_worst_client": "epsilon_max_client",
    "strategy.protocol.server.rate": "strategy.protocol.server_optimizer.learning_rate",
    "strategy.training.rate": "strategy.training.learning_rate",
}


def git(*args):
    return subprocess.run(["git", "-C", ROOT, *args], check=True, capture_output=True, text=True).stdout


def today(name):
    for before, now in RENAMED.items():
        name = name.replace(before, now)
    return name


def seeds_of(text):
    """Seeds by run and metric, whatever columns that version of the record has."""
    seeds = {}
    for row in csv.DictReader(io.StringIO(text)):
        seeds.setdefault((today(row["run"]), today(row["metric"])), set()).add(row["seed"])
    return seeds


def main():
    for path in sorted(ROOT.glob("scenarios/*/measured.csv")):
        folder = path.parent.name
        names = [f"scenarios/{folder}/measured.csv", f"scenarios/claims/measured/{BEFORE.get(folder, folder)}.csv"]
        known, looks = {}, {}
        texts = []
        for commit in git("log", "--reverse", "--format=%H", "--", *names).split():
            there = git("ls-tree", "--name-only", commit, "--", *names).split()
            texts += [git("show", f"{commit}:{name}") for name in there[:1]]
        present = seeds_of(path.read_text())
        for seeds in [seeds_of(text) for text in texts] + [present]:
            for key, of in seeds.items():
                if len(of) > known.get(key, 0) and len(of) >= 3:
                    looks[key] = looks.get(key, 0) + 1
                    known[key] = len(of)
        with open(path.with_name("looks.csv"), "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["run", "metric", "looks"])
            for (run, metric), n in sorted(looks.items()):
                if n > 1 and (run, metric) in present:
                    writer.writerow([run, metric, n])


if __name__ == "__main__":
    main()
