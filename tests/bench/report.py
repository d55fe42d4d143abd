"""What was measured, as a table, as raw numbers and as figures, below the machine that it was measured on."""

import csv
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess

from place import ROOT

def machine(at):
    """What the numbers were measured on."""

    def first(path, pattern):
        try:
            found = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8"), re.M)
        except OSError:
            return ""
        return found.group(1) if found else ""

    flags = first("/proc/cpuinfo", r"^flags\s*: (.*)$").split()
    sets = [flag for flag in flags if flag in ("avx2", "fma", "avx512f", "avx512vl", "avx512bw", "avx512dq")]
    names = ["torch", "torch_geometric", "gensim", "dtaidistance", "pot", "numpy"]
    look = (
        "import sys, importlib.metadata as m\n"
        "print(sys.version.split()[0])\n"
        "for name in sys.argv[1:]:\n"
        "    try: print(name, m.version(name))\n"
        "    except m.PackageNotFoundError: pass"
    )
    version, *peers = at.run(at.python, "-c", look, *names, way_out="name a Python with --python").splitlines()
    try:
        command = ["git", "describe", "--always", "--dirty"]
        commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    memory = first("/proc/meminfo", r"^MemTotal:\s+(\d+)")
    return {
        "CPU": first("/proc/cpuinfo", r"^model name\s*: (.*)$") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "instruction sets": (", ".join(sets) or "neither AVX2 nor FMA known") + ("; AVX-512 masked, in ours and in the peers" if at.masked else ""),
        "memory": f"{int(memory) / 2**20:.0f} GiB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()}",
        "compiler": at.run("rustc", "--version", way_out="install Rust 1.95 or later with rustup").strip(),
        "peers": ", ".join(peers) + f" on Python {version}",
        "commit": commit,
        "load average at the start": " ".join(f"{load:.1f}" for load in os.getloadavg()),
        "turns": at.turns,
    }


def number(value):
    """Three digits, with a letter for thousands and millions."""
    for step, letter in [(1e9, " G"), (1e6, " M"), (1e3, " k")]:
        if value >= step:
            return f"{value / step:.3g}{letter}"
    return f"{value:.3g}"


def table(measured, remarks):
    """The lines of a Markdown table: a row a work and unit, ratios to the best peer on one thread."""
    lines = ["| work | peer, same run | ours, 1 thread | ours, 2 threads | |", "|---|---|---|---|---|"]
    middle = {tuple(thing[:6]): statistics.median(thing.values) for thing in measured}
    # Said once, where one work has several units.
    unsaid = dict(remarks)
    for row, work, unit in dict.fromkeys((thing.row, thing.work, thing.unit) for thing in measured):
        own = [(key, value) for key, value in middle.items() if (key[0], key[1], key[5]) == (row, work, unit)]
        ours = {key[4]: value for key, value in own if key[2] == "ours"}
        is_rate = unit.endswith("/s")
        # The best of those with the fewest threads comes first, and is what ours is compared with.
        peers = [(key[4], key[3], value) for key, value in own if key[2] == "peer"]
        peers.sort(key=lambda peer: (peer[0], -peer[2] if is_rate else peer[2]))

        def cell(threads):
            if threads not in ours:
                return "–"
            ratio = (ours[threads] / peers[0][2] if is_rate else peers[0][2] / ours[threads]) if peers else None
            return number(ours[threads]) + (f" ({ratio:.3g} ×)" if ratio else "")

        if row == "build":
            ours = {1: ours[next(iter(ours))]}
        peer = "; ".join(f"{name} {number(value)}" + (f" by {threads}" if threads > 1 else "") for threads, name, value in peers)
        lines.append(f"| {work}, {unit} | {peer or '–'} | {cell(1)} | {cell(2)} | {'; '.join(unsaid.pop((row, work), []))} |")
    return lines


def write(out, facts, measured, remarks, failures):
    out.mkdir(parents=True, exist_ok=True)
    lines = ["# Speed", ""] + [f"- {name}: {fact}" for name, fact in facts.items()] + [""] + table(measured, remarks)
    lines += [""] + [f"- not measured: {row}: {reason.splitlines()[0]}" for row, reason in failures.items()]
    (out / "speed.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    with open(out / "speed.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "work", "side", "name", "threads", "unit", "turn", "value"])
        for thing in measured:
            writer.writerows([*thing[:6], turn, repr(value)] for turn, value in enumerate(thing.values))
    notes = [{"row": row, "work": work, "remarks": texts} for (row, work), texts in remarks.items()]
    found = [thing._asdict() for thing in measured]
    everything = {"machine": facts, "measured": found, "remarks": notes, "failed": failures}
    (out / "speed.json").write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


def read(out):
    """The medians of `speed.csv`, by row, work, side, name, threads and unit."""
    values = {}
    with open(out / "speed.csv", newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            key = tuple(line[column] for column in ["row", "work", "side", "name", "threads", "unit"])
            values.setdefault(key, []).append(float(line["value"]))
    return {key: statistics.median(numbers) for key, numbers in values.items()}


def draw(at, out, name, title, axes, metrics, value):
    """Lays a table as a sweep's directory and has `folkmoot plot` draw it; `value` gives a metric's number at the values of the axes."""
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    first, second = axes
    manifest = {
        "name": title,
        "version": "",
        "axes": [{"path": path, "values": [str(x) for x in values]} for path, values in axes.items()],
        "seeds": [1],
        "headline": [metric for metric in metrics if "@" not in metric],
        "units": metrics,
        "finished": True,
    }
    (folder / "sweep.json").write_text(json.dumps(manifest))
    with open(folder / "points.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["point", first, second, "seed", *sorted(metrics)])
        points = [(a, b) for a in axes[first] for b in axes[second]]
        for point, (a, b) in enumerate(points):
            writer.writerow([point, a, b, 1, *(value(metric, a, b) for metric in sorted(metrics))])
    at.run(at.target / "release/folkmoot", "plot", folder)
    print(f"figures: {folder / 'figures'}")


def figures(at, out):
    """Draws what `speed.csv` holds: events and bytes by the number of clients, and training by the number of threads."""
    found = read(out)
    if not (at.target / "release/folkmoot").exists():
        at.build("build", "-q", "--release")

    # What is measured by the number of clients has it at the end of its name.
    works = {int(re.search(r"(\d+) clients$", key[1]).group(1)): key[1] for key in found if key[5] == "B/client"}
    if works:
        units = {"events_per_second": "events/s", "bytes_per_client": "B/client"}
        axes = {"clients": sorted(works), "threads": [1, 2]}
        metrics = {"events_per_second": "count", "bytes_per_client": "bytes"}

        def by_clients(metric, n, threads):
            return found.get(("clients", works[n], "ours", "folkmoot", str(threads), units[metric]), "")

        draw(at, out, "clients", "events by the number of clients", axes, metrics, by_clients)
    # Training is what has a rate, and neither events nor memory.
    rates = {}
    for (_, work, side, _, threads, unit), value in found.items():
        if side == "ours" and unit.endswith("/s") and unit != "events/s":
            rates.setdefault(work, {})[int(threads)] = value
    works = [work for work, by_threads in rates.items() if {1, 2} <= set(by_threads)]
    if works:
        metrics = {"speed_over_one_thread": "number", "speed_over_one_thread@in proportion": "number"}

        def gain(metric, threads, work):
            return threads if "@" in metric else rates[work][threads] / rates[work][1]

        draw(at, out, "training", "training by the number of threads", {"threads": [1, 2], "work": works}, metrics, gain)
