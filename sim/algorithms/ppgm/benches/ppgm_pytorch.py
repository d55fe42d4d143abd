"""PPGM's training step in PyTorch, the batch padded and masked: what `sim/algorithms/ppgm/benches/ppgm.rs` runs.

A step is 5 graphs of 90 nodes and 135 edges, each paired with one graph that matches and one that does not: 10 pairs of 15 graphs.
Three layers of GCN of width 100, attention of 8 codes to the nodes, attention of the other's message to the nodes, an LSTM, the
squared error of the cosine, Adam: 223 300 parameters. Each graph is encoded once. Prints pairs a second on one thread and on two;
`tests/bench/speed.py ppgm` runs it in turns with ours.

    pip install torch numpy
    python sim/algorithms/ppgm/benches/ppgm_pytorch.py [steps]
"""

import random
import sys
import time

import torch
from torch import nn

WIDTH, N_CODES, N_HEADS, N_FEATURES = 100, 8, 4, 6
N_NODES, N_EDGES, N_GRAPHS = 90, 135, 60


class Ppgm(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Linear(WIDTH if layer else N_FEATURES, WIDTH) for layer in range(3))
        self.codes = nn.Parameter(torch.randn(N_CODES, WIDTH))
        self.messages = nn.MultiheadAttention(WIDTH, N_HEADS, batch_first=True)
        self.matches = nn.MultiheadAttention(WIDTH, N_HEADS, batch_first=True)
        self.lstm = nn.LSTM(2 * WIDTH, WIDTH, batch_first=True)

    def forward(self, s, x, padding, first, second):
        h = x
        for conv in self.convs:
            h = torch.relu(torch.bmm(s, conv(h)))
        codes = self.codes.expand(len(h), -1, -1)
        sent, _ = self.messages(codes, h, h, key_padding_mask=padding, need_weights=False)
        own, other = torch.cat([first, second]), torch.cat([second, first])
        theirs = sent[other]
        matched, _ = self.matches(theirs, h[own], h[own], key_padding_mask=padding[own], need_weights=False)
        states, _ = self.lstm(torch.cat([matched, theirs], dim=2))
        last = states[:, -1]
        n = len(first)
        return torch.cosine_similarity(last[:n], last[n:])


def graph(rng):
    edges = set()
    while len(edges) < N_EDGES:
        u, v = rng.randrange(N_NODES), rng.randrange(N_NODES)
        if u < v:
            edges.add((u, v))
    a = torch.eye(N_NODES)
    for u, v in edges:
        a[u, v] = a[v, u] = 1.0
    factor = a.sum(1).rsqrt()
    x = torch.tensor([[rng.uniform(-1, 1) for _ in range(N_FEATURES)] for _ in range(N_NODES)])
    return factor[:, None] * a * factor[None, :], x


def batch(graphs, rng):
    ids = rng.sample(range(len(graphs)), 15)
    most = max(len(graphs[i][1]) for i in ids)
    s, x = torch.zeros(15, most, most), torch.zeros(15, most, N_FEATURES)
    padding = torch.ones(15, most, dtype=torch.bool)
    for at, i in enumerate(ids):
        n = len(graphs[i][1])
        s[at, :n, :n], x[at, :n], padding[at, :n] = graphs[i][0], graphs[i][1], False
    first = torch.tensor([i // 2 for i in range(10)])
    second = torch.arange(5, 15)
    targets = torch.tensor([1.0, -1.0] * 5)
    return s, x, padding, first, second, targets


def speed(n_threads, n_steps):
    torch.set_num_threads(n_threads)
    torch.manual_seed(1)
    rng = random.Random(1)
    graphs = [graph(rng) for _ in range(N_GRAPHS)]
    model = Ppgm()
    assert sum(p.numel() for p in model.parameters()) == 223_300
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-4, fused=True)
    start = 0.0
    for step in range(n_steps + 5):
        if step == 5:
            start = time.perf_counter()
        *inputs, targets = batch(graphs, rng)
        optimiser.zero_grad()
        loss = ((model(*inputs) - targets) ** 2).mean()
        loss.backward()
        optimiser.step()
    return 10 * n_steps / (time.perf_counter() - start)


if __name__ == "__main__":
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for n_threads in (1, 2):
        print(f"measured,PyTorch,{n_threads},{speed(n_threads, steps):.1f},pairs/s")
