"""A CNN on the 8 × 8 digits of scikit-learn. An image is an item without edges, of 64 features.

python -m folkmoot.examples.digits digits.npz      # writes the data set, with scikit-learn
"""

from __future__ import annotations

import sys
from typing import Any, Dict

import torch
from torch.nn.functional import cross_entropy

import folkmoot as fm


def network() -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)),
        *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64, 10)),
    )


def loaded(params: Dict[str, Any]) -> Any:
    net = network()
    net.load_state_dict(params)
    return net


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Dict[str, Any]:
    return dict(network().state_dict())


@fm.train(cost=lambda shard, config: 6.0 * 23e3 * len(shard.x) * config["epochs"])
def train(params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context) -> fm.Update:
    net = loaded(params)
    mask = shard.train_mask
    x, y = torch.tensor(shard.x[mask]), torch.tensor(shard.y[mask]).long()
    optimizer = torch.optim.SGD(net.parameters(), lr=ctx.config["learning_rate"])
    for _ in range(ctx.config["epochs"]):
        for batch in torch.randperm(len(y)).split(ctx.config["batch_size"]):
            optimizer.zero_grad()
            cross_entropy(net(x[batch]), y[batch]).backward()
            optimizer.step()
    return fm.Update(net.state_dict(), weight=len(y))


@fm.evaluate
def evaluate(params: Dict[str, Any], shard: fm.Shard) -> Dict[str, fm.Metric]:
    mask = shard.test_mask
    x, y = torch.tensor(shard.x[mask]), torch.tensor(shard.y[mask]).long()
    if len(y) == 0:
        return {}
    with torch.no_grad():
        accuracy = (loaded(params)(x).argmax(1) == y).double().mean().item()
    return {"accuracy": fm.Metric(accuracy, better="higher", unit="fraction", n=len(y))}


if __name__ == "__main__":
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    fm.save({"edge_index": [[], []], "x": images / 16, "y": classes}, sys.argv[1])
