"""Processor time of one task in PyTorch: as a plain loop, and as clients of Folkmoot, in turns.

    FOLKMOOT_DATA=DIR python sim/algorithms/python/bench/own.py target/release/folkmoot [repeats]

Start, imports, data and the end are counted apart on both sides: the time of a round is the
difference of a run of MANY rounds and one of FEW, over their difference. All processes of a run
count; memory is the most that they had together.
"""

import os
import pathlib
import shutil
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FLOWER = HERE.parents[3] / "tests/bench/flower"
sys.path.insert(0, str(FLOWER))

from measure import measured  # noqa: E402

FEW, MANY = 10, 50


def main():
    program, repeats = sys.argv[1], int((sys.argv[2:] or ["5"])[0])
    data = pathlib.Path(os.environ["FOLKMOOT_DATA"])
    found = {}
    with tempfile.TemporaryDirectory() as temp:
        shutil.copytree(data / "tudataset/MUTAG", pathlib.Path(temp, "MUTAG/raw"))

        def plain(rounds):
            loop = [sys.executable, str(FLOWER / "plain.py")]
            return measured(loop, DATA=temp, ROUNDS=str(rounds), OMP_NUM_THREADS="1")

        def own(workers):
            def run(rounds):
                out = pathlib.Path(temp, "out")
                shutil.rmtree(out, ignore_errors=True)
                settings = [f"strategy.protocol.rounds={rounds}", f"strategy.workers={workers}"]
                words = [word for setting in settings for word in ("--set", setting)]
                words += ["--out", str(out), "--python", sys.executable]
                words += ["--quiet", "--threads", str(workers)]
                return measured([program, "run", str(HERE / "own.ron"), *words])

            return run

        ways = {"plain loop": plain, "Folkmoot, 1 worker": own(1), "Folkmoot, 2 workers": own(2)}
        for _ in range(repeats):
            for name, way in ways.items():
                few, many = way(FEW), way(MANY)
                wall, cpu = [(many[i] - few[i]) / (MANY - FEW) for i in (1, 2)]
                found.setdefault(name, []).append((cpu, wall, few[2] - FEW * cpu, many[3]))
    base = statistics.median(run[0] for run in found["plain loop"])
    head = "processor ms a round | of the plain loop | wall ms a round | start and end, processor s"
    print(f"| | {head} | memory, MB |\n|---|---|---|---|---|---|")
    for name, runs in found.items():
        cpu, wall, rest, memory = (statistics.median(run[i] for run in runs) for i in range(4))
        low, high = min(run[0] for run in runs), max(run[0] for run in runs)
        spread = f"{1e3 * low:.0f} to {1e3 * high:.0f}"
        cells = [f"{1e3 * cpu:.0f} ({spread})", f"{cpu / base:.2f}", f"{1e3 * wall:.0f}"]
        print(f"| {' | '.join([name, *cells, f'{rest:.1f}', f'{memory / 1e6:.0f}'])} |")


if __name__ == "__main__":
    main()
