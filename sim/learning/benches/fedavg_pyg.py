"""FedAvg in PyTorch Geometric, client after client: the loop that `sim/strategies/benches/fed_avg.rs` runs.

Each of N clients has one graph of 20 nodes and 40 edges and takes one step of gradient descent a round on two layers of GCN of
width 16, the mean of the nodes and a linear layer; the server takes the mean of the weights in double precision. Prints client
updates a second on one thread and on two.

    pip install torch torch_geometric
    python sim/learning/benches/fedavg_pyg.py [clients] [rounds]
"""

import random
import sys
import time

import torch
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, global_mean_pool


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = GCNConv(7, 16)
        self.second = GCNConv(16, 16)
        self.head = torch.nn.Linear(16, 2)

    def forward(self, data):
        h = self.first(data.x, data.edge_index).relu()
        h = self.second(h, data.edge_index).relu()
        return self.head(global_mean_pool(h, None))


def graph(label, rng):
    edges = set()
    while len(edges) < 40:
        u, v = rng.randrange(20), rng.randrange(20)
        if u < v:
            edges.add((u, v))
    arcs = [(u, v) for u, v in edges] + [(v, u) for u, v in edges]
    features = functional.one_hot(torch.arange(20) % 7, 7).float()
    return Data(x=features, edge_index=torch.tensor(arcs).T.contiguous(), y=torch.tensor([label]))


def train(network, clients, n_rounds):
    """Rounds of FedAvg; every client loads the global weights, steps once and hands its weights over."""
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(n_rounds):
        total = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in weights.items()}
        for data in clients:
            network.load_state_dict(weights)
            optimiser = torch.optim.SGD(network.parameters(), lr=0.01)
            optimiser.zero_grad()
            functional.cross_entropy(network(data), data.y).backward()
            optimiser.step()
            for name, value in network.state_dict().items():
                total[name] += value
        weights = {name: (value / len(clients)).float() for name, value in total.items()}
    return weights


def main():
    n_clients = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    n_rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rng = random.Random(1)
    clients = [graph(i % 2, rng) for i in range(n_clients)]
    torch.manual_seed(1)
    network = Network()
    print(f"torch {torch.__version__}, {sum(p.numel() for p in network.parameters())} parameters")
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        train(network, clients[:50], 1)
        start = time.perf_counter()
        train(network, clients, n_rounds)
        seconds = time.perf_counter() - start
        print(f"{n_threads} threads: {n_clients * n_rounds / seconds:.0f} client updates a second")


if __name__ == "__main__":
    main()
