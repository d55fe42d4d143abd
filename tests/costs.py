#!/usr/bin/env python3
"""Measures what one run of each shipped card costs and writes `scenarios/*/costs.csv`, which `folkmoot list` shows.

    FOLKMOOT_DATA=DIR python3 tests/costs.py target/release/folkmoot [--limit SECONDS] [--missing] [CARD …]

A run is of the first configuration, on one thread. One that takes more processor time than the limit is stopped, and its whole is estimated from
its rounds so far; without rounds to go by, the limit is written as a lower bound, `>75`. Without the data, the cost stays blank. Which cards are
marked as a start stays as it is.
"""

import argparse
import csv
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Cards of clients in Python import the package; FOLKMOOT_PYTHON names a Python with NumPy.
os.environ["PYTHONPATH"] = str(ROOT / "sim/python")


def measured(program, card, limit):
    """Processor time of a run in seconds as `costs.csv` has it; blank where it does not run."""
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/stderr", "w+") as stderr:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        child = subprocess.run(
            [program, "run", card, "--threads", "1", "--out", f"{folder}/out"],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        stderr.seek(0)
        lines = stderr.read().splitlines()
    digits = lambda seconds: f"{float(f'{seconds:.2g}'):g}"
    if child.returncode == 0:
        return digits(seconds)
    if child.returncode not in (-signal.SIGXCPU, -signal.SIGKILL):
        print(card, "does not run:", *lines[-3:], sep="\n  ", flush=True)
        return ""
    counted = [match for match in map(re.compile(r"(\d+)/(\d+) rounds").search, lines) if match]
    if not counted:
        return f">{limit}"
    done, total = map(int, counted[-1].groups())
    return digits(seconds * total / done)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--limit", type=int, default=45)
    parser.add_argument("--missing", action="store_true", help="only cards without a cost")
    parser.add_argument("cards", nargs="*")
    args = parser.parse_intermixed_args()
    for folder in sorted(path.parent for path in ROOT.glob("scenarios/*/cards")):
        path = folder / "costs.csv"
        rows = {}
        if path.exists():
            with open(path, newline="") as file:
                rows = {row["card"]: row for row in csv.DictReader(file)}
        cards = sorted(str(card.relative_to(folder / "cards").with_suffix("")) for card in folder.glob("cards/**/*.ron"))
        for card in cards:
            row = rows.setdefault(card, {"card": card, "run_s": "", "start": ""})
            if (not args.cards or card in args.cards) and not (args.missing and row["run_s"]):
                row["run_s"] = measured(os.path.abspath(args.program), card, args.limit)
                print(card, row["run_s"], flush=True)
            with open(path, "w", newline="") as file:
                writer = csv.DictWriter(file, ["card", "run_s", "start"], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows[card] for card in cards if card in rows)


if __name__ == "__main__":
    main()
