"""A NumPyClient of the older API, which draws from NumPy's global generator."""

import numpy as np
from flwr.client import ClientApp, NumPyClient
from flwr.common import Context


class Client(NumPyClient):
    def __init__(self, target: float) -> None:
        self.target = target

    def get_parameters(self, config):
        return [np.zeros((4, 3), np.float32), np.zeros(3, np.float32)]

    def fit(self, parameters, config):
        noise = [0.01 * np.random.randn(*p.shape).astype(np.float32) for p in parameters]
        fitted = [p + 0.5 * (self.target - p) + e for p, e in zip(parameters, noise)]
        return fitted, 10 + int(self.target), {"distance": self.distance(fitted)}

    def evaluate(self, parameters, config):
        return self.distance(parameters), 10, {"accuracy": 1 / (1 + self.distance(parameters))}

    def distance(self, parameters):
        return float(sum(np.abs(p - self.target).mean() for p in parameters))


def client_fn(context: Context):
    return Client(1 + context.node_config["partition-id"] % 3).to_client()


app = ClientApp(client_fn=client_fn)
