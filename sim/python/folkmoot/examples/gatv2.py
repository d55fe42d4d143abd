"""Two GATv2 layers (Brody et al. 2022) in PyTorch Geometric: 4 heads of 4, then one per class."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import torch
from torch.nn.functional import cross_entropy, dropout, elu
from torch_geometric.nn import GATv2Conv

import folkmoot as fm


class Net(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, n_features: int, n_classes: int) -> None:
        super().__init__()
        self.conv0 = GATv2Conv(n_features, 4, heads=4)
        self.conv1 = GATv2Conv(16, n_classes)

    def forward(self, data: Any) -> Any:
        x = elu(self.conv0(data.x, data.edge_index))
        return self.conv1(dropout(x, 0.5, self.training), data.edge_index)


def _loaded(params: Dict[str, Any], shard: fm.Shard) -> Tuple[Net, Any]:
    net = Net(shard.num_features, shard.num_classes)
    net.load_state_dict(params)
    return net, shard.to_pyg()


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Dict[str, Any]:
    return dict(Net(facts.n_features, facts.n_classes).state_dict())


@fm.train(cost=lambda shard, config: 6.0 * 32 * shard.x.size * config["epochs"])
def train(params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context) -> fm.Update:
    net, data = _loaded(params, shard)
    rate, decay = ctx.config["learning_rate"], ctx.config["weight_decay"]
    optimizer = torch.optim.Adam(net.parameters(), lr=rate, weight_decay=decay)
    for _ in range(ctx.config["epochs"]):
        optimizer.zero_grad()
        cross_entropy(net(data)[data.train_mask], data.y[data.train_mask]).backward()
        optimizer.step()
    return fm.Update(net.state_dict(), weight=int(data.train_mask.sum()))


@fm.evaluate
def evaluate(params: Dict[str, Any], shard: fm.Shard) -> Dict[str, fm.Metric]:
    net, data = _loaded(params, shard)
    n = int(data.test_mask.sum())
    if n == 0:
        return {}
    with torch.no_grad():
        hits = net.eval()(data).argmax(1)[data.test_mask] == data.y[data.test_mask]
    accuracy = hits.double().mean().item()
    return {"accuracy": fm.Metric(accuracy, better="higher", unit="fraction", n=n)}
