"""Flower's Grid in one process, without delays, losses and counts: what an app costs by itself.

    python tests/bench/flower/in_process.py DIR CLIENTS

Prints processor seconds, start and imports apart. Messages and replies pass Flower's own encoding
once, so that no side shares objects with another.
"""

import importlib
import json
import random
import sys
import time
from pathlib import Path

began = time.process_time()
import numpy as np
import tomllib
from flwr.app import Context, Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as Proto
from flwr.serverapp import Grid

try:
    from flwr.supercore.task_identity import TaskIdentity
except ImportError:
    TaskIdentity = None


def be(node):
    if TaskIdentity is not None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, node


def copied(content):
    return recorddict_from_proto(Proto.FromString(recorddict_to_proto(content).SerializeToString()))


class InProcess(Grid):
    def __init__(self, app, n_clients, config):
        self.app, self.nodes, self.replies, self.n_sent = app, list(range(2, n_clients + 2)), {}, 0
        self.contexts = {}
        for node in self.nodes:
            own = {"partition-id": node - 2, "num-partitions": n_clients}
            self.contexts[node] = Context(1, node, own, RecordDict(), dict(config))

    def set_run(self, run):
        pass

    run = property(lambda self: None)

    def create_message(self, content, message_type, dst_node_id, group_id, ttl=None):
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self):
        return self.nodes

    def push_messages(self, messages):
        ids = []
        for message in messages:
            self.n_sent += 1
            ids.append(f"{self.n_sent:064x}")
            meta = message.metadata
            kind, content = meta.message_type, copied(message.content)
            sent = Message(content, meta.dst_node_id, kind, ttl=meta.ttl, group_id=meta.group_id)
            sent.metadata.__dict__.update(_message_id=ids[-1], _src_node_id=SUPERLINK_NODE_ID)
            be(meta.dst_node_id)
            reply = self.app(sent, self.contexts[meta.dst_node_id])
            be(SUPERLINK_NODE_ID)
            reply.content = copied(reply.content)
            self.replies[ids[-1]] = reply
        return ids

    def pull_messages(self, message_ids):
        return [self.replies.pop(named) for named in message_ids if named in self.replies]

    def send_and_receive(self, messages, *, timeout=None):
        return self.pull_messages(self.push_messages(messages))


if __name__ == "__main__":
    folder, n_clients = Path(sys.argv[1]), int(sys.argv[2])
    table = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    config = {**table.get("config", {}), **json.loads(sys.argv[3] if len(sys.argv) > 3 else "{}")}
    sys.path.insert(0, str(folder))
    be(SUPERLINK_NODE_ID)
    names = (table["components"][name].split(":") for name in ("serverapp", "clientapp"))
    server, client = (getattr(importlib.import_module(module), name) for module, name in names)
    random.seed(1)
    np.random.seed(1)
    grid = InProcess(client, n_clients, config)
    start = time.process_time()
    server(grid, Context(1, SUPERLINK_NODE_ID, {}, RecordDict(), config))
    end = time.process_time()
    print(json.dumps({"messages": 2 * grid.n_sent, "start_s": start - began, "run_s": end - start}))
