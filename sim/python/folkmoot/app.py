"""What an app is made of: functions that a run calls in worker processes, and what these take and return.

    import folkmoot as fm

    @fm.initial                                    # once, at the server
    def initial(facts, rng): ...                   # returns the model: arrays by name

    @fm.train(cost=lambda shard, config: 6e3 * shard.num_edges * config["epochs"])    # in operations
    def train(params, shard, ctx, state=None):     # returns fm.Update(arrays, state=...)

    @fm.evaluate                                   # the evaluator's, once for each client; sends nothing
    def evaluate(params, data): return {"accuracy": fm.Metric(0.8, better="higher", unit="fraction", n=140)}

A result may depend on the arguments of a function alone: a job may run in any worker, more than once.
"""

from __future__ import annotations

import csv
import os
import random
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

__all__ = [
    "Context",
    "Facts",
    "Measured",
    "Metric",
    "Model",
    "Rng",
    "Shard",
    "Update",
    "evaluate",
    "initial",
    "measured",
    "train",
]

#: The attribute by which a decorated function is found: its kind and options.
MARK = "__folkmoot__"
F = TypeVar("F", bound=Callable[..., Any])
Arrays = Union[Mapping[str, Any], Sequence[Any]]


def _marked(kind: str, function: F, **options: Any) -> F:
    setattr(function, MARK, (kind, options))
    return function


def initial(function: F) -> F:
    """Marks `initial(facts, rng)`, which returns the model before the first round: a dict of arrays by name, such as a
    `state_dict`, or a list of arrays; or a `Model`, where clients send only some of them back."""
    return _marked("initial", function)


def train(*, cost: Union[Callable[..., float], "Measured"]) -> Callable[[F], F]:
    """Marks `train(params, shard, ctx, state=None)`, which returns an `Update`.

    `cost(shard, config)` is the number of operations of one call. It is asked once for each client, before the run.
    """
    return costing("train", cost)


def costing(kind: str, cost: Any) -> Callable[[F], F]:
    """What marks a function of a kind that has a cost."""
    if not callable(cost) and not isinstance(cost, Measured):
        raise TypeError('cost: must be a function of (shard, config), or fm.measured("cost.csv")')

    def mark(function: F) -> F:
        return _marked(kind, function, cost=cost)

    return mark


def evaluate(function: Optional[F] = None, *, on: str = "clients") -> Any:
    """Marks `evaluate(params, data)`, which returns metrics by name: `Metric`s, or numbers.

    With `on="clients"` it is called for each client with that client's shard, and metrics are averaged by their `n`. With
    `on="whole"` it is called once with the whole data set and all of its edges.
    """
    if on not in ("clients", "whole"):
        raise ValueError(f'on: must be "clients" or "whole", got {on!r}')

    def mark(function: F) -> F:
        return _marked("evaluate", function, on=on)

    return mark if function is None else mark(function)


class Measured:
    """Costs from a table with the columns `client` and `seconds`, on a device of speed 1."""

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self, folder: str) -> Dict[int, float]:
        with open(os.path.join(folder, self.path), newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            if not {"client", "seconds"} <= set(rows.fieldnames or ()):
                raise ValueError(f"{self.path}: needs the columns client and seconds")
            return {int(row["client"]): float(row["seconds"]) for row in rows}


def measured(path: str) -> Measured:
    """Costs from a table beside the app, as `folkmoot calibrate` writes it: columns `client` and `seconds`."""
    return Measured(path)


class Metric:
    """A metric over `n` items. `better` is "higher", "lower" or None; `unit` is "fraction", "count", "bytes", "seconds" or
    None for a plain number; `split` is "train", "validation" or "test"."""

    def __init__(
        self, value: float, *, better: Optional[str] = None, unit: Optional[str] = None, n: int = 1, split: str = "test"
    ) -> None:
        if better not in ("higher", "lower", None):
            raise ValueError(f'better: must be "higher", "lower" or None, got {better!r}')
        if unit not in ("fraction", "count", "bytes", "seconds", None):
            raise ValueError(f'unit: must be "fraction", "count", "bytes", "seconds" or None, got {unit!r}')
        if split not in ("train", "validation", "test"):
            raise ValueError(f'split: must be "train", "validation" or "test", got {split!r}')
        self.value, self.better, self.unit, self.n, self.split = float(value), better, unit, int(n), split
        if self.n < 0:
            raise ValueError(f"n: must be at least 0, got {n}")


class Model:
    """The model before the first round, where updates bring only some of its arrays.

    `updated` names these, or patterns of names such as "head.*". The others are sent to clients with every model and never
    back: they stay as they are. An array that is at the clients alone does not belong here but in `state`.
    """

    def __init__(self, arrays: Arrays, updated: Sequence[str]) -> None:
        if isinstance(updated, str):
            raise TypeError(f'updated: must be a list of names, such as ["{updated}"]')
        self.arrays, self.updated = arrays, list(updated)


class Update:
    """The result of a training.

    `arrays` are named and shaped as the model's; an array that is left out stays as it was received. `weight` is a whole
    number of samples (default: the client's training items). `state` is kept by the client and never sent: arrays, bytes,
    numbers and texts in dicts and lists. `metrics` are written to scores.csv as means over the clients of a round, with
    `split="train"` for plain numbers; they are read at the clients and never sent.
    """

    def __init__(
        self,
        arrays: Arrays,
        weight: Optional[int] = None,
        metrics: Optional[Mapping[str, Union[float, Metric]]] = None,
        state: Any = None,
    ) -> None:
        self.arrays, self.weight, self.metrics, self.state = arrays, weight, metrics, state


class Rng:
    """Generators of one call, from Folkmoot's stream of this client and round."""

    def __init__(self, seed: bytes) -> None:
        self._seed = int.from_bytes(seed, "little")
        # Each is made when it is first used.
        self._numpy: Any = None
        self._python: Optional[random.Random] = None
        self._torch: Any = None

    @property
    def numpy(self) -> Any:
        """A `numpy.random.Generator`."""
        if self._numpy is None:
            import numpy as np

            words = np.random.SeedSequence([1, self._seed])
            self._numpy = np.random.Generator(np.random.PCG64(words))
        return self._numpy

    @property
    def python(self) -> random.Random:
        """A `random.Random`."""
        if self._python is None:
            self._python = random.Random(self._seed)
        return self._python

    @property
    def torch(self) -> Any:
        """A `torch.Generator` on the CPU."""
        if self._torch is None:
            import torch

            self._torch = torch.Generator().manual_seed(self._seed % 2**63)
        return self._torch


class Context:
    """The circumstances of a call."""

    def __init__(
        self, rng: Rng, round: int, client: int, n_rounds: int, config: Mapping[str, Any], device: str, now: float = 0.0
    ) -> None:
        self.rng, self.round, self.client, self.n_rounds = rng, round, client, n_rounds
        #: When the model arrived at the client, in virtual seconds.
        self.now = now
        #: `config` of the card.
        self.config = config
        #: `device` of the card, such as "cpu".
        self.device = device


class Facts:
    """What the server and all clients know: `n_clients`, `n_features`, `n_classes`, `n_outputs`
    (classes, labels or numbers of an item), `is_graph_level`; and `config` of the card."""

    config: Mapping[str, Any]
    n_clients: int
    n_features: int
    n_classes: int
    n_outputs: int
    is_graph_level: bool

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.__dict__.update(facts)


class Shard:
    """The data of one client: NumPy arrays that all workers share, read-only.

    One graph: `nodes` (positions in the data set), `x` (n_nodes, n_features), `edge_index` (2, n_arcs) and, where there
    are any, `edge_attr` (n_arcs, n_values), `y` (n_nodes,) with -1 for no class, several labels 0 and 1 or numbers as
    (n_nodes, n_outputs) with NaN for a missing one, `train_mask`, `val_mask`, `test_mask` (n_nodes,), and `border_index` (2, n): cross-client edges as
    (position in the shard, position in the data set). Graphs: the same over all nodes, with `graphs`, `y` and masks per
    graph; graph i has the nodes `node_ptr[i]:node_ptr[i + 1]` and the arcs `edge_ptr[i]:edge_ptr[i + 1]`.
    """

    def __init__(self, client: Optional[int], arrays: Mapping[str, "Array"], facts: Facts) -> None:
        #: The client, or None for the whole data set.
        self.client = client
        self._arrays, self._facts = arrays, facts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._arrays[name]
        except KeyError:
            known = ", ".join(self._arrays)
            raise AttributeError(f"the data set has no {name}; a shard has {known}") from None

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._arrays]

    @property
    def arrays(self) -> Mapping[str, "Array"]:
        """All arrays by name."""
        return self._arrays

    @property
    def is_graph_level(self) -> bool:
        """Whether items are graphs."""
        return self._facts.is_graph_level

    @property
    def num_features(self) -> int:
        return self._facts.n_features

    @property
    def num_classes(self) -> int:
        return self._facts.n_classes

    @property
    def num_outputs(self) -> int:
        """Classes, labels or numbers of an item."""
        return self._facts.n_outputs

    @property
    def num_nodes(self) -> int:
        return int(self._arrays["node_ptr"][-1]) if self.is_graph_level else len(self._arrays["nodes"])

    @property
    def num_graphs(self) -> int:
        return len(self._arrays["graphs"]) if self.is_graph_level else 1

    @property
    def num_edges(self) -> int:
        """Arcs: an undirected edge counts twice, as in PyTorch Geometric."""
        return int(self._arrays["edge_index"].shape[1])

    def graph(self, at: int) -> "Shard":
        """One of several graphs, with arcs between its own nodes."""
        first, last = self._arrays["node_ptr"][at : at + 2]
        arcs = slice(*(int(end) for end in self._arrays["edge_ptr"][at : at + 2]))
        one = {name: array[first:last] for name, array in self._arrays.items() if name in ("x", "node_y")}
        one.update({name: array[arcs] for name, array in self._arrays.items() if name in _OF_EDGES})
        one.update({name: array[at : at + 1] for name, array in self._arrays.items() if name in _PER_GRAPH})
        one["edge_index"] = self._arrays["edge_index"][:, arcs] - first
        one["node_ptr"] = self._arrays["node_ptr"][at : at + 2] - first
        one["edge_ptr"] = self._arrays["edge_ptr"][at : at + 2] - arcs.start
        return Shard(self.client, one, self._facts)

    def __iter__(self) -> Iterator["Shard"]:
        return (self.graph(at) for at in range(self.num_graphs)) if self.is_graph_level else iter((self,))

    def to_pyg(self) -> Any:
        """A `torch_geometric.data.Data`, or a list with one for each graph. The tensors are copies.

        `edge_index` has the edges within the shard; `border_index` (2, n) has the cross-client
        edges, as in `Shard`.
        """
        import torch
        from torch_geometric.data import Data

        names = {"nodes", "graphs", "node_ptr", "edge_ptr"}

        def one(shard: "Shard") -> Any:
            tensors = {name: torch.from_numpy(array.copy()) for name, array in shard._arrays.items() if name not in names}
            return Data(num_nodes=shard.num_nodes, **tensors)

        return [one(graph) for graph in self] if self.is_graph_level else one(self)

    def to_dgl(self) -> Any:
        """A `dgl.DGLGraph`, or a list with one for each graph. The tensors are copies.

        Node data are `feat`, `label` and masks; edge data `edge_attr`, `weight` and `label`. Cross-client edges
        are the attribute `border_index` of the graph, as in `Shard`.
        """
        import dgl
        import torch

        def one(shard: "Shard") -> Any:
            tensors = {name: torch.from_numpy(array.copy()) for name, array in shard._arrays.items()}
            graph = dgl.graph(tuple(tensors["edge_index"]), num_nodes=shard.num_nodes)
            graph.ndata.update({_DGL.get(name, name): tensors[name] for name in shard._of_nodes()})
            graph.edata.update({_DGL.get(name, name): tensors[name] for name in _OF_EDGES if name in tensors})
            if "border_index" in tensors:
                graph.border_index = tensors["border_index"]
            return graph

        return [one(graph) for graph in self] if self.is_graph_level else one(self)

    def to_networkx(self) -> Any:
        """A `networkx.Graph`, or a list with one for each graph.

        Nodes have `x`, `y`, masks and `border`, a list of their neighbours at other clients as
        positions in the data set; edges have `edge_attr`, `weight` and `edge_y`. What belongs to a whole graph,
        such as its class `y`, is in `graph.graph`.
        """
        import networkx

        def one(shard: "Shard") -> Any:
            graph = networkx.Graph()
            graph.add_nodes_from(range(shard.num_nodes))
            graph.add_edges_from(shard.edge_index.T.tolist())
            of_nodes = shard._of_nodes()
            for name in of_nodes:
                networkx.set_node_attributes(graph, dict(enumerate(shard._arrays[name])), name)
            ends = [tuple(pair) for pair in shard.edge_index.T.tolist()]
            for name in shard._arrays.keys() & set(_OF_EDGES):
                values = dict(zip(ends, shard._arrays[name].tolist()))
                networkx.set_edge_attributes(graph, values, "weight" if name == "edge_weight" else name)
            if "border_index" in shard._arrays:
                border: Dict[int, List[int]] = {node: [] for node in graph}
                for node, other in shard.border_index.T.tolist():
                    border[node].append(other)
                networkx.set_node_attributes(graph, border, "border")
            if self.is_graph_level:
                graph.graph.update({name: shard._arrays[name][0] for name in _PER_GRAPH if name in shard._arrays})
            return graph

        return [one(graph) for graph in self] if self.is_graph_level else one(self)

    def _of_nodes(self) -> List[str]:
        """The names of arrays with a row for each node."""
        per_node = ("x", "node_y") if self.is_graph_level else ("x", "y", *_MASKS)
        return [name for name in per_node if name in self._arrays]


_MASKS = ("train_mask", "val_mask", "test_mask")
_PER_GRAPH = ("graphs", "y", *_MASKS)
_OF_EDGES = ("edge_attr", "edge_weight", "edge_y")
#: Names of data in DGL.
_DGL = {"x": "feat", "y": "label", "node_y": "label", "edge_weight": "weight", "edge_y": "label"}
