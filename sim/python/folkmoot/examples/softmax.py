"""Softmax regression on node features in NumPy, with momentum that each client keeps."""

from __future__ import annotations

from typing import Any, Dict, Optional

import numpy as np

import folkmoot as fm

Arrays = Dict[str, Any]


def probabilities(params: Arrays, x: Any) -> Any:
    logits = x @ params["weight"] + params["bias"]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def gradient(params: Arrays, x: Any, y: Any) -> Arrays:
    difference = probabilities(params, x)
    difference[np.arange(len(y)), y] -= 1
    return {"weight": x.T @ difference / len(y), "bias": difference.mean(axis=0)}


def cost(shard: fm.Shard, config: Dict[str, Any]) -> float:
    """Operations of one training."""
    return float(6 * shard.x.size * shard.num_classes * config.get("epochs", 1))


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Arrays:
    weight = rng.numpy.normal(0, 0.1, (facts.n_features, facts.n_classes)).astype(np.float32)
    return {"weight": weight, "bias": np.zeros(facts.n_classes, np.float32)}


@fm.train(cost=cost)
def train(
    params: Arrays, shard: fm.Shard, ctx: fm.Context, state: Optional[Arrays] = None
) -> fm.Update:
    x, y = shard.x[shard.train_mask], shard.y[shard.train_mask]
    velocity = state or {name: np.zeros_like(array) for name, array in params.items()}
    rate, momentum = ctx.config.get("learning_rate", 0.1), ctx.config.get("momentum", 0.0)
    for _ in range(ctx.config.get("epochs", 1)):
        order = ctx.rng.numpy.permutation(len(y))
        for batch in np.array_split(order, max(1, len(y) // ctx.config.get("batch_size", 16))):
            slope = gradient(params, x[batch], y[batch])
            for name in params:
                velocity[name] = momentum * velocity[name] + slope[name]
                params[name] = params[name] - rate * velocity[name]
    return fm.Update(params, weight=len(y), state=velocity)


@fm.evaluate
def evaluate(params: Arrays, data: fm.Shard) -> Dict[str, fm.Metric]:
    mask = data.test_mask
    n = int(mask.sum())
    if n == 0:
        return {}
    shares, y = probabilities(params, data.x[mask]), data.y[mask]
    hits = float((shares.argmax(axis=1) == y).mean())
    loss = float(-np.log(shares[np.arange(n), y]).mean())
    return {
        "accuracy": fm.Metric(hits, better="higher", unit="fraction", n=n),
        "loss": fm.Metric(loss, better="lower", n=n),
    }
