"""Microseconds a pair and values of POT's Gromov-Wasserstein (conditional gradient, one thread) beside ours, in one run.

    pip install numpy pot
    cargo build --release -p folkmoot-similarity --example gw_pairs
    FOLKMOOT_DATA=../shared/data OMP_NUM_THREADS=1 python sim/tools/similarity/benches/against_pot.py

Every second graph of MUTAG and every twelfth of PROTEINS, with distances in hops, and those between rows of random signs. "starts"
is how many disturbed starts ours made after the first, or "ends" for those from the ends of the graphs; POT makes one. The
same matrices and uniform weights go to both; rounds are interleaved and medians count. "lower" says for how many pairs our
value is lower by more than 1e-7 of POT's (plus 1e-9), "equal" and "higher" likewise. Last comes POT's batched solver (proximal,
with an entropy, its defaults but for the weight) on pairs of one shape, the most frequent in MUTAG; "off" is by what part of a
weight the sums of its rows miss at most. Where they do, its plans are not allowed ones and its values cannot be compared.
"""

import collections
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import ot
import ot.batch

DATA = os.environ.get("FOLKMOOT_DATA", "../shared/data")
PROGRAM = os.path.join(os.environ.get("CARGO_TARGET_DIR", "target"), "release/examples/gw_pairs")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SETS = [
    (name, every, metric, starts)
    for name, every in [("MUTAG", "2"), ("PROTEINS", "12")]
    for metric in ["hops", "signs"]
    for starts in ["0", "ends", "2"]
]


def ours(name, every, metric, starts, path):
    command = [PROGRAM, DATA, name, every, metric, starts, path]
    words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(words[words.index("us_per_pair") + 1])


def read(path):
    data = open(path, "rb").read()
    n = int(np.frombuffer(data, "<u4", 1)[0])
    sizes = np.frombuffer(data, "<u4", n, 4).astype(int)
    numbers = np.frombuffer(data, "<f8", -1, 4 + 4 * n)
    parts = np.split(numbers, np.cumsum(sizes**2))
    return [np.ascontiguousarray(part.reshape(k, k)) for part, k in zip(parts, sizes)], parts[-1]


def theirs(matrices):
    weights = [np.full(len(matrix), 1 / len(matrix)) for matrix in matrices]
    values = []
    start = time.perf_counter()
    for u, (c, p) in enumerate(zip(matrices, weights)):
        for d, q in zip(matrices[u + 1 :], weights[u + 1 :]):
            values.append(ot.gromov.gromov_wasserstein2(c, d, p, q, "square_loss"))
    return (time.perf_counter() - start) * 1e6 / len(values), np.array(values)


def batched(matrices, values, reference, n_pairs=32):
    pairs = [(c, d) for u, c in enumerate(matrices) for d in matrices[u + 1 :]]
    shapes = [(len(c), len(d)) for c, d in pairs]
    shape = collections.Counter(shapes).most_common(1)[0][0]
    chosen = [at for at, other in enumerate(shapes) if other == shape][:n_pairs]
    a, b = (np.stack([pairs[at][side] for at in chosen]) for side in (0, 1))
    for weight in (10, 1, 0.1):
        start = time.perf_counter()
        result = ot.batch.solve_gromov_batch(a, b, reg=weight)
        spent = (time.perf_counter() - start) * 1e6 / len(chosen)
        off = np.abs(result.plan.sum(2) * shape[0] - 1).max()
        print(
            f"batched, weight {weight}: {len(chosen)} pairs of {shape}, {spent:.0f} us a pair, off {off:.1%}, mean {np.mean(result.value_quad):.6f}"
            f" beside POT's {reference[chosen].mean():.6f} and ours {values[chosen].mean():.6f}",
            flush=True,
        )


print(f"POT {ot.__version__}, numpy {np.__version__}, {ROUNDS} rounds", file=sys.stderr)
print("set       metric   starts  pairs  nodes  ours us   POT us  ratio  mean ours   mean POT  lower  equal  higher")
batch = None
for name, every, metric, starts in SETS:
    with tempfile.NamedTemporaryFile() as file:
        times = []
        for _ in range(ROUNDS):
            mine = ours(name, every, metric, starts, file.name)
            matrices, values = read(file.name)
            other, reference = theirs(matrices)
            times.append((mine, other))
    mine, other = (statistics.median(column) for column in zip(*times))
    slack = 1e-9 + 1e-7 * reference
    lower, higher = np.mean(values < reference - slack), np.mean(values > reference + slack)
    print(
        f"{name:9} {metric:6} {starts:>8} {len(values):6} {np.mean([len(m) for m in matrices]):6.1f} {mine:8.2f} {other:8.1f} {other / mine:6.1f}"
        f" {values.mean():10.6f} {reference.mean():10.6f} {lower:6.1%} {1 - lower - higher:6.1%} {higher:7.1%}",
        flush=True,
    )
    if (name, metric, starts) == ("MUTAG", "hops", "ends"):
        batch = (matrices, values, reference)
batched(*batch)
