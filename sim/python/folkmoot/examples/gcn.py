"""A two-layer GCN in PyTorch, trained as FedAvg trains its own: full batches, Adam, dropout."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import torch
from torch.nn.functional import cross_entropy, dropout, relu
from torch_geometric.nn import GCNConv

import folkmoot as fm


class Net(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, n_features: int, n_classes: int, hidden: int = 16) -> None:
        super().__init__()
        self.conv0 = GCNConv(n_features, hidden)
        self.conv1 = GCNConv(hidden, n_classes)

    def forward(self, data: Any, share: float = 0.0) -> Any:
        x = relu(self.conv0(data.x, data.edge_index))
        return self.conv1(dropout(x, share, self.training), data.edge_index)


def _loaded(params: Dict[str, Any], shard: fm.Shard) -> Tuple[Net, Any]:
    net = Net(shard.num_features, shard.num_classes)
    net.load_state_dict(params)
    return net, shard.to_pyg()


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Dict[str, Any]:
    return dict(Net(facts.n_features, facts.n_classes).state_dict())


@fm.train(cost=lambda shard, config: 6.0 * 16 * shard.x.size * config["epochs"])
def train(params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context) -> fm.Update:
    net, data = _loaded(params, shard)
    config = ctx.config
    rate, decay = config["learning_rate"], config["weight_decay"]
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, weight_decay=decay)
    for _ in range(config["epochs"]):
        optimizer.zero_grad()
        loss = cross_entropy(net(data, config["dropout"])[data.train_mask], data.y[data.train_mask])
        loss.backward()
        optimizer.step()
    n = int(data.train_mask.sum())
    return fm.Update(net.state_dict(), weight=n, metrics={"loss": loss.item()})


@fm.evaluate
def evaluate(params: Dict[str, Any], shard: fm.Shard) -> Dict[str, fm.Metric]:
    net, data = _loaded(params, shard)
    net.eval()
    n = int(data.test_mask.sum())
    if n == 0:
        return {}
    with torch.no_grad():
        logits = net(data)[data.test_mask]
    y = data.y[data.test_mask]
    accuracy = (logits.argmax(1) == y).double().mean().item()
    return {
        "accuracy": fm.Metric(accuracy, better="higher", unit="fraction", n=n),
        "loss": fm.Metric(cross_entropy(logits, y).item(), better="lower", n=n),
    }
