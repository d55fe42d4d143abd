"""A configuration in Folkmoot: its card, and the ends of its rounds in virtual time."""

import csv
import os
import shutil
import subprocess
import sys

from network import HERE

ROOT = HERE.parent.parent
#: The app and its card.
CARD = ROOT / "sim/algorithms/python/bench/fidelity"
#: Options of the network under which a run is the same as a real one.
TCP = {"framing": "()", "slow_start": "()", "server_sharing": "Fair"}


def settings(of, tcp):
    latency = f"Constant({float(of.latency_ms)})"
    network = {"uplink.latency_ms": latency, "downlink.latency_ms": latency}
    network |= {"up_bytes_per_s": f"Constant({of.up})", "down_bytes_per_s": f"Constant({of.down})"}
    network |= {f"server_{way}_bytes_per_s": getattr(of, f"server_{way}") for way in ("up", "down") if of.server_up}
    found = {f"network.{name}": value for name, value in (network | (TCP if tcp else {})).items()}
    return found | {
        "dataset.n_nodes": of.clients,
        "partition.n_clients": of.clients,
        "strategy.config": f'{{"parameters": {of.parameters}}}',
        "strategy.protocol.rounds": of.rounds,
        "strategy.protocol.aggregation": f"Buffered(size: {of.buffer})" if of.buffer else "Synchronous",
    }


def simulated(program, of, seconds, folder, tcp):
    """Ends and accuracies of rounds, and messages and bytes each way."""
    folder.mkdir(parents=True)
    for file in (CARD / "app.py", CARD / "card.ron", HERE / "task.py"):
        shutil.copy(file, folder)
    rows = "".join(f"{client},{spent}\n" for client, spent in enumerate(seconds))
    (folder / "cost.csv").write_text("client,seconds\n" + rows)
    words = [program, "run", folder / "card.ron", "--out", folder / "run", "--quiet"]
    words += [word for name, value in settings(of, tcp).items() for word in ("--set", f"{name}={value}")]
    paths = os.pathsep.join([str(ROOT / "sim/python"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(words, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{of.name}\n{done.stdout}{done.stderr}")
    table = lambda name: list(csv.DictReader((folder / "run" / name).open()))
    scores = {int(row["round"]): float(row["value"]) for row in table("scores.csv") if row["metric"] == "accuracy"}
    ends = [(float(row["virtual_s"]), scores[int(row["round"])]) for row in table("rounds.csv")]
    return {"rounds": ends, "messages": table("messages.csv")}
