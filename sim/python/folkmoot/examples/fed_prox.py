"""FedProx (Li et al. 2020) with softmax regression: every step is pulled towards the model that
came.
"""

from typing import Any

import numpy as np

import folkmoot as fm
from folkmoot.examples.softmax import Arrays, cost, evaluate, gradient, initial

__all__ = ["evaluate", "initial", "train"]


@fm.train(cost=cost)
def train(params: Arrays, shard: fm.Shard, ctx: Any) -> fm.Update:
    x, y = shard.x[shard.train_mask], shard.y[shard.train_mask]
    came, rate, mu = dict(params), ctx.config.get("learning_rate", 0.1), ctx.config.get("mu", 0.1)
    n_batches = max(1, len(y) // ctx.config.get("batch_size", 16))
    for _ in range(ctx.config.get("epochs", 1)):
        for batch in np.array_split(ctx.rng.numpy.permutation(len(y)), n_batches):
            slope = gradient(params, x[batch], y[batch])
            params = {
                name: w - rate * (slope[name] + mu * (w - came[name])) for name, w in params.items()
            }
    return fm.Update(params, weight=len(y))
