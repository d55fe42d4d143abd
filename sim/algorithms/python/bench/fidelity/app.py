"""The clients of task.py as an app: the first number of the model learns, the others travel."""

import pathlib
import sys

import folkmoot as fm
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from task import trained


@fm.initial
def initial(facts, rng):
    return {"x": np.zeros(facts.config["parameters"], np.float32)}


@fm.train(cost=fm.measured("cost.csv"))
def train(params, shard, ctx, state=None):
    params["x"][0] = trained(ctx.client, float(params["x"][0]))
    return fm.Update(params, weight=1)


@fm.evaluate(on="whole")
def evaluate(params, data):
    return {"accuracy": fm.Metric(params["x"][0], better="higher", unit="fraction")}
