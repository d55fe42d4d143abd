"""Functions of an app that are called on a client's items, besides its training.

    @fm.client_data                         # in place of shards: images, text, tables
    def client_data(client, ctx): ...       # returns the shard that the others are given

    @fm.evaluate_at_client(cost=...)        # at the client, as a job; its metrics are sent
    def evaluate_at_client(params, shard, ctx, state=None): ...    # returns metrics by name

    @fm.predict                             # opens the attacks that ask a model
    def predict(params, items): ...         # returns logits, (n_items, n_classes)

    @fm.gradient                            # opens gradient inversion, and example-level privacy
    def gradient(params, items): ...        # returns gradients by name, (n_items, *shape)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Mapping, Tuple, TypeVar, Union

from . import app as api
from .refused import Refused

if TYPE_CHECKING:
    import numpy as np

    from .worker import Worker

    Array = np.ndarray[Any, Any]
    Reply = Tuple[Dict[str, Any], Dict[str, Array]]

__all__ = ["Items", "client_data", "evaluate_at_client", "gradient", "predict"]

F = TypeVar("F", bound=Callable[..., Any])


def client_data(function: F) -> F:
    """Marks `client_data(client, ctx)`, which returns the data of a client, of any type, in place
    of the shard.

    It is called before each job and may depend on `client`, `ctx.config` and `ctx.rng` alone, which
    draws the same for one client in all rounds. For `@fm.evaluate(on="whole")`, `client` is None.
    The card's data set then says how many clients there are, one a node.
    """
    return api._marked("client_data", function)


def evaluate_at_client(*, cost: Union[Callable[..., float], api.Measured]) -> Callable[[F], F]:
    """Marks `evaluate_at_client(params, shard, ctx, state=None)`, which a client calls on the model
    that it receives, before it trains. It returns metrics by name: `Metric`s, or numbers.

    The metrics are sent to the server as the message `metrics`. `cost(shard, config)` is the number
    of operations of one call. The card's `evaluate_at_client_every` sets how often.
    """
    return api.costing("evaluate_at_client", cost)


def predict(function: F) -> F:
    """Marks `predict(params, items)`, which returns the logits of `Items`: (n_items, n_classes), or its
    answers for labels or numbers: (n_items, n_outputs)."""
    return api._marked("predict", function)


def gradient(function: F) -> F:
    """Marks `gradient(params, items)`, which returns the gradient of the loss of each of `Items`:
    arrays by name, as the model's that learn, of shape (n_items, *shape)."""
    return api._marked("gradient", function)


class Items:
    """Some items of a client: nodes of its graph, or graphs. `shard` has all that the client has;
    `index` are the positions of the items in it, (n_items,)."""

    def __init__(self, shard: api.Shard, index: "Array") -> None:
        self.shard, self.index = shard, index

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[Any]:
        """Each item: a graph as a `Shard`; of one graph, the position of a node."""
        for at in self.index.tolist():
            yield self.shard.graph(at) if self.shard.is_graph_level else at

    @property
    def x(self) -> "Array":
        """Features of the nodes that are the items, (n_items, n_features)."""
        if self.shard.is_graph_level:
            raise AttributeError("items that are graphs have no x; use: for graph in items")
        return self.shard.x[self.index]  # type: ignore[no-any-return]

    @property
    def y(self) -> "Array":
        """Labels, a row for each item."""
        return self.shard.y[self.index]  # type: ignore[no-any-return]


def _of(
    worker: "Worker", header: Mapping[str, Any], kind: str
) -> Tuple[Callable[..., Any], api.Shard]:
    assert worker.app is not None and worker.model is not None
    worker._seed(header["seed"])
    return worker.app.functions[kind][0], worker._shard(header["client"], header.get("shard"))


def _evaluate_at_client(
    worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]
) -> "Reply":
    from .wire import unpack
    from .worker import _metrics, _takes_state

    assert worker.app is not None and worker.model is not None
    params = worker.model.arrays_of(arrays.pop("params"))
    function, _options = worker.app.functions["evaluate_at_client"]
    rng = worker._seed(header["seed"])
    config = json.loads(json.dumps(worker.app.config))
    client, device = header["client"], worker.app.device
    ctx = api.Context(rng, header["round"], client, worker.n_rounds, config, device)
    given: Dict[str, Any] = {}
    if _takes_state(function):
        form = header.get("state")
        given["state"] = None if form is None else unpack(form, arrays)
    found = function(params, worker._shard(client), ctx, **given)
    metrics = _metrics(found, "@fm.evaluate_at_client", "test")
    for name, *_ in metrics:
        if len(name) > 255:
            what = "the name of a metric has at most 255 letters"
            raise Refused(f"@fm.evaluate_at_client: {what}, got {len(name)}")
    return {"kind": "evaluated_at_client", "metrics": metrics}, {}


def _predict(worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]) -> "Reply":
    import numpy as np

    from .worker import _plain

    function, shard = _of(worker, header, "predict")
    assert worker.model is not None
    labelled = shard.train_mask | shard.val_mask | shard.test_mask
    index = np.flatnonzero(labelled)
    found = function(worker.model.arrays_of(arrays["params"]), Items(shard, index))
    logits, _dtype, _library = _plain(found, "@fm.predict")
    if logits.shape != (len(index), shard.num_outputs):
        raise Refused(
            f"@fm.predict returned shape {logits.shape}; return logits, "
            f"({len(index)}, {shard.num_outputs}): a row for each item, a column for each class, label or number"
        )
    if not np.isfinite(logits).all():
        raise Refused(
            "@fm.predict returned a number that is not finite; return logits, not logarithms of 0"
        )
    out = {
        "logits": logits.astype(np.float64).reshape(-1),
        "truth": shard.y[index].astype(np.float64).reshape(-1),
    }
    return {"kind": "predicted"}, out


def _gradient(worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]) -> "Reply":
    """Gradients of training items; `items` are their places among these."""
    import numpy as np

    from .worker import _items, _plain

    function, shard = _of(worker, header, "gradient")
    assert worker.model is not None
    index = np.flatnonzero(shard.train_mask)[arrays["items"].astype(np.int64)]
    found = function(worker.model.arrays_of(arrays["params"]), Items(shard, index))
    listed, _container = _items(found, "@fm.gradient")
    given = dict(listed)
    columns = []
    for array in worker.model.arrays:
        if not array["learns"]:
            continue
        name = array["name"]
        if name not in given:
            raise Refused(
                f"@fm.gradient: array {name!r} is missing; "
                f"return the gradient of each array that learns"
            )
        plain, _dtype, _library = _plain(given[name], f"@fm.gradient: array {name!r}")
        if plain.shape != (len(index), *array["shape"]):
            raise Refused(
                f"@fm.gradient: array {name!r} has shape {plain.shape}; "
                f"return one row for each example, {(len(index), *array['shape'])}"
            )
        columns.append(plain.reshape(len(index), -1).astype(np.float32))
    rows = np.concatenate(columns, axis=1)
    if not np.isfinite(rows).all():
        raise Refused("@fm.gradient returned a number that is not finite")
    has_classes = "y" in shard.arrays and shard.y.ndim == 1
    classes = shard.y[index] if has_classes else np.full(len(index), -1)
    out = {"gradients": rows.reshape(-1), "classes": classes.astype(np.float64)}
    return {"kind": "gradients"}, out


#: The requests that these functions answer.
REQUESTS: Dict[str, Callable[..., "Reply"]] = {
    "evaluate_at_client": _evaluate_at_client,
    "predict": _predict,
    "gradient": _gradient,
}
