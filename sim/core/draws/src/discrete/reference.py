"""Writes reference.csv: counts of 100 000 draws for each distribution and scale by the reference
implementation of Canonne, Kamath and Steinke (2020).

    git clone https://github.com/IBM/discrete-gaussian-differential-privacy
    PYTHONPATH=discrete-gaussian-differential-privacy python reference.py

At commit cb190d2; Apache License 2.0. It draws with Python's generator, seeded with the scale.
"""

import collections
import csv
import random
import sys
import types

# The reference draws figures of itself with matplotlib, which is not needed here.
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = types.ModuleType("matplotlib")

import discretegauss  # noqa: E402

N = 100_000

with open("reference.csv", "w", newline="", encoding="utf-8") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["distribution", "scale", "value", "count"])
    for scale in [1, 3, 20]:
        for name, draw in [
            ("laplace", lambda rng: discretegauss.sample_dlaplace(scale, rng)),
            ("normal", lambda rng: discretegauss.sample_dgauss(scale * scale, rng)),
        ]:
            rng = random.Random(scale)
            counts = collections.Counter(draw(rng) for _ in range(N))
            table.writerows([name, scale, value, counts[value]] for value in sorted(counts))
