"""The rounds of app.py in one loop without Flower, which says how much of its time is PyTorch's."""

import app
import torch

torch.set_num_threads(1)
torch.manual_seed(app.SEED)
weights = app.Network().state_dict()
for _ in range(app.N_ROUNDS):
    total, sums = 0, {name: 0.0 for name in weights}
    for data, _ in app.shards():
        network = app.learned(weights, data)
        total += len(data)
        for name, value in network.state_dict().items():
            sums[name] += len(data) * value
    weights = {name: value / total for name, value in sums.items()}
print(f"accuracy {app.accuracy(weights):.6f}")
