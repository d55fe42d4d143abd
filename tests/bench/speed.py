"""The speed of every part beside its peer, in turns in one run on the machine at hand, as a table, as raw numbers and as figures.

    python tests/bench/speed.py                     every row but those that are slow, about an hour on two cores
    python tests/bench/speed.py ppgm queue          these rows
    python tests/bench/speed.py --list              what rows there are, and what each needs
    python tests/bench/speed.py figures --out DIR   draws again what DIR/speed.csv holds

Peers run in whichever Python `--python` names; a peer that is not installed there is said to be missing, and ours is measured alone. Rows
on public data need FOLKMOOT_DATA. CARGO_TARGET_DIR is honoured. `speed.md`, `speed.csv` and `speed.json` go to `--out`, written again
after each row, so that what was measured stays if a later one fails. A cell is the median of the turns.

`--mask-avx512` measures on a CPU with AVX-512 what one without it would do: a copy of the sources whose kernels have AVX2 alone is built
in the folder that `--masked` names (kept, so that a second run need not build again), and the peers are asked not to use AVX-512. The
row `bits` builds both and compares the fingerprints of every small card. What the C library does by itself, such as copying memory, is
not masked, nor is the clock of the CPU another one.
"""

import argparse
import csv
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

import report
from place import Failed, Measured, Place, masked_place


def trained(at, row, work, peer, bench, unit, benches_by_threads):
    """A training loop and its peer; `bench` is its crate and name, and `benches_by_threads` has the bench's name and what its environment says."""

    def ours(threads, only, env):
        rate = at.criterion(*bench, f"^{only}$")
        return lambda: [((work, "ours", "folkmoot", threads, unit), value) for value in rate(**env).values()]

    at.build("bench", "-q", "--no-run", "-p", bench[0], "--bench", bench[1])
    mine = [ours(threads, only, env) for threads, (only, env) in benches_by_threads.items()]
    return at.in_turns(row, at.peer(row, work, *peer) + mine)


def ppgm(at):
    """PPGM's training in pairs a second, beside PyTorch."""
    peer = ("sim/tools/learning/benches/ppgm_pytorch.py", ["torch", "numpy"], "60")
    benches = {threads: ("ppgm/ppgm", {"RAYON_NUM_THREADS": str(threads)}) for threads in (1, 2)}
    return trained(at, "ppgm", "PPGM training", peer, ("folkmoot-ppgm", "ppgm"), "pairs/s", benches)


def fgcl(at):
    """FGCL's training in steps a second, beside PyTorch."""
    peer = ("sim/algorithms/fgcl/benches/fgcl_torch.py", ["torch"], "400")
    benches = {1: ("fgcl/gcn/1 thread", {}), 2: ("fgcl/gcn/2 threads", {})}
    return trained(at, "fgcl", "FGCL training", peer, ("folkmoot-fgcl", "fgcl"), "steps/s", benches)


def fedavg(at):
    """FedAvg in client updates a second, beside PyTorch Geometric."""
    peer = ("sim/tools/learning/benches/fedavg_pyg.py", ["torch", "torch_geometric"], "1000", "2")
    benches = {threads: (f"engine/fed_avg/{threads} threads/1000", {}) for threads in (1, 2)}
    return trained(at, "fedavg", "FedAvg", peer, ("folkmoot-classifiers", "fed_avg"), "updates/s", benches)


def gw(at):
    """Gromov-Wasserstein in microseconds a pair, beside POT: one start, and the cheapest with at most 5 % of values higher."""
    at.build("build", "-q", "--release", "-p", "folkmoot-similarity", "--example", "gw_pairs")
    script, unit = at.root / "sim/tools/similarity/benches/against_pot.py", "µs/pair"
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    lacking = at.missing(["ot", "numpy"])
    if lacking:
        work = "Gromov-Wasserstein, MUTAG, hops, 0 starts more"
        at.remarks["gw", work] = [lacking]
        program = [at.target / "release/examples/gw_pairs", at.data, "MUTAG", "2", "hops", "0"]
        words = [at.run(*program, way_out="is MUTAG below FOLKMOOT_DATA?").split() for _ in range(at.turns)]
        values = [float(line[line.index("us_per_pair") + 1]) for line in words]
        return [Measured("gw", work, "ours", "folkmoot", 1, unit, values)]
    printed = at.run(at.python, script, way_out="its head says what it needs", ROUNDS=str(at.turns), **single)
    found, allowed = [], []
    for line in printed.splitlines():
        words = line.split()
        if len(words) != 13 or words[0] not in ("MUTAG", "PROTEINS"):
            continue
        name, metric, starts, mine, other, higher = *words[:3], float(words[5]), float(words[6]), words[12]
        work = f"Gromov-Wasserstein, {name}, {metric}, " + ("starts from the ends" if starts == "ends" else f"{starts} starts more")
        at.remarks["gw", work] = [f"{higher} of pairs higher"]
        found.append(Measured("gw", work, "peer", "POT", 1, unit, [other]))
        found.append(Measured("gw", work, "ours", "folkmoot", 1, unit, [mine]))
        if (name, metric) == ("MUTAG", "hops") and float(higher.rstrip("%")) <= 5.0:
            allowed.append((mine, work))
    if allowed:
        at.remarks["gw", min(allowed)[1]].append("the cheapest with at most 5 %")
    return found


def dtw(at):
    """Time warping in nanoseconds a cell, beside dtaidistance."""
    at.build("build", "-q", "--release", "-p", "folkmoot-similarity", "--example", "all_pairs")
    work, unit = "time warping, 9 columns", "ns/cell"
    lacking = at.missing(["dtaidistance", "numpy"])
    if lacking:
        at.remarks["dtw", work] = [lacking]
        program = [at.target / "release/examples/all_pairs", at.data, "10", "1"]
        printed = [at.run(*program, way_out="is BlogCatalog below FOLKMOOT_DATA?") for _ in range(at.turns)]
        values = [float(re.search(r"ns_per_cell\S* (\S+)", text).group(1)) for text in printed]
        return [Measured("dtw", work, "ours", "folkmoot", 1, unit, values)]
    # The script itself takes turns.
    printed = at.run(at.python, at.root / "sim/tools/similarity/benches/against_dtaidistance.py", at.data, way_out="its head says what it needs")
    mine, other = re.search(r"ours (\S+) ns a cell, dtaidistance ([0-9.]+)", printed).groups()
    return [
        Measured("dtw", work, "peer", "dtaidistance", 1, unit, [float(other)]),
        Measured("dtw", work, "ours", "folkmoot", 1, unit, [float(mine)]),
    ]


def skipgram(at):
    """Skip-gram in words a second on BlogCatalog's walks, beside gensim."""
    at.build("build", "-q", "--release", "-p", "folkmoot-scores", "--example", "skipgram_walks")
    program, work, unit = at.target / "release/examples/skipgram_walks", "skip-gram on BlogCatalog", "words/s"
    at.run(program, "walks", at.scratch, "10", way_out="is BlogCatalog below FOLKMOOT_DATA?")
    tokens = (at.scratch / "walks.u32").stat().st_size / 4
    lacking = at.missing(["gensim", "numpy"])

    def alone(threads):
        start = time.perf_counter()
        at.run(program, "train", at.scratch, RAYON_NUM_THREADS=str(threads))
        return [((work, "ours", "folkmoot", threads, unit), tokens / (time.perf_counter() - start))]

    def beside():
        script = at.root / "sim/tools/learning/benches/skipgram_gensim.py"
        printed = at.run(at.python, script, program, at.scratch, way_out="its head says what it needs")
        at.remarks["skipgram", work] = [line for line in printed.splitlines() if ": micro " in line]
        found = re.findall(r"^(\w+).*?, (\d+) threads: .* s: (\d+) words/s", printed, re.M)
        side = {"folkmoot": "ours", "gensim": "peer"}
        return [((work, side[name], name, int(threads), unit), float(rate)) for name, threads, rate in found]

    if lacking:
        at.remarks["skipgram", work] = [lacking]
        return at.in_turns("skipgram", [lambda: alone(1), lambda: alone(2)])
    return at.in_turns("skipgram", [beside])


def queue(at):
    """The queue in holds a second (one pop and one push) at a million pending events, beside the binary heap of the standard library."""
    at.build("bench", "-q", "--no-run", "-p", "folkmoot-engine", "--bench", "queue")
    sides = {"radix": ("ours", "folkmoot"), "binary_heap": ("peer", "BinaryHeap")}
    rates = at.criterion("folkmoot-engine", "queue", "^engine/hold/.*/1000000$")

    def turn():
        names = [(name.split("/")[2], rate) for name, rate in rates().items()]
        return [(("queue, hold, a million pending", *sides[name], 1, "holds/s"), rate) for name, rate in names]

    measured = at.in_turns("queue", [turn])
    at.queue_rate = next(statistics.median(thing.values) for thing in measured if thing.side == "ours")
    return measured


def events(at, row, work, *card):
    """Events a second of a whole run of a card, ledger on, on one thread and on two."""

    def turn(threads):
        summary, _, seconds = at.folkmoot(row, *card, "--threads", threads)
        return [((work, "ours", "folkmoot", threads, "events/s"), summary["handled_events"] / seconds)]

    return [lambda: turn(1), lambda: turn(2)]


def walks(at):
    """The engine end to end in events a second: FedWalk's walks on BlogCatalog, the ledger on, nothing learned."""
    at.build("build", "-q", "--release")
    card = ["fedwalk/blogcatalog", "--set", "strategy.pool=Vector", "--dry-run"]
    work = "engine end to end, BlogCatalog's walks"
    measured = at.in_turns("walks", events(at, "walks", work, *card))
    if at.queue_rate:
        at.remarks["walks", work] = [f"one thread: {statistics.median(measured[0].values) / at.queue_rate:.2g} of the queue's rate"]
    return measured


def rmat(at):
    """The same on R-MAT graphs of a hundred thousand and a million clients, their tree included."""
    at.build("build", "-q", "--release")
    works = [(f"engine end to end, R-MAT graph of {n} clients", f"dataset.n_nodes={n}") for n in (100_000, 1_000_000)]
    contenders = [events(at, "rmat", work, "fedwalk/million", "--set", n, "--dry-run") for work, n in works]
    return at.in_turns("rmat", sum(contenders, []))


def clients(at):
    """Events a second and bytes a client by the number of clients: walks on random graphs, messages alone."""
    at.build("build", "-q", "--release", "-p", "folkmoot-walks", "--example", "walks")

    def turn(threads, n):
        # A process for each number, or the memory of one would be in the next one's account.
        printed = at.run(at.target / "release/examples/walks", threads, n)
        line = next(csv.DictReader(printed.splitlines()))
        key = (report.walked(n), "ours", "folkmoot", threads)
        return [((*key, unit), float(line[column])) for unit, column in [("events/s", "events_per_s"), ("B/client", "bytes_per_device")]]

    measured = at.in_turns("clients", [lambda t=t, n=n: turn(t, n) for n in report.CLIENTS for t in (1, 2)])
    rates = [(thing.work, statistics.median(thing.values)) for thing in measured if (thing.threads, thing.unit) == (1, "events/s")]
    for work, rate in rates[1:]:
        at.remarks["clients", work] = [f"one thread: {rate / rates[0][1]:.2g} of a thousand's rate"]
    return measured


def products(at):
    """Products of matrices in operations a second on one thread, beside matrixmultiply and gemm."""
    at.build("bench", "-q", "--no-run", "-p", "folkmoot-learning", "--bench", "products")
    rates = at.criterion("folkmoot-learning", "products", "^product/")

    def turn():
        names = [(name.split("/")[1:], rate) for name, rate in rates().items()]
        side = {"ours": ("ours", "folkmoot")}
        return [((f"product, {work}", *side.get(name, ("peer", name)), 1, "operations/s"), rate) for (work, name), rate in names]

    return at.in_turns("products", [turn])


def build(at):
    """Processor time of a cold `cargo build --release` into a new folder, some minutes; once, not in turns."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory(prefix="folkmoot-cold-") as folder:
        at.run("cargo", "build", "--release", way_out="the build needs Rust 1.95 or later and a C compiler", CARGO_TARGET_DIR=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [Measured("build", "cold cargo build --release, processor time", "ours", "folkmoot", os.cpu_count(), "s", [spent])]


NEEDS_DATA = {"dtw", "gw", "skipgram", "walks"}
ROWS = {row.__name__: row for row in [ppgm, fgcl, fedavg, gw, dtw, skipgram, queue, walks, clients, rmat, products, build]}
SLOW = {"build"}


def bits(args):
    """Every small card of the masked and of the plain build, at its own length: whether their fingerprints are the same."""
    places = [Place(args), masked_place(args)]
    for at in places:
        at.build("build", "-q", "--release")
    listed = places[0].run(places[0].target / "release/folkmoot", "list").split("\n\n")[0].splitlines()[2:]
    names = [line.split()[0] for line in listed]
    cards = [name for name in names if name.endswith("small") or name in ("karate", "deep-walk/output-layers", "ppgm/federated")]
    lines, n_other = ["| card | AVX-512 | AVX2 alone | |", "|---|---|---|---|"], 0
    for card in cards:
        wide, narrow = (at.folkmoot("bits", card)[1]["result_fingerprint"] for at in places)
        n_other += wide != narrow
        lines.append(f"| {card} | `{wide[:16]}` | `{narrow[:16]}` | {'same' if wide == narrow else 'OTHER BITS'} |")
        print(lines[-1], flush=True)
    return lines, n_other


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", help="rows to measure, or bits, or figures [default: all rows but the slow ones]")
    parser.add_argument("--list", action="store_true", help="say what rows there are")
    parser.add_argument("--python", default=sys.executable, help="the Python that has the peers [default: this one]")
    parser.add_argument("--turns", type=int, default=3, help="how often everything is measured [default: 3]")
    out = pathlib.Path(tempfile.gettempdir()) / "folkmoot-speed"
    parser.add_argument("--out", type=pathlib.Path, default=out, help="the folder to write to [default: %(default)s]")
    parser.add_argument("--mask-avx512", action="store_true", help="measure what a CPU without AVX-512 would do")
    parser.add_argument("--masked", help="the folder of the masked sources and their build [default: a new one, removed at the end]")
    args = parser.parse_args()
    if args.list:
        for name, row in [*ROWS.items(), ("bits", bits), ("figures", report.figures)]:
            needs = " Needs FOLKMOOT_DATA." if name in NEEDS_DATA else ""
            print(f"{name:9} {row.__doc__}{needs}{' Only if it is named.' if name in SLOW or name not in ROWS else ''}")
        return 0
    unknown = sorted(set(args.rows) - {*ROWS, "bits", "figures"})
    if unknown or args.turns < 1:
        parser.error(f"no row is called {', '.join(unknown)}; --list names them" if unknown else "--turns must be at least 1")
    args.out = args.out.resolve()
    chosen = args.rows or [name for name in ROWS if name not in SLOW]
    # Removed at the end; empty, if nothing is masked.
    temporary = tempfile.TemporaryDirectory(prefix="folkmoot-masked-")
    args.masked = args.masked or temporary.name
    try:
        return measure(args, masked_place(args) if args.mask_avx512 else Place(args), chosen)
    except Failed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1


def measure(args, at, chosen):
    n_other, measured, failures = 0, [], {}
    if "bits" in chosen:
        args.out.mkdir(parents=True, exist_ok=True)
        lines, n_other = bits(args)
        (args.out / "bits.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [name for name in ROWS if name in chosen]
    facts = report.machine(at) if rows else {}
    for name in rows:
        print(f"{name}: {ROWS[name].__doc__}", file=sys.stderr, flush=True)
        try:
            if name in NEEDS_DATA and not at.data:
                raise Failed("it needs the data sets: set FOLKMOOT_DATA to their folder")
            measured += ROWS[name](at)
        except Failed as failure:
            failures[name] = str(failure)
            print(f"error: {name}: {failure}", file=sys.stderr)
        report.write(args.out, facts, measured, at.remarks, failures)
    if rows:
        print((args.out / "speed.md").read_text(encoding="utf-8"))
    if "figures" in chosen or measured:
        if not (args.out / "speed.csv").is_file():
            raise Failed(f"{args.out} has no speed.csv to draw; measure something first, or name its folder with --out")
        report.figures(at, args.out)
    return 1 if failures or n_other else 0


if __name__ == "__main__":
    sys.exit(main())
