"""The task of card.ron in PyTorch, for app.py, plain.py and client.py, by the variables SEED and ROUNDS."""

import os
from functools import cache

import torch
from torch_geometric.datasets import TUDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool

SEED = int(os.environ.get("SEED", "1"))
N_CLIENTS, N_ROUNDS = 10, int(os.environ.get("ROUNDS", "50"))


def layer(n_in):
    return GINConv(torch.nn.Sequential(torch.nn.Linear(n_in, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32)))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([layer(7), layer(32), layer(32)])
        self.head = torch.nn.Linear(32, 2)

    def forward(self, batch):
        h = batch.x
        for one in self.layers:
            h = one(h, batch.edge_index).relu()
        return self.head(global_add_pool(h, batch.batch))


def learned(weights, data):
    network = Network()
    network.load_state_dict(weights)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(5):
        for batch in DataLoader(data, batch_size=16, shuffle=True):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(batch), batch.y).backward()
            optimiser.step()
    return network


@cache
def shards():
    """Of each client what trains and what tests; read once in each of Flower's processes."""
    dataset = TUDataset(os.environ["DATA"], "MUTAG")
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(SEED))
    parts = [order[i::N_CLIENTS] for i in range(N_CLIENTS)]
    cut = [round(0.8 * len(part)) for part in parts]
    return [(dataset[part[:n]], dataset[part[n:]]) for part, n in zip(parts, cut)]


def accuracy(weights):
    network = Network()
    network.load_state_dict(weights)
    right = total = 0
    with torch.no_grad():
        for _, data in shards():
            for batch in DataLoader(data, batch_size=64):
                right += int((network(batch).argmax(1) == batch.y).sum())
                total += len(batch.y)
    return right / total
