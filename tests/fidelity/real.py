"""A configuration with real processes."""

import json
import subprocess
import sys
import time

from network import HERE, Star, inside

PORT = 7000


def listens(star):
    """Waits until the server listens."""
    for _ in range(200):
        shown = subprocess.check_output(inside("server", "ss", "-Hltn"), text=True)
        if f":{PORT}" in shown:
            return
        time.sleep(0.05)
    sys.exit("the server does not listen")


def started(space, priority, program, *settings):
    """With a real-time priority, so that other work on the machine delays nothing."""
    words = inside(space, "chrt", "-f", priority, sys.executable, HERE / program, *settings)
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def real(configuration):
    """Ends and accuracies of rounds, messages and bytes, measured compute times, bytes at links."""
    of = configuration
    star = Star(of.clients, of.up, of.down, of.server_up, of.server_down, of.latency_ms)
    with star:
        server = started("server", 20, "server.py", PORT, of.clients, of.parameters, of.rounds, of.buffer)
        listens(star)
        at = star.address("server"), PORT
        clients = [started(client, 10, "client.py", *at, client, of.seconds[client]) for client in range(of.clients)]
        out, _ = server.communicate(timeout=120)
        found = json.loads(out)
        found["carried"] = star.carried()
        found["seconds"] = [float(client.communicate(timeout=60)[0]) for client in clients]
    return found
