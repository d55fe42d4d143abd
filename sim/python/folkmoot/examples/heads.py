"""Personalised heads (FedPer: Arivazhagan et al. 2019): a shared body, and a head per client.

`shared` of the config names the parts that travel: body and head (FedAvg), the body, or none.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import torch
from torch.nn.functional import cross_entropy, relu

import folkmoot as fm


class Net(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.body = torch.nn.Linear(n_features, 32)
        self.head = torch.nn.Linear(32, n_classes)

    def forward(self, x: Any) -> Any:
        return self.head(relu(self.body(x)))


def accuracies(answers: Any, y: Any, shard: fm.Shard) -> Dict[str, fm.Metric]:
    """On test items: of these answers, and of the most frequent class among the training items."""
    trains, tests = torch.tensor(shard.train_mask), torch.tensor(shard.test_mask)
    hits = {"accuracy": answers == y, "majority_accuracy": y == y[trains].mode().values}
    n = int(tests.sum())
    shares = {name: float(hit[tests].float().sum()) / max(n, 1) for name, hit in hits.items()}
    return {
        name: fm.Metric(share, better="higher", unit="fraction", n=n)
        for name, share in shares.items()
    }


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Dict[str, Any]:
    net = Net(facts.n_features, facts.n_classes)
    arrays = net.state_dict().items()
    shared = {name: array for name, array in arrays if name.split(".")[0] in facts.config["shared"]}
    return shared or {"none": torch.zeros(1)}  # a model has an array


def client(params: Dict[str, Any], shard: fm.Shard, state: Any) -> Tuple[Net, Any, Any]:
    """A client's network with what it received, its features and its labels."""
    net = Net(shard.num_features, shard.num_classes)
    shared = {name: array for name, array in params.items() if name != "none"}
    net.load_state_dict({**net.state_dict(), **(state or {}), **shared})
    return net, torch.tensor(shard.x), torch.tensor(shard.y).long()


@fm.train(cost=lambda shard, config: 6.0 * 32 * shard.x.size * config["epochs"])
def train(
    params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context, state: Optional[Any] = None
) -> fm.Update:
    net, x, y = client(params, shard, state)
    mask = torch.tensor(shard.train_mask)
    optimizer = torch.optim.SGD(net.parameters(), lr=ctx.config["learning_rate"])
    for _ in range(ctx.config["epochs"]):
        optimizer.zero_grad()
        cross_entropy(net(x[mask]), y[mask]).backward()
        optimizer.step()
    trained = net.state_dict()
    own = {name: array for name, array in trained.items() if name not in params}
    arrays = {name: trained[name] for name in params if name in trained}
    return fm.Update(arrays, weight=int(mask.sum()), state=own)


@fm.evaluate_at_client(cost=lambda shard, config: 2.0 * 32 * shard.x.size)
def evaluate_at_client(
    params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context, state: Optional[Any] = None
) -> Dict[str, fm.Metric]:
    net, x, y = client(params, shard, state)
    return accuracies(net(x).argmax(1), y, shard)
