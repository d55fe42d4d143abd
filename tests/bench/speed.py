"""The speed of every part beside its peer, in turns in one run on the machine at hand, as a table, as raw numbers and as figures.

    python tests/bench/speed.py                     every row but those that are slow, about an hour on two cores
    python tests/bench/speed.py fedavg queue        these rows
    python tests/bench/speed.py --list              what rows there are, and what each needs
    python tests/bench/speed.py figures --out DIR   draws again what DIR/speed.csv holds

A row of an algorithm is described in the list `speed` of its `scenarios/*/trials.json`; rows of tools are here.

Peers run in whichever Python `--python` names; a peer that is not installed there is said to be missing, and ours is measured alone. Rows
on public data need FOLKMOOT_DATA. CARGO_TARGET_DIR is honoured. `speed.md`, `speed.csv` and `speed.json` go to `--out`, written again
after each row, so that what was measured stays if a later one fails. A cell is the median of the turns.

`--mask-avx512` measures on a CPU with AVX-512 what one without it would do: a copy of the sources whose kernels have AVX2 alone is built
in the folder that `--masked` names (kept, so that a second run need not build again), and the peers are asked not to use AVX-512. The
row `bits` builds both and compares the fingerprints of small cards. What the C library does by itself, such as copying memory, is
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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import trials


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


def of_training(row, training):
    """A training loop on one thread and on two, and its peer."""
    work, unit = training["work"], training["unit"]
    package, bench = training["bench"]
    script, *words = training["peer"]

    def ours(at, threads, only):
        rate = at.criterion(package, bench, f"^{only}$")
        return lambda: [((work, "ours", "folkmoot", threads, unit), value) for value in rate(RAYON_NUM_THREADS=str(threads)).values()]

    def measured(at):
        at.build("bench", "-q", "--no-run", "-p", package, "--bench", bench)
        mine = [ours(at, threads, only) for only, threads in zip(training["names"], (1, 2))]
        return at.in_turns(row, at.peer(row, work, script, training["modules"], *words) + mine)

    return measured


def of_events(row, events):
    """Events a second of whole runs of cards, ledger on, on one thread and on two."""

    def turn(at, event, threads):
        words = trials.words(event["card"], event.get("set", [])) + ["--dry-run"] * event.get("dry_run", False)
        summary, _, seconds = at.folkmoot(row, *words, "--threads", threads)
        return [((event["work"], "ours", "folkmoot", threads, "events/s"), summary["handled_events"] / seconds)]

    def measured(at):
        at.build("build", "-q", "--release")
        found = at.in_turns(row, [lambda e=event, t=threads: turn(at, e, t) for event in events for threads in (1, 2)])
        for thing in found:
            if at.queue_rate and thing.threads == 1:
                share = statistics.median(thing.values) / at.queue_rate
                at.remarks[row, thing.work] = [f"one thread: {share:.2g} of the queue's rate"]
        return found

    return measured


def of_clients(row, clients):
    """Events a second and bytes a client of an example by its number of clients."""
    package, example = clients["example"]
    works = {n: clients["work"].format(n=n) for n in clients["numbers"]}

    def turn(at, threads, n):
        # A process for each number, or the memory of one would be in the next one's account.
        printed = at.run(at.target / "release/examples" / example, threads, n)
        line = next(csv.DictReader(printed.splitlines()))
        key = (works[n], "ours", "folkmoot", threads)
        return [((*key, unit), float(line[column])) for unit, column in [("events/s", "events_per_s"), ("B/client", "bytes_per_device")]]

    def measured(at):
        at.build("build", "-q", "--release", "-p", package, "--example", example)
        found = at.in_turns(row, [lambda t=threads, n=n: turn(at, t, n) for n in works for threads in (1, 2)])
        rates = [(thing.work, statistics.median(thing.values)) for thing in found if (thing.threads, thing.unit) == (1, "events/s")]
        for work, rate in rates[1:]:
            at.remarks[row, work] = [f"one thread: {rate / rates[0][1]:.2g} of the rate of {clients['numbers'][0]} clients"]
        return found

    return measured


FORMS = {"training": of_training, "events": of_events, "clients": of_clients}
NEEDS_DATA = {"dtw", "gw", "skipgram"}
ROWS = {row.__name__: row for row in [gw, dtw, skipgram, queue, products]}
# Each crate of algorithms has its rows in its folder of scenarios.
for file in trials.files().values():
    for described in file.get("speed", []):
        name = described["row"]
        form = next(form for form in FORMS if form in described)
        ROWS[name] = FORMS[form](name, described[form])
        ROWS[name].__doc__ = described["about"]
        NEEDS_DATA |= {name} if described.get("needs_data") else set()
ROWS["build"] = build
SLOW = {"build"}


def bits(args):
    """The cards of the list `emulated`, at their own length, by the masked and by the plain build: whether their fingerprints are the same."""
    places = [Place(args), masked_place(args)]
    for at in places:
        at.build("build", "-q", "--release")
    cards = list(dict.fromkeys(card for card, _ in trials.rows("emulated")))
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
