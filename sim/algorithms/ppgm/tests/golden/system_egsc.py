"""Expected values of EGSC's teacher and student: writes system_egsc.json beside this script.

    python3 system_egsc.py        # torch 2.15.0, double precision

Widths 8, 4, 4, a joint vector of 4, 3 features. Weights are drawn from one counter a model, in the order of `shapes`; batch norm
begins at scale 1, shift 0, mean 0 and variance 1, and a layer's epsilon at 0.
"""

import json
import pathlib
import re

import torch
from torch.nn.functional import smooth_l1_loss

torch.set_default_dtype(torch.float64)
WIDTHS, BOTTLENECK, FEATURES = (8, 4, 4), 4, 3
GRAPHS = [
    (3, [(0, 1), (1, 2)], [0, 1, 2]),
    (4, [(0, 1), (1, 2), (0, 2), (2, 3)], [0, 1, 1, 2]),
    (4, [(0, 1), (1, 2), (2, 3), (3, 0)], [2, 2, 0, 1]),
    (5, [(0, 1), (0, 2), (0, 3), (3, 4)], [1, 0, 0, 2, 0]),
]
PAIRS = [(0, 1, 1.0), (2, 3, 0.0), (0, 2, 0.0), (1, 3, 1.0)]
STEPS, RATE, DECAY = 3, 0.01, 0.02


def linear(name, n_in, n_out):
    return [(f"{name}.weight", (n_in, n_out)), (f"{name}.bias", (1, n_out))]


def gate(name, width):
    return linear(f"{name}.0", width, width // 4) + linear(f"{name}.1", width // 4, width)


def shapes(teaches, second=False):
    """Names and shapes in the order of drawing."""
    drawn, n_in = [], FEATURES
    for l, width in enumerate(WIDTHS):
        drawn += linear(f"levels.{l}.nn.0", n_in, width) + linear(f"levels.{l}.nn.2", width, width)
        n_in = width
    for l, width in enumerate(WIDTHS):
        drawn += [(f"pools.{l}.context", (width, width))] + (gate(f"pools.{l}.gate", width) if teaches else [])
    total = sum(WIDTHS)
    if teaches:
        for l, width in enumerate(WIDTHS):
            drawn += gate(f"fusions.{l}.gate", 2 * width)
            drawn += linear(f"fusions.{l}.wide", 2 * width, 2 * width)
            drawn += linear(f"fusions.{l}.narrow", 2 * width, width // 2)
        drawn += gate("whole", total // 2) + linear("joint.0", total // 2, BOTTLENECK)
    else:
        drawn += gate("whole", 2 * total) + linear("joint.0", 2 * total, total) + linear("joint.1", total, BOTTLENECK)
    drawn += linear("output", BOTTLENECK, 1)
    return drawn + (linear("second.0", 2 * BOTTLENECK, BOTTLENECK) + linear("second.1", BOTTLENECK, 1) if second else [])


class Egsc:
    def __init__(self, teaches, second=False):
        self.teaches, self.training, k = teaches, False, 0
        self.p, self.buffers = {}, {}
        for name, shape in shapes(teaches, second):
            n = shape[0] * shape[1]
            values = 0.6 * torch.sin(2.3 * (torch.arange(k, k + n) + 1.0))
            self.p[name], k = values.reshape(shape), k + n
        for l, width in enumerate(WIDTHS):
            self.p[f"levels.{l}.eps"] = torch.zeros(1, 1)
            self.p[f"levels.{l}.norm.weight"] = torch.ones(1, width)
            self.p[f"levels.{l}.norm.bias"] = torch.zeros(1, width)
            self.buffers[f"levels.{l}.norm.running_mean"] = torch.zeros(1, width)
            self.buffers[f"levels.{l}.norm.running_var"] = torch.ones(1, width)
        for value in self.p.values():
            value.requires_grad_()

    def line(self, name, x):
        return x @ self.p[f"{name}.weight"] + self.p[f"{name}.bias"]

    def gate(self, name, x):
        return self.line(f"{name}.1", torch.relu(self.line(f"{name}.0", x)))

    def begin(self, graphs):
        """The vectors of each graph, level by level; statistics are of all nodes of all of them."""
        n = [graph[0] for graph in graphs]
        adjacency = torch.block_diag(*[self.adjacency(graph) for graph in graphs])
        labels = torch.tensor([label for graph in graphs for label in graph[2]])
        h = torch.nn.functional.one_hot(labels, FEATURES).double()
        pooled = [[] for _ in graphs]
        for l in range(3):
            h = (1 + self.p[f"levels.{l}.eps"]) * h + adjacency @ h
            h = self.line(f"levels.{l}.nn.2", torch.relu(self.line(f"levels.{l}.nn.0", h)))
            name = f"levels.{l}.norm"
            statistics = [self.buffers[f"{name}.running_{of}"].reshape(-1) for of in ("mean", "var")]
            scale, shift = self.p[f"{name}.weight"].reshape(-1), self.p[f"{name}.bias"].reshape(-1)
            h = torch.nn.functional.batch_norm(h, *statistics, scale, shift, self.training)
            if self.teaches or l < 2:
                h = torch.relu(h)
            for to, nodes in zip(pooled, h.split(n)):
                to.append(self.pool(l, nodes))
        return pooled

    @staticmethod
    def adjacency(graph):
        a = torch.zeros(graph[0], graph[0])
        for u, v in graph[1]:
            a[u, v] = a[v, u] = 1
        return a

    def pool(self, l, x):
        if self.teaches:
            x = x + torch.tanh(self.gate(f"pools.{l}.gate", x)) * x
        context = torch.tanh(x.mean(0, keepdim=True) @ self.p[f"pools.{l}.context"])
        return torch.sigmoid(context @ x.T) @ x

    def joint(self, first, second):
        if not self.teaches:
            u = torch.cat([*first[::-1], *second[::-1]], 1)
            v = self.line("joint.0", u + torch.sigmoid(self.gate("whole", u)))
            return torch.relu(self.line("joint.1", v))
        fused = []
        for l in range(3):
            u = torch.cat([first[l], second[l]], 1)
            u = u + torch.sigmoid(self.gate(f"fusions.{l}.gate", u)) * u
            h = torch.relu(self.line(f"fusions.{l}.wide", u))
            fused.append(torch.relu(self.line(f"fusions.{l}.narrow", h)))
        e = torch.cat(fused[::-1], 1)
        e = e + torch.sigmoid(self.gate("whole", e)) * e
        return torch.relu(self.line("joint.0", e))

    def score(self, first, second):
        return torch.sigmoid(self.line("output", self.joint(first, second)))

    def second(self, rows):
        return torch.sigmoid(self.line("second.1", torch.relu(self.line("second.0", torch.cat(rows, 1)))))

    def decomposed(self, z):
        own = [self.joint(side, side) for side in z]
        of = [self.joint(z[a], z[b]) for a, b, _ in PAIRS]
        rows = [[h - own[pair[side]] for h, pair in zip(of, PAIRS)] for side in (0, 1)]
        return [torch.cat(side) for side in rows]


def distances(x):
    square = ((x[:, None] - x[None]) ** 2).sum(2).clamp(min=1e-12)
    return square.sqrt() * (1 - torch.eye(len(x)))


def angles(x):
    rays = torch.nn.functional.normalize(x[None] - x[:, None], dim=2)
    return rays @ rays.transpose(1, 2)


MODES = {
    "Values": [(10, lambda x: x)],
    "Distances": [(10, distances)],
    "Angles": [(10, angles)],
    "Both": [(5, lambda x: x), (5, distances)],
}


def numbers(x):
    return [round(float(v), 9) for v in x.detach().reshape(-1)]


def marks(values):
    """Of each matrix, by its name, the sum of its elements' sizes, and the sum of them weighed by the sine of their place."""
    def of(x):
        x = x.detach().reshape(-1)
        return numbers(torch.stack([x.abs().sum(), (x * torch.sin(torch.arange(len(x)) + 1.0)).sum()]))

    return [of(value) for _, value in sorted(values.items())]


def forward(teaches):
    net = Egsc(teaches)
    z = net.begin(GRAPHS[:2])
    expected = {"lengths": [[round(float(level.detach().norm()), 9) for level in side] for side in z], "joint": {}, "score": {}}
    for name, (a, b) in {"AB": (0, 1), "BA": (1, 0), "AA": (0, 0), "BB": (1, 1)}.items():
        expected["joint"][name] = numbers(net.joint(z[a], z[b]))
        expected["score"][name] = numbers(net.score(z[a], z[b]))[0]
    ((net.score(*z) - 0.9) ** 2).sum().backward()
    expected["gradient"] = marks({name: value.grad for name, value in net.p.items()})
    return expected


def training(teaches, mode, second=False):
    net, teacher = Egsc(teaches, second), Egsc(True)
    with torch.no_grad():
        shown = teacher.decomposed(teacher.begin(GRAPHS))
    net.training = True
    adam = torch.optim.Adam(net.p.values(), lr=RATE, weight_decay=DECAY)
    targets, losses = torch.tensor([y for _, _, y in PAIRS]), []
    for _ in range(STEPS):
        z = net.begin(GRAPHS)
        scores = torch.cat([net.score(z[a], z[b]) for a, b, _ in PAIRS]).reshape(-1)
        error = ((scores - targets) ** 2).mean()
        made = net.decomposed(z)
        loss = error if mode == "None" else 2 * error
        if second:
            loss = error + ((net.second(made).reshape(-1) - targets) ** 2).mean()
        for own, shown_of in zip(made, shown):
            for weight, relation in MODES.get(mode, []):
                loss = loss + weight / 128 * smooth_l1_loss(relation(own), relation(shown_of))
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(round(float(error.detach()), 9))
    return {"errors": losses, "parameters": marks({**net.p, **net.buffers})}


def case(name, op, params, expected, rtol, atol):
    tolerance = {"rtol": rtol, "atol": atol}
    return {"name": name, "op": op, "params": params, "inputs": {}, "expected": expected, "tol": {"f64": tolerance, "f32": tolerance}}


cases = []
for teaches in (True, False):
    name = "teacher" if teaches else "student"
    cases.append(case(f"{name}_pairs", "pairs", {"teaches": teaches}, forward(teaches), 1e-4, 1e-5))
    for mode in ["None"] if teaches else ["None", *MODES]:
        params = {"teaches": teaches, "distillation": mode}
        cases.append(case(f"{name}_learns_{mode.lower()}", "training", params, training(teaches, mode), 2e-4, 2e-4))
params = {"teaches": False, "distillation": "Both", "rec_head": True}
cases.append(case("student_learns_with_a_second_head", "training", params, training(False, "Both", True), 2e-4, 2e-4))

about = (
    "EGSC's networks at widths 8, 4, 4, a joint vector of 4 and 3 features, from the weights and on the graphs of the script. pairs: "
    "lengths of the vectors of graphs A and B at each level, the joint vectors and scores of four pairs with running statistics, and of "
    "each gradient of (score of AB - 0.9)^2 the sum of sizes and the sum weighed by sin(place). training: three steps of Adam on four "
    "pairs with statistics of the batch, errors before each, and the same two sums of each matrix after them, running statistics included; matrices are in the order of their names."
)
file = {"topic": "system_egsc", "about": about, "library": {"torch": torch.__version__.split("+")[0]}, "cases": cases}
# A row of numbers on one line.
text = re.sub(r"\[\s+([^][{}]*?)\s+\]", lambda row: "[" + re.sub(r"\s+", " ", row[1]) + "]", json.dumps(file, indent=1))
pathlib.Path(__file__).with_name("system_egsc.json").write_text(text + "\n")
