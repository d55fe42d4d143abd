"""Expected values of methods on parts of a graph and on single nodes: writes federated.json beside this script, and the values of
users of one node where a crate of algorithms has a `users.json` among its tests.

    python3 subgraphs.py       # numpy 2.4.6

Every matrix is dense and every pair is looked at; probabilities are found in the form of the papers, logarithms and all.
"""

import json
import math
import pathlib
import re

import numpy as np

rng = np.random.default_rng(17)
N = 30


def single(x):
    """As the numbers that travel in four bytes."""
    return np.asarray(x, dtype=np.float32).astype(np.float64)


def drawn_graph(n, share):
    """A symmetric matrix of zeros and ones; the last node has no neighbour."""
    a = np.triu(rng.random((n, n)) < share, 1).astype(float)
    a[:, -1] = 0
    return a + a.T


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def numbers(x):
    """Lists of numbers of 12 digits; whole ones as such."""
    if isinstance(x, (list, tuple, np.ndarray)):
        return [numbers(v) for v in x]
    return None if x is None else int(x) if x == int(x) else float(f"{x:.12g}")


def graph(a):
    u, v = np.nonzero(np.triu(a))
    return {"num_nodes": len(a), "edges": [[int(s), int(t)] for i, j in zip(u, v) for s, t in ((i, j), (j, i))]}


def case(name, op, params, inputs, expected, near):
    tolerance = {"rtol": near, "atol": near}
    return {
        "name": name,
        "op": op,
        "params": params,
        "inputs": inputs,
        "expected": expected,
        "tol": {"f64": tolerance, "f32": tolerance},
    }


def kprop(steps):
    a, x = drawn_graph(N, 0.15), single(rng.normal(size=(N, 3)))
    d = a.sum(axis=1)
    root = np.diag(np.where(d > 0, 1 / np.sqrt(np.maximum(d, 1)), 0))
    rows = np.linalg.matrix_power(root @ a @ root, steps) @ x
    inputs = {"graph": graph(a), "x": numbers(x)}
    expected = {held: numbers(rows) for held in ("arcs", "bits")}
    return case(f"kprop_{steps}", "kprop", {"steps": steps}, inputs, expected, 2e-6)


def bits_of(fields):
    """Whole numbers of stated widths one after the other, the lowest bit of each first, as bytes."""
    text = "".join(format(value, f"0{width}b")[::-1] for value, width in fields if width)
    return [int(text[at : at + 8][::-1], 2) for at in range(0, len(text), 8)]


def multi_bit(name, epsilon, d, low, high, m=None):
    """LPGNN, algorithms 1 and 2: a user's m coordinates on the wire, and what the server makes of them."""
    x = np.round(rng.uniform(low, high, d), 3)
    n_sampled = m or max(1, min(d, math.floor(epsilon / 2.18)))
    b = math.exp(epsilon / n_sampled)
    probability = 1 / (b + 1) + (x - low) / (high - low) * (b - 1) / (b + 1)
    signs = np.zeros(d, dtype=int)
    signs[rng.permutation(d)[:n_sampled]] = rng.choice([-1, 1], n_sampled)
    estimate = d * (high - low) / (2 * n_sampled) * (b + 1) / (b - 1) * signs + (low + high) / 2
    width = math.ceil(math.log2(d))
    if n_sampled == d:
        report = bits_of([(int(sign > 0), 1) for sign in signs])
    elif n_sampled * (width + 1) <= 2 * d:
        report = bits_of([part for place in np.nonzero(signs)[0] for part in ((int(place), width), (int(signs[place] > 0), 1))])
    else:
        report = bits_of([({0: 0, -1: 1, 1: 2}[int(sign)], 2) for sign in signs])
    params = {"epsilon": epsilon, "low": low, "high": high, "n_sampled": m}
    expected = {"n_sampled": n_sampled, "probability": numbers(probability), "estimate": numbers(estimate)}
    return case(name, "multi_bit", params, {"x": numbers(x), "report": report}, expected, 1e-6)


def prior_of(degrees, scale):
    """Blink, section 4.2: two hundred steps in beta over all pairs; whoever is silent is joined to nobody."""
    n, step = len(degrees), max(1, math.floor(scale / 8))
    clamp = lambda degree: min(max(degree, 1), n - 2)
    d = [0 if degree is None else clamp(math.floor(clamp(degree) / step + 0.5) * step) for degree in degrees]
    told = np.array([degree is not None for degree in degrees])
    d, beta, joined = np.array(d, dtype=float)[told], np.zeros(told.sum()), np.zeros((n, n))
    for _ in range(200):
        terms = 1 / (np.exp(beta)[:, None] + np.exp(-beta)[None, :])
        np.fill_diagonal(terms, 0)
        # The silent count as neighbours whose beta is minus infinity: a term of 0.
        beta = np.log(d) - np.log(terms.sum(axis=1))
    joined[np.ix_(told, told)] = 1 / (1 + np.exp(-(beta[:, None] + beta[None, :])))
    np.fill_diagonal(joined, 0)
    return joined


def blink_prior(name, degrees, scale):
    joined = prior_of(degrees, scale)
    return case(name, "blink_prior", {"scale": scale}, {"degrees": numbers(degrees)}, {"joined": numbers(joined)}, 1e-9)


def posterior_of(prior, n_named, epsilon):
    """Blink, equation 8."""
    flip = 1 / (1 + math.exp(epsilon))
    yes = prior * (1 - flip) ** n_named * flip ** (2 - n_named)
    no = (1 - prior) * flip**n_named * (1 - flip) ** (2 - n_named)
    return yes / (yes + no)


def blink_posterior(epsilon):
    priors = np.array([0.001, 0.05, 0.1, 0.5, 0.93])
    joined = [[posterior_of(prior, n_named, epsilon) for n_named in range(3)] for prior in priors]
    inputs = {"prior": numbers(priors)}
    return case(f"blink_posterior_{epsilon}", "blink_posterior", {"epsilon": epsilon}, inputs, {"joined": numbers(joined)}, 1e-12)


def blink(graph_kind, epsilon, share):
    """Blink from the bytes of its users to the weights of all pairs."""
    a = drawn_graph(N, 0.2)
    flip = 1 / (1 + math.exp((1 - share) * epsilon))
    said = np.where(rng.random((N, N)) < flip, 1 - a, a)
    np.fill_diagonal(said, 0)
    scale = 1 / (share * epsilon)
    degrees = single(a.sum(axis=1) + rng.laplace(scale=scale, size=N))
    reports = [
        bits_of([(int(bit), 1) for bit in np.delete(row, i)]) + list(np.float32(degree).tobytes())
        for i, (row, degree) in enumerate(zip(said, degrees))
    ]
    p = posterior_of(prior_of(list(degrees), scale), said + said.T, (1 - share) * epsilon)
    np.fill_diagonal(p, 0)
    if graph_kind == "Hard":
        assert np.abs(p - 0.5).min() > 1e-3
        p = (p > 0.5).astype(float)
    elif graph_kind == "Hybrid":
        assert 0.01 < p.sum() % 1 < 0.99
        # Pairs of equal degrees and answers have one number, whatever rounding makes of it.
        level = np.round(p, 9)
        p = np.where(level >= np.sort(level.ravel())[::-1][math.floor(p.sum()) - 1], p, 0)
    params = {"graph": graph_kind, "epsilon": epsilon, "degree_share": share}
    name = f"blink_{graph_kind.lower()}_{epsilon}"
    return case(name, "blink", params, {"reports": reports}, {"weights": numbers(p)}, 2e-6)


def fed_pub(tau):
    """FED-PUB: a softmax of cosines; the last embedding has no length."""
    h = single(rng.normal(size=(10, 16)) + 0.5 * rng.normal(size=16))
    h[-1] = 0
    length = np.linalg.norm(h, axis=1, keepdims=True)
    unit = h / np.where(length > 0, length, 1)
    cosines = unit @ unit.T
    # An embedding without length is like itself no more than like any other.
    inputs = {"embeddings": numbers(h)}
    return case(f"fed_pub_{tau}", "fed_pub", {"similarity_scale": tau}, inputs, {"shares": numbers(softmax(tau * cosines))}, 1e-9)


def fed_gta_told(moments, orders, steps, a, temperature):
    """FedGTA, what a client tells: moments of its labels, and how sure it is of them."""
    adjacency, n_classes = drawn_graph(N, 0.12), 4
    labels = rng.integers(0, n_classes, N)
    train = rng.random(N) < 0.3
    said = np.round(softmax(rng.normal(size=(N, n_classes))), 6)
    degree = adjacency.sum(axis=1)
    loops = adjacency + np.eye(N)
    normalised = loops / np.sqrt(np.outer(loops.sum(axis=1), loops.sum(axis=1)))
    certain = np.eye(n_classes)[labels]
    first = np.where(train[:, None], certain, said)
    f = first
    for _ in range(steps):
        f = a * normalised @ f + (1 - a) * first
        f[train] += first[train]
    y, sure = (np.where(train[:, None], certain, softmax(f / t)) for t in (1, temperature))
    raw = [np.mean(y**p, axis=0) for p in range(1, orders + 1)]
    central = [np.mean((y - y.mean(axis=0)) ** p, axis=0) for p in range(1, orders + 1)]
    kinds = {"Raw": raw, "Central": central, "Both": raw + central}
    confidence = np.sum(degree * (n_classes / math.e + np.sum(sure * np.log(sure + 1e-8), axis=1)))
    told = {"moments": numbers(np.concatenate(kinds[moments])), "confidence": numbers(confidence)}
    params = {"moments": moments, "orders": orders, "steps": steps, "neighbours": a, "temperature": temperature}
    inputs = {
        "graph": graph(adjacency),
        "labels": labels.tolist(),
        "train": train.astype(int).tolist(),
        "probabilities": numbers(said),
    }
    return case(f"fed_gta_{moments.lower()}_{orders}", "fed_gta_told", params, inputs, told, 1e-6)


def fed_gta(threshold):
    """FedGTA: models of those alike, by their confidence; client 0 has none, and is like nobody at the upper threshold."""
    moments = single(rng.normal(size=(9, 24)) + 0.6 * rng.normal(size=24))
    confidence = single(rng.uniform(1, 90, 9))
    confidence[0] = 0
    unit = moments / np.linalg.norm(moments, axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert np.abs(cosines - threshold).min() > 1e-3
    counts = np.where((cosines > threshold) | np.eye(9, dtype=bool), confidence[None, :], 0)
    alone = counts.sum(axis=1) == 0
    counts[alone, alone] = 1
    shares = counts / counts.sum(axis=1, keepdims=True)
    inputs = {"moments": numbers(moments), "confidence": numbers(confidence)}
    return case(f"fed_gta_shares_{threshold}", "fed_gta", {"similarity": threshold}, inputs, {"shares": numbers(shares)}, 1e-9)


true_degrees = [float(d) for d in drawn_graph(N, 0.2).sum(axis=1)]
noisy = lambda scale: [float(d) for d in single(np.array(true_degrees) + rng.laplace(scale=scale, size=N))]
users = [
    *(kprop(steps) for steps in (0, 1, 2, 8)),
    multi_bit("multi_bit_1_of_200", 1.0, 200, 0.0, 1.0),
    multi_bit("multi_bit_4_of_40", 9.0, 40, -2.0, 3.0),
    multi_bit("multi_bit_12_of_20", 3.0, 20, 0.0, 1.0, 12),
    multi_bit("multi_bit_all_of_30", 4.0, 30, -1.0, 1.0, 30),
    blink_prior("blink_prior_of_degrees", true_degrees, 0.0),
    blink_prior("blink_prior_of_one_silent", [None, *true_degrees[1:]], 0.0),
    *(blink_prior(f"blink_prior_scale_{scale}", noisy(scale), scale) for scale in (2.5, 5.0, 20.0)),
    *(blink_posterior(epsilon) for epsilon in (0.5, 1, 4)),
    blink("Soft", 1.0, 0.1),
    blink("Soft", 6.0, 0.5),
    blink("Hard", 4.0, 0.2),
    blink("Hybrid", 2.0, 0.1),
    blink("Hybrid", 4.0, 0.4),
]
federated = [
    *(fed_pub(tau) for tau in (0, 3, 10)),
    fed_gta_told("Both", 6, 5, 0.5, 20.0),
    fed_gta_told("Raw", 13, 3, 0.8, 5.0),
    fed_gta_told("Central", 20, 0, 0.5, 20.0),
    *(fed_gta(threshold) for threshold in (-2, 0.3, 2)),
]


def write(path, topic, about, cases):
    golden = {"topic": topic, "about": about, "library": {"numpy": np.__version__}, "cases": cases}
    # A row of numbers on one line.
    row = lambda match: "[" + re.sub(r"\s+", " ", match[1]) + "]"
    text = re.sub(r"\[\s+([^][{}]*?)\s+\]", row, json.dumps(golden, indent=1))
    (path / f"{topic}.json").write_text(text + "\n")


here = pathlib.Path(__file__).resolve().parent
for there in here.parent.parent.glob("sim/algorithms/*/tests/golden/users.json"):
    write(
        there.parent,
        "users",
        "What users of one node release and a server learns on. kprop: powers of the normalised adjacency without loops. multi_bit: "
        "LPGNN's encoder, its report as bytes, and the estimate of every coordinate. blink_prior, blink_posterior, blink: beta model of "
        "noisy degrees over all pairs, Bayes' rule, and both from reports as bytes to weights.",
        users,
    )
write(
    here,
    "federated",
    "Shares of models in personalised federated training. fed_pub: softmax of cosines. fed_gta_told, fed_gta: moments of passed labels, "
    "confidence, and shares of models.",
    federated,
)
