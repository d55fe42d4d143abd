#!/usr/bin/env python3
"""Counts how often each recorded number was looked at, from the history of the record.

A look is a commit in which a number of a run has more seeds than before and at least three, which a verdict takes: from
then on its verdict could be read. A number whose seeds all came at once was looked at once. Writes `scenarios/claims/measured/looks.csv` with the columns
run,metric,looks, for numbers with more than one look. Run it after recording runs and before committing them:

    python3 tests/looks.py
"""

import csv
import io
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = "scenarios/claims/measured"


def git(*args):
    return subprocess.run(["git", "-C", ROOT, *args], check=True, capture_output=True, text=True).stdout


def seeds_of(text):
    """Seeds by run and metric, whatever columns that version of the record has."""
    seeds = {}
    for row in csv.DictReader(io.StringIO(text)):
        seeds.setdefault((row["run"], row["metric"]), set()).add(row["seed"])
    return seeds


def main():
    looks = {}
    for path in sorted((ROOT / FOLDER).glob("*.csv")):
        if path.name == "looks.csv":
            continue
        known = {}
        name = f"{FOLDER}/{path.name}"
        commits = git("log", "--reverse", "--format=%H", "--", name).split()
        texts = [git("show", f"{commit}:{name}") for commit in commits] + [path.read_text()]
        for text in texts:
            for key, seeds in seeds_of(text).items():
                if len(seeds) > known.get(key, 0) and len(seeds) >= 3:
                    looks[key] = looks.get(key, 0) + 1
                    known[key] = len(seeds)
        present = seeds_of(path.read_text())
        for key in known.keys() - present.keys():
            looks.pop(key, None)
    with open(ROOT / FOLDER / "looks.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "metric", "looks"])
        for (run, metric), n in sorted(looks.items()):
            if n > 1:
                writer.writerow([run, metric, n])


if __name__ == "__main__":
    main()
