"""One result hash of each example of the book's gallery and of each card in this folder: at 1, 2
and 4 workers, on 2 ranks, and with jobs repeated.

    python sim/algorithms/python/bench/own/bits.py target/release/folkmoot [NAME ...]

Workers run this interpreter. Examples with missing packages do not run, and without MPI none runs
on ranks; a line names these. It ends with code 1 at the first hash that differs.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "python" / "tests"))
import small

#: Rounds of an example of the gallery. Cards in this folder keep their own number.
N_ROUNDS = 6
WAYS = {
    "1 worker": ["--threads", "1"],
    "2 workers": ["--threads", "2"],
    "4 workers": ["--threads", "4"],
    "2 ranks": ["--threads", "1"],
    "checked": ["--threads", "2", "--check-determinism", "20%"],
}
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]


def cases():
    """Of each example: its name, the packages that are missing, the card and the settings."""
    for card in sorted(HERE.glob("*.ron")):
        packages = ["torch", "torch_geometric"] if card.stem == "gcn" else []
        yield card.stem, small.missing("numpy", *packages), card, []
    for name, example in small.EXAMPLES.items():
        yield name, example.missing, example.path, example.words(N_ROUNDS)


def result(program, way, card, settings, folder):
    """The result hash of a run, or None where the program has no ranks."""
    before = MPIRUN if way == "2 ranks" else []
    out = folder / "out"
    command = [*before, program, "run", card, "--quiet", "--out", out, "--python", sys.executable]
    command += [*WAYS[way], *(word for setting in settings for word in ("--set", setting))]
    env = {**os.environ, "FOLKMOOT_DATA": str(folder)}
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True)
    if before and "built without MPI" in done.stderr:
        return None
    if done.returncode:
        sys.exit(f"{way}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    found = json.loads((out / "manifest.json").read_text())["result_fingerprint"]
    shutil.rmtree(out)
    return found


def main():
    program, *names = sys.argv[1:]
    ways = list(WAYS)
    if not shutil.which("mpirun"):
        print("NOT RUN: runs on 2 ranks: there is no mpirun", flush=True)
        ways.remove("2 ranks")
    for name, missing, card, settings in cases():
        if names and name not in names:
            continue
        if missing:
            print(f"NOT RUN: {name}: not installed: {', '.join(missing)}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as temp:
            folder = pathlib.Path(temp)
            if name == "digits":
                small.make_digits(folder)
            hashes = {way: result(program, way, card, settings, folder) for way in ways}
        if hashes.get("2 ranks", "") is None:
            print("NOT RUN: runs on 2 ranks: the program was built without MPI", flush=True)
            ways.remove("2 ranks")
            del hashes["2 ranks"]
        print(f"{name}: {', '.join(hashes)}: {hashes['1 worker'][:16]}", flush=True)
        if len(set(hashes.values())) > 1:
            sys.exit(f"{name}: {hashes}")


if __name__ == "__main__":
    main()
