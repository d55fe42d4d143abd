"""Cora, Citeseer and Pubmed as their authors published them, converted for Folkmoot.

Z. Yang, W. Cohen, R. Salakhutdinov. Revisiting Semi-Supervised Learning with Graph Embeddings.
ICML 2016. <https://github.com/kimiyoung/planetoid>

| file              | content                                                    |
|-------------------|------------------------------------------------------------|
| `ind.NAME.allx`   | features of all nodes except the test nodes, sparse        |
| `ind.NAME.ally`   | their classes, one column per class                        |
| `ind.NAME.tx`, `ty` | the same of the test nodes                               |
| `ind.NAME.y`      | classes of the training nodes; only its length is used     |
| `ind.NAME.graph`  | dictionary from a node to the list of its neighbours       |
| `ind.NAME.test.index` | one line per test node: its number                     |

All but the last are pickles. A pickle is a program: it can call any function that it names. The
reader here admits the six names that these files need, and rejects every other. Each stands for a
class of this module, because NumPy's own follow what a pickle says about memory.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, Dict, Iterable, List, Tuple

from .program import AnyPath, FolkmootError
from .exports import needed, new

numpy = needed("numpy", "numpy", "the conversion of Planetoid's files")

#: Nodes that validate, behind those that train.
N_VALIDATION = 500
#: No index of such a file is larger.
MOST_NODES = 1 << 24

_ENDINGS = ("allx", "tx", "ally", "ty", "y", "graph", "test.index")


class _Array:
    """What a pickle says of an array."""

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.kind, self.is_by_column, self.data = state


class _Kind:
    """What a pickle says of the type of an array's values."""

    def __init__(self, name: Any = None, *_: Any) -> None:
        self.name = name
        self.order: Any = None

    def __setstate__(self, state: Any) -> None:
        self.order = state[1]


class _Matrix:
    """The attributes of a sparse matrix of SciPy."""


_ADMITTED: Dict[Tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): lambda *_: _Array(),
    ("numpy", "ndarray"): None,
    ("numpy", "dtype"): _Kind,
    ("scipy.sparse.csr", "csr_matrix"): _Matrix,
    ("collections", "defaultdict"): lambda *_: {},
    ("__builtin__", "list"): None,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"names {module}.{name}, which no such file needs")
        return _ADMITTED[module, name]


class _Wrong(Exception):
    """An ending of a file, and what is wrong with it."""


def convert(folder: AnyPath, names: Iterable[str] = ()) -> List[Path]:
    """Converts the files `raw/ind.NAME.*` in `folder` to `NAME.npz`; returns the new paths.

    Without names, all sets are converted whose files are there and whose archive is not. An archive
    has the layout of gnn-benchmark (`adj_*`, `attr_*`, `labels`) and the public split (`*_mask`).
    """
    raw = Path(folder) / "raw"
    found = sorted(path.name.split(".")[1] for path in raw.glob("ind.*.allx"))
    # Names of sets are lower case in the files' names.
    chosen = [name.lower() for name in names] or [name for name in found if not (Path(folder) / f"{name}.npz").exists()]
    if not chosen and not found:
        raise FolkmootError(f"{raw} has no files ind.NAME.allx\n  help: folkmoot data fetch Cora")
    made = []
    for name in chosen:
        stem = raw / f"ind.{name}"
        try:
            members = _members(stem)
        except _Wrong as wrong:
            ending, why = wrong.args
            raise FolkmootError(
                f"{stem}.{ending}: {why}\n  it is not what its authors published: move it away and fetch it again"
            ) from None
        made.append(Path(folder) / f"{name}.npz")
        with new(made[-1]) as part, open(part, "wb") as file:
            numpy.savez_compressed(file, **members)
    return made


def _members(stem: Path) -> Dict[str, Any]:
    """The arrays of the archive."""
    values: Dict[str, Any] = {ending: _value(stem, ending) for ending in _ENDINGS}
    n_columns, rows = _sparse(values["allx"], "allx")
    n_test_columns, test_rows = _sparse(values["tx"], "tx")
    classes, test_classes, training = (_classes(values[ending], ending) for ending in ("ally", "ty", "y"))
    pointers, neighbours = _adjacency(values["graph"], Path(f"{stem}.graph").stat().st_size)
    n_nodes = len(pointers) - 1
    test = _test_nodes(values["test.index"], n_nodes)
    if not len(test_rows) == len(test_classes) == len(test):
        raise _Wrong("test.index", "has not as many lines as there are test nodes")
    if len(rows) > n_nodes or n_columns != n_test_columns:
        raise _Wrong("allx", "does not go with the other files")
    if len(classes) != len(rows):
        raise _Wrong("ally", "does not go with the other files")
    if len(training) + N_VALIDATION > len(rows):
        raise _Wrong("y", "has more rows than there are nodes to train and validate")
    # Nodes that are in neither file have no features and no class.
    blank = (numpy.empty(0, "<i4"), numpy.empty(0, "<f4"))
    rows += [blank] * (n_nodes - len(rows))
    labels = numpy.full(n_nodes, -1, "<i8")
    labels[: len(classes)] = classes
    for node, row, label in zip(test, test_rows, test_classes):
        rows[node], labels[node] = row, label
    node, n_training = numpy.arange(n_nodes), len(training)
    return {
        "adj_data": numpy.ones(len(neighbours), "<f4"),
        "adj_indices": neighbours.astype("<i4"),
        "adj_indptr": pointers.astype("<i4"),
        "adj_shape": numpy.array([n_nodes, n_nodes], "<i8"),
        "attr_data": numpy.concatenate([values for _, values in rows]),
        "attr_indices": numpy.concatenate([columns for columns, _ in rows]),
        "attr_indptr": numpy.cumsum([0] + [len(columns) for columns, _ in rows]).astype("<i4"),
        "attr_shape": numpy.array([n_nodes, n_columns], "<i8"),
        "labels": labels,
        "train_mask": node < n_training,
        "val_mask": (node >= n_training) & (node < n_training + N_VALIDATION),
        "test_mask": numpy.isin(node, test),
    }


def _value(stem: Path, ending: str) -> Any:
    path = Path(f"{stem}.{ending}")
    if ending == "test.index":
        return path.read_text(encoding="utf-8", errors="replace")
    with open(path, "rb") as file:
        try:
            # Python 2 wrote them: its text is the bytes of arrays.
            return _Unpickler(file, encoding="latin1").load()
        except Exception as error:
            raise _Wrong(ending, f"is no pickle of NumPy arrays: {error}") from None


def _numbers(array: Any, n_dimensions: int) -> Any:
    """The array that a pickle describes; None if it is none of numbers, or not whole."""
    kind = getattr(array, "kind", None)
    if not isinstance(kind, _Kind) or kind.order != "<" or kind.name not in ("i4", "i8", "f4", "f8"):
        return None
    try:
        flat = numpy.frombuffer(array.data.encode("latin1"), f"<{kind.name}")
        made = flat.reshape(array.shape, order="F" if array.is_by_column else "C")
    except (AttributeError, TypeError, ValueError):
        return None
    return made if made.ndim == n_dimensions else None


def _sparse(matrix: Any, ending: str) -> Tuple[int, List[Tuple[Any, Any]]]:
    """The number of columns, and the columns, ascending, and values of each row."""
    pointers, columns, values = (_numbers(getattr(matrix, name, None), 1) for name in ("indptr", "indices", "data"))
    shape: Any = getattr(matrix, "_shape", None)
    is_matrix = isinstance(shape, tuple) and [type(size) for size in shape] == [int, int]
    if not is_matrix or pointers is None or columns is None or values is None or len(columns) != len(values):
        raise _Wrong(ending, "is no sparse matrix")
    is_sound = ((columns >= 0) & (columns < shape[1])).all() and (numpy.diff(pointers) >= 0).all()
    if not is_sound or not ((pointers >= 0) & (pointers <= len(columns))).all():
        raise _Wrong(ending, "is no sparse matrix")
    rows = []
    for start, end in zip(pointers[:-1].astype(int), pointers[1:].astype(int)):
        order = numpy.argsort(columns[start:end], kind="stable")
        rows.append((columns[start:end][order].astype("<i4"), values[start:end][order].astype("<f4")))
    return shape[1], rows


def _classes(table: Any, ending: str) -> Any:
    """For each row the first column that is set, −1 where none is."""
    numbers = _numbers(table, 2)
    if numbers is None or numbers.shape[1] == 0:
        raise _Wrong(ending, "is no table of classes")
    return numpy.where((numbers != 0).any(axis=1), (numbers != 0).argmax(axis=1), -1)


def _adjacency(lists: Any, n_bytes: int) -> Tuple[Any, Any]:
    """The neighbours of each node, ascending, and where those of each node begin.

    Every edge is there in both directions, once; self loops are not. A number takes a byte of the
    file at least: one list that stands for many nodes, or one large number, cannot make the graph
    larger than what was read.
    """
    if not isinstance(lists, dict) or not all(isinstance(items, list) for items in lists.values()):
        raise _Wrong("graph", "is no graph")
    if len(lists) + sum(map(len, lists.values())) > n_bytes:
        raise _Wrong("graph", "names more nodes than it has bytes")
    nodes = [node for at, items in lists.items() for node in [at, *items]]
    if not all(type(node) is int and 0 <= node < MOST_NODES for node in nodes):
        raise _Wrong("graph", "is no graph")
    n_nodes = 1 + max(nodes, default=-1)
    if n_nodes > len(nodes):
        raise _Wrong("graph", f"names node {n_nodes - 1}, and only {len(nodes)} nodes in all")
    pairs = [(at, node) for at, items in lists.items() for node in items if node != at]
    arcs = numpy.array(pairs, "<i8").reshape(-1, 2)
    keys = numpy.unique(numpy.concatenate([arcs[:, 0] * n_nodes + arcs[:, 1], arcs[:, 1] * n_nodes + arcs[:, 0]]))
    degrees = numpy.bincount(keys // max(n_nodes, 1), minlength=n_nodes)
    return numpy.concatenate([[0], numpy.cumsum(degrees)]), keys % max(n_nodes, 1)


def _test_nodes(text: str, n_nodes: int) -> List[int]:
    nodes = [int(line) if line.strip().isdecimal() else n_nodes for line in text.splitlines()]
    if not all(node < n_nodes for node in nodes):
        raise _Wrong("test.index", "has a line that is no node")
    return nodes
