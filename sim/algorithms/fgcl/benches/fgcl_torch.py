"""FGCL's training step in PyTorch, dense, without a graph library: what the bench `sim/algorithms/fgcl/benches/fgcl.rs` runs.

A graph has 34 nodes, a random tree with 3 more edges, and 43 features one-hot. A step draws two views with symmetric Laplace noise
(budget 1), encodes both and 10 views of earlier graphs of the other class with two layers of GCN of width 64 (degrees that are not
positive have the factor 0), and makes one step of Adam on the mean cross entropy of both views plus 0.01 times InfoNCE. All 12 graphs
of a step have one size here, so they are one batched product; views are normalised once, when they are drawn. Prints steps a second
of the loop in one process, and of two processes with a client each; `tests/bench/speed.py fgcl` runs it in turns with the bench.

    pip install torch
    python sim/algorithms/fgcl/benches/fgcl_torch.py [steps]
"""

import multiprocessing
import sys
import time
from collections import deque

import torch
from torch.nn import functional

N, F, H, K, QUEUE = 34, 43, 64, 10, 100


def graph(rng):
    a = torch.zeros(N, N)
    edges = [(int(torch.randint(v, (1,), generator=rng)), v) for v in range(1, N)]
    while len(edges) < N + 2:
        u, v = sorted(torch.randint(N, (2,), generator=rng).tolist())
        if u != v and (u, v) not in edges:
            edges.append((u, v))
    for u, v in edges:
        a[u, v] = a[v, u] = 1.0
    x = functional.one_hot(torch.randint(F, (N,), generator=rng), F).float()
    return a, x


LAW = torch.distributions.Laplace(0.0, 1.0)
UPPER = torch.triu(torch.ones(N, N), 1)
EYE = torch.eye(N)


def views(a, n):
    noise = LAW.sample((n, N, N)) * UPPER
    w = a + noise + noise.transpose(1, 2) + EYE
    degree = w.sum(2)
    factor = torch.where(degree > 0, degree.clamp_min(1e-12).rsqrt(), torch.zeros(()))
    return w * factor[:, :, None] * factor[:, None, :]


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(F, H)
        self.second = torch.nn.Linear(H, H)
        self.head = torch.nn.Linear(H, 2)
        self.drop = torch.nn.Dropout(0.3)

    def embed(self, s, x):
        h = self.first(s @ x).relu()
        return self.second(s @ self.drop(h)).relu().mean(1)


def train(network, graphs, n_steps):
    optimiser = torch.optim.Adam(network.parameters(), lr=1.5e-3, weight_decay=1e-3, fused=True)
    queue = deque(maxlen=QUEUE)
    for i, (a, x) in enumerate(graphs[-QUEUE:]):
        queue.append(((len(graphs) - QUEUE + i) % 2, views(a, 1)[0], x))
    for step in range(n_steps):
        at = step % len(graphs)
        label, (a, x) = at % 2, graphs[at]
        pair = views(a, 2)
        others = [entry for entry in queue if entry[0] != label]
        chosen = [others[i] for i in torch.randperm(len(others))[:K].tolist()]
        s = torch.cat([pair] + [entry[1][None] for entry in chosen])
        xs = torch.stack([x, x] + [entry[2] for entry in chosen])
        z = network.embed(s, xs)
        logits = network.head(network.drop(z[:2]))
        cosines = functional.cosine_similarity(z[:1], z[1:])
        loss = functional.cross_entropy(logits, torch.tensor([label, label]))
        loss = loss + 0.01 * (cosines.logsumexp(0) - cosines[0])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        queue.append((label, pair[0], x))


def serve(graphs, pipe):
    """A process that is a client of its own: as many steps as it is told."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    network = Network()
    while (n_steps := pipe.recv()) is not None:
        train(network, graphs, n_steps)
        pipe.send(n_steps)


def train_in_two(pipes, n_steps):
    for pipe in pipes:
        pipe.send(n_steps // 2)
    for pipe in pipes:
        pipe.recv()


def timed(n_steps, work):
    start = time.perf_counter()
    work()
    return n_steps / (time.perf_counter() - start)


def main():
    n_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rng = torch.Generator().manual_seed(1)
    graphs = [graph(rng) for _ in range(200)]
    torch.set_num_threads(1)
    torch.manual_seed(1)
    network = Network()
    context = multiprocessing.get_context("spawn")
    ends = [context.Pipe() for _ in range(2)]
    for _, far in ends:
        context.Process(target=serve, args=(graphs, far), daemon=True).start()
    pipes = [near for near, _ in ends]
    train(network, graphs, 50)
    train_in_two(pipes, 100)
    rates = {
        1: timed(n_steps, lambda: train(network, graphs, n_steps)),
        2: timed(n_steps, lambda: train_in_two(pipes, n_steps)),
    }
    for pipe in pipes:
        pipe.send(None)
    for n_processes, rate in rates.items():
        print(f"measured,PyTorch,{n_processes},{rate:.1f},steps/s")


if __name__ == "__main__":
    main()
