"""Graphs of other libraries: what is saved, what comes back, what is refused.

Objects of PyTorch Geometric and DGL are stand-ins with the names that those libraries have, so that these tests need NumPy, SciPy, NetworkX
and pandas alone. `test_pyg.py` takes the real ones, where they are installed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict, List

import folkmoot
import networkx
import numpy
import pandas
import pytest
import scipy.sparse

ENDS = numpy.array([[0, 1, 1, 2], [1, 0, 2, 1]])


def stand_in(library: str, name: str, bases: Any = (), **held: Any) -> Any:
    """An object of a class of this name in this library."""
    return type(name, bases, {"__module__": library, **held})()


BASE = type("BaseData", (), {"__module__": "torch_geometric.data.data", "to_dict": lambda self: dict(self.held)})


class Tensor:
    """An array that must be detached, as those of PyTorch."""

    def __init__(self, values: Any) -> None:
        self.values, self.dtype = numpy.asarray(values), "torch.float32"

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Any:
        return self.values


def pyg(n: int, **held: Any) -> Any:
    held = {name: Tensor(value) if isinstance(value, numpy.ndarray) else value for name, value in held.items()}
    return stand_in("torch_geometric.data.data", "Data", (BASE,), held=held, num_nodes=n, edge_index=None)


def saved(tmp_path: Path, data: Any, **given: Any) -> Dict[str, Any]:
    path = folkmoot.save(data, tmp_path / "g.npz", **given)
    arrays: Dict[str, Any] = folkmoot.load(path)
    return arrays


def same(found: Dict[str, Any], expected: Dict[str, Any]) -> None:
    assert sorted(found) == sorted(expected)
    for name, values in expected.items():
        values = numpy.asarray(values)
        assert found[name].dtype == values.dtype and found[name].shape == values.shape, name
        assert numpy.array_equal(found[name], values), name


def test_a_data_is_saved_whole(tmp_path: Path) -> None:
    x, y = numpy.eye(3, dtype=numpy.float32), numpy.array([0, 1, 1])
    masks = numpy.array([[True, False], [False, True], [False, False]])
    data = pyg(3, x=x, edge_index=ENDS, y=y, train_mask=masks, edge_attr=numpy.ones((4, 2)), client=["a", "b", "a"])
    found = saved(tmp_path, data, split=1, node_id=["p", "q", "r"])
    same(
        found,
        {
            "num_nodes": 3,
            "edge_index": ENDS,
            "directed": False,
            "x": x,
            "y": y,
            "task": "classes",
            "train_mask": masks[:, 1],
            "edge_attr": numpy.ones((4, 2)),
            "client": ["a", "b", "a"],
            "node_id": ["p", "q", "r"],
        },
    )


def test_a_list_of_data_is_a_set_of_graphs(tmp_path: Path) -> None:
    graphs = [pyg(3, edge_index=ENDS, y=numpy.array([0.5])), pyg(2, edge_index=ENDS[:, :1], y=numpy.array([1.0]))]
    found = saved(tmp_path, graphs, client=[4, 2])
    assert found["ptr"].tolist() == [0, 3, 5] and found["edge_index"][:, -1].tolist() == [3, 4]
    assert (str(found["task"]), found["client"].tolist(), bool(found["directed"])) == ("numbers", [4, 2], True)
    dataset = stand_in("torch_geometric.data", "TUDataset", (), __len__=lambda _: 2, __getitem__=lambda _, at: graphs[at])
    assert saved(tmp_path, dataset)["y"].tolist() == [0.5, 1.0]
    single = stand_in("torch_geometric.data", "Planetoid", (), __len__=lambda _: 1, __getitem__=lambda _, at: pyg(3, edge_index=ENDS))
    assert "ptr" not in saved(tmp_path, single)
    split = {"train": numpy.array([0]), "valid": numpy.array([], int), "test": numpy.array([1])}
    ogb = stand_in("ogb", "Set", (), __len__=lambda _: 2, __getitem__=lambda _, at: graphs[at], get_idx_split=lambda _: split)
    assert saved(tmp_path, ogb)["test_mask"].tolist() == [False, True]


def test_what_is_left_out_or_changed_is_said_where_it_is_saved(tmp_path: Path) -> None:
    graph = networkx.Graph([(0, 1)])
    networkx.set_node_attributes(graph, 1, "club")
    half = {"edge_index": ENDS, "x": numpy.ones((3, 1), numpy.float16)}
    for data, words in [
        (pyg(3, edge_index=ENDS, z=1, pos=numpy.eye(3)), "members of the Data that are not saved: pos, z"),
        ([graph], "data of nodes or edges that are not saved: club"),
        (half, "x is of float16, which an archive does not have: it is saved as float32"),
        ([pyg(3, edge_index=ENDS, y=numpy.array(1))] * 2, r"y of a Data has shape \(\), which .* it is saved as shape \(1,\)"),
    ]:
        with pytest.warns(UserWarning, match=words) as warned:
            folkmoot.save(data, tmp_path / "g.npz")
        assert {warning.filename for warning in warned} == {__file__}


def test_what_is_loaded_is_saved_again(tmp_path: Path) -> None:
    graphs = [pyg(3, edge_index=ENDS, y=numpy.array([0.5]), client=[1]), pyg(2, edge_index=ENDS[:, :1], y=numpy.array([1.0]), client=[0])]
    several = {"ptr": [0, 3, 5], "edge_index": [[0, 3], [1, 4]], "x": scipy.sparse.csr_matrix(numpy.eye(5)), "y": [[1, 0], [0, -1]]}
    words = {"edge_index": ENDS, "y": ["p", "q", "p"], "directed": True}
    cases: List[Any] = [(graphs, {}), (several, {"y_names": ["a", "b"]}), (words, {})]
    for data, given in cases:
        first = folkmoot.save(data, tmp_path / "a.npz", **given).read_bytes()
        assert folkmoot.save(folkmoot.load(tmp_path / "a.npz"), tmp_path / "b.npz").read_bytes() == first
    replaced = saved(tmp_path, folkmoot.load(tmp_path / "a.npz"), x=numpy.eye(3))
    assert "x_data" not in replaced and replaced["x"].shape == (3, 3)


def test_networkx_gives_data_ids_and_directions(tmp_path: Path) -> None:
    graph = networkx.DiGraph()
    graph.add_node("b", x=[1.0, 2.0], label="red", client="north")
    graph.add_node("a", x=[3.0, 4.0], label="blue", client="south")
    graph.add_edge("b", "a", weight=2.5)
    found = saved(tmp_path, graph)
    assert found["node_id"].tolist() == ["b", "a"] and found["edge_weight"].tolist() == [2.5] and bool(found["directed"])
    assert found["x"].tolist() == [[1, 2], [3, 4]] and found["y"].tolist() == ["red", "blue"]
    back = folkmoot.load(tmp_path / "g.npz", "networkx")
    assert back.nodes["a"] == {"x": [3.0, 4.0], "y": "blue", "client": "south"} and back.edges["b", "a"] == {"weight": 2.5}
    ring = networkx.cycle_graph(34)
    networkx.set_node_attributes(ring, "north", "club")
    with pytest.warns(UserWarning, match="club"):
        found = saved(tmp_path, ring)
    assert found["edge_index"].shape == (2, 34) and "node_id" not in found
    assert set(folkmoot.load(tmp_path / "g.npz", "networkx").edges) == set(ring.edges)
    graphs = [networkx.path_graph(3), networkx.cycle_graph(4)]
    for label, one in enumerate(graphs):
        one.graph["y"] = label
    assert saved(tmp_path, graphs)["y"].tolist() == [0, 1]
    assert [one.graph["y"] for one in folkmoot.load(tmp_path / "g.npz", "networkx")] == [0, 1]


def test_scipy_and_numpy_give_edges_and_features(tmp_path: Path) -> None:
    adjacency = scipy.sparse.csr_matrix((numpy.ones(4), tuple(ENDS)), shape=(3, 3))
    words = scipy.sparse.csr_matrix(numpy.array([[0, 2.0], [0, 0], [1, 0]]))
    found = saved(tmp_path, adjacency, x=words, y=numpy.array([0, 1, 0]))
    assert found["edge_index"].tolist() == ENDS.tolist() and "edge_weight" not in found and not found["directed"]
    assert found["x_indptr"].tolist() == [0, 1, 1, 2] and found["x_shape"].tolist() == [3, 2]
    found = saved(tmp_path, {"adj": numpy.array([[0, 0.5], [0, 0]]), "x": words[:2]})
    assert found["edge_weight"].tolist() == [0.5] and bool(found["directed"])
    found = saved(tmp_path, {"edge_index": [[], []], "x": numpy.eye(2)})
    assert found["edge_index"].shape == (2, 0) and found["edge_index"].dtype == numpy.int64


def test_frames_of_pandas_have_columns_as_tables_do(tmp_path: Path) -> None:
    nodes = pandas.DataFrame({"id": ["a", "b", "c"], "age": [1, 2, 3], "label": ["r", "b", "r"], "split": ["train", "val", "test"], "client": [0, 1, 0]})
    edges = pandas.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "weight": [1.0, 0.5]})
    found = saved(tmp_path, (nodes, edges))
    assert found["x"].tolist() == [[1], [2], [3]] and found["y"].tolist() == ["r", "b", "r"] and found["val_mask"].tolist() == [False, True, False]
    assert found["edge_index"].tolist() == [[0, 1], [1, 2]] and found["edge_weight"].tolist() == [1, 0.5]
    alone = saved(tmp_path, pandas.DataFrame({"u": [10, 20], "v": [20, 30]}))
    assert alone["node_id"].tolist() == [10, 20, 30]
    with pytest.raises(folkmoot.FolkmootError, match="'z' in column target of the edges is no node"):
        saved(tmp_path, (nodes, edges.replace("c", "z")))
    with pytest.raises(folkmoot.FolkmootError, match="there is no column 'klass'"):
        saved(tmp_path, (nodes, edges), label="klass")


def test_dgl_gives_both_kinds_of_data(tmp_path: Path) -> None:
    held = {"ntypes": ["_N"], "etypes": ["_E"], "num_nodes": lambda _: 3, "edges": lambda _: (Tensor(ENDS[0]), Tensor(ENDS[1]))}
    graph = stand_in("dgl.heterograph", "DGLGraph", (), ndata={"feat": Tensor(numpy.eye(3)), "label": Tensor([0, 1, 0])}, edata={"w": Tensor(numpy.arange(4.0))}, **held)
    found = saved(tmp_path, graph)
    assert found["x"].tolist() == numpy.eye(3).tolist() and found["edge_weight"].tolist() == [0, 1, 2, 3]
    pair = [(graph, numpy.array(1)), (graph, numpy.array(0))]
    assert saved(tmp_path, pair, y=[1, 0])["ptr"].tolist() == [0, 3, 6]
    several = stand_in("dgl.heterograph", "DGLGraph", (), ndata={}, edata={}, **{**held, "etypes": ["a", "b"]})
    with pytest.raises(folkmoot.FolkmootError, match="several types"):
        saved(tmp_path, several)


def test_equal_data_have_equal_bytes(tmp_path: Path) -> None:
    data = {"edge_index": ENDS, "x": numpy.asfortranarray(numpy.arange(6.0).reshape(3, 2)), "y": [1, 0, 1]}
    first = folkmoot.save(data, tmp_path / "a.npz").read_bytes()
    data["x"] = numpy.ascontiguousarray(data["x"])
    assert folkmoot.save(dict(reversed(list(data.items()))), tmp_path / "b.npz").read_bytes() == first
    # As it was on another machine, with another version of NumPy.
    assert hashlib.sha256(first).hexdigest() == "c2d43b318673592578fdc453ec832fb83e65ab2696984b77f213e450c74e8d99"
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    ("data", "given", "words"),
    [
        (stand_in("torch_geometric.data", "HeteroData"), {}, "HeteroData is a graph with several types"),
        (stand_in("torch_geometric.data", "TemporalData"), {}, "TemporalData is a temporal graph"),
        (pyg(3, edge_index=ENDS, time=numpy.arange(4)), {}, "a Data with `time` is a temporal graph"),
        (pyg(3, adj_t=1), {}, "undo ToSparseTensor"),
        (networkx.MultiDiGraph([(0, 1, {"time": 3})]), {}, "a MultiDiGraph whose edges have `time` is a temporal graph"),
        ({"x": [1]}, {}, "there is neither edge_index nor adj"),
        ({"edge_index": ENDS, "z": [1]}, {}, "there is no member z; there are adj"),
        ({"edge_index": ENDS[:1]}, {}, r"shape \(2, edges\)"),
        ({"edge_index": ENDS, "num_nodes": 2}, {}, "must lie in 0 to 1, got 0 to 2"),
        ({"edge_index": ENDS, "x": numpy.eye(2)}, {}, "must lie in 0 to 1"),
        ({"edge_index": ENDS, "x": [[1.0], [float("nan")], [0.0]]}, {}, "x must be finite, got nan in row 1"),
        ({"edge_index": ENDS, "x": [1, 2, 3]}, {"train_mask": [0, 5, 1]}, "a list of items is no mask"),
        ({"edge_index": ENDS, "x": [1, 2, 3]}, {"y": [0.5, 1.0, 2.0], "task": "classes"}, "y holds fractions"),
        ({"edge_index": ENDS, "x": [1, 2, 3]}, {"y": [[0, 1], [2, 1], [0, 0]]}, "must hold 0, 1 and missing"),
        ({"edge_index": ENDS, "x": [1, 2, 3]}, {"y": [0, 1]}, r"one row per node \(3\), got shape \(2,\)"),
        ({"edge_index": ENDS, "x": [1, 2, 3]}, {"label": "y"}, "only frames of pandas have columns to name"),
        ({"edge_index": ENDS, "x": [{}, {}, {}]}, {}, "x must hold numbers, booleans or texts"),
        (7, {}, "a builtins.int is no graph that can be saved; help: pass a dict of arrays"),
        ("foo", {}, "a builtins.str is no graph that can be saved; help: pass a dict of arrays"),
        (["foo"], {}, "a builtins.str is no graph that can be saved"),
        ({"edge_index": ENDS, "ptr": [0, 4, 3]}, {}, r"ptr must be integers that ascend from 0 to the number of nodes \(3\), got \[0 4 3\]"),
        ([{"edge_index": ENDS, "ptr": [0, 1, 3]}] * 2, {}, "a list of sets is no set of graphs"),
        ([], {}, "there is no graph to save"),
        ([pyg(3, edge_index=ENDS, y=numpy.array([1])), pyg(3, edge_index=ENDS)], {}, "graph 1 has no y"),
    ],
)
def test_what_cannot_be_saved_is_refused_by_name(tmp_path: Path, data: Any, given: Dict[str, Any], words: str) -> None:
    with pytest.raises(folkmoot.FolkmootError, match=words):
        folkmoot.save(data, tmp_path / "g.npz", **given)
    assert not list(tmp_path.iterdir())


def test_only_archives_of_this_layout_are_loaded(tmp_path: Path) -> None:
    numpy.savez(tmp_path / "other.npz", x=numpy.eye(2))
    (tmp_path / "text.npz").write_text("no archive")
    folkmoot.save({"edge_index": ENDS}, tmp_path / "own.npz")
    for name, to, words in [("other", "arrays", "has no member `folkmoot`"), ("text", "arrays", "is no archive"), ("own", "dgl", 'to must be "arrays"')]:
        with pytest.raises(folkmoot.FolkmootError, match=words):
            folkmoot.load(tmp_path / f"{name}.npz", to)
    with pytest.raises(folkmoot.FolkmootError, match="must end with .npz"):
        folkmoot.save({"edge_index": ENDS}, tmp_path / "own.txt")


def test_no_library_is_imported_that_the_object_is_not_of(tmp_path: Path) -> None:
    code = (
        "import sys, folkmoot; folkmoot.save({'edge_index': [[0], [1]]}, sys.argv[1]); "
        "print(sorted({'torch', 'torch_geometric', 'dgl', 'networkx', 'scipy', 'pandas'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path / "g.npz")], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_graph_is_run_and_its_set_is_named_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: List[List[str]] = []

    def call(*args: str, on_event: Any = None) -> str:
        calls.append(list(args))
        raise folkmoot.FolkmootError("not run")

    monkeypatch.setattr(folkmoot.program, "call", call)
    monkeypatch.chdir(tmp_path)
    data = {"edge_index": ENDS, "y": [0, 1, 1]}
    for make in (folkmoot.run, folkmoot.sweep, folkmoot.run):
        with pytest.raises(folkmoot.FolkmootError, match="not run"):
            make("card.ron", data=data, set={"seed": 2})
    (archive,) = (tmp_path / "runs" / "data").iterdir()
    for args in calls:
        assert args[args.index("--data") + 1] == str(tmp_path / "runs" / "data")
        assert f'dataset=Npz(path: "{archive.name}")' in args and "seed=2" in args
    with pytest.raises(folkmoot.FolkmootError, match="not run"):
        folkmoot.run("card.ron", data="elsewhere")
    assert calls[-1][calls[-1].index("--data") + 1] == "elsewhere"
