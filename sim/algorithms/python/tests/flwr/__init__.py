"""A stand-in for flwr with the classes that `folkmoot.flower` uses, for tests without it.

Contents are encoded as JSON. Sizes, time to live and replies follow flwr's own rules.
"""

import json
import sys
import time
import types
from collections.abc import MutableMapping
from datetime import datetime, timezone

import numpy as np

__version__ = "stand-in"


def module(name, **names):
    made = types.ModuleType(f"flwr.{name}")
    made.__path__ = []
    made.__dict__.update(names)
    sys.modules[f"flwr.{name}"] = made
    parent, _, last = f"flwr.{name}".rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, made)
    return made


class Part:
    children = None

    def deflate(self):
        return json.dumps(form(self), sort_keys=True).encode()


class Array(Part):
    def __init__(self, values):
        self.data, self.dtype = np.ascontiguousarray(values).tobytes(), str(values.dtype)
        self.shape, self.stype = values.shape, "numpy.ndarray"

    def numpy(self):
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)


class Record(MutableMapping, Part):
    """Flower's own keep their values in a field of this name, too."""

    def __init__(self, items=()):
        self._data = dict(items)

    def __getitem__(self, key):
        return self._data[key]

    def __setitem__(self, key, value):
        self._data[key] = value

    def __delitem__(self, key):
        del self._data[key]

    def __iter__(self):
        return iter(self._data)

    def __len__(self):
        return len(self._data)

    def body(self):
        return json.dumps(form(self), sort_keys=True).encode()

    def deflate(self):
        # As flwr's own: a head with the type and the length of the body, then the body.
        return f"{type(self).__name__} {len(self.body())} ".encode() + self.body()


class ArrayRecord(Record):
    def __init__(self, arrays=()):
        super().__init__({str(at): Array(np.asarray(a)) for at, a in enumerate(arrays)})

    def to_numpy_ndarrays(self):
        return [array.numpy() for array in self.values()]


class ConfigRecord(Record):
    pass


class MetricRecord(Record):
    pass


def of_kind(kind):
    return property(lambda self: {k: v for k, v in self.items() if type(v) is kind})


class RecordDict(Record):
    array_records, config_records = of_kind(ArrayRecord), of_kind(ConfigRecord)
    metric_records = of_kind(MetricRecord)

    def deflate(self):
        # As flwr's own: its parts by name, without their values.
        return json.dumps(sorted(self)).encode()


def form(thing):
    if isinstance(thing, Array):
        return ["Array", thing.data.hex(), thing.dtype, list(thing.shape)]
    if isinstance(thing, Record):
        return [type(thing).__name__, {key: form(value) for key, value in thing.items()}]
    return thing


def unformed(made):
    if not isinstance(made, list):
        return made
    if made[0] == "Array":
        return Array(np.frombuffer(bytes.fromhex(made[1]), made[2]).reshape(made[3]))
    record = globals()[made[0]]()
    record.update({key: unformed(value) for key, value in made[1].items()})
    return record


class Values:
    """The values of a record as a message has them."""

    def __init__(self, record):
        self.items = [Named(key=key, value=value) for key, value in record.items()]
        self.ByteSize = lambda: len(record.body())


class Item:
    def __init__(self, key, record):
        kinds = {ArrayRecord: "array_record", ConfigRecord: "config_record"}
        self.key, kind = key, kinds.get(type(record), "metric_record")
        self.__dict__[kind] = Values(record)
        self.WhichOneof = lambda _: kind


class Proto:
    def __init__(self, content):
        self.content = content
        self.items = [Item(key, record) for key, record in content.items()]

    def SerializeToString(self, deterministic=True):
        return json.dumps(form(self.content)).encode()

    @staticmethod
    def FromString(data):
        return Proto(unformed(json.loads(data)))


class Metadata:
    def __init__(self, **fields):
        self.__dict__.update({f"_{name}": value for name, value in fields.items()})

    def __getattr__(self, name):
        return self.__dict__["_" + name]


class Error:
    def __init__(self, code, reason=None):
        self.code, self.reason = code, reason


def now():
    return datetime.now(tz=timezone.utc)


class Message(Part):
    def __init__(
        self,
        content,
        dst_node_id=None,
        message_type=None,
        *,
        ttl=None,
        group_id=None,
        reply_to=None,
    ):
        at = sys.modules[Message.__module__].now().timestamp()
        meta = {
            "run_id": 1,
            "message_id": "",
            "created_at": at,
            "reply_to_message_id": "",
            "src_node_id": 1,
        }
        if reply_to is None:
            meta.update(
                dst_node_id=dst_node_id,
                message_type=message_type,
                group_id=group_id or "",
                ttl=ttl or 43200.0,
            )
        else:
            asked = reply_to.metadata
            meta.update(
                dst_node_id=asked.src_node_id,
                src_node_id=asked.dst_node_id,
                group_id=asked.group_id,
            )
            meta.update(message_type=asked.message_type, reply_to_message_id=asked.message_id)
            meta["ttl"] = asked.ttl - (at - asked.created_at)
        is_error = isinstance(content, Error)
        self.__dict__.update(
            _metadata=Metadata(**meta),
            _content=None if is_error else content,
            _error=content if is_error else None,
        )

    metadata = property(lambda self: self.__dict__["_metadata"])
    content = property(lambda self: self.__dict__["_content"])
    error = property(lambda self: self.__dict__["_error"])

    def has_content(self):
        return self.content is not None

    def has_error(self):
        return self.error is not None

    def deflate(self):
        return b"message " + self.metadata.message_type.encode()


class Context:
    def __init__(self, run_id, node_id, node_config, state, run_config):
        self.run_id, self.node_id, self.node_config = run_id, node_id, node_config
        self.state, self.run_config = state, run_config


class App:
    def __init__(self):
        self.functions = {}

    def _mark(self, name):
        return lambda function: self.functions.setdefault(name, function)


class ServerApp(App):
    def main(self):
        return self._mark("main")

    def __call__(self, grid, context):
        self.functions["main"](grid, context)


class ClientApp(App):
    def train(self):
        return self._mark("train")

    def evaluate(self):
        return self._mark("evaluate")

    def query(self):
        return self._mark("query")

    def __call__(self, message, context):
        return self.functions[message.metadata.message_type](message, context)


class Grid:
    pass


class Strategy:
    def start(self, grid, evaluate_fn=None):
        return evaluate_fn(1, None)


class Named:
    def __init__(self, **names):
        self.__dict__.update(names)


class Run:
    create_empty = staticmethod(lambda run_id: Named(run_id=run_id))


class History:
    add_loss_centralized = add_metrics_centralized = (
        lambda self, server_round, loss=None, metrics=None: None
    )


module(
    "app",
    Array=Array,
    ArrayRecord=ArrayRecord,
    ConfigRecord=ConfigRecord,
    Context=Context,
    Error=Error,
    Message=Message,
    MetricRecord=MetricRecord,
    RecordDict=RecordDict,
)
module("clientapp", ClientApp=ClientApp)
module("serverapp", Grid=Grid, ServerApp=ServerApp)
module("serverapp.strategy", Strategy=Strategy)
module("common", Code=Named(OK=0))
module(
    "common.constant",
    SUPERLINK_NODE_ID=1,
    ErrorCode=Named(CLIENT_APP_RAISED_EXCEPTION=2, MESSAGE_UNAVAILABLE=3),
)
module("common.serde", recorddict_to_proto=Proto)
module("common.serde_utils", record_value_dict_from_proto=dict)
module("common.typing", Run=Run)
module("proto")
module("proto.recorddict_pb2", RecordDict=Proto)
module("server")
module("server.server")
module("server.compat")
module("server.compat.app")
module("server.compat.grid_client_proxy", GridClientProxy=object)
module("server.client_manager", SimpleClientManager=type("SimpleClientManager", (), {}))
module("server.history", History=History)
