"""FedAvg in PyTorch Geometric, client after client, and in turns with it the bench `sim/strategies/benches/fed_avg.rs`.

Each of N clients has one graph of 20 nodes and 40 edges and takes one step of gradient descent a round on two layers of GCN of
width 16, the mean of the nodes and a linear layer; the server takes the mean of the weights in double precision. Prints client
updates a second of the loop on one thread, of two processes with half of the clients each, of the bench on one thread and two,
and the ratios: medians of the turns, all in one run on the same two cores.

    pip install torch torch_geometric
    python sim/learning/benches/fedavg_pyg.py [clients] [rounds] [turns]
"""

import multiprocessing
import os
import pathlib
import random
import re
import statistics
import subprocess
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


def bench(threads):
    """Client updates a second of the bench, by the middle estimate of its throughput."""
    root = pathlib.Path(__file__).resolve().parents[3]
    command = ["cargo", "bench", "-q", "-p", "folkmoot-strategies", "--bench", "fed_avg", "--"]
    command += ["--noplot", "--warm-up-time", "1", "--measurement-time", "2", f"{threads} threads/1000$"]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    _, middle, _ = re.search(r"thrpt:\s+\[(\S+ \S+) (\S+ \S+) (\S+ \S+)\]", printed).groups()
    number, unit = middle.split()
    return float(number) * {"elem/s": 1, "Kelem/s": 1e3, "Melem/s": 1e6}[unit]


def timed(n_updates, work):
    start = time.perf_counter()
    work()
    return n_updates / (time.perf_counter() - start)


def main():
    n_clients, n_rounds, n_turns = (int(given) for given in (sys.argv[1:] + ["1000", "3", "3"][len(sys.argv) - 1 :]))
    rng = random.Random(1)
    clients = [graph(i % 2, rng) for i in range(n_clients)]
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = Network()
    print(f"torch {torch.__version__}, {sum(p.numel() for p in network.parameters())} parameters, {os.cpu_count()} cores")
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(2)]
    for half, (_, far) in enumerate(ends):
        context.Process(target=serve, args=(clients[half::2], far), daemon=True).start()
    pipes = [near for near, _ in ends]
    train(network, clients[:50], 1)
    train_in_two(pipes, network, n_clients, 1)
    n_updates = n_clients * n_rounds
    contenders = {
        "PyG, one process": lambda: timed(n_updates, lambda: train(network, clients, n_rounds)),
        "PyG, two processes": lambda: timed(n_updates, lambda: train_in_two(pipes, network, n_clients, n_rounds)),
        "the bench, 1 thread": lambda: bench(1),
        "the bench, 2 threads": lambda: bench(2),
    }
    rates = {name: [] for name in contenders}
    for _ in range(n_turns):
        for name, contender in contenders.items():
            rates[name].append(contender())
    for pipe in pipes:
        pipe.send(None)
    base = statistics.median(rates["PyG, one process"])
    for name, all_rates in rates.items():
        middle, extremes = statistics.median(all_rates), f"{min(all_rates):.0f} to {max(all_rates):.0f}"
        print(f"{name}: {middle:.0f} client updates a second ({extremes}), {middle / base:.1f} times the first")


if __name__ == "__main__":
    main()
