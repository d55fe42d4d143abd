"""Whole algorithms: handlers of the server's and the clients' events, in event order.

    class Mine(fm.Strategy):
        messages = {"model": fm.Down, "update": fm.Up, "token": fm.Peer}

        def on_server(self, event, cx): ...
        def on_client(self, event, cx): ...

An instance keeps nothing between calls: any worker may make the next one. What a participant keeps
is `cx.state`.
"""

from __future__ import annotations

import json
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Tuple,
    Union,
)

from .app import MARK, Context, Rng, Shard
from .refused import Refused

if TYPE_CHECKING:
    import numpy as np

    from .worker import Worker

    Array = np.ndarray[Any, Any]
    Reply = Tuple[Dict[str, Any], Dict[str, Array]]

__all__ = [
    "SERVER",
    "Down",
    "Event",
    "Gaussian",
    "Laplace",
    "Message",
    "Participant",
    "Peer",
    "Strategy",
    "Up",
]

#: The server, as the sender or receiver of a message.
SERVER = "server"


class Message:
    """A kind of message that goes one way: `Down` from the server to a client, `Up` from a client
    to the server, `Peer` from client to client.

    `phases` are names under which the ledger counts it; `cx.send` takes the first one where it
    names none. `absent` says what becomes of it when its receiver is offline: "wait" delivers it
    later, "tell" drops it and sends the sender the event "undelivered", "drop" drops it. A client's
    message is charged to it as unprotected in `privacy.csv`, unless `released=True` states that it
    holds nothing about the client's data except what `cx.release` returned.
    """

    direction = ""

    def __init__(self, *phases: str, absent: str = "wait", released: bool = False) -> None:
        if absent not in ("wait", "tell", "drop"):
            raise ValueError(f'absent: must be "wait", "tell" or "drop", got {absent!r}')
        self.phases, self.absent, self.released = list(phases) or ["strategy"], absent, released


class Down(Message):
    direction = "down"


class Up(Message):
    direction = "up"


class Peer(Message):
    direction = "peer"


class Gaussian:
    """Gaussian noise of standard deviation `noise_multiplier * clip` on a value that is clipped to
    the Euclidean norm `clip`. Neighbouring data have one value more or less.
    """

    def __init__(self, noise_multiplier: float, clip: float, unit: str = "one client") -> None:
        self.declared = {
            "noise": "gaussian",
            "scale": _positive("noise_multiplier", noise_multiplier),
            "clip": _positive("clip", clip),
        }
        self.unit = unit


class Laplace:
    """Laplace noise for `epsilon` on a value that is clipped to the L1 norm `clip`. Neighbouring
    data have one value more or less.
    """

    def __init__(self, epsilon: float, clip: float, unit: str = "one client") -> None:
        self.declared = {
            "noise": "laplace",
            "scale": _positive("epsilon", epsilon),
            "clip": _positive("clip", clip),
        }
        self.unit = unit


def _positive(name: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise ValueError(f"{name}: must be finite and greater than 0, got {value}")
    return float(value)


class Strategy:
    """A whole algorithm.

    `messages` declares every kind of message with its direction, `mechanisms` every `Gaussian` or
    `Laplace` by the name that `cx.release` takes. Clients get the event "start" with
    `starts_clients = True`; the server always does.
    """

    messages: Mapping[str, Any] = {}
    mechanisms: Mapping[str, Union[Gaussian, Laplace]] = {}
    starts_clients = False
    _kinds: Dict[str, Message] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        listed = []
        cls._kinds = {}
        for name, message in cls.messages.items():
            message = (
                message() if isinstance(message, type) and issubclass(message, Message) else message
            )
            if not isinstance(message, Message) or not message.direction:
                raise TypeError(
                    f"messages[{name!r}]: must be fm.Down, fm.Up or fm.Peer, got {message!r}"
                )
            cls._kinds[name] = message
            listed.append(
                [name, message.direction, message.phases, message.absent, message.released]
            )
        mechanisms = []
        for name, mechanism in cls.mechanisms.items():
            if not isinstance(mechanism, (Gaussian, Laplace)):
                raise TypeError(
                    f"mechanisms[{name!r}]: must be fm.Gaussian(...) or fm.Laplace(...), got {mechanism!r}"
                )
            mechanisms.append([name, mechanism.declared, mechanism.unit])
        declared = {
            "name": cls.__name__,
            "messages": listed,
            "mechanisms": mechanisms,
            "starts_clients": bool(cls.starts_clients),
        }
        setattr(cls, MARK, ("strategy", {"declared": declared}))

    def on_server(self, event: "Event", cx: "Participant") -> None:
        """Handles an event of the server's."""
        raise NotImplementedError(f"{type(self).__name__} has no on_server")

    def on_client(self, event: "Event", cx: "Participant") -> None:
        """Handles an event of a client's."""
        raise NotImplementedError(f"{type(self).__name__} has no on_client")


class Event:
    """Something that a participant handles. `kind` is one of

    - "start": at time zero;
    - "message": `name` is its kind, `sender` a client or `SERVER`, `arrays` what it holds;
    - "done": work is finished; `name` is its function, `result` what that returned;
    - "timer": `tag` is the timer's;
    - "undelivered": a message to `receiver` was dropped, for the reason `why`; `name` and `arrays`
      are the message's;
    - "quiet": at the server, nothing is under way any more.
    """

    def __init__(self, fields: Mapping[str, Any], arrays: Mapping[str, "Array"]) -> None:
        self.kind: str = fields["kind"]
        self.name: Optional[str] = fields.get("name")
        self.sender: Any = fields.get("sender")
        self.receiver: Any = fields.get("receiver")
        self.tag: Any = fields.get("tag")
        self.why: Optional[str] = fields.get("why")
        self.result: Any = None
        self.arrays: Dict[str, Any] = {name: arrays[key] for name, key in fields.get("arrays", ())}

    def is_message(self, name: str) -> bool:
        """Whether a message of this kind has arrived."""
        return self.kind == "message" and self.name == name

    def __repr__(self) -> str:
        return f"Event({self.kind!r}, name={self.name!r}, sender={self.sender!r}, tag={self.tag!r})"


class Participant:
    """All that a handler may touch: the server, or one client with its own shard.

    `me` is `SERVER` or the client's id; `now` is in virtual seconds; `state` is what it keeps:
    arrays, bytes, numbers and texts in dicts and lists, at first an empty dict. `deadline` is that
    of the card in seconds, or None.
    """

    def __init__(
        self, worker: "Worker", strategy: Strategy, header: Mapping[str, Any], state: Any
    ) -> None:
        assert worker.app is not None
        self.me: Any = SERVER if header["client"] is None else header["client"]
        self.now: float = header["now"]
        self.round: int = header["round"]
        self.event_round: int = header["event_round"]
        self.deadline: Optional[float] = header["deadline"]
        self.n_clients: int = worker.facts.n_clients
        self.n_rounds, self.facts, self.config, self.device = (
            worker.n_rounds,
            worker.facts,
            worker.app.config,
            worker.app.device,
        )
        self.state = state
        self._worker, self._strategy, self._header = worker, strategy, header
        self._rng: Optional[Rng] = None
        self._shard: Optional[Shard] = None
        self._actions: List[Dict[str, Any]] = []
        self._arrays: Dict[str, "Array"] = {}

    @property
    def is_server(self) -> bool:
        return bool(self.me == SERVER)

    @property
    def rng(self) -> Rng:
        """Generators of this event."""
        if self._rng is None:
            self._rng = Rng(bytes.fromhex(self._header["seed"]))
        return self._rng

    @property
    def shard(self) -> Shard:
        """This client's own data."""
        if self.is_server:
            raise AttributeError("the server has no shard; clients send what it is to know")
        if self._shard is None:
            self._shard = self._worker._shard(self.me)
        return self._shard

    def send(
        self,
        to: Any,
        kind: str,
        arrays: Optional[Mapping[str, Any]] = None,
        *,
        phase: Optional[str] = None,
    ) -> None:
        """Sends a message: to `SERVER`, to a client, or one to each of a list of clients. Numbers
        are arrays without a shape.
        """
        name = type(self._strategy).__name__
        message = self._strategy._kinds.get(kind)
        if message is None:
            known = ", ".join(self._strategy._kinds) or "none"
            raise ValueError(
                f'{name} declares no message {kind!r}; it has {known}: add it to messages, as in {{"{kind}": fm.Up}}'
            )
        receivers = [to] if isinstance(to, (str, int)) or not isinstance(to, Iterable) else list(to)
        for receiver in receivers:
            self._check(kind, message, receiver)
        phase = message.phases[0] if phase is None else phase
        if phase not in message.phases:
            raise ValueError(
                f"message {kind!r} has no phase {phase!r}; {name} declares {', '.join(message.phases)}"
            )
        self._act(
            "send",
            to=[None if receiver == SERVER else int(receiver) for receiver in receivers],
            message=kind,
            phase=phase,
            arrays=self._put(kind, arrays or {}),
        )

    def _check(self, kind: str, message: Message, to: Any) -> None:
        """Refuses a receiver that the message's direction does not allow, or that does not exist.
        """
        way = "down" if self.is_server else "up" if to == SERVER else "peer"
        of = SERVER if self.is_server else f"client {self.me}"
        if isinstance(to, bool) or (to != SERVER and not hasattr(to, "__index__")):
            raise ValueError(
                f"message {kind!r} is sent to {to!r}; a receiver is fm.SERVER or the id of a client"
            )
        if self.is_server and to == SERVER:
            raise ValueError(
                f"message {kind!r} is sent by the server to itself; a receiver of the server's is a client"
            )
        if message.direction != way:
            words = {
                "down": "fm.Down, from the server to a client",
                "up": "fm.Up, from a client to the server",
                "peer": "fm.Peer, from client to client",
            }
            receiver = to if to == SERVER else f"client {to}"
            raise ValueError(
                f"message {kind!r} is declared {words[message.direction]}; {of} sends it to {receiver}"
            )
        if to != SERVER and not 0 <= int(to) < self.n_clients:
            raise ValueError(
                f"message {kind!r} is sent to client {to}, which does not exist; clients are 0 to {self.n_clients - 1}"
            )

    def _put(self, kind: str, arrays: Mapping[str, Any]) -> List[List[str]]:
        import numpy as np

        from .worker import _items, _plain

        placed = []
        for name, value in _items(arrays, f"message {kind!r}")[0]:
            plain, _, _ = _plain(value, f"message {kind!r}: array {name!r}")
            key = f"m{len(self._arrays)}"
            self._arrays[key] = np.ascontiguousarray(plain).reshape(plain.shape)
            placed.append([name, key])
        return placed

    def compute(self, cost: float, function: str, args: Any = None) -> None:
        """Starts work of `cost` operations: the method `function(self, shard, args, ctx)`, whose
        result comes with the event "done" when this participant's device has finished it. At the
        server, `shard` is None and work takes no virtual time.
        """
        from .wire import pack

        if not callable(getattr(self._strategy, function, None)):
            raise ValueError(
                f"{type(self._strategy).__name__} has no method {function!r} to compute"
            )
        if not 0 <= cost < float("inf"):
            raise ValueError(f"cost: must be a finite number of operations, at least 0, got {cost}")
        self._act(
            "compute",
            cost=float(cost),
            function=function,
            args=self._packed(args, f"args of {function}", pack),
        )

    def _packed(self, value: Any, what: str, pack: Callable[..., Any]) -> Dict[str, Any]:
        own: Dict[str, "Array"] = {}
        form = pack(value, own, what)
        placed = []
        for name, array in own.items():
            key = f"m{len(self._arrays)}"
            self._arrays[key] = array
            placed.append([name, key])
        return {"form": form, "arrays": placed}

    def timer(self, after_seconds: float, tag: Any = None) -> None:
        """Sets a timer: the event "timer" with this tag, a text, a whole number or None, comes
        `after_seconds` from now.
        """
        if not 0 <= after_seconds < float("inf"):
            raise ValueError(
                f"after_seconds: must be a finite number of at least 0, got {after_seconds}"
            )
        if not (tag is None or isinstance(tag, (str, int))):
            raise ValueError(
                f"tag: must be a text, a whole number or None, got a {type(tag).__name__}"
            )
        self._act("timer", after=float(after_seconds), tag=tag)

    def release(self, mechanism: str, value: Any) -> Any:
        """Clips a value, adds noise and charges its privacy loss in one call; returns the noisy
        value.

        At a client, `value` is an array, or arrays by name with one norm, and the client is
        charged. At the server it is a dict of these by client: each is clipped, and their noisy sum
        is returned; every client is charged, without amplification by sampling.
        """
        import numpy as np

        if mechanism not in self._strategy.mechanisms:
            known = ", ".join(self._strategy.mechanisms) or "none"
            raise ValueError(
                f"{type(self._strategy).__name__} declares no mechanism {mechanism!r}; it has {known}"
            )
        clients: List[int] = []
        if self.is_server:
            if not isinstance(value, Mapping) or not all(
                hasattr(client, "__index__") for client in value
            ):
                raise ValueError("cx.release at the server takes a dict of values by client")
            clients = sorted(int(client) for client in value)
            values = [value[client] for client in clients]
            if not values:
                raise ValueError("cx.release at the server needs the value of at least one client")
        else:
            values = [value]
        rows = [_flat(one) for one in values]
        if len({row.shape for row in rows}) > 1:
            raise ValueError("cx.release: the values of clients have different shapes")
        matrix = np.stack(rows)
        released = self._call("release", {"mechanism": mechanism}, {"values": matrix})[1]["values"]
        return _shaped(released, values[0])

    def cohort(self) -> List[int]:
        """The clients that the card's `cohort` selects for this round, ascending; once per round,
        at the server.
        """
        self._at_server("cohort")
        ids: List[int] = self._call("cohort", {}, {})[1]["ids"].tolist()
        return ids

    def answered(
        self,
        client: int,
        n_samples: Optional[int] = None,
        metrics: Optional[Mapping[str, float]] = None,
    ) -> None:
        """Notes for client selection that a client has answered, with metrics such as `loss`."""
        self._at_server("answered")
        if not 0 <= int(client) < self.n_clients:
            raise ValueError(f"client {client} does not exist; clients are 0 to {self.n_clients - 1}")
        named = {name: float(value) for name, value in (metrics or {}).items()}
        n_samples = None if n_samples is None else int(n_samples)
        self._act("answered", client=int(client), n_samples=n_samples, metrics=named)

    def show(self, arrays: Mapping[str, Any]) -> None:
        """Shows arrays by name to `@fm.evaluate`, which is called with the last ones after each
        round.
        """
        self._at_server("show")
        self._act("show", arrays=self._put("show", arrays))

    def round_done(
        self, cohort: int = 0, completed: int = 0, dropped: int = 0, staleness_mean: float = 0.0
    ) -> None:
        """Ends the round: what is sent from now on belongs to the next one."""
        self._at_server("round_done")
        self._act(
            "round_done",
            cohort=int(cohort),
            completed=int(completed),
            dropped=int(dropped),
            staleness=float(staleness_mean),
        )
        self.round += 1

    def finish(self) -> None:
        """Ends the run."""
        self._at_server("finish")
        self._act("finish")

    def _at_server(self, what: str) -> None:
        if not self.is_server:
            raise ValueError(f"cx.{what} is the server's; client {self.me} cannot call it")

    def _act(self, action: str, **fields: Any) -> None:
        self._actions.append({"do": action, **fields})

    def _call(self, call: str, fields: Mapping[str, Any], arrays: Mapping[str, "Array"]) -> "Reply":
        """Asks the run, which first does what the handler has asked for until now."""
        header, out = self._pending()
        answer, given = self._worker.ask_run(
            {"kind": "call", "call": call, **fields, **header}, {**out, **arrays}
        )
        if answer["kind"] == "refused":
            raise ValueError(answer["error"])
        return answer, given

    def _pending(self) -> "Reply":
        actions, arrays = self._actions, self._arrays
        self._actions, self._arrays = [], {}
        return {"actions": actions}, arrays


def _flat(value: Any) -> "Array":
    import numpy as np

    parts = list(value.values()) if isinstance(value, Mapping) else [value]
    if not parts:
        raise ValueError("cx.release: there is no array to release")
    return np.concatenate([np.asarray(part, np.float64).reshape(-1) for part in parts])


def _shaped(flat: "Array", like: Any) -> Any:
    """Numbers in the shapes and types of `like`; whole numbers become floats."""
    import numpy as np

    def one(part: "Array", like: Any) -> "Array":
        like = np.asarray(like)
        return part.reshape(like.shape).astype(like.dtype if like.dtype.kind == "f" else np.float64)

    if not isinstance(like, Mapping):
        return one(flat, like)
    sizes = [np.asarray(part).size for part in like.values()]
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    return {name: one(part, like[name]) for name, part in zip(like, parts)}


def _strategy(worker: "Worker") -> Strategy:
    assert worker.app is not None
    strategy: Strategy = worker.app.functions["strategy"][0]()
    return strategy


def _handle(worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]) -> "Reply":
    from .wire import pack, unpack

    strategy = _strategy(worker)
    worker._seed(header["seed"])
    form = header.get("state")
    cx = Participant(worker, strategy, header, {} if form is None else unpack(form, arrays))
    event = Event(header["event"], arrays)
    if event.kind == "done":
        result = header["event"]["result"]
        event.result = unpack(result["form"], {name: arrays[key] for name, key in result["arrays"]})
    (strategy.on_server if cx.is_server else strategy.on_client)(event, cx)
    reply, out = cx._pending()
    reply["kind"] = "handled"
    own: Dict[str, "Array"] = {}
    try:
        if cx.state or form is not None:
            reply["state"] = pack(cx.state, own)
    except TypeError as error:
        raise Refused(str(error)) from None
    # The state's arrays stand first, under their own names: those of actions begin with another
    # letter.
    return reply, {**own, **out}


def _perform(worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]) -> "Reply":
    from .wire import pack, unpack

    assert worker.app is not None
    client, function = header["client"], getattr(_strategy(worker), header["function"])
    rng = worker._seed(header["seed"])
    config = json.loads(json.dumps(worker.app.config))
    ctx = Context(rng, header["round"], client, worker.n_rounds, config, worker.app.device)
    shard = None if client is None else worker._shard(client)
    result = function(shard, unpack(header["args"], arrays), ctx)
    out: Dict[str, "Array"] = {}
    try:
        return {
            "kind": "performed",
            "result": pack(result, out, f"the result of {header['function']}"),
        }, out
    except TypeError as error:
        raise Refused(str(error)) from None


def _evaluate(worker: "Worker", header: Mapping[str, Any], arrays: Dict[str, "Array"]) -> "Reply":
    from .worker import _metrics

    assert worker.app is not None
    worker._seed(header["seed"])
    function, _ = worker.app.functions["evaluate"]
    found = function(arrays, worker._shard(header["client"]))
    return {"kind": "evaluated", "metrics": _metrics(found, "@fm.evaluate", "test")}, {}


#: Requests by their kind.
REQUESTS: Dict[str, Callable[..., "Reply"]] = {
    "handle": _handle,
    "perform": _perform,
    "evaluate_shown": _evaluate,
}
