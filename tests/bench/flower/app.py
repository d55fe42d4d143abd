"""The task of card.ron in Flower, as its documentation writes an app: DATA=… SEED=1 python -c "import app; app.simulate()"."""

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from task import N_CLIENTS, N_ROUNDS, SEED, Network, accuracy, learned, shards

client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    torch.set_num_threads(1)
    data, _ = shards()[context.node_config["partition-id"]]
    network = learned(message.content["arrays"].to_torch_state_dict(), data)
    answer = {"arrays": ArrayRecord(network.state_dict()), "metrics": MetricRecord({"num-examples": len(data)})}
    return Message(content=RecordDict(answer), reply_to=message)


def evaluate(_: int, arrays: ArrayRecord) -> MetricRecord:
    return MetricRecord({"accuracy": accuracy(arrays.to_torch_state_dict())})


server = ServerApp()


@server.main()
def main(grid: Grid, _: Context) -> None:
    torch.manual_seed(SEED)
    strategy = FedAvg(fraction_train=1.0, fraction_evaluate=0.0)
    first = ArrayRecord(Network().state_dict())
    result = strategy.start(grid=grid, initial_arrays=first, num_rounds=N_ROUNDS, evaluate_fn=evaluate)
    last = result.evaluate_metrics_serverapp[N_ROUNDS]
    print(f"accuracy {last['accuracy']:.6f}", flush=True)


def simulate():
    run_simulation(server, client, N_CLIENTS, backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}})
