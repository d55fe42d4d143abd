"""Logistic regression by the message API; each client draws its data by its partition."""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


def load(context: Context):
    rng = np.random.default_rng(context.node_config["partition-id"])
    x = rng.normal(size=(50, 20))
    return x, (x @ np.arange(-10, 10) > 0).astype(float)


def probabilities(weights, x):
    return 1 / (1 + np.exp(-x @ weights))


@app.train()
def train(message: Message, context: Context) -> Message:
    weights = message.content["arrays"].to_numpy_ndarrays()[0].copy()
    x, y = load(context)
    for _ in range(5):
        batch = np.random.choice(len(y), 32)
        error = probabilities(weights, x[batch]) - y[batch]
        weights -= context.run_config["learning-rate"] * x[batch].T @ error / len(batch)
    calls = context.state.get("calls", MetricRecord({"n": 0}))["n"] + 1
    context.state["calls"] = MetricRecord({"n": calls})
    metrics = MetricRecord(
        {"num-examples": len(y), "train_loss": loss(weights, x, y), "calls": calls}
    )
    content = RecordDict({"arrays": ArrayRecord([weights]), "metrics": metrics})
    return Message(content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    weights = message.content["arrays"].to_numpy_ndarrays()[0]
    x, y = load(context)
    accuracy = float(np.mean((probabilities(weights, x) > 0.5) == y))
    metrics = MetricRecord(
        {"num-examples": len(y), "accuracy": accuracy, "loss": loss(weights, x, y)}
    )
    return Message(RecordDict({"metrics": metrics}), reply_to=message)


def loss(weights, x, y):
    p = np.clip(probabilities(weights, x), 1e-9, 1 - 1e-9)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
