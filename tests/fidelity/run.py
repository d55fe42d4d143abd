"""Virtual time against real time: the same configurations with processes over TCP and in Folkmoot.

    python3 tests/fidelity/run.py target/release/folkmoot [--repeats N] [--only NAME ...]
        [--csv FILE] [--figure FILE]

Needs root on Linux, `ip`, `tc` and `chrt`; where they are denied it says so, and does nothing.
Folkmoot runs the app of the card in FOLKMOOT_PYTHON, which needs NumPy; the real processes need
none. Each configuration runs N times with real processes, and twice in Folkmoot: with the default
network, and with the options for TCP. With these, the median error of round times may be 3 %, and
the 95th percentile 8 %.
"""

import argparse
import csv
import pathlib
import statistics
import sys
import tempfile

from configurations import ALL
from figure import drawn
from network import denied
from real import real
from simulated import simulated

MEDIAN, NEARLY_ALL = 3.0, 8.0


def times(found, target):
    """The mean time of a round, and the time at which the accuracy reaches the target."""
    rounds = found["rounds"]
    return rounds[-1][0] / len(rounds), next(end for end, accuracy in rounds if accuracy >= target)


def same_bytes(of, found, run):
    """Both have sent as many messages and bytes of payload each way."""
    for way, counted in (("down", "downlink"), ("up", "uplink")):
        rows = [row for row in run["messages"] if row["direction"] == counted]
        n = sum(int(row["sent"] if way == "down" else row["delivered"]) for row in rows)
        size = of.parameters * 4 + (4 if way == "up" else 0)
        assert found[way] == [n, n * size], f"{of.name}: {way} {found[way]} against {n} messages"


def compared(program, of, repeats, temp):
    runs = [real(of) for _ in range(repeats)]
    seconds = [statistics.fmean(each) for each in zip(*(run["seconds"] for run in runs))]
    models = {tcp: simulated(program, of, seconds, temp / f"{of.name}-{tcp}", tcp) for tcp in (False, True)}
    for found in runs:
        for run in models.values():
            same_bytes(of, found, run)
    target = 0.8 * models[True]["rounds"][-1][1]
    found = [times(run, target) for run in runs]
    means = [mean for mean, _ in found]
    row = {
        "configuration": of.name,
        "algorithm": f"FedBuff, K = {of.buffer}" if of.buffer else "FedAvg",
        "clients": of.clients,
        "model_bytes": of.size,
        "up_bytes_per_s": of.up,
        "down_bytes_per_s": of.down,
        "server_bytes_per_s": of.server_up or "",
        "latency_ms": of.latency_ms,
        "compute_s": f"{min(of.seconds):g} to {max(of.seconds):g}",
        "rounds": of.rounds,
        "real_round_s": statistics.median(means),
        "spread_percent": 100 * (max(means) - min(means)) / statistics.median(means),
        "real_target_s": statistics.median(time for _, time in found),
    }
    for tcp, name in ((False, "plain"), (True, "tcp")):
        mean, reached = times(models[tcp], target)
        row[f"{name}_round_s"] = mean
        row[f"{name}_round_error_percent"] = 100 * (mean / row["real_round_s"] - 1)
        row[f"{name}_target_error_percent"] = 100 * (reached / row["real_target_s"] - 1)
    return {key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()}


def summary(rows, name):
    """Median and 95th percentile of the absolute errors, of round times and of times to target."""
    found = []
    for kind in ("round", "target"):
        errors = sorted(abs(row[f"{name}_{kind}_error_percent"]) for row in rows)
        nearly_all = statistics.quantiles(errors, n=20, method="inclusive")[-1] if len(errors) > 1 else errors[0]
        found.append((statistics.median(errors), nearly_all))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--csv", type=pathlib.Path)
    parser.add_argument("--figure", type=pathlib.Path)
    args = parser.parse_args()
    if why := denied():
        print(f"NOT RUN: virtual time against real time; it needs namespaces, tc and real-time priorities: {why}")
        return
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for of in ALL:
            if args.only and of.name not in args.only:
                continue
            row = compared(args.program.resolve(), of, args.repeats, pathlib.Path(folder))
            rows.append(row)
            print(
                "{configuration:24} real {real_round_s:8.4f} s  spread {spread_percent:4.1f} %  error:"
                " plain {plain_round_error_percent:+6.1f} %  tcp {tcp_round_error_percent:+5.1f} %"
                "  to target {tcp_target_error_percent:+5.1f} %".format(**row),
                flush=True,
            )
    if args.csv:
        with args.csv.open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0], lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    if args.figure:
        args.figure.write_text(drawn(rows, MEDIAN, NEARLY_ALL))
    for name in ("plain", "tcp"):
        (median, most), (to_target, most_to_target) = summary(rows, name)
        print(f"{name}: round time, median {median:.1f} %, 95th percentile {most:.1f} %;", end=" ")
        print(f"time to target, median {to_target:.1f} %, 95th percentile {most_to_target:.1f} %")
    (median, most), _ = summary(rows, "tcp")
    if not args.only and (median > MEDIAN or most > NEARLY_ALL):
        sys.exit(f"virtual time errs by more than {MEDIAN} % (median) or {NEARLY_ALL} % (95th percentile)")


if __name__ == "__main__":
    main()
