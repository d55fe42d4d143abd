"""Sends the model to all clients in each round, and writes down when all replies are there."""

import json
import pathlib
import time

import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.serverapp import ServerApp

app = ServerApp()


@app.main()
def main(grid, context):
    of = context.run_config
    while len(list(grid.get_node_ids())) < of["clients"]:
        time.sleep(0.2)
    model = ArrayRecord([np.zeros(of["parameters"], np.float32)])
    began, ends = time.monotonic(), []
    for _ in range(of["rounds"]):
        messages = [Message(RecordDict({"arrays": model}), node, "train") for node in grid.get_node_ids()]
        replies = list(grid.send_and_receive(messages))
        assert len(replies) == of["clients"] and not any(reply.has_error() for reply in replies)
        ends.append(time.monotonic() - began)
    if of["out"]:
        pathlib.Path(of["out"]).write_text(json.dumps(ends))
