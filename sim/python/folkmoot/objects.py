"""The arrays in graphs of other libraries. A library is recognised by the module of its types, and is imported by its user only.

| object                                        | features          | labels           | edges                        |
|-----------------------------------------------|-------------------|------------------|------------------------------|
| PyTorch Geometric `Data`, lists, data sets    | `x`               | `y`              | `edge_index`, `edge_attr`, `edge_weight` |
| NetworkX graph or list                        | data `x`          | data `y`, `label` | data `weight`, `edge_attr`  |
| DGL graph, list, data set of (graph, label)   | `x`, `feat`       | `y`, `label`     | `w`, `weight`, `edge_attr`   |
| SciPy sparse matrix                           | argument          | argument         | entries; others than 1 are weights |
| pandas, (nodes, edges) or edges               | columns of numbers | `y`, `label`    | two columns, `weight`        |
| dict of members, as `load` gives              | `x`               | `y`              | `edge_index` or `adj`        |

`train_mask`, `val_mask`, `test_mask`, `client` and `node_id` have these names everywhere. Data of
nodes or graphs under other names are left out, with a warning that names them.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from .program import FolkmootError, warned
from .graphs import MASKS, MEMBERS, Arrays, array, checked, numpy

#: What a part of a set may have, in addition to edges.
OF_ITEMS = ("y", "client", *MASKS)
OF_NODES = ("x", "node_id")
OF_EDGES = ("edge_attr", "edge_weight")
TIMES = ("t", "time", "timestamp", "timestamps")


def arrays_of(data: Any, given: Mapping[str, Any]) -> Arrays:
    """The members of the archive for `data`; `given` has arguments that add to them or replace them."""
    options = {name: value for name, value in given.items() if value is not None}
    split = int(options.pop("split", 0))
    found = _parts(data, options)
    of_frames = sorted(options.keys() & {"id", "label", "features", "source", "target", "weight"})
    if of_frames:
        raise FolkmootError(f"{', '.join(of_frames)}: only frames of pandas have columns to name")
    arrays = _joined(found) if isinstance(found, list) else dict(found)
    stated = options.pop("directed", None)
    for name, value in options.items():
        if name in ("x", "adj") and _is(value, "scipy"):
            arrays.update(_sparse(value, name))
        else:
            if name == "x":
                arrays = {member: held for member, held in arrays.items() if not member.startswith("x_")}
            arrays[name] = numpy.array(str(value)) if name == "task" else array(value, name)
    if "y" in options and options.get("task") is None:
        arrays.pop("task", None)
    arrays["directed"] = numpy.array(bool(arrays.pop("directed", False) if stated is None else stated))
    for name in MASKS:
        if name in arrays and arrays[name].ndim == 2:
            arrays[name] = arrays[name][:, split]
    one, n_items = ("graph", len(arrays["ptr"]) - 1) if "ptr" in arrays else ("node", int(arrays["num_nodes"]))
    return checked({name: numpy.asarray(values) for name, values in arrays.items()}, n_items, one)


def _is(value: Any, library: str) -> bool:
    return any(kind.__module__.split(".")[0] == library for kind in type(value).__mro__)


def _parts(data: Any, options: Dict[str, Any]) -> Any:
    """The arrays of one graph, or a list of those of each graph of a set."""
    names = {kind.__name__ for kind in type(data).__mro__}
    for refused, why in [
        ("HeteroData", "a graph with several types of nodes or edges; save one type, for example data.to_homogeneous()"),
        ("TemporalData", "a temporal graph; save the graph of one moment as a Data"),
    ]:
        if refused in names:
            raise FolkmootError(f"{refused} is {why}")
    if "Batch" in names and hasattr(data, "to_data_list"):
        return _of_several(data.to_data_list())
    if isinstance(data, Mapping):
        return _of_mapping(data)
    if _is(data, "scipy"):
        return _of_mapping({"adj": data})
    if _is(data, "pandas"):
        return _of_frames(None, data, options)
    if _is(data, "networkx"):
        return _of_networkx(data, False)
    if _is(data, "dgl") and hasattr(data, "ndata"):
        return _of_dgl(data)
    if _is(data, "torch_geometric") and "BaseData" in names:
        return _of_pyg(data)
    if isinstance(data, tuple) and len(data) == 2 and _is(data[1], "pandas"):
        return _of_frames(data[0], data[1], options)
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes)):
        return _of_several(data)
    raise FolkmootError(
        f"a {type(data).__module__}.{type(data).__name__} is no graph that can be saved; help: pass a dict of arrays with edge_index, or a graph "
        "of PyTorch Geometric, NetworkX, DGL, SciPy or pandas"
    )


def _of_several(data: Any) -> Any:
    """A list or a data set of graphs; one graph alone is a set of nodes."""
    items = [data[at] for at in range(len(data))]
    is_set = len(items) > 1
    splits = data.get_idx_split() if hasattr(data, "get_idx_split") else None
    parts = []
    for item in items:
        label = None
        if isinstance(item, tuple) and len(item) == 2:
            item, label = item
        if _is(item, "networkx"):
            part = _of_networkx(item, is_set)
        elif _is(item, "dgl"):
            part = _of_dgl(item)
        elif isinstance(item, Mapping):
            part = _of_mapping(item)
            if is_set and "ptr" in part:
                raise FolkmootError("a list of sets is no set of graphs; help: pass a list of the graphs of all sets")
        else:
            nested = _parts(item, {})
            if isinstance(nested, list):
                raise FolkmootError("a list of lists is no set of graphs")
            part = nested
        if is_set and label is not None:
            part["y"] = array(label, "y").reshape(1, -1) if numpy.ndim(label) else array(label, "y").reshape(1)
        parts.append(part)
    if not parts:
        raise FolkmootError("there is no graph to save")
    if splits is not None:
        n_items = len(parts) if is_set else int(parts[0]["num_nodes"])
        masks = {name: _mask(splits[key], n_items) for name, key in zip(MASKS, ("train", "valid", "test"))}
        if is_set:
            for at, part in enumerate(parts):
                part.update({name: mask[at : at + 1] for name, mask in masks.items()})
        else:
            parts[0].update(masks)
    return parts if is_set else parts[0]


def _mask(items: Any, n_items: int) -> Any:
    mask = numpy.zeros(n_items, bool)
    mask[array(items, "a split")] = True
    return mask


def _joined(parts: Sequence[Arrays]) -> Arrays:
    """The arrays of all graphs, one after the other."""
    sizes = [int(part["num_nodes"]) for part in parts]
    ptr = numpy.concatenate([[0], numpy.cumsum(sizes)]).astype(numpy.int64)
    found: Arrays = {"ptr": ptr, "num_nodes": numpy.array(int(ptr[-1]))}
    found["edge_index"] = numpy.concatenate([part["edge_index"] + start for part, start in zip(parts, ptr)], axis=1)
    found["directed"] = any(bool(part.get("directed", False)) for part in parts)
    names = dict.fromkeys(name for part in parts for name in part if name not in found)
    for name in names:
        lacking = next((graph for graph, part in enumerate(parts) if name not in part), None)
        if lacking is not None:
            raise FolkmootError(f"graph {lacking} has no {name}, and others have; give all graphs one, or none")
        columns = {part[name].shape[1:] for part in parts}
        if len(columns) > 1:
            raise FolkmootError(f"{name} must have as many columns in every graph, got shapes {sorted(part[name].shape for part in parts)[:4]}")
        found[name] = numpy.concatenate([part[name] for part in parts])
    return found


def _is_symmetric(ends: Any) -> bool:
    pairs = set(zip(*ends.tolist()))
    return all((v, u) in pairs for u, v in pairs)


def _note(others: Iterable[str], what: str) -> None:
    names = sorted(set(others))
    if names:
        warned(f"{what} that are not saved: {', '.join(names)}")


def _of_mapping(data: Mapping[str, Any]) -> Arrays:
    known = {*MEMBERS, "adj"} - {"folkmoot"}
    unknown = sorted(data.keys() - known)
    if unknown:
        raise FolkmootError(f"there is no member {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    found: Arrays = {}
    for name, value in data.items():
        if value is None:
            continue
        if name in ("adj", "x") and _is(value, "scipy"):
            found.update(_sparse(value, name))
        elif name == "adj":
            found.update(_adjacency(array(value, name)))
        else:
            found[name] = array(value, name)
    if "edge_index" not in found:
        raise FolkmootError("there is neither edge_index nor adj")
    if "num_nodes" not in found:
        rows = [len(found[name]) for name in (*OF_NODES, "y", *MASKS, "client") if name in found]
        rows += [int(found["x_shape"][0])] if "x_shape" in found else []
        rows = [int(found["ptr"][-1])] if found.get("ptr") is not None and found["ptr"].size else rows
        ends = found["edge_index"]
        found["num_nodes"] = rows[0] if rows else int(ends.max()) + 1 if ends.size else 0
    found["num_nodes"] = numpy.array(int(found["num_nodes"]))
    return found


def _adjacency(dense: Any) -> Arrays:
    ends = numpy.stack(dense.nonzero()).astype(numpy.int64)
    return _weighted(ends, dense[tuple(ends)], dense.shape)


def _weighted(ends: Any, weights: Any, shape: Tuple[int, ...]) -> Arrays:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise FolkmootError(f"an adjacency matrix must be square, got shape {shape}")
    found: Arrays = {"edge_index": ends, "num_nodes": shape[0], "directed": not _is_symmetric(ends)}
    if (weights != 1).any():
        found["edge_weight"] = weights
    return found


def _sparse(matrix: Any, name: str) -> Arrays:
    """A sparse matrix of SciPy: edges, or features by rows."""
    if name == "adj":
        entries = matrix.tocoo()
        ends = numpy.stack([entries.row, entries.col]).astype(numpy.int64)
        return _weighted(ends, array(entries.data, name), entries.shape)
    rows = matrix.tocsr()
    rows.sum_duplicates()
    members = {"x_data": rows.data, "x_indices": rows.indices, "x_indptr": rows.indptr, "x_shape": rows.shape}
    return {name: array(value, name) for name, value in members.items()}


def _of_pyg(data: Any) -> Arrays:
    held = dict(data.to_dict()) if hasattr(data, "to_dict") else dict(data)
    times = [name for name in TIMES if name in held]
    if times:
        raise FolkmootError(f"a Data with `{times[0]}` is a temporal graph; save the graph of one moment without it")
    if held.get("edge_index") is None:
        way = "; undo ToSparseTensor" if "adj_t" in held else ""
        raise FolkmootError(f"the Data has no edge_index{way}")
    n_nodes = int(data.num_nodes)
    found: Arrays = {"num_nodes": numpy.array(n_nodes), "edge_index": array(held["edge_index"], "edge_index")}
    for name in (*OF_ITEMS, *OF_NODES, *OF_EDGES):
        if held.get(name) is not None:
            value = array(held[name], name)
            if value.ndim == 0:
                warned(f"{name} of a Data has shape (), which an archive does not have: it is saved as shape (1,)")
                value = value.reshape(1)
            found[name] = value
    found["directed"] = not _is_symmetric(found["edge_index"])
    _note(held.keys() - {*found, "directed", "num_nodes"}, "members of the Data")
    return found


def _of_networkx(graph: Any, is_set: bool) -> Arrays:
    if graph.is_multigraph():
        times = {name for *_, held in graph.edges(data=True) for name in held if name in TIMES}
        if times:
            kind = type(graph).__name__
            raise FolkmootError(f"a {kind} whose edges have `{min(times)}` is a temporal graph; save the graph of one moment")
    ids = list(graph.nodes)
    place = {node: at for at, node in enumerate(ids)}
    pairs = [(place[u], place[v]) for u, v in graph.edges()]
    found: Arrays = {
        "num_nodes": numpy.array(len(ids)),
        "edge_index": numpy.array(pairs, numpy.int64).reshape(-1, 2).T,
        "directed": graph.is_directed(),
    }
    if ids != list(range(len(ids))):
        found["node_id"] = array([str(node) for node in ids], "node_id")
    wanted = {"x": "x", "y": "y", "label": "y", "client": "client", **{name: name for name in MASKS}}
    of_nodes = {name: [graph.nodes[node].get(name) for node in ids] for name in _names(graph.nodes.values())}
    used = _chosen(found, of_nodes, wanted, "nodes")
    of_edges = {name: [held.get(name) for *_, held in graph.edges(data=True)] for name in _names(held for *_, held in graph.edges(data=True))}
    used |= _chosen(found, of_edges, {"weight": "edge_weight", "edge_weight": "edge_weight", "edge_attr": "edge_attr"}, "edges")
    if is_set:
        for name, member in wanted.items():
            if name in graph.graph and name != "x":
                value = array(graph.graph[name], name)
                found[member] = value.reshape(1, -1) if value.ndim else value.reshape(1)
                used.add(name)
    _note((of_nodes.keys() | of_edges.keys()) - used, "data of nodes or edges")
    return found


def _names(held: Iterable[Mapping[str, Any]]) -> List[str]:
    return list(dict.fromkeys(name for data in held for name in data))


def _chosen(found: Arrays, held: Mapping[str, List[Any]], wanted: Mapping[str, str], what: str) -> Set[str]:
    """Puts columns of data into the members that they are wanted for; a column must be whole."""
    used = set()
    for name, member in wanted.items():
        if name not in held or member in found:
            continue
        lacking = sum(value is None for value in held[name])
        if lacking and member != "y":
            raise FolkmootError(f"{lacking} of {len(held[name])} {what} have no `{name}`; give all one, or none")
        values = ["" if value is None and any(isinstance(other, str) for other in held[name]) else value for value in held[name]]
        found[member] = array([array(value, name) if hasattr(value, "detach") else value for value in values], name)
        used.add(name)
    return used


def _of_dgl(graph: Any) -> Arrays:
    if len(graph.ntypes) > 1 or len(graph.etypes) > 1:
        raise FolkmootError("a DGL graph of several types of nodes or edges; save one type, for example dgl.to_homogeneous(graph)")
    sources, targets = graph.edges()
    ends = numpy.stack([array(sources, "edges"), array(targets, "edges")]).astype(numpy.int64)
    found: Arrays = {"num_nodes": numpy.array(int(graph.num_nodes())), "edge_index": ends, "directed": not _is_symmetric(ends)}
    nodes, edges = dict(graph.ndata), dict(graph.edata)
    times = [name for name in TIMES if name in edges]
    if times:
        raise FolkmootError(f"a DGL graph whose edges have `{times[0]}` is a temporal graph; save the graph of one moment without it")
    used = set()
    for held, wanted in [
        (nodes, {"x": "x", "feat": "x", "y": "y", "label": "y", "client": "client", **{name: name for name in MASKS}}),
        (edges, {"weight": "edge_weight", "w": "edge_weight", "edge_attr": "edge_attr", "feat": "edge_attr"}),
    ]:
        for name, member in wanted.items():
            if name in held and member not in found:
                found[member] = array(held[name], name)
                used.add(name)
    _note((nodes.keys() | edges.keys()) - used, "data of the DGL graph")
    return found


def _of_frames(nodes: Any, edges: Any, options: Dict[str, Any]) -> Arrays:
    """Tables of nodes and of edges; columns are those of `Tables` in a card."""
    chosen = {name: options.pop(name, None) for name in ("id", "label", "features", "source", "target", "weight")}
    source = _column(edges, chosen["source"], ("source", "src", "from", "u"), 0)
    target = _column(edges, chosen["target"], ("target", "dst", "to", "v"), 1)
    found: Arrays = {}
    if nodes is None:
        ends = numpy.concatenate([array(edges[source], "source"), array(edges[target], "target")])
        ids = numpy.unique(ends)
    else:
        identity = _column(nodes, chosen["id"], ("id", "node", "node_id", "name"), None)
        ids = array(nodes[identity] if identity is not None else nodes.index, "id")
        label = _column(nodes, chosen["label"], ("y", "label", "class"), None)
        taken = {identity, label, "client", "split", *MASKS}
        is_number = {name: nodes[name].dtype.kind in "biuf" for name in nodes.columns}
        columns = chosen["features"] or [name for name in nodes.columns if name not in taken and is_number[name]]
        if len(columns):
            found["x"] = array(nodes[list(columns)], "features").astype(numpy.float32)
        if label is not None:
            found["y"] = array(nodes[label], label)
        for name in ("client", *MASKS):
            if name in nodes.columns:
                found[name] = array(nodes[name], name)
        if "split" in nodes.columns:
            words = dict(zip(MASKS, (("train",), ("val", "valid", "validation"), ("test",))))
            found.update({name: array(nodes["split"].isin(these), name) for name, these in words.items()})
        _note([str(name) for name in nodes.columns if name not in taken and name not in columns], "columns of the nodes")
    place = {identity: at for at, identity in enumerate(ids.tolist())}
    if len(place) < len(ids):
        raise FolkmootError("two nodes have the same id")
    pairs = []
    for name in (source, target):
        column = array(edges[name], str(name)).tolist()
        unknown = next((end for end in column if end not in place), None)
        if unknown is not None:
            raise FolkmootError(f"{unknown!r} in column {name} of the edges is no node of the table of nodes")
        pairs.append([place[end] for end in column])
    weight = _column(edges, chosen["weight"], ("weight",), None)
    if weight is not None:
        found["edge_weight"] = array(edges[weight], weight)
    _note([str(name) for name in edges.columns if name not in (source, target, weight)], "columns of the edges")
    found.update({"num_nodes": numpy.array(len(ids)), "edge_index": numpy.array(pairs, numpy.int64).reshape(2, -1), "directed": False})
    if ids.tolist() != list(range(len(ids))):
        found["node_id"] = ids
    return found


def _column(frame: Any, stated: Any, usual: Sequence[str], place: Optional[int]) -> Any:
    """The column that is stated, or has a usual name, or stands at a place."""
    if stated is not None:
        if stated not in frame.columns:
            raise FolkmootError(f"there is no column {stated!r}; there are {', '.join(map(str, frame.columns))}")
        return stated
    lower = {str(name).lower(): name for name in frame.columns}
    found = next((lower[name] for name in usual if name in lower), None)
    if found is None and place is not None:
        if len(frame.columns) <= place:
            raise FolkmootError("a table of edges needs two columns, source and target")
        return frame.columns[place]
    return found
