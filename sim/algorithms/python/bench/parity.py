"""The same GCN and protocol as FedAvg's own and as PyTorch clients, on Cora, over seeds.

    FOLKMOOT_DATA=DIR python sim/algorithms/python/bench/parity.py target/release/folkmoot [seeds]

Needs PyTorch and torch_geometric in this interpreter. Both arms have the seeds 1, 2, …, and with a
seed one partition and one split; initial weights and dropout are drawn by different generators. The
arms are equivalent if the 90 % confidence interval of the mean paired difference of test accuracy
lies within ± MARGIN: two one-sided t tests at the 5 % level. It ends with code 1 if they are not,
or if the payload bytes of models or updates differ.
"""

import csv
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

#: Set after one seed of each arm had been seen.
MARGIN = 0.02
#: One-sided 95 % quantiles of Student's t, by degrees of freedom.
T = {4: 2.132, 9: 1.833, 19: 1.729}
COMMON = """
    dataset: Planetoid(name: Cora),
    partition: Louvain(n_clients: 10),
    sweep: (seeds: [%s]),
    strategy: %s,
"""
SHARED = "split: Common(train: 0.2, validation: 0.2), protocol: (rounds: 50, evaluate_every: 50)"
BUILT_IN = f"""FedAvg(
        model: (encoder: Gcn, hidden: 16, layers: 2, head_layers: 0, dropout: 0.5),
        training: (epochs: 3, optimiser: Adam, learning_rate: 0.01, weight_decay: 5e-4),
        {SHARED},
    )"""
PYTHON = f"""Python(
        app: "folkmoot.examples.gcn",
        config: {{ "epochs": 3, "learning_rate": 0.01, "weight_decay": 5e-4, "dropout": 0.5 }},
        {SHARED},
    )"""


def main():
    program, seeds = sys.argv[1], int((sys.argv[2:] or ["10"])[0])
    if seeds - 1 not in T:
        sys.exit(f"seeds: must be {', '.join(str(n + 1) for n in T)}, got {seeds}")
    found = {}
    with tempfile.TemporaryDirectory() as temp:
        for name, strategy in {"built in": BUILT_IN, "PyTorch": PYTHON}.items():
            out = pathlib.Path(temp, name.split()[0])
            card = out.with_suffix(".ron")
            card.write_text(f"({COMMON % (', '.join(map(str, range(1, seeds + 1))), strategy)})")
            words = ["sweep", str(card), "--out", str(out), "--python", sys.executable, "--quiet"]
            subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL)
            with open(out / "points.csv", newline="") as file:
                found[name] = list(csv.DictReader(file))
    print("| | test accuracy by seed | mean | model bytes | update bytes |\n|---|---|---|---|---|")
    for name, rows in found.items():
        accuracies = [float(row["test_accuracy"]) for row in rows]
        shown = ", ".join(f"{accuracy:.3f}" for accuracy in accuracies)
        kinds = [rows[0][f"{kind}_payload_bytes"] for kind in ("model", "update")]
        print(f"| {name} | {shown} | {statistics.mean(accuracies):.4f} | {kinds[0]} | {kinds[1]} |")
    pairs = list(zip(found["PyTorch"], found["built in"]))
    accuracies = [[float(row["test_accuracy"]) for row in pair] for pair in pairs]
    differences = [one - other for one, other in accuracies]
    mean = statistics.mean(differences)
    half = T[seeds - 1] * statistics.stdev(differences) / math.sqrt(seeds)
    interval = f"{mean - half:+.4f} to {mean + half:+.4f}"
    print(f"PyTorch minus built in: {mean:+.4f}, 90 % interval {interval}; margin {MARGIN}")
    kinds = ("model_payload_bytes", "update_payload_bytes")
    same = all(one[kind] == other[kind] for one, other in pairs for kind in kinds)
    if not same or abs(mean) + half >= MARGIN:
        sys.exit("the bytes differ" if not same else "equivalence is not shown")


if __name__ == "__main__":
    main()
