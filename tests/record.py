#!/usr/bin/env python3
"""Makes one recorded run of each family of cards again and compares its result hash with the record.

    FOLKMOOT_DATA=DIR python3 tests/record.py target/release/folkmoot [--seed TEXT] [FAMILY …]

Which run it is follows from a text, the hash of the present commit by default, so that other runs are tried over time.
Rows that are marked as stale are left out. Exits with 1 if a hash differs.
"""

import argparse
import csv
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def recorded():
    """Recorded runs by family: the folder of the card."""
    families = {}
    for path in sorted(ROOT.glob("scenarios/*/measured.csv")):
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                key = (row["run"], row["seed"], row["fingerprint"], int(row["version"]))
                families.setdefault(row["run"].split("/")[0], set()).add(key)
    return families


def chosen(runs, text):
    """One run, by a hash of the text; of runs of the newest version."""
    newest = max(version for *_, version in runs)
    runs = sorted(run for run in runs if run[3] == newest)
    return runs[int(hashlib.sha256(text.encode()).hexdigest(), 16) % len(runs)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--seed", default="")
    args = parser.parse_args()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True)
    text = args.seed or commit.stdout.strip() or "record"
    failed = 0
    for family, runs in sorted(recorded().items()):
        if args.families and family not in args.families:
            continue
        run, seed, fingerprint, version = chosen(runs, text + family)
        with tempfile.TemporaryDirectory() as folder:
            # `audit` knows a run by its name in the record, so a file of claims with this run alone makes it.
            claims = pathlib.Path(folder) / "one.ron"
            card, _, rest = run.partition(" ")
            arm, _, settings = rest.partition("--set ")
            settings = [setting.strip() for setting in settings.split("--set ") if setting.strip()]
            settings = [setting for setting in settings if not setting.startswith("sweep.seeds=")]
            settings.append(f"sweep.seeds=[{seed}]")
            paths = axes_of(args.program, card, settings)
            arms = parted(arm.strip(), paths)
            quoted = ", ".join(f"{json.dumps(path)}: {json.dumps(name)}" for path, name in arms.items())
            sets = ", ".join(json.dumps(setting) for setting in settings)
            claims.write_text(
                '(system: "Record", paper: "One recorded run", claims: [(id: "one", claim: "It is the same.", at: "record", '
                f'card: "{card}", set: [{sets}], arm: {{ {quoted} }}, metric: "virtual_s", rule: Shown("its result hash"))])'
            )
            command = [args.program, "audit", str(claims), "--out", f"{folder}/out", "--format", "json"]
            made = subprocess.run(command, capture_output=True, text=True)
            manifests = list(pathlib.Path(folder).glob("out/runs/*/manifest.json"))
            manifest = json.loads(manifests[0].read_text()) if manifests else {}
            got = manifest.get("result_fingerprint")
        # Results have moved since, and the pages mark the row.
        is_stale = bool(got) and manifest["results_version"] > version
        verdict = "stale" if is_stale else "same" if got and got.startswith(fingerprint) else "DIFFERS" if got else "not made"
        failed += verdict not in ("same", "stale")
        print(f"{verdict:9} {family}: {run}, seed {seed}: recorded {fingerprint}, now {(got or made.stderr)[:200].strip()}", flush=True)
    return 1 if failed else 0


def axes_of(program, card, settings):
    """The axes of a card's sweep, by its text."""
    shown = subprocess.run([program, "show", card], capture_output=True, text=True, check=True).stdout
    axes = [part.split('"')[0] for part in shown.split('"')[1::2] if part.startswith(("strategy", "dataset", "partition"))]
    return sorted(set(axes) | {"arm"}, key=len, reverse=True)


def parted(arm, paths):
    """The value of each axis in `PATH=NAME PATH=NAME`; names may have spaces and signs."""
    found = {}
    starts = sorted((arm.find(f"{path}="), path) for path in paths if f"{path}=" in arm)
    # Of paths that begin alike the longest counts.
    starts = [(at, path) for at, path in starts if at == 0 or arm[at - 1] == " "]
    for (at, path), following in zip(starts, starts[1:] + [(len(arm) + 1, "")]):
        found[path] = arm[at + len(path) + 1 : following[0] - 1].strip()
    return found


if __name__ == "__main__":
    sys.exit(main())
