"""The task of card.ron as an app of Folkmoot: the network and the training of task.py."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "tests/bench/flower"))

import task  # noqa: E402
import torch  # noqa: E402
from torch_geometric.data import Batch

import folkmoot as fm


@fm.initial
def initial(facts, rng):
    return task.Network().state_dict()


@fm.train(cost=lambda shard, config: 1e6)
def train(params, shard, ctx):
    graphs = shard.to_pyg()
    data = [graph for graph in graphs if graph.train_mask]
    return fm.Update(task.learned(params, data).state_dict(), weight=len(data))


@fm.evaluate
def evaluate(params, shard):
    network = task.Network()
    network.load_state_dict(params)
    test = [graph for graph in shard.to_pyg() if graph.test_mask]
    batch = Batch.from_data_list(test)
    with torch.no_grad():
        right = (network(batch).argmax(1) == batch.y).double().mean().item()
    return {"accuracy": fm.Metric(right, better="higher", unit="fraction", n=len(test))}
