"""An asynchronous server in its own loop: it aggregates as soon as a few updates are there."""

import random
import time

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    nodes = list(grid.get_node_ids())
    queries = [Message(RecordDict({"q": ConfigRecord()}), node, "query.size") for node in nodes]
    replies = grid.send_and_receive(queries, timeout=30)
    sizes = {
        reply.metadata.src_node_id: reply.content["size"]["n"]
        for reply in replies
        if reply.has_content()
    }
    model = np.zeros(10)
    waiting = {}

    def ask(node: int, version: int) -> None:
        content = RecordDict({"arrays": ArrayRecord([model])})
        (sent,) = grid.push_messages([Message(content, node, "train", ttl=120.0)])
        waiting[sent] = (node, version)

    for node in random.sample(sorted(sizes), config["at-once"]):
        ask(node, 0)
    buffer = []
    version = 0
    while version < config["num-server-rounds"]:
        for reply in grid.pull_messages(list(waiting)):
            node, asked = waiting.pop(reply.metadata.reply_to_message_id)
            if reply.has_content():
                update = reply.content["arrays"].to_numpy_ndarrays()[0]
                buffer.append(update * sizes[node] / (1 + version - asked))
            ask(random.choice(sorted(sizes)), version)
        if len(buffer) >= config["buffer"]:
            model = model + np.mean(buffer, axis=0) / 10
            buffer.clear()
            version += 1
        time.sleep(0.5)
    np.save("model", model)
