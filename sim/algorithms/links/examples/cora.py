"""Centralised link prediction on Cora by PyTorch Geometric, on the splits that `cora.rs` writes.

    python3 cora.py CORA.NPZ FOLDER       # torch 1.13.1, torch_geometric 2.5.3, numpy 1.26.4, scikit-learn 1.5.2

CORA.NPZ is the file of the data folder; FOLDER has `SEED.csv`. The model is that of the library's example of link prediction: two
graph convolutions, 1433-128-64, dot products, 100 epochs by Adam at the rate 0.01 with as many negative samples as edges in each,
features divided by their sum per node. Prints the scores after the last epoch, and their means.
"""

import csv
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch_geometric.nn import GCNConv
from torch_geometric.utils import negative_sampling, to_undirected


class Net(torch.nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.conv1 = GCNConv(n_in, 128)
        self.conv2 = GCNConv(128, 64)

    def forward(self, x, edges):
        return self.conv2(self.conv1(x, edges).relu(), edges)


def score(z, pairs):
    return (z[pairs[0]] * z[pairs[1]]).sum(dim=-1)


def features(path):
    """Rows of the compressed matrix, each divided by its sum."""
    data = np.load(path)
    n, d = (int(x) for x in data["attr_shape"])
    rows = np.zeros((n, d), dtype=np.float32)
    bounds = data["attr_indptr"]
    for node in range(n):
        part = slice(bounds[node], bounds[node + 1])
        rows[node, data["attr_indices"][part]] = data["attr_data"][part]
    return torch.tensor((rows / np.maximum(rows.sum(1, keepdims=True), 1)).tolist())


def trained(x, parts, seed):
    torch.manual_seed(seed)
    model = Net(x.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train = torch.tensor(parts["train"]).t()
    messages = to_undirected(train, num_nodes=len(x))
    for _ in range(100):
        optimizer.zero_grad()
        z = model(x, messages)
        negatives = negative_sampling(messages, num_nodes=len(x), num_neg_samples=train.shape[1])
        logits = torch.cat([score(z, train), score(z, negatives)])
        targets = torch.cat([torch.ones(train.shape[1]), torch.zeros(negatives.shape[1])])
        torch.nn.functional.binary_cross_entropy_with_logits(logits, targets).backward()
        optimizer.step()
    with torch.no_grad():
        pairs = torch.tensor(parts["test"] + parts["none"]).t()
        scores = score(model(x, messages), pairs).tolist()
    is_edge = [1] * len(parts["test"]) + [0] * len(parts["none"])
    return roc_auc_score(is_edge, scores), average_precision_score(is_edge, scores)


def main():
    x = features(sys.argv[1])
    print("seed,test_auc,test_average_precision")
    found = []
    for path in sorted(pathlib.Path(sys.argv[2]).glob("*.csv")):
        parts = {"train": [], "validation": [], "test": [], "none": []}
        for first, second, part in csv.reader(path.open()):
            parts[part].append([int(first), int(second)])
        found.append(trained(x, parts, int(path.stem)))
        print(f"{path.stem},{found[-1][0]},{found[-1][1]}")
    auc, precision = np.mean(found, axis=0)
    print(f"mean,{auc},{precision}")


main()
