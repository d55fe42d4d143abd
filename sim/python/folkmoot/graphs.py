"""Graphs of other libraries as `.npz` archives that a card reads with `Npz(path: …)`, and back.

| member                    | shape              | content                                               |
|---------------------------|--------------------|-------------------------------------------------------|
| `folkmoot`                | ()                 | 1, the version of the layout                          |
| `ptr`                     | (graphs + 1,)      | graph `g` has the nodes `ptr[g]` to `ptr[g + 1] - 1`  |
| `num_nodes`               | ()                 | nodes of all graphs                                   |
| `edge_index`              | (2, edges)         | ends of edges; nodes of all graphs numbered through   |
| `directed`                | ()                 | bool                                                  |
| `edge_weight`, `edge_attr` | (edges,), (edges, k) |                                                     |
| `x`                       | (nodes, k)         | or sparse: `x_data`, `x_indices`, `x_indptr`, `x_shape` |
| `y`                       | (items,), (items, k) | `task` says what: classes, labels or numbers        |
| `y_names`                 | (k,)               | texts                                                 |
| `train_mask`, `val_mask`, `test_mask` | (items,) | bool                                                |
| `client`                  | (items,)           | integers or texts                                     |
| `node_id`                 | (nodes,)           | texts or integers                                     |

Items are graphs where there is `ptr`, else nodes. There is `ptr` for every set of several graphs.
The bytes of an archive depend on the arrays alone, not on the day or the version of a library.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .program import AnyPath, FolkmootError, warned
from .exports import needed

numpy = needed("numpy", "numpy", "saving a graph")

Arrays = Dict[str, Any]

MEMBERS = (
    "client directed edge_attr edge_index edge_weight folkmoot node_id num_nodes ptr task test_mask train_mask val_mask x x_data x_indices "
    "x_indptr x_shape y y_names"
).split()
MASKS = ("train_mask", "val_mask", "test_mask")
VERSION = 1


def array(value: Any, name: str) -> Any:
    """A value of any library as a NumPy array of booleans, numbers or texts."""
    if hasattr(value, "detach"):
        value = value.detach()
        if getattr(value, "is_sparse", False):
            value = value.to_dense()
        if str(value.dtype) == "torch.bfloat16":
            warned(f"{name} is of bfloat16, which an archive does not have: it is saved as float32")
            value = value.float()
        value = value.cpu().numpy()
    elif type(value).__module__.split(".")[0] == "pandas":
        value = value.to_numpy()
    found = numpy.asarray(value)
    if found.dtype.kind == "O":
        if all(isinstance(item, str) for item in found.flat):
            return found.astype(str)
        try:
            found = numpy.asarray(found.tolist(), dtype=float if any(item is None for item in found.flat) else None)
        except (TypeError, ValueError):
            pass
    if found.dtype.kind == "f" and found.dtype.itemsize not in (4, 8):
        kind = numpy.dtype(numpy.float32 if found.dtype.itemsize == 2 else numpy.float64)
        warned(f"{name} is of {found.dtype}, which an archive does not have: it is saved as {kind}")
        found = found.astype(kind)
    if found.dtype.kind not in "biufU":
        raise FolkmootError(f"{name} must hold numbers, booleans or texts, got values of type {found.dtype}")
    return found


def checked(arrays: Arrays, n_items: int, one: str) -> Arrays:
    """The members of an archive, with what numbers alone cannot say made explicit."""
    ends = arrays["edge_index"]
    if "ptr" in arrays:
        ptr = arrays["ptr"]
        is_ascending = ptr.ndim == 1 and ptr.dtype.kind in "iu" and (numpy.diff(ptr.astype(numpy.int64)) >= 0).all()
        if not is_ascending or len(ptr) < 2 or ptr[0] != 0 or ptr[-1] != arrays["num_nodes"]:
            raise FolkmootError(f"ptr must be integers that ascend from 0 to the number of nodes ({arrays['num_nodes']}), got {ptr}")
    if not ends.size:
        # NumPy makes floats of an empty list.
        ends = arrays["edge_index"] = ends.astype(numpy.int64)
    n_nodes = int(arrays["num_nodes"])
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise FolkmootError(f"edge_index must be of integers and have shape (2, edges), got {ends.dtype} and {ends.shape}")
    if ends.size and not 0 <= ends.min() <= ends.max() < n_nodes:
        raise FolkmootError(f"edge_index must lie in 0 to {n_nodes - 1}, got {ends.min()} to {ends.max()}")
    for name, n, of in [("x", n_nodes, "node"), ("node_id", n_nodes, "node"), ("edge_attr", ends.shape[1], "edge")] + [
        ("edge_weight", ends.shape[1], "edge"),
        *[(name, n_items, one) for name in (*MASKS, "client")],
    ]:
        if name in arrays and arrays[name].shape[:1] != (n,):
            raise FolkmootError(f"{name} must have one row per {of} ({n}), got shape {arrays[name].shape}")
    for name in ("x", "edge_attr", "edge_weight"):
        values = arrays.get(name)
        if values is None:
            continue
        if values.dtype.kind == "U" or values.ndim > 2:
            raise FolkmootError(f"{name} must be a matrix of numbers, got {values.dtype} and shape {values.shape}")
        if values.dtype.kind == "f" and not numpy.isfinite(values).all():
            row = numpy.argwhere(~numpy.isfinite(values))[0]
            raise FolkmootError(f"{name} must be finite, got {values[tuple(row)]} in row {row[0]}")
    for name in MASKS:
        mask = arrays.get(name)
        if mask is not None and mask.dtype.kind != "b":
            if not numpy.isin(mask, (0, 1)).all():
                raise FolkmootError(f"{name} must hold booleans; a list of items is no mask")
            arrays[name] = mask.astype(bool)
    if "y" in arrays:
        _check_y(arrays, (n_items, n_nodes), one)
    return arrays


def _check_y(arrays: Arrays, rows: Sequence[int], one: str) -> None:
    y = arrays["y"]
    if y.ndim not in (1, 2) or y.shape[0] not in rows:
        raise FolkmootError(f"y must have one row per {one} ({rows[0]}), got shape {y.shape}")
    n_columns = 1 if y.ndim == 1 else y.shape[1]
    task = str(arrays["task"]) if "task" in arrays else _task(y, n_columns)
    if task == "labels":
        wrong = ~numpy.isin(y, (0, 1, -1)) if y.dtype.kind != "f" else ~(numpy.isin(y, (0, 1, -1)) | numpy.isnan(y))
        if y.dtype.kind == "U" or wrong.any():
            raise FolkmootError('y of several columns must hold 0, 1 and missing (NaN or -1); task="numbers" saves numbers to predict')
    elif task == "numbers":
        if y.dtype.kind == "U":
            raise FolkmootError("y holds texts, which are no numbers to predict")
    elif task != "classes":
        raise FolkmootError(f'task must be "classes", "labels" or "numbers", got {task!r}')
    elif n_columns > 1:
        raise FolkmootError(f"y has {n_columns} columns, and a class is one value per {one}")
    elif y.dtype.kind == "f":
        known = y[~numpy.isnan(y)]
        if (known != numpy.floor(known)).any():
            raise FolkmootError('y holds fractions, which are no classes; task="numbers" saves numbers to predict')
    arrays["task"] = numpy.array(task)


def _task(y: Any, n_columns: int) -> str:
    """What `y` is by its type: floats of one column are numbers, even if they are whole."""
    if n_columns > 1:
        is_label = y.dtype.kind != "U" and (numpy.isin(y, (0, 1, -1)) | (y != y)).all()
        return "labels" if is_label or y.dtype.kind in "iub" else "numbers"
    return "numbers" if y.dtype.kind == "f" else "classes"


def content(arrays: Mapping[str, Any]) -> bytes:
    """The archive, uncompressed and without a date, so that equal arrays have equal bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            member.create_system, member.external_attr = 3, 0o644 << 16
            archive.writestr(member, _npy(arrays[name]))
    return out.getvalue()


def _npy(values: Any) -> bytes:
    """The array in format 1.0; NumPy itself pads headers in its own way in each version."""
    # `tobytes` writes row by row, whatever the order in memory.
    values = numpy.asarray(values)
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    shape = "(" + ", ".join(map(str, values.shape)) + ("," if values.ndim == 1 else "") + ")"
    header = f"{{'descr': '{values.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(11 + len(header)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(values.tobytes())


def save(data: Any, path: Optional[AnyPath], given: Mapping[str, Any], folder: AnyPath = ".") -> Path:
    """See `folkmoot.save`; without a path, the file is named by its content."""
    from .objects import arrays_of

    arrays = arrays_of(data, given)
    arrays["folkmoot"] = numpy.array(VERSION)
    whole = content(arrays)
    if path is None:
        path = Path(folder) / f"data-{hashlib.blake2b(whole, digest_size=8).hexdigest()}.npz"
        if path.exists() and path.read_bytes() == whole:
            return path
    path = Path(path)
    if path.suffix != ".npz":
        raise FolkmootError(f"{path} must end with .npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part{os.getpid()}")
    try:
        part.write_bytes(whole)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def load(path: AnyPath, to: str) -> Any:
    """See `folkmoot.load`."""
    try:
        with numpy.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, zipfile.BadZipFile) as error:
        raise FolkmootError(f"{path} is no archive of arrays: {error}") from error
    if "folkmoot" not in arrays:
        raise FolkmootError(f"{path} has no member `folkmoot`, so that it is not of this layout; numpy.load reads it")
    if int(arrays.pop("folkmoot")) != VERSION:
        raise FolkmootError(f"{path} is of another version of the layout; update the package")
    if to == "arrays":
        return arrays
    makers = {"pyg": _pyg, "networkx": _networkx}
    if to not in makers:
        raise FolkmootError(f'to must be "arrays", "pyg" or "networkx", got {to!r}')
    made = [makers[to](part) for part in parts(arrays)]
    return made if "ptr" in arrays else made[0]


def parts(arrays: Arrays) -> List[Arrays]:
    """The arrays of each graph, whose nodes are numbered from 0."""
    n_nodes = int(arrays["num_nodes"]) if "num_nodes" in arrays else int(arrays["ptr"][-1]) if "ptr" in arrays else len(arrays["x"])
    is_set = "ptr" in arrays
    bounds = arrays["ptr"] if is_set else numpy.array([0, n_nodes])
    ends = arrays["edge_index"]
    graph_of = numpy.searchsorted(bounds, ends[0], side="right") - 1
    if "x_indptr" in arrays:
        arrays = {**arrays, "x": _dense(arrays)}
    y_of_nodes = is_set and "y" in arrays and len(arrays["y"]) == n_nodes and n_nodes != len(bounds) - 1
    found = []
    for graph in range(len(bounds) - 1):
        nodes, edges = slice(int(bounds[graph]), int(bounds[graph + 1])), graph_of == graph
        part: Arrays = {"edge_index": ends[:, edges] - bounds[graph], "num_nodes": nodes.stop - nodes.start}
        for name in arrays.keys() & {"edge_attr", "edge_weight"}:
            part[name] = arrays[name][edges]
        for name in arrays.keys() & {"x", "node_id"}:
            part[name] = arrays[name][nodes]
        for name in arrays.keys() & {"y", "client", *MASKS}:
            of_nodes = not is_set or (name == "y" and y_of_nodes)
            part[name] = arrays[name][nodes if of_nodes else slice(graph, graph + 1)]
        part["directed"] = bool(arrays.get("directed", False))
        found.append(part)
    return found


def _dense(arrays: Arrays) -> Any:
    dense = numpy.zeros(arrays["x_shape"], arrays["x_data"].dtype)
    rows = numpy.repeat(numpy.arange(len(dense)), numpy.diff(arrays["x_indptr"]))
    dense[rows, arrays["x_indices"]] = arrays["x_data"]
    return dense


def _pyg(part: Arrays) -> Any:
    """A `Data` of PyTorch Geometric; texts are lists."""
    torch = needed("torch", "torch", 'to="pyg"')
    data = needed("torch_geometric.data", "torch_geometric", 'to="pyg"').Data()
    for name, values in part.items():
        if name == "directed":
            continue
        if name == "num_nodes":
            if "x" not in part:
                data.num_nodes = values
        elif values.dtype.kind == "U":
            data[name] = values.tolist()
        else:
            data[name] = torch.from_numpy(numpy.array(values))
    return data


def _networkx(part: Arrays) -> Any:
    """A `Graph` or `DiGraph` of NetworkX, with the ids of nodes and the names of members as names of data."""
    networkx = needed("networkx", "networkx", 'to="networkx"')
    graph = networkx.DiGraph() if part["directed"] else networkx.Graph()
    ids = part["node_id"].tolist() if "node_id" in part else list(range(part["num_nodes"]))
    of_nodes = {name for name in part.keys() & {"x", "y", "client", *MASKS} if len(part[name]) == len(ids)}
    for node, identity in enumerate(ids):
        graph.add_node(identity, **{name: part[name][node].tolist() for name in sorted(of_nodes)})
    for edge, (u, v) in enumerate(part["edge_index"].T.tolist()):
        kept = {"weight": part.get("edge_weight"), "edge_attr": part.get("edge_attr")}
        graph.add_edge(ids[u], ids[v], **{name: values[edge].tolist() for name, values in kept.items() if values is not None})
    for name in sorted(part.keys() & {"y", "client", *MASKS} - of_nodes):
        graph.graph[name] = part[name][0].tolist()
    return graph
