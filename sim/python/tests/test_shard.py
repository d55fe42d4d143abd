"""A client's shard as graphs of other libraries: nothing that it has is left out."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any, Dict

import numpy as np
import pytest
from folkmoot.app import Facts, Shard

NODES: Dict[str, Any] = {
    "nodes": np.array([4, 7, 9]),
    "x": np.eye(3, dtype=np.float32),
    "edge_index": np.array([[0, 1, 1, 2], [1, 0, 2, 1]]),
    "edge_weight": np.array([0.5, 0.5, 2.0, 2.0], np.float32),
    "y": np.array([1, -1, 0]),
    "border_index": np.array([[0, 0, 2], [3, 8, 1]]),
    "train_mask": np.array([True, False, False]),
    "val_mask": np.array([False, False, False]),
    "test_mask": np.array([False, False, True]),
}
GRAPHS: Dict[str, Any] = {
    "graphs": np.array([5, 6]),
    "node_ptr": np.array([0, 2, 5]),
    "edge_ptr": np.array([0, 2, 4]),
    "x": np.ones((5, 1), np.float32),
    "edge_index": np.array([[0, 1, 2, 4], [1, 0, 4, 2]]),
    "edge_attr": np.array([[0.5], [0.5], [2.0], [2.0]], np.float32),
    "edge_y": np.array([1, 1, 3, 3]),
    "node_y": np.arange(5),
    "y": np.array([0, 1]),
    "train_mask": np.array([True, False]),
    "val_mask": np.array([False, True]),
    "test_mask": np.array([False, False]),
}


def shard(arrays: Dict[str, Any]) -> Shard:
    return Shard(1, arrays, Facts({"is_graph_level": "graphs" in arrays}))


def test_networkx_has_masks_weights_and_cross_client_edges() -> None:
    pytest.importorskip("networkx")
    graph = shard(NODES).to_networkx()
    assert graph.edges[1, 2] == {"weight": 2.0} and graph.edges[0, 1] == {"weight": 0.5}
    first = graph.nodes[0]
    assert set(first) == {"x", "y", "train_mask", "val_mask", "test_mask", "border"}
    assert first["train_mask"] and not first["test_mask"] and first["x"].tolist() == [1, 0, 0]
    assert [graph.nodes[node]["border"] for node in graph] == [[3, 8], [], [1]]
    one, two = shard(GRAPHS).to_networkx()
    assert (one.graph["y"], two.graph["y"], two.graph["graphs"]) == (0, 1, 6)
    assert one.graph["train_mask"] and two.graph["val_mask"] and two.edges[0, 2] == {"edge_attr": [2.0], "edge_y": 3}
    assert [two.nodes[node]["node_y"] for node in two] == [2, 3, 4]


def test_dgl_has_weights_and_cross_client_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    # Stand-ins: tensors are arrays, and a graph is what DGL's constructor is given.
    class Graph:
        def __init__(self, ends: Any, num_nodes: int) -> None:
            self.ends, self.num_nodes = ends, num_nodes
            self.ndata: Dict[str, Any] = {}
            self.edata: Dict[str, Any] = {}

    for name, member, value in [("dgl", "graph", Graph), ("torch", "from_numpy", lambda array: array)]:
        module = ModuleType(name)
        setattr(module, member, value)
        monkeypatch.setitem(sys.modules, name, module)
    graph = shard(NODES).to_dgl()
    assert set(graph.ndata) == {"feat", "label", "train_mask", "val_mask", "test_mask"}
    assert graph.edata["weight"].tolist() == [0.5, 0.5, 2, 2] and graph.num_nodes == 3
    assert graph.border_index.tolist() == NODES["border_index"].tolist()
    one, _two = shard(GRAPHS).to_dgl()
    assert one.edata["label"].tolist() == [1, 1] and one.ndata["label"].tolist() == [0, 1]


def test_pyg_has_cross_client_edges() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    data = shard(NODES).to_pyg()
    assert data.border_index.tolist() == NODES["border_index"].tolist()
    assert data.edge_weight.tolist() == [0.5, 0.5, 2, 2] and data.train_mask.tolist() == [True, False, False]
    assert "border_index" not in shard(GRAPHS).to_pyg()[0]
