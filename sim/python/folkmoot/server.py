"""The server's own functions of an app: client selection and aggregation.

    @fm.select
    def select(round, clients, ctx): ...            # returns ids of clients

    @fm.aggregate
    def aggregate(params, updates, ctx, state=None): ...    # returns the new model, arrays by name

Both run in one worker, and may depend on their arguments alone.
"""

from __future__ import annotations

import json
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    overload,
)

from .app import Arrays, Context, F, _marked
from .refused import Refused

if TYPE_CHECKING:
    import numpy as np

    from .worker import Worker

    Array = np.ndarray[Any, Any]
    Reply = Tuple[Dict[str, Any], Dict[str, Array]]

__all__ = ["Aggregate", "ClientUpdate", "Clients", "aggregate", "select"]


@overload
def select(function: F) -> F: ...


@overload
def select(function: None = None, *, metrics: Sequence[str] = ()) -> Callable[[F], F]: ...


def select(function: Optional[Callable[..., Any]] = None, *, metrics: Sequence[str] = ()) -> Any:
    """Marks `select(round, clients, ctx)`, which returns the ids of the clients of a round, each
    once and at least one.

    `metrics` names metrics of `fm.Update` that clients send with each update, at 4 bytes each;
    `clients.metrics` has them.
    """
    return _of_server("select", function, metrics)


@overload
def aggregate(function: F) -> F: ...


@overload
def aggregate(function: None = None, *, metrics: Sequence[str] = ()) -> Callable[[F], F]: ...


def aggregate(function: Optional[Callable[..., Any]] = None, *, metrics: Sequence[str] = ()) -> Any:
    """Marks `aggregate(params, updates, ctx, state=None)`, which returns the new model: arrays by
    name, or an `Aggregate`.

    `updates` is a list of `ClientUpdate`s in ascending order of clients. `metrics` names metrics of
    `fm.Update` that clients send with each update, at 4 bytes each.
    """
    return _of_server("aggregate", function, metrics)


def _of_server(kind: str, function: Optional[Callable[..., Any]], metrics: Sequence[str]) -> Any:
    if isinstance(metrics, str) or not all(isinstance(name, str) for name in metrics):
        raise TypeError(f'metrics: must be a list of names, such as ["loss"], got {metrics!r}')

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        return _marked(kind, function, metrics=list(metrics))

    return mark if function is None else mark(function)


class Clients:
    """What the server knows of clients, as arrays of shape (n_clients,) by client id.

    `n_selected` and `n_answers` count rounds; `last_round` is that of the last answer, -1 before
    any; `n_samples` is a client's own number of training samples, -1 before its first answer;
    `seconds` is the virtual time from the last selection to the answer, and `metrics` has the last
    values by name: NaN before any.
    """

    def __init__(self, arrays: Mapping[str, "Array"], names: Sequence[str]) -> None:
        import numpy as np

        self.n_selected, self.n_answers = arrays["n_selected"], arrays["n_answers"]
        self.last_round, self.n_samples, self.seconds = (
            arrays["last_round"],
            arrays["n_samples"],
            arrays["seconds"],
        )
        self.ids = np.arange(len(self.n_selected))
        self.metrics = dict(zip(names, arrays["metrics"]))

    def __len__(self) -> int:
        return len(self.ids)


class ClientUpdate:
    """A client's update: its model as `arrays` by name, `weight` by the card's `weighting`,
    `staleness` in rounds, and `metrics` by name. In buffered aggregation the arrays are the present
    model plus the change that was sent.
    """

    def __init__(
        self, client: int, arrays: Any, weight: float, staleness: int, metrics: Mapping[str, float]
    ) -> None:
        self.client, self.arrays, self.weight, self.staleness, self.metrics = (
            client,
            arrays,
            weight,
            staleness,
            metrics,
        )


class Aggregate:
    """A new model, with a `state` that the server keeps: arrays, bytes, numbers and texts in dicts
    and lists.
    """

    def __init__(self, arrays: Arrays, state: Any = None) -> None:
        self.arrays, self.state = arrays, state


def _context(worker: "Worker", header: Mapping[str, Any]) -> Context:
    assert worker.app is not None
    config = json.loads(json.dumps(worker.app.config))
    rng = worker._seed(header["seed"])
    return Context(rng, header["round"], None, worker.n_rounds, config, worker.app.device)  # type: ignore[arg-type]


def _select(worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]) -> "Reply":
    import numpy as np


    assert worker.app is not None
    function, options = worker.app.functions["select"]
    ctx = _context(worker, header)
    clients = Clients(arrays, options["metrics"])
    n = len(clients)
    found = np.asarray(function(header["round"], clients, ctx))
    if found.size == 0:
        raise Refused("@fm.select returned no client; return the ids of at least one")
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise Refused(
            f"@fm.select must return a list of client ids, which are whole numbers; got {found.dtype} of shape {found.shape}"
        )
    wrong = found[(found < 0) | (found >= n)]
    if wrong.size:
        raise Refused(f"@fm.select returned client {wrong[0]}, and clients are 0 to {n - 1}")
    ids, times = np.unique(found, return_counts=True)
    if (times > 1).any():
        raise Refused(f"@fm.select returned client {ids[times > 1][0]} twice; return each id once")
    return {"kind": "selected"}, {"ids": ids.astype(np.int64)}


def _aggregate(worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]) -> "Reply":
    from .wire import pack, unpack
    from .worker import _takes_state

    assert worker.app is not None and worker.model is not None
    function, options = worker.app.functions["aggregate"]
    ctx = _context(worker, header)
    params, rows, metrics = arrays.pop("params"), arrays.pop("updates"), arrays.pop("metrics")
    weights = arrays.pop("weights")
    updates: List[ClientUpdate] = []
    for at, (client, staleness) in enumerate(zip(header["clients"], header["staleness"])):
        named = {name: float(value) for name, value in zip(options["metrics"], metrics[at])}
        updates.append(
            ClientUpdate(
                client, worker.model.arrays_of(rows[at]), float(weights[at]), staleness, named
            )
        )
    given = worker.model.arrays_of(params.copy())
    has_state = _takes_state(function)
    if has_state:
        form = header.get("state")
        found = function(given, updates, ctx, state=None if form is None else unpack(form, arrays))
    else:
        found = function(given, updates, ctx)
    reply: Dict[str, Any] = {"kind": "aggregated"}
    out: Dict[str, "Array"] = {}
    if not isinstance(found, Aggregate):
        found = Aggregate(found)
    if found.state is not None:
        if not has_state:
            raise Refused(
                "@fm.aggregate returned state= and takes none; add the parameter state=None"
            )
        try:
            reply["state"] = pack(found.state, out)
        except TypeError as error:
            raise Refused(str(error)) from None
    out["model"] = worker.model.flat(found.arrays, params, "@fm.aggregate")
    return reply, out


#: Requests by their kind.
REQUESTS: Dict[str, Callable[..., "Reply"]] = {"select": _select, "aggregate": _aggregate}
