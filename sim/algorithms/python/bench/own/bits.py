"""One hash of each card in this folder: at 1, 2 and 4 workers, on 2 ranks, and with jobs repeated.

    python sim/algorithms/python/bench/own/bits.py target/release/folkmoot [card ...]

Workers run this interpreter. Without PyTorch the card in PyTorch does not run, and without mpirun
no card runs on ranks; a line says so. It ends with code 1 at the first hash that differs.
"""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
WAYS = {
    "1 worker": ["--threads", "1"],
    "2 workers": ["--threads", "2"],
    "4 workers": ["--threads", "2", "--set", "strategy.workers=4"],
    "checked": ["--threads", "2", "--check-determinism", "20%"],
}


def main():
    program = sys.argv[1]
    has_torch = all(importlib.util.find_spec(name) for name in ("torch", "torch_geometric"))
    for card in [pathlib.Path(name) for name in sys.argv[2:]] or sorted(HERE.glob("*.ron")):
        if card.stem == "gcn" and not has_torch:
            print("gcn: NOT RUN: there is no PyTorch with torch_geometric", flush=True)
            continue
        ways = {name: ([], words) for name, words in WAYS.items()}
        if shutil.which("mpirun"):
            mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
            ways["2 ranks"] = (mpirun, ["--threads", "1"])
        else:
            print(f"{card.stem}: NOT RUN on ranks: there is no mpirun", flush=True)
        hashes = {}
        for name, (before, words) in ways.items():
            with tempfile.TemporaryDirectory() as temp:
                out = pathlib.Path(temp, "out")
                run = [program, "run", str(card), "--out", str(out), "--python", sys.executable]
                done = subprocess.run([*before, *run, "--quiet", *words], capture_output=True, text=True)
                if done.returncode:
                    sys.exit(f"{card.stem}, {name}: {done.stdout}{done.stderr}")
                manifest = json.loads((out / "manifest.json").read_text())
                hashes[name] = manifest["result_fingerprint"]
        print(f"{card.stem}: {', '.join(hashes)}: {hashes['1 worker'][:16]}", flush=True)
        if len(set(hashes.values())) > 1:
            sys.exit(f"{card.stem}: {hashes}")


if __name__ == "__main__":
    main()
