"""Link prediction: a GCN encodes nodes, and the product of two embeddings scores an edge.

Each client holds out a fifth of its edges, from its messages too. AUC: 0.5 is chance.
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, relu
from torch_geometric.nn import GCNConv

import folkmoot as fm


class Net(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.conv0, self.conv1 = GCNConv(n_features, 32), GCNConv(32, 16)

    def forward(self, x: Any, edges: Any) -> Any:
        both = torch.cat([edges, edges.flip(0)], dim=1)
        return self.conv1(relu(self.conv0(x, both)), both)


def scores(z: Any, pairs: Any) -> Any:
    return (z[pairs[0]] * z[pairs[1]]).sum(1)


def auc(z: Any, edges: Any, others: Any) -> float:
    """The share of (edge, other pair) in which the edge has the higher score; half for ties."""
    difference = scores(z, edges)[:, None] - scores(z, others)[None, :]
    return float(((difference > 0).double() + 0.5 * (difference == 0)).mean())


def split(shard: fm.Shard) -> Tuple[Any, Any, Any]:
    """Edges to train on, edges held out, and as many pairs without an edge; in all rounds alike."""
    rng = np.random.default_rng(shard.client)
    edges = shard.edge_index[:, shard.edge_index[0] < shard.edge_index[1]]
    is_out = rng.random(edges.shape[1]) < 0.2
    pairs = np.sort(rng.integers(shard.num_nodes, size=(2, 20 * is_out.sum())), axis=0)
    keys = edges[0] * shard.num_nodes + edges[1]
    is_free = ~np.isin(pairs[0] * shard.num_nodes + pairs[1], keys) & (pairs[0] < pairs[1])
    others = pairs[:, is_free][:, : is_out.sum()]
    parts = (edges[:, ~is_out], edges[:, is_out], others)
    return tuple(torch.tensor(part).long() for part in parts)


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Dict[str, Any]:
    return dict(Net(facts.n_features).state_dict())


@fm.train(cost=lambda shard, config: 6.0 * 32 * shard.x.size * config["epochs"])
def train(params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context) -> fm.Update:
    net = Net(shard.num_features)
    net.load_state_dict(params)
    x, (edges, _, _) = torch.tensor(shard.x), split(shard)
    optimizer = torch.optim.Adam(net.parameters(), lr=ctx.config["learning_rate"])
    for _ in range(ctx.config["epochs"]):
        optimizer.zero_grad()
        z = net(x, edges)
        others = torch.randint(shard.num_nodes, edges.shape)
        logits = torch.cat([scores(z, edges), scores(z, others)])
        is_edge = torch.arange(len(logits)) < edges.shape[1]
        binary_cross_entropy_with_logits(logits, is_edge.float()).backward()
        optimizer.step()
    return fm.Update(net.state_dict(), weight=edges.shape[1])


@fm.evaluate
def evaluate(params: Dict[str, Any], shard: fm.Shard) -> Dict[str, fm.Metric]:
    net = Net(shard.num_features)
    net.load_state_dict(params)
    x, (edges, held_out, others) = torch.tensor(shard.x), split(shard)
    n = min(held_out.shape[1], others.shape[1])
    if n == 0:
        return {}
    with torch.no_grad():
        found = {"auc": net(x, edges), "feature_auc": torch.nn.functional.normalize(x)}
    return {
        name: fm.Metric(auc(z, held_out, others), better="higher", unit="fraction", n=n)
        for name, z in found.items()
    }
