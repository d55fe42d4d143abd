"""The task of card.ron in Flower, as its documentation writes an app: DATA=… SEED=1 python -c "import app; app.simulate()"."""

import os
from functools import cache

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch_geometric.datasets import TUDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool

DATA, SEED = os.environ["DATA"], int(os.environ["SEED"])
N_CLIENTS, N_ROUNDS = 10, 50


def layer(n_in):
    return GINConv(torch.nn.Sequential(torch.nn.Linear(n_in, 32), torch.nn.ReLU(), torch.nn.Linear(32, 32)))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([layer(7), layer(32), layer(32)])
        self.head = torch.nn.Linear(32, 2)

    def forward(self, batch):
        h = batch.x
        for one in self.layers:
            h = one(h, batch.edge_index).relu()
        return self.head(global_add_pool(h, batch.batch))


@cache
def shards():
    """Of each client what trains and what tests; read once in each of Flower's processes."""
    dataset = TUDataset(DATA, "MUTAG")
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(SEED))
    parts = [order[i::N_CLIENTS] for i in range(N_CLIENTS)]
    cut = [round(0.8 * len(part)) for part in parts]
    return [(dataset[part[:n]], dataset[part[n:]]) for part, n in zip(parts, cut)]


def learned(weights, data):
    network = Network()
    network.load_state_dict(weights)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(5):
        for batch in DataLoader(data, batch_size=16, shuffle=True):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(network(batch), batch.y).backward()
            optimiser.step()
    return network


def accuracy(weights):
    network = Network()
    network.load_state_dict(weights)
    right = total = 0
    with torch.no_grad():
        for _, data in shards():
            for batch in DataLoader(data, batch_size=64):
                right += int((network(batch).argmax(1) == batch.y).sum())
                total += len(batch.y)
    return right / total


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
