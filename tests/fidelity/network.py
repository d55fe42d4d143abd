"""A star of network namespaces: one for the server, one for each client, and a hub.

`tc tbf` shapes each direction of each link at the end that transmits: uplinks in the namespace of
the sender, downlinks at the hub. TCP has the settings of Linux, whatever those of the machine are;
only the congestion control of a program that chooses none is Reno, since a namespace may not
default to CUBIC. With a latency, every packet between the hub and the server passes `relay.py`.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
#: Bytes that a queue of tbf holds: more than any window, so that no packet is dropped.
LIMIT = 64_000_000
SYSCTLS = [
    "net.ipv4.tcp_congestion_control=reno",
    "net.ipv4.tcp_no_metrics_save=1",
    "net.ipv4.tcp_slow_start_after_idle=1",
    "net.ipv4.tcp_wmem=4096 16384 4194304",
    "net.ipv4.tcp_rmem=4096 131072 6291456",
]


def call(*words):
    subprocess.run([str(word) for word in words], check=True)


def inside(space, *words):
    return ["ip", "netns", "exec", f"fid-{space}", *map(str, words)]


def denied():
    """Why no namespace with a shaped link and no real-time process can be had here, or nothing."""
    tries = [
        ["chrt", "-f", "1", "true"],
        ["ip", "netns", "add", "fid-try"],
        inside("try", "ip", "link", "add", "one", "type", "veth", "peer", "name", "two"),
        inside("try", "tc", "qdisc", "add", "dev", "one", "root", *shape(1e6)),
    ]
    why = ""
    for words in tries:
        try:
            done = subprocess.run(words, capture_output=True, text=True)
            why = done.stderr.strip() or f"{words[0]} failed" if done.returncode else ""
        except FileNotFoundError as error:
            why = str(error)
        if why:
            break
    subprocess.run(["ip", "netns", "del", "fid-try"], stderr=subprocess.DEVNULL, check=False)
    return why


def shape(rate):
    """A bucket of a packet and half a millisecond: what an idle link lets through at once."""
    return ["tbf", "rate", f"{int(rate)}bps", "burst", int(1600 + rate / 2000), "limit", LIMIT]


class Star:
    """Rates are in bytes/s, and None is no limit; `latency_ms` is one-way."""

    def __init__(self, n_clients, up, down, server_up, server_down, latency_ms):
        self.spaces = ["hub", "server", *range(n_clients)]
        self.shaped = {"down": [], "up": []}
        self.relay = None
        self.latency_ms = latency_ms
        self.rates = {"up": up, "down": down}
        self.server_rates = {"up": server_up, "down": server_down}

    def address(self, space):
        return "10.77.0.1" if space == "server" else f"10.77.1.{space + 1}"

    def __enter__(self):
        self.clear()
        try:
            self.build()
        except BaseException:
            self.clear()
            raise
        return self

    def build(self):
        for space in self.spaces:
            call("ip", "netns", "add", f"fid-{space}")
            call(*inside(space, "sysctl", "-qw", *SYSCTLS))
            call(*inside(space, "ip", "link", "set", "lo", "up"))
        call(*inside("hub", "ip", "link", "add", "bridge", "type", "bridge"))
        call(*inside("hub", "ip", "link", "set", "bridge", "up"))
        for space in self.spaces[1:]:
            self.link(space)
        if not self.latency_ms:
            call(*inside("hub", "ip", "link", "set", "to-server", "master", "bridge"))
            return
        call(*inside("hub", "ip", "link", "add", "relayed", "type", "veth", "peer", "name", "joined"))
        call(*inside("hub", "ip", "link", "set", "joined", "master", "bridge"))
        for device in ("relayed", "joined"):
            call(*inside("hub", "ip", "link", "set", device, "up"))
        words = [sys.executable, HERE / "relay.py", "relayed", "to-server", self.latency_ms]
        self.relay = subprocess.Popen(inside("hub", "chrt", "-f", "30", *words))

    def link(self, space):
        device = f"to-{space}"
        ends = [device, "netns", "fid-hub", "type", "veth", "peer", "name", "wire", "netns", f"fid-{space}"]
        call("ip", "link", "add", *ends)
        call(*inside(space, "ip", "address", "add", f"{self.address(space)}/16", "dev", "wire"))
        call(*inside(space, "ip", "link", "set", "wire", "up"))
        call(*inside("hub", "ip", "link", "set", device, "up"))
        if space != "server":
            call(*inside("hub", "ip", "link", "set", device, "master", "bridge"))
        rates = self.server_rates if space == "server" else self.rates
        for way, where, end in (("up", space, "wire"), ("down", "hub", device)):
            if rates[way]:
                call(*inside(where, "tc", "qdisc", "add", "dev", end, "root", *shape(rates[way])))
                if space != "server":
                    self.shaped[way].append((where, end))

    def carried(self):
        """Bytes and drops at all shaped links of clients, up and down."""
        found = {}
        for way, links in self.shaped.items():
            words = [inside(where, "tc", "-s", "-j", "qdisc", "show", "dev", end) for where, end in links]
            shown = [json.loads(subprocess.check_output(each))[0] for each in words]
            found[way] = sum(each["bytes"] for each in shown)
            assert not any(each["drops"] for each in shown), "a queue dropped packets"
        return found

    def clear(self):
        if self.relay:
            self.relay.kill()
            self.relay.wait()
            self.relay = None
        for space in self.spaces:
            words = ["ip", "netns", "del", f"fid-{space}"]
            subprocess.run(words, stderr=subprocess.DEVNULL, check=False)

    def __exit__(self, *_):
        self.clear()
