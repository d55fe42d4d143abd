"""Messages in Flower's own form: contents as bytes, sizes, rounds and metrics."""

from __future__ import annotations

import datetime
import sys
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from . import clock

#: The versions of flwr that apps may use, the first and the last that were tested.
VERSIONS = ("1.22.0", "1.42.0")

try:
    from flwr.app import (
        Array,
        ArrayRecord,
        ConfigRecord,
        Context,
        Error,
        Message,
        MetricRecord,
        RecordDict,
    )
    from flwr.clientapp import ClientApp
    from flwr.common.constant import SUPERLINK_NODE_ID as SUPERLINK_NODE_ID
    from flwr.common.constant import ErrorCode as ErrorCode
    from flwr.common.serde import recorddict_to_proto
    from flwr.common.serde_utils import record_value_dict_from_proto
    from flwr.proto.recorddict_pb2 import RecordDict as ProtoRecordDict
    from flwr.serverapp import Grid, ServerApp
except ImportError as error:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found: Optional[str] = version("flwr")
    except PackageNotFoundError:
        found = None
    problem = (
        "flwr is not installed" if found is None else f"flwr {found} lacks what is needed ({error})"
    )
    raise ImportError(
        f"{problem}; apps run with flwr {VERSIONS[0]} to {VERSIONS[1]}: "
        f"{sys.executable} -m pip install 'flwr=={VERSIONS[1]}'"
    ) from None

try:
    from flwr.supercore.task_identity import TaskIdentity
except ImportError:  # flwr < 1.30: a message does not ask who its process is.
    TaskIdentity = None

__all__ = [
    "ClientApp",
    "Context",
    "Error",
    "ErrorCode",
    "Grid",
    "Message",
    "RecordDict",
    "ServerApp",
]

#: As long as Flower's own, which are drawn from 64 bits.
RUN_ID = 1 << 62
_FIRST_NODE = 1 << 62
#: The size in bytes of what does not depend on values, by its form.
_sizes: Dict[Any, int] = {}
#: A message of each type, to make others from without Flower's checks of arguments.
_instructions: Dict[str, Message] = {}


class _Now:
    """In the place of Flower's `now`, which reads the clock of the system."""

    def __call__(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(clock.wall(), tz=datetime.timezone.utc)


sys.modules[Message.__module__].now = _Now()  # type: ignore[attr-defined]


def node_id(client: int) -> int:
    return _FIRST_NODE + client


def client_of(node: int) -> int:
    return node - _FIRST_NODE


def message_id(number: int) -> str:
    """As long as Flower's own, which are hashes."""
    return f"{number:064x}"


def be(node: int) -> None:
    """Makes this process act for a node."""
    if TaskIdentity is not None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, RUN_ID, node


def new_run() -> Any:
    try:
        from flwr.supercore.run import Run
    except ImportError:
        from flwr.common.typing import Run
    return Run.create_empty(RUN_ID)


def stamp(message: Message, **values: Any) -> None:
    """Sets fields of the metadata that Flower sets when a message is sent."""
    message.metadata.__dict__.update({f"_{name}": value for name, value in values.items()})


def shell(message: Message) -> Message:
    """The same message without its content: all that a reply needs."""
    bare = object.__new__(Message)
    bare.__dict__.update(message.__dict__)
    bare.__dict__["_content"] = None
    return bare


def instruction(content: RecordDict, message_type: str, **values: Any) -> Message:
    """A message from the server as a client gets it, with these fields of the metadata."""
    like = _instructions.get(message_type)
    if like is None:
        be(SUPERLINK_NODE_ID)
        like = _instructions[message_type] = Message(RecordDict(), 0, message_type)
    message = shell(like)
    meta = object.__new__(type(like.metadata))
    meta.__dict__.update(like.metadata.__dict__)
    message.__dict__.update(_content=content, _metadata=meta)
    stamp(message, run_id=RUN_ID, src_node_id=SUPERLINK_NODE_ID, **values)
    return message


def encoded(content: RecordDict) -> "np.ndarray[Any, Any]":
    return _serialized(recorddict_to_proto(content))


def sized(content: RecordDict) -> Tuple["np.ndarray[Any, Any]", int]:
    """A content in Flower's encoding, and the bytes that its messages have for it."""
    proto = recorddict_to_proto(content)
    return _serialized(proto), _content_bytes(content, proto)


def _serialized(proto: Any) -> "np.ndarray[Any, Any]":
    return np.frombuffer(proto.SerializeToString(deterministic=True), np.uint8)


def decoded(array: "np.ndarray[Any, Any]") -> RecordDict:
    """As Flower's own, which checks and copies each value once more."""
    content = RecordDict()
    for item in ProtoRecordDict.FromString(array.tobytes()).items:
        field = item.WhichOneof("value")
        values = getattr(item, field).items
        record: Any
        if field == "array_record":
            record = ArrayRecord()
            found = {value.key: _array(value.value) for value in values}
        else:
            record = MetricRecord() if field == "metric_record" else ConfigRecord()
            found = record_value_dict_from_proto({value.key: value.value for value in values})
        record.__dict__["_data"].update(found)
        content.__dict__["_data"][item.key] = record
    return content


def _array(proto: Any) -> Array:
    made = object.__new__(Array)
    shape = tuple(proto.shape)
    made.__dict__.update(dtype=proto.dtype, shape=shape, stype=proto.stype, data=proto.data)
    return made


def _size(thing: Any) -> int:
    """The bytes of an object and of those that it is made of."""
    return len(thing.deflate()) + sum(_size(child) for child in (thing.children or {}).values())


def _content_bytes(content: RecordDict, proto: Any) -> int:
    """The bytes of a content as Flower serialises it: of all its objects, each where it occurs."""
    form: List[Any] = []
    n_bytes = 0
    for item, (key, record) in zip(proto.items, content.items()):
        if isinstance(record, ArrayRecord):
            arrays = tuple(
                (name, a.dtype, tuple(a.shape), a.stype, len(a.data)) for name, a in record.items()
            )
            if arrays not in _sizes:
                _sizes[arrays] = _size(record)
            n_bytes += _sizes[arrays]
            form.append((key, "arrays"))
        else:
            # A head with the type and the length of the body, then the body.
            body: int = getattr(item, item.WhichOneof("value")).ByteSize()
            kind = type(record)
            if kind not in _sizes:
                _sizes[kind] = len(record.deflate()) - body - len(str(body))
            n_bytes += _sizes[kind] + body + len(str(body))
            form.append((key, kind.__name__))
    shape = tuple(form)
    if shape not in _sizes:
        _sizes[shape] = len(content.deflate())
    return n_bytes + _sizes[shape]


def message_bytes(message: Message, content: int) -> int:
    """The bytes of a message whose content has so many."""
    meta = message.metadata
    if message.has_error():
        return len(message.deflate())
    form = (
        meta.message_type,
        meta.group_id,
        bool(meta.reply_to_message_id),
        meta.src_node_id.bit_length(),
        meta.dst_node_id.bit_length(),
    )
    if form not in _sizes:
        _sizes[form] = len(message.deflate())
    return content + _sizes[form]


def round_of(message: Message) -> Optional[int]:
    """The round that a message names, from 1 on, by its configuration or its group."""
    for record in message.content.values():
        named = record.get("server-round") if isinstance(record, ConfigRecord) else None
        if isinstance(named, int):
            return named
    group = message.metadata.group_id
    return int(group) if group.isdecimal() else None


def is_number(value: Any) -> bool:
    """Whether a metric is a finite number."""
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and bool(np.isfinite(value))
    )


_WEIGHTS = ("num-examples", "num_examples")
#: The metrics of a NumPyClient.
_OF_CLIENTS = ("fitres.metrics", "evaluateres.metrics")


def _values(content: RecordDict) -> Iterator[Tuple[str, Any]]:
    of_clients = []
    for key, record in content.items():
        if isinstance(record, MetricRecord):
            yield from record.items()
        elif isinstance(record, ConfigRecord) and key in _OF_CLIENTS:
            of_clients.append(record)
    for record in of_clients:
        yield from record.items()


def metrics_of(content: RecordDict) -> Tuple[float, List[Tuple[str, float]]]:
    """The number of examples of a reply (1 where it names none), and its metrics."""
    weight, found = 1.0, []
    for name, value in _values(content):
        if name in _WEIGHTS and isinstance(value, (int, float)):
            weight = float(value)
        elif is_number(value):
            found.append((name, float(value)))
    return weight, found
