"""The older API: a strategy and a configuration from `server_fn`; the first model is a client's."""

from flwr.common import Context
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.strategy import FedAvg


def mean_distance(metrics):
    total = sum(n for n, _ in metrics)
    return {"distance": sum(n * found["distance"] for n, found in metrics) / total}


def server_fn(context: Context) -> ServerAppComponents:
    strategy = FedAvg(
        fraction_fit=context.run_config["fraction-fit"],
        fraction_evaluate=0.3,
        min_available_clients=2,
        fit_metrics_aggregation_fn=mean_distance,
    )
    rounds = context.run_config["num-server-rounds"]
    return ServerAppComponents(
        strategy=strategy, config=ServerConfig(num_rounds=rounds, round_timeout=60.0)
    )


app = ServerApp(server_fn=server_fn)
