"""Flower's simulation, the same rounds in a loop of PyTorch, and Folkmoot on one task, in turns: wall and processor seconds of all
processes, memory, accuracy, lines.

    pip install 'flwr[simulation]' torch torch_geometric psutil
    FOLKMOOT_DATA=DIR python tests/bench/flower/measure.py target/release/folkmoot [seeds]

The task is card.ron, and app.py is what it takes in Flower; plain.py is the loop. All run on as many cores as they find; none knows the
others' random draws, so that accuracies agree as far as seeds do. A line is one that is neither blank nor a comment.
"""

import importlib.metadata
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import psutil

HERE = pathlib.Path(__file__).parent


def measured(command, with_memory=True, **env):
    """What a program prints, its seconds, those of the processor in all its processes, and the most memory that they had together.

    Reading the memory of four processes takes a fifth of a processor; without it, 0 is returned.
    """
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    start, cpu, memory = time.monotonic(), {}, 0
    with tempfile.TemporaryFile("w+") as out:
        process = psutil.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=os.environ | quiet | env)
        while process.poll() is None:
            held = 0
            for part in [process, *process.children(recursive=True)]:
                try:
                    times, size = part.cpu_times(), part.memory_full_info().pss if with_memory else 0
                except psutil.Error:
                    continue
                cpu[part.pid] = times.user + times.system
                held += size
            memory = max(memory, held)
            time.sleep(0.02)
        seconds = time.monotonic() - start
        out.seek(0)
        text = out.read()
    # A client that fails does not end a simulation of Flower: its round goes on without it.
    if process.returncode or "ERROR" in text:
        sys.exit(f"{command}\n{text}")
    return text, seconds, sum(cpu.values()), memory


def number(text, name):
    lines = [line.split() for line in text.splitlines() if line.split()[:1] == [name]]
    return float(lines[-1][1])


def lines(path):
    rows = [row.strip() for row in path.read_text().splitlines()]
    return sum(1 for row in rows if row and not row.startswith(("//", "#", '"""')))


def main():
    program, seeds = sys.argv[1], range(1, 1 + int((sys.argv[2:] or ["3"])[0]))
    data = pathlib.Path(os.environ["FOLKMOOT_DATA"])
    found = {"Flower": [], "PyTorch in one loop": [], "Folkmoot": []}
    with tempfile.TemporaryDirectory() as temp:
        raw = pathlib.Path(temp, "MUTAG/raw")
        shutil.copytree(data / "tudataset/MUTAG", raw)
        for seed in seeds:
            for name, start in [("Flower", "import app; app.simulate()"), ("PyTorch in one loop", "import plain")]:
                app = [sys.executable, "-c", start]
                text, *rest = measured(app, DATA=temp, SEED=str(seed), PYTHONPATH=str(HERE))
                found[name].append((number(text, "accuracy"), *rest))
            run = [program, "run", str(HERE / "card.ron"), "--all", "--seed", str(seed), "--out", f"{temp}/run-{seed}"]
            text, *rest = measured(run)
            found["Folkmoot"].append((number(text, "test_accuracy"), *rest))
    names = ["flwr", "ray", "torch", "torch_geometric"]
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in names))
    size = {"Flower": lines(HERE / "app.py"), "Folkmoot": lines(HERE / "card.ron")}
    size = {name: size.get(name, "") for name in found}
    print("| | accuracy by seed | wall s | processor s | most memory, MB | lines |\n|---|---|---|---|---|---|")
    for name, runs in found.items():
        accuracy = ", ".join(f"{run[0]:.3f}" for run in runs)
        seconds, cpu, memory = (statistics.median(run[i] for run in runs) for i in (1, 2, 3))
        print(f"| {name} | {accuracy} | {seconds:.2f} | {cpu:.2f} | {memory / 1e6:.0f} | {size[name]} |")


if __name__ == "__main__":
    main()
