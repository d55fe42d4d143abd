"""Flower apps under the program: the same bytes for any number of workers and ranks, and after any
interruption; and their cost.

    python3 tests/flower.py target/release/folkmoot [--kills N] [--cost CLIENTS] [PYTHON ...]

Flower's own `quickstart-numpy` is fetched and runs as it is, in two processes with different hash seeds.
Without a network, FLOWER_SOURCE names a clone of https://github.com/adap/flower.

Each PYTHON (default: FOLKMOOT_PYTHON, else this one) is an interpreter with NumPy and a version of
flwr, as `pip install numpy flwr==1.42.0` makes it. One without flwr is named, and not used. The cost
needs psutil here. Processes of an app have one hash seed, whatever PYTHONHASHSEED is.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/bench/flower"))
APPS = ROOT / "sim/python/examples/flower"
ENVIRONMENT = APPS / "env.ron"


def environment(python, **variables):
    paths = os.pathsep.join([str(ROOT / "sim/python"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "FOLKMOOT_PYTHON": python, "PYTHONPATH": paths, **variables}


def tried(program, arguments, python, before=(), **variables):
    env = environment(python, **variables)
    command = [*before, program, *map(str, arguments)]
    return subprocess.run(command, env=env, capture_output=True, text=True)


def run(program, arguments, python, before=(), **variables):
    done = tried(program, arguments, python, before, **variables)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout


def result(folder):
    """The result hash, and what the ServerApp wrote."""
    found = json.loads((folder / "manifest.json").read_text())["result_fingerprint"]
    files = sorted((folder / "app_files").iterdir()) if (folder / "app_files").is_dir() else []
    return found, [(file.name, file.read_bytes()) for file in files]


def arguments(app, out, *more):
    return [
        "flower",
        app,
        "--environment",
        ENVIRONMENT,
        "--clients",
        "20",
        "--seed",
        "5",
        "--quiet",
        "--out",
        out,
        *more,
    ]


def same(program, app, python, kills, temp):
    first = None
    for at, (workers, seed) in enumerate([(1, "1"), (2, "2"), (4, "77")]):
        out = temp / f"{app.name}{at}"
        run(
            program,
            arguments(app, out, "--set", f"strategy.workers={workers}", "-j", str(workers)),
            python,
            PYTHONHASHSEED=seed,
        )
        first = first or result(out)
        assert result(out) == first, f"{app.name}: {workers} workers"
    dice, n_killed = random.Random(7), 0
    for kill in range(kills):
        out = temp / f"{app.name}-killed{kill}"
        process = subprocess.Popen(
            [program, *arguments(app, out, "--checkpoint-every", "1rounds")],
            env=environment(python),
        )
        while process.poll() is None and not (out / "checkpoint" / "state").exists():
            time.sleep(0.01)
        # The last one at once, if all others had ended.
        time.sleep(dice.random() * 0.4 if n_killed or kill + 1 < kills else 0.0)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
            # A run may have ended a moment before its process.
            if not json.loads((out / "manifest.json").read_text())["result_fingerprint"]:
                n_killed += 1
                run(program, ["resume", out, "--quiet"], python)
        assert result(out) == first, f"{app.name}: killed {kill}"
    assert n_killed or not kills, f"{app.name}: every run ended before it was killed"
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    out = temp / f"{app.name}-ranks"
    if not shutil.which("mpirun"):
        print("NOT RUN: there is no mpirun, so no run on 2 ranks")
    elif "built without MPI" in tried(program, arguments(app, out), python, mpirun).stderr:
        print("NOT RUN: the program was built without MPI, so no run on 2 ranks")
    else:
        assert result(out) == first, f"{app.name}: 2 ranks"
    run(program, ["verify", temp / f"{app.name}0"], python)
    print(f"  {app.name}: {first[0][:16]} for 1, 2, 4 workers, {n_killed} kills")


def journey(program, app, python, temp):
    """A card of the app, as the book says: swept over the environment and the run config, compared,
    repeated, killed and resumed, calibrated."""

    def call(*words):
        return run(program, [*map(str, words)], python)

    card, sweep = temp / "app.ron", temp / "sweep"
    call("flower", app, "--environment", ENVIRONMENT, "--clients", 8, "--write-card", card)
    axes = """sweep=(
        axes: {
            "network.uplink.loss_prob": [0.0, 0.4],
            "strategy.run_config.num-server-rounds": [1, 2],
        },
        seeds: [1, 2],
    )"""
    call("sweep", card, "--set", axes, "--out", sweep, "-j", 2, "--quiet")
    points = sorted(path for path in (sweep / "points").iterdir())
    manifests = [json.loads((point / "manifest.json").read_text()) for point in points]
    assert len({manifest["result_fingerprint"] for manifest in manifests}) == 8, "axes do nothing"
    # A point is what a run with its settings is, by whole maps of the run config, too.
    settings = ["network.uplink.loss_prob=0.4", 'strategy.run_config={"num-server-rounds": 2}']
    words = [word for setting in settings for word in ("--set", setting)]
    call("run", card, *words, "--seed", 2, "--out", temp / "point", "--quiet")
    assert result(temp / "point")[0] == manifests[-1]["result_fingerprint"], points[-1]
    assert call("compare", temp / "point", points[-1]).strip() == "no difference"
    differing = tried(program, ["compare", points[0], points[-1]], python)
    assert differing.returncode == 1, differing
    for words in ("strategy.run_config.num-server-rounds: 1 against 2", "loss_prob: 0.0 against"):
        assert words in differing.stdout, differing.stdout
    assert call("verify", sweep).count("the same result hash") == 8
    call("report", sweep)
    call("report", temp / "point")
    for page, words in [(sweep, "num-server-rounds"), (temp / "point", "Test accuracy")]:
        assert words in (page / "report.html").read_text(), page
    killed = temp / "killed"
    command = [program, "sweep", card, "--set", axes, "--out", killed, "-j", "1", "--quiet"]
    process = subprocess.Popen(command, env=environment(python))
    while process.poll() is None and not list(killed.glob("points/*/manifest.json"))[2:]:
        time.sleep(0.01)
    assert process.poll() is None, "the sweep ended before it was killed"
    process.kill()
    process.wait()
    call("resume", killed, "--quiet")
    assert (killed / "points.csv").read_bytes() == (sweep / "points.csv").read_bytes()
    # Seconds that were measured are those of the clients' trainings.
    told = call("calibrate", card, "--set", "strategy.cost=Measured()", "--out", temp / "cost.csv", "--repeats", 1)
    assert f'Measured(path: "{temp}/cost.csv")' in told, told
    rows = (temp / "cost.csv").read_text().splitlines()[1:]
    assert [row.split(",")[0] for row in rows] == [str(client) for client in range(8)], rows
    ideal = ["network=Ideal", "dropout=(prob: 0.0)", "availability=Always"]
    measured = ["strategy.cost=Measured()", "devices=Constant(ops_per_s: 1)"]
    whole = ["strategy.run_config={\"num-server-rounds\": 1, \"fraction-train\": 1.0}"]
    words = [word for setting in ideal + measured + whole for word in ("--set", setting)]
    call("run", card, *words, "--out", temp / "measured", "--quiet")
    spent = json.loads((temp / "measured/summary.json").read_text())["virtual_s"]
    seconds = max(float(row.split(",")[1]) for row in rows)
    # Training, then an evaluation by the slowest of those that are asked.
    assert seconds <= spent <= seconds * 4 / 3 + 1e-6, (seconds, spent)
    print("  sweep, compare, verify, report, resume and calibrate: as the book says")


def fetched(example, temp):
    """The folder of an example of Flower, or None, which is said."""
    source = os.environ.get("FLOWER_SOURCE", "https://github.com/adap/flower")
    clone = ["git", "clone", "-q", "--depth", "1", "--filter=blob:none", "--sparse", source, temp / "flower"]
    check_out = ["git", "-C", temp / "flower", "sparse-checkout", "set", f"examples/{example}"]
    for command in (clone, check_out):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            print(f"NOT RUN: {example} of Flower cannot be fetched: {done.stderr.strip()}")
            return None
    return temp / "flower" / "examples" / example


def unmodified(program, app, python, temp):
    """An example of Flower in two processes with different hash seeds."""
    found = []
    for seed in ("1", "2"):
        run(program, arguments(app, temp / f"own{seed}"), python, PYTHONHASHSEED=seed)
        found.append(result(temp / f"own{seed}"))
    assert found[0] == found[1], f"{app.name}: two processes differ"
    assert [name for name, _ in found[0][1]] == ["final_model.npz"], found
    print(f"  {app.name}: {found[0][0][:16]} in two processes, unmodified")


# Contents as Flower itself decodes and measures them. Small numbers first: sizes are kept by form.
CONTENTS = """
import numpy as np
from folkmoot.flower import clock, messages as form
from flwr.app import ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from flwr.common.serde import recorddict_from_proto

def deflated(thing):
    return len(thing.deflate()) + sum(map(deflated, (thing.children or {}).values()))

clock.start(0)
for n in (1, 2**62, 2**63 + 1):
    content = RecordDict({
        "arrays": ArrayRecord([np.full((2, n % 1000), 1.5), np.array(n, np.uint64)]),
        "none": ArrayRecord(),
        "metrics": MetricRecord({"n": n, "loss": 0.5, "all": [0.1] * (n % 1000), "ids": [n, 1]}),
        "config": ConfigRecord({"b": True, "s": "x" * (n % 1000), "bytes": bytes(3), "l": ["a"]}),
    })
    data, n_bytes = form.sized(content)
    assert data.tobytes() == form.encoded(content).tobytes()
    assert n_bytes == deflated(content), (n_bytes, deflated(content))
    own = recorddict_from_proto(form.ProtoRecordDict.FromString(data.tobytes()))
    found = form.decoded(data)
    assert found == own == content and repr(found) == repr(own)
    assert form.encoded(found).tobytes() == data.tobytes() and deflated(found) == n_bytes
    for name in content:
        assert type(found[name]) is type(own[name]) and list(found[name]) == list(own[name])
        assert [type(v) for v in found[name].values()] == [type(v) for v in own[name].values()]
    assert (found["arrays"].to_numpy_ndarrays()[0] == 1.5).all()
    found["metrics"]["n"] = 2
    assert content["metrics"]["n"] == n
sent = form.instruction(content, "train.own", dst_node_id=5, ttl=3.0, message_id="7")
form.be(form.SUPERLINK_NODE_ID)
own = form.Message(content, 5, "train.own", ttl=3.0)
form.stamp(own, run_id=form.RUN_ID, src_node_id=form.SUPERLINK_NODE_ID, message_id="7")
assert sent.metadata == own.metadata and sent.content is content, (sent.metadata, own.metadata)
try:
    form.instruction(content, "no type", dst_node_id=5)
except ValueError:
    pass
else:
    raise AssertionError("a wrong type is accepted")
"""


def cost(program, app, python, clients, temp):
    """Processor seconds of all processes of the app by itself and in the program, in turns; start
    and imports are counted apart on both sides. Both are bound to one processor: where a message
    wakes another one, that takes a share that depends on the machine."""
    from measure import measured

    rounds = {"num-server-rounds": 3, "fraction-train": 1.0, "fraction-evaluate": 1.0}
    pairs = " ".join(f"{key}={value}" for key, value in rounds.items())
    binding = ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    in_process = ROOT / "tests/bench/flower/in_process.py"
    ratios = {}
    for bound in [binding, []] * 5:
        command = [*bound, python, in_process, app, str(clients), json.dumps(rounds)]
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        alone = subprocess.run(command, capture_output=True, text=True, cwd=temp, env=env)
        if alone.returncode:
            sys.exit(alone.stderr)
        alone = json.loads(alone.stdout.splitlines()[-1])
        spent = []
        for config in (pairs, pairs.replace("rounds=3", "rounds=0")):
            out = temp / "cost"
            words = ["flower", app, "--environment", temp / "cost.ron", "--clients", clients]
            words += ["--quiet", "--out", out, "--run-config", config]
            words += ["--set", "strategy.workers=1", "-j", 1]
            command = [str(word) for word in (*bound, program, *words)]
            paths = {"FOLKMOOT_PYTHON": python, "PYTHONPATH": str(ROOT / "sim/python")}
            spent.append(measured(command, with_memory=False, **paths)[2])
            shutil.rmtree(out)
        ratio = (spent[0] - spent[1]) / alone["run_s"]
        ratios.setdefault(bool(bound), []).append(ratio)
        print(
            "  {}  messages {}  alone {:.2f} s  here {:.2f} s  start {:.2f} s  ratio {:.2f}".format(
                "one processor" if bound else "any processor",
                alone["messages"],
                alone["run_s"],
                spent[0] - spent[1],
                spent[1],
                ratio,
            )
        )
    middle = {bound: statistics.median(found) for bound, found in ratios.items()}
    print(f"  median ratio: {middle[True]:.2f} on one processor, {middle[False]:.2f} on any")
    assert middle[True] <= 1.5, "more than 1.5 times the processor time of the app by itself"


COST = """(
    network: Links(
        uplink: (latency_ms: Uniform(low: 20.0, high: 80.0), loss_prob: 0.05),
        downlink: (latency_ms: Uniform(low: 20.0, high: 80.0), loss_prob: 0.05),
        max_retries: 0,
    ),
    devices: LogNormal(median_ops_per_s: 1e6, sigma: 0.7),
    dropout: (prob: 0.1),
)"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--cost", type=int, metavar="CLIENTS")
    parser.add_argument("pythons", nargs="*")
    args = parser.parse_intermixed_args()
    program = args.program.resolve()
    sources = tempfile.TemporaryDirectory()
    example = fetched("quickstart-numpy", pathlib.Path(sources.name))
    pythons = args.pythons or [os.environ.get("FOLKMOOT_PYTHON", sys.executable)]
    for python in pythons:
        found = subprocess.run(
            [python, "-c", "import flwr; print(flwr.__version__)"], capture_output=True, text=True
        )
        if found.returncode:
            print(f"NOT RUN: {python} has no flwr: the tests of Flower apps did not run")
            continue
        print(f"flwr {found.stdout.strip()}")
        with tempfile.TemporaryDirectory() as folder:
            temp = pathlib.Path(folder)
            run(python, ["-c", CONTENTS], python)
            for app in sorted(path.parent for path in APPS.glob("*/pyproject.toml")):
                same(program, app, python, args.kills, temp)
            if example:
                unmodified(program, example, python, temp)
            journey(program, APPS / "messages", python, temp)
            if args.cost:
                (temp / "cost.ron").write_text(COST)
                cost(program, APPS / "messages", python, args.cost, temp)


if __name__ == "__main__":
    main()
