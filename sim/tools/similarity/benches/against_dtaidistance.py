"""Nanoseconds a cell of dtaidistance (C, one thread, multidimensional) beside ours, on the same matrices, in one run.

    pip install numpy dtaidistance
    cargo build --release -p folkmoot-similarity --example all_pairs
    python sim/tools/similarity/benches/against_dtaidistance.py ../shared/data

Every tenth vertex of BlogCatalog, 9 bins, all pairs. The library has the Euclidean norm between rows and no l1 norm, so its
cells cost about what ours do with a square root more. Rounds are interleaved; medians count.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from dtaidistance import dtw_ndim

PROGRAM = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release/examples/all_pairs")
EVERY, ROUNDS = "10", 3


def ours(path):
    command = [PROGRAM, sys.argv[1], EVERY, "1", path]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    return next(float(line.split()[1]) for line in lines if line.startswith("ns_per_cell"))


def matrices(path):
    data = open(path, "rb").read()
    n, k = np.frombuffer(data, "<u4", 2)
    lengths = np.frombuffer(data, "<u4", n, 8)
    rows = np.frombuffer(data, "<f4", -1, 8 + 4 * int(n)).reshape(-1, k)
    return [np.ascontiguousarray(part, dtype=np.float64) for part in np.split(rows, np.cumsum(lengths)[:-1])]


def theirs(sequences, cells):
    start = time.perf_counter()
    dtw_ndim.distance_matrix(sequences, use_c=True, parallel=False, inner_dist="euclidean")
    return (time.perf_counter() - start) * 1e9 / cells


with tempfile.NamedTemporaryFile() as file:
    ours(file.name)
    sequences = matrices(file.name)
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.float64)
    cells = (lengths.sum() ** 2 - (lengths**2).sum()) / 2
    pairs = [(ours(file.name), theirs(sequences, cells)) for _ in range(ROUNDS)]
mine, other = (statistics.median(column) for column in zip(*pairs))
print(f"{len(sequences)} matrices, {cells:.3e} cells, {ROUNDS} rounds")
print(f"ours {mine:.3f} ns a cell, dtaidistance {other:.3f}, ratio {other / mine:.1f}")
