"""SCAFFOLD (Karimireddy et al. 2020, option II), for weighting: Uniform. `c.` are its variates."""

from typing import Any, Optional

import folkmoot as fm
from folkmoot.examples import softmax
from folkmoot.examples.softmax import Arrays, evaluate, gradient

__all__ = ["evaluate", "initial", "train"]


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Arrays:
    model = softmax.initial(facts, rng)
    return {**model, **{"c." + k: 0 * w for k, w in model.items()}}


@fm.train(cost=lambda shard, config: config["steps"] * softmax.cost(shard, {}))
def train(params: Arrays, shard: fm.Shard, ctx: Any, state: Optional[Arrays] = None) -> fm.Update:
    x, y, rate = shard.x[shard.train_mask], shard.y[shard.train_mask], ctx.config["learning_rate"]
    came = {k: w for k, w in params.items() if not k.startswith("c.")}
    own, model, steps = state or {k: 0 * w for k, w in came.items()}, came, ctx.config["steps"]
    for _ in range(steps):
        slope = gradient(model, x, y)
        model = {k: w - rate * (slope[k] - own[k] + params["c." + k]) for k, w in model.items()}
    new = {k: own[k] - params["c." + k] + (w - model[k]) / (steps * rate) for k, w in came.items()}
    share = ctx.config.get("share", 1.0)  # of the clients that a round selects
    moved = {"c." + k: params["c." + k] + share * (new[k] - own[k]) for k in came}
    return fm.Update({**model, **moved}, state=new)
