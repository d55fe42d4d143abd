"""FedAvg of Flower, with an evaluation of its own after each round."""

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

app = ServerApp()


def evaluate(server_round: int, arrays: ArrayRecord) -> MetricRecord:
    return MetricRecord({"norm": float(np.linalg.norm(arrays.to_numpy_ndarrays()[0]))})


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    strategy = FedAvg(
        fraction_train=config["fraction-train"],
        fraction_evaluate=config["fraction-evaluate"],
        min_available_nodes=2,
    )
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord([np.zeros(20)]),
        num_rounds=config["num-server-rounds"],
        timeout=60,
        evaluate_fn=evaluate,
    )
    np.savez("final_model", *result.arrays.to_numpy_ndarrays())
