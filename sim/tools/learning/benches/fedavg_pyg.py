"""FedAvg in PyTorch Geometric, client after client: what the bench `sim/algorithms/classifiers/benches/fed_avg.rs` runs.

Each of N clients has one graph of 20 nodes and 40 edges and takes one step of gradient descent a round on two layers of GCN of
width 16, the mean of the nodes and a linear layer; the server takes the mean of the weights in double precision. Prints client
updates a second of the loop on one thread, and of two processes with half of the clients each; `tests/bench/speed.py fedavg` runs it
in turns with the bench.

    pip install torch torch_geometric
    python sim/tools/learning/benches/fedavg_pyg.py [clients] [rounds]
"""

import multiprocessing
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


def total(network, weights, clients):
    """The sum of what one round makes of the weights at each client."""
    sums = {name: torch.zeros_like(value, dtype=torch.float64) for name, value in weights.items()}
    for data in clients:
        network.load_state_dict(weights)
        optimiser = torch.optim.SGD(network.parameters(), lr=0.01)
        optimiser.zero_grad()
        functional.cross_entropy(network(data), data.y).backward()
        optimiser.step()
        for name, value in network.state_dict().items():
            sums[name] += value
    return sums


def train(network, clients, n_rounds):
    """Rounds of FedAvg; every client loads the global weights, steps once and hands its weights over."""
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    for _ in range(n_rounds):
        sums = total(network, weights, clients)
        weights = {name: (value / len(clients)).float() for name, value in sums.items()}
    return weights


def serve(clients, pipe):
    """A process with a share of the clients: weights in, sums out."""
    torch.set_num_threads(1)
    network = Network()
    while (arrays := pipe.recv()) is not None:
        weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
        pipe.send({name: value.numpy() for name, value in total(network, weights, clients).items()})


def train_in_two(pipes, network, n_clients, n_rounds):
    """The same rounds, each half of the clients in a process of its own."""
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    for _ in range(n_rounds):
        for pipe in pipes:
            pipe.send(weights)
        halves = [pipe.recv() for pipe in pipes]
        weights = {name: ((halves[0][name] + halves[1][name]) / n_clients).astype("float32") for name in weights}
    return weights


def timed(n_updates, work):
    start = time.perf_counter()
    work()
    return n_updates / (time.perf_counter() - start)


def main():
    n_clients, n_rounds = (int(given) for given in (sys.argv[1:] + ["1000", "3"][len(sys.argv) - 1 :]))
    rng = random.Random(1)
    clients = [graph(i % 2, rng) for i in range(n_clients)]
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = Network()
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(2)]
    for half, (_, far) in enumerate(ends):
        context.Process(target=serve, args=(clients[half::2], far), daemon=True).start()
    pipes = [near for near, _ in ends]
    train(network, clients[:50], 1)
    train_in_two(pipes, network, n_clients, 1)
    n_updates = n_clients * n_rounds
    rates = {
        1: timed(n_updates, lambda: train(network, clients, n_rounds)),
        2: timed(n_updates, lambda: train_in_two(pipes, network, n_clients, n_rounds)),
    }
    for pipe in pipes:
        pipe.send(None)
    for n_processes, rate in rates.items():
        print(f"measured,PyG,{n_processes},{rate:.1f},updates/s")


if __name__ == "__main__":
    main()
