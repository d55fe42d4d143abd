"""Writes gw_proximal.json: proximal-point and Kullback-Leibler Gromov-Wasserstein by POT.

    python gw_proximal.py > gw_proximal.json
"""
import json

import numpy as np
import ot

rng = np.random.default_rng(14)
cases = []
for index, (n, m) in enumerate([(4, 4), (5, 3), (6, 7)]):
    x, y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    c, d = (np.sqrt(((z[:, None] - z[None]) ** 2).sum(-1)) for z in (x, y))
    # Off the diagonal no distance is 0, and none on it is: the logarithm is of what is compared, not of a floor.
    c, d = c + 0.5, d + 0.5
    p, q = rng.dirichlet(np.full(n, 5.0)), rng.dirichlet(np.full(m, 5.0))
    for loss in ("square_loss", "kl_loss"):
        for solver, epsilon in (("PGD", 0.5), ("PPA", 0.5)):
            plan, log = ot.gromov.entropic_gromov_wasserstein(
                c, d, p, q, loss, epsilon, symmetric=True, max_iter=5000, tol=1e-13, solver=solver,
                log=True, stopThr=1e-14, numItermax=20000,
            )
            cases.append({
                "name": f"{index}_{loss}_{solver}",
                "op": "gw_proximal" if solver == "PPA" else "gw_regularised",
                "params": {"epsilon": epsilon, "loss": loss},
                "inputs": {"C": c.tolist(), "D": d.tolist(), "p": p.tolist(), "q": q.tolist()},
                "expected": {"value": float(log["gw_dist"])},
                "tol": {"f64": {"rtol": 1e-4, "atol": 1e-6}, "f32": {"rtol": 1e-2, "atol": 1e-3}},
            })
print(json.dumps({
    "topic": "gw_proximal",
    "about": "Gromov-Wasserstein by the proximal-point method and by projected gradient, with the squared and the Kullback-Leibler loss and "
             "uneven weights. value = sum L(C_ik, D_jl) T_ij T_kl at the plan found, without the entropy.",
    "library": {"POT": ot.__version__, "numpy": np.__version__},
    "cases": cases,
}))
