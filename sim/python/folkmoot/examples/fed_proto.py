"""FedProto (Tan et al. 2022): clients with unlike networks share one mean embedding per class.

Only sums and counts of embeddings travel. The networks are states of the clients.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import torch
from torch.nn.functional import cross_entropy, one_hot

import folkmoot as fm
from folkmoot.examples.heads import accuracies

N_DIMS = 16  # of an embedding, the same for all clients


class Net(torch.nn.Module):  # type: ignore[misc,unused-ignore]
    """Client 0 has one hidden layer of 16, client 1 two of 32, client 2 three of 48, and so on."""

    def __init__(self, n_features: int, n_classes: int, client: int) -> None:
        super().__init__()
        depth = 1 + client % 3
        sizes = [n_features, *[16 * depth] * depth]
        pairs = zip(sizes, sizes[1:])
        layers = [part for pair in pairs for part in (torch.nn.Linear(*pair), torch.nn.ReLU())]
        self.body = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], N_DIMS))
        self.head = torch.nn.Linear(N_DIMS, n_classes)


@fm.initial
def initial(facts: fm.Facts, rng: Any) -> Dict[str, Any]:
    return {
        "sums": torch.zeros(facts.n_classes, N_DIMS),
        "counts": torch.zeros(facts.n_classes, 1),
    }


def client(shard: fm.Shard, ctx: fm.Context, state: Any) -> Tuple[Net, Any, Any]:
    """A client's own network, its features and its labels."""
    net = Net(shard.num_features, shard.num_classes, ctx.client)
    if state is not None:
        net.load_state_dict(state)
    return net, torch.tensor(shard.x), torch.tensor(shard.y).long()


@fm.train(cost=lambda shard, config: 6.0 * 32 * shard.x.size * config["epochs"])
def train(
    params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context, state: Optional[Any] = None
) -> fm.Update:
    net, x, y = client(shard, ctx, state)
    x, y = x[torch.tensor(shard.train_mask)], y[torch.tensor(shard.train_mask)]
    prototypes = params["sums"] / params["counts"].clamp(min=1e-9)
    is_known = params["counts"] > 0
    optimizer = torch.optim.Adam(net.parameters(), lr=ctx.config["learning_rate"])
    for _ in range(ctx.config["epochs"]):
        optimizer.zero_grad()
        z = net.body(x)
        distance = ((z - prototypes[y]) ** 2 * is_known[y]).mean()
        (cross_entropy(net.head(z), y) + ctx.config["pull"] * distance).backward()
        optimizer.step()
    classes = one_hot(y, shard.num_classes).float()
    arrays = {"sums": classes.T @ net.body(x), "counts": classes.sum(0)[:, None]}
    # Equal weights: mean sums over mean counts are the mean embeddings of all clients.
    return fm.Update(arrays, weight=1, state=dict(net.state_dict()))


@fm.evaluate_at_client(cost=lambda shard, config: 2.0 * 32 * shard.x.size)
def evaluate_at_client(
    params: Dict[str, Any], shard: fm.Shard, ctx: fm.Context, state: Optional[Any] = None
) -> Dict[str, fm.Metric]:
    net, x, y = client(shard, ctx, state)
    return accuracies(net.head(net.body(x)).argmax(1), y, shard)
