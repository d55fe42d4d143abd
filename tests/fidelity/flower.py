"""A Flower app in a real federation, and the same app in Folkmoot.

    python3 tests/fidelity/flower.py target/release/folkmoot [--repeats N]

Needs what run.py needs, and flwr 1.42 in FOLKMOOT_PYTHON. SuperLink and SuperNodes run in network
namespaces as in run.py. Flower asks for messages and for replies every 3 s, and starts a process for
each task; virtual time has neither. The script prints the time beyond the simulated one, and asserts
nothing about it.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from network import HERE, Star, denied, inside

APP = HERE / "flower_app"
#: Clients, bytes of a model, rate of each link in bytes/s, compute seconds, latency in ms.
FEDERATIONS = [(2, 400_000, None, 1.0, 0), (2, 4_000_000, 1e6, 1.0, 0), (4, 2_000_000, 0.5e6, 3.0, 20)]
ROUNDS = 3


def settings(clients, size, seconds, out=""):
    values = {"clients": clients, "rounds": ROUNDS, "parameters": size // 4, "seconds": seconds, "out": f'"{out}"'}
    return " ".join(f"{key}={value}" for key, value in values.items())


def real(python, federation, temp):
    clients, size, rate, seconds, latency_ms = federation
    programs = pathlib.Path(python).parent
    out = temp / "ends.json"
    out.unlink(missing_ok=True)
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "FLWR_HOME": str(temp / "flwr")}
    env |= {"FLWR_TELEMETRY_ENABLED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    (temp / "flwr").mkdir(exist_ok=True)
    connection = '[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "127.0.0.1:8000"\ninsecure = true\n'
    (temp / "flwr" / "config.toml").write_text(connection)
    started = []

    def start(space, *words):
        log = (temp / f"{space}.log").open("a")
        command = inside(space, "nice", "-n", "-10", programs / words[0], *words[1:])
        started.append(subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True, cwd=temp))

    with Star(clients, rate, rate, None, None, latency_ms) as star:
        try:
            here = ["--host", "0.0.0.0", "--port", "8000", "--disable-runtime-dependency-installation"]
            start("server", "flower-superlink", "--insecure", *here)
            time.sleep(5)
            for client in range(clients):
                address = f"{star.address('server')}:8000"
                start(client, "flower-supernode", "--insecure", "--superlink", address)
            time.sleep(5)
            config = settings(clients, size, seconds, out)
            start("server", "flwr", "run", APP, "here", "--stream", "--run-config", config)
            for _ in range(600):
                if out.exists() and out.read_text():
                    return json.loads(out.read_text())
                time.sleep(0.2)
            logs = "".join(path.read_text()[-2000:] for path in temp.glob("*.log"))
            sys.exit(f"no federation of Flower has ended\n{logs}")
        finally:
            for process in started:
                os.killpg(process.pid, 15)
            for process in started:
                process.wait()


def simulated(program, federation, temp):
    clients, size, rate, seconds, latency_ms = federation
    limits = f"up_bytes_per_s: Constant({rate}), down_bytes_per_s: Constant({rate})," if rate else ""
    latency = f"(latency_ms: Constant({float(latency_ms)}))"
    (temp / "env.ron").write_text(f"""(
    network: Links(
        uplink: {latency}, downlink: {latency}, {limits}
        framing: (), slow_start: (), server_sharing: Fair,
    ),
    devices: Constant(ops_per_s: 1),
)""")
    out = temp / f"run-{clients}-{size}"
    words = ["flower", APP, "--environment", temp / "env.ron", "--clients", clients, "--out", out, "--quiet"]
    words += ["--run-config", settings(clients, size, 0.0), "--set", f"strategy.cost=PerMessage(train: {seconds})"]
    paths = os.pathsep.join([str(HERE.parent.parent / "sim/python"), os.environ.get("PYTHONPATH", "")])
    command = [program, *map(str, words)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return [float(row["virtual_s"]) for row in csv.DictReader((out / "rounds.csv").open())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    python = os.environ.get("FOLKMOOT_PYTHON", sys.executable)
    has_flower = subprocess.run([python, "-c", "import flwr"], capture_output=True).returncode == 0
    if (why := denied()) or not has_flower:
        print(f"NOT RUN: a real federation of Flower; {why or 'FOLKMOOT_PYTHON has no flwr'}")
        return
    for federation in FEDERATIONS:
        with tempfile.TemporaryDirectory() as folder:
            temp = pathlib.Path(folder)
            virtual = simulated(args.program.resolve(), federation, temp)[-1] / ROUNDS
            runs = [real(python, federation, temp)[-1] / ROUNDS for _ in range(args.repeats)]
        found = statistics.median(runs)
        print(
            f"{federation[0]} clients, {federation[1] / 1e6:g} MB, real {found:.2f} s a round, virtual {virtual:.2f} s;"
            f" beyond it {found - virtual:.2f} s; spread {max(runs) - min(runs):.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
