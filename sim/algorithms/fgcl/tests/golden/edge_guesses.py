"""Expected values of guesses of edges from noisy views: writes edge_guesses.json beside this script.

    python3 edge_guesses.py     # scipy 1.17.1, scikit-learn 1.9.1, numpy 2.4.6

A guess is the logarithm of p(edge | views) over p(none | views): the prior by how far two nodes lie apart, counted on known graphs
with one edge and one other pair added to each count, and the likelihoods of every view by scipy's Laplace law around 1 and 0.
"""

import json
import pathlib
import re

import numpy as np
import scipy
import sklearn
from scipy.stats import laplace
from sklearn.metrics import roc_auc_score, roc_curve

MOST_APART = 32
rng = np.random.default_rng(23)


def graph(n):
    """Mostly a path, as the atoms of a molecule come, with some edges farther apart."""
    edges = {(i, i + 1) for i in range(n - 1) if rng.random() < 0.8}
    while len(edges) < n + 1:
        u, v = sorted(rng.choice(n, 2, replace=False).tolist())
        edges.add((u, v))
    return {"n_nodes": n, "edges": sorted(map(list, edges))}


def place(u, v):
    return min(v - u, MOST_APART) - 1


def prior_of(known):
    counts = np.ones((MOST_APART, 2))
    for g in known:
        edges = set(map(tuple, g["edges"]))
        for u in range(g["n_nodes"]):
            for v in range(u + 1, g["n_nodes"]):
                counts[place(u, v), int((u, v) not in edges)] += 1
    return np.log(counts[:, 0] / counts[:, 1])


def case(name, epsilon, n_views, per_entry, size=14):
    known = [graph(n) for n in (9, 40, 14)]
    attacked = graph(size)
    n, edges = attacked["n_nodes"], set(map(tuple, attacked["edges"]))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    is_edge = np.array([pair in edges for pair in pairs])
    n_draws = n_views * (2 if per_entry else 1)
    draws = (is_edge + laplace.rvs(scale=1 / epsilon, size=(n_draws, len(pairs)), random_state=rng)).astype(np.float32)
    draws = np.round(draws.astype(float), 4).astype(np.float32).astype(float)
    prior = prior_of(known)
    odds = np.array([prior[place(u, v)] for u, v in pairs])
    law = lambda around: laplace.logpdf(draws, loc=around, scale=1 / epsilon).sum(axis=0)
    # Equal ratios, of which a single view has many, must not be told apart by what subtracting rounds off.
    odds = np.round(odds + law(1) - law(0), 9)
    false, found, _ = roc_curve(is_edge, odds, drop_intermediate=False)
    tolerance = {"rtol": 0.0, "atol": 1e-6}
    return {
        "name": name,
        "op": "map",
        "params": {"epsilon": epsilon},
        "inputs": {"known": known, "attacked": attacked, "draws": [[float(f"{x:.4f}") for x in row] for row in draws]},
        "expected": {
            "odds": odds.tolist(),
            "edge_guess_auc": roc_auc_score(is_edge, odds),
            "edge_guess_found": float(found[false <= 0.01].max()),
            "edge_guess_error": float(np.mean((odds > 0) != is_edge)),
        },
        "tol": {"f64": tolerance, "f32": tolerance},
    }


cases = [
    case("one_view", 1.0, 1, False, 36),
    case("ten_views", 0.5, 10, False),
    case("both_entries", 4.0, 1, True),
    case("nothing_told", 0.001, 1, False),
]
about = (
    "The posterior log-odds of an edge from Laplace views of an adjacency matrix and a prior by distance in the order of nodes, pair by pair "
    "above the diagonal; its area under the curve, the share of edges found with at most 1 % of other pairs, and the share of pairs that "
    "the likelier answer gets wrong."
)
versions = {"scipy": scipy.__version__, "scikit_learn": sklearn.__version__, "numpy": np.__version__}
text = json.dumps({"topic": "edge_guesses", "about": about, "library": versions, "cases": cases}, indent=1)
text = re.sub(r"\[[^\[\]{}]*\]", lambda row: " ".join(row.group().split()).replace("[ ", "[").replace(" ]", "]"), text)
pathlib.Path(__file__).with_name("edge_guesses.json").write_text(text + "\n")
