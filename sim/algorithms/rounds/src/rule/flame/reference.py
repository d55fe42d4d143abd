#!/usr/bin/env python3
"""Writes the members of HDBSCAN's cluster for random vectors, as FLAME sets it up, into `reference.csv`.

    pip install hdbscan==0.8.44
    python3 sim/algorithms/rounds/src/rule/flame/reference.py > sim/algorithms/rounds/src/rule/flame/reference.csv
"""

import hdbscan
import numpy as np

N_SETS = 100

print("set,kept,x,y,z")
for at in range(N_SETS):
    rng = np.random.default_rng(at)
    n = int(rng.integers(4, 25))
    honest = rng.random(n) < 0.7
    vectors = np.round(rng.normal(size=(n, 3)) + honest[:, None] * np.array([3.0, 0.0, 0.0]), 4)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    distances = np.clip(1.0 - units @ units.T, 0.0, None)
    np.fill_diagonal(distances, 0.0)
    clusters = hdbscan.HDBSCAN(metric="precomputed", min_cluster_size=n // 2 + 1, min_samples=1, allow_single_cluster=True)
    for vector, label in zip(vectors, clusters.fit_predict(distances)):
        print(at, int(label >= 0), *(f"{x:.4f}" for x in vector), sep=",")
