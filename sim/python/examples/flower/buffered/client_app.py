"""A client that moves the model towards its own number, and is asked for its size first."""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


@app.query("size")
def size(message: Message, context: Context) -> Message:
    n = 10 + context.node_config["partition-id"] % 5
    return Message(RecordDict({"size": MetricRecord({"n": n})}), reply_to=message)


@app.train()
def train(message: Message, context: Context) -> Message:
    model = message.content["arrays"].to_numpy_ndarrays()[0]
    own = context.node_config["partition-id"] / context.node_config["num-partitions"]
    update = 0.5 * (own - model) + np.random.normal(scale=0.01, size=model.shape)
    metrics = MetricRecord({"num-examples": 1, "distance": float(np.abs(own - model).mean())})
    content = RecordDict({"arrays": ArrayRecord([update]), "metrics": metrics})
    return Message(content, reply_to=message)
