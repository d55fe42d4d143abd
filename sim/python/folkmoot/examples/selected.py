"""Softmax regression with a client selection of its own: never selected ones first, then those with
the largest last losses.
"""

from typing import Any, Optional

import numpy as np

import folkmoot as fm
from folkmoot.examples import softmax
from folkmoot.examples.softmax import Arrays, evaluate, initial

__all__ = ["evaluate", "initial", "select", "train"]


@fm.train(cost=softmax.cost)
def train(params: Arrays, shard: fm.Shard, ctx: Any, state: Optional[Arrays] = None) -> fm.Update:
    x, y = shard.x[shard.train_mask], shard.y[shard.train_mask]
    loss = -np.log(softmax.probabilities(params, x)[np.arange(len(y)), y]).mean()
    update = softmax.train(params, shard, ctx, state)
    update.metrics = {"loss": float(loss)}
    return update


@fm.select(metrics=["loss"])
def select(round: int, clients: fm.Clients, ctx: Any) -> Any:
    losses = np.nan_to_num(clients.metrics["loss"], nan=np.inf)
    order = np.lexsort((ctx.rng.numpy.random(len(clients)), -losses))
    return order[: ctx.config.get("n_selected", 2)]
