"""Where the parts are built and measured: the tree as it stands, or a copy of it whose kernels have no AVX-512."""

import csv
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What makes each peer leave AVX-512 alone: PyTorch, oneDNN, MKL, OpenBLAS, NumPy (which passes over names that it does not know).
PEERS_WITHOUT_AVX512 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
}
# A kernel's targets, widest first: what is left when those with AVX-512 go.
WIDE_TARGET = re.compile(rb'"x86_64[a-z0-9+]*\+avx512[a-z0-9+]*",\s*(?=")')
# Folders without sources, at any depth.
NOT_SOURCES = (".git", "target", "runs", "data", "__pycache__")

# One thing measured: `side` is "ours" or "peer"; `threads` counts threads or processes; `values` has one number a turn.
Measured = namedtuple("Measured", "row work side name threads unit values")


class Failed(Exception):
    """A command that failed, with what it said and the way out."""


class Place:
    """Where things are built and run, and how often they are measured."""

    def __init__(self, args, root=ROOT, target=None, masked=False):
        self.root, self.masked, self.turns = root, masked, args.turns
        # Commands run in the root; paths are meant from where this script was started.
        self.python = os.path.abspath(args.python) if os.path.dirname(args.python) else args.python
        self.target = pathlib.Path(target or os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
        self.env = {**os.environ, "CARGO_TARGET_DIR": str(self.target), **(PEERS_WITHOUT_AVX512 if masked else {})}
        self.data = os.environ.get("FOLKMOOT_DATA")
        if self.data:
            self.data = self.env["FOLKMOOT_DATA"] = os.path.abspath(self.data)
        # Removed with this object.
        self.folder = tempfile.TemporaryDirectory(prefix="folkmoot-speed-")
        self.scratch = pathlib.Path(self.folder.name)
        self.remarks, self.queue_rate = {}, None

    def run(self, *command, way_out="run it by itself to see more", **env):
        command = [str(word) for word in command]
        try:
            ended = subprocess.run(command, cwd=self.root, env={**self.env, **env}, capture_output=True, text=True, check=False)
        except OSError as error:
            raise Failed(f"{shlex.join(command)}\n  cannot be started: {error.strerror}; {way_out}") from None
        if ended.returncode != 0:
            said = "\n  ".join((ended.stderr or ended.stdout).strip().splitlines()[-12:])
            raise Failed(f"{shlex.join(command)}\n  failed with code {ended.returncode}; {way_out}. It said:\n  {said}")
        return ended.stdout

    def build(self, *words):
        print(f"  cargo {' '.join(words)}", file=sys.stderr, flush=True)
        self.run("cargo", *words, way_out="the build needs Rust 1.95 or later and a C compiler (CONTRIBUTING.md)")

    def missing(self, modules):
        """Which of the peer's modules this Python lacks, as a sentence; empty if none."""
        look = "import importlib.util as u, sys; print(*[m for m in sys.argv[1:] if u.find_spec(m) is None])"
        lacking = self.run(self.python, "-c", look, *modules, way_out="name a Python with --python").split()
        return f"{', '.join(lacking)} missing in {pathlib.Path(self.python).name}: pip install it" if lacking else ""

    def peer(self, row, work, script, modules, *args):
        """A peer's script, which prints lines `measured,name,threads,value,unit`."""

        def turn():
            command = [self.python, self.root / script, *args]
            printed = self.run(*command, way_out="the head of the script says what it needs; name a Python with --python")
            lines = [line.split(",") for line in printed.splitlines() if line.startswith("measured,")]
            return [((work, "peer", name, int(threads), unit), float(value)) for _, name, threads, value, unit in lines]

        lacking = self.missing(modules)
        if lacking:
            self.remarks.setdefault((row, work), []).append(lacking)
        return [] if lacking else [turn]

    def criterion(self, package, bench, only):
        """Throughput of all benches whose names the expression `only` takes, by name: the middle estimate."""
        command = ["cargo", "bench", "-q", "-p", package, "--bench", bench, "--", "--noplot", "--nresamples", "1001"]
        command += ["--warm-up-time", "1", "--measurement-time", "2", only]
        return lambda **env: criterion_rates(self.run(*command, **env))

    def in_turns(self, row, contenders):
        """Every contender once in each turn; a contender gives pairs of a key and a number."""
        values = {}
        for turn in range(self.turns):
            print(f"  turn {turn + 1} of {self.turns}", file=sys.stderr, flush=True)
            for contender in contenders:
                for key, value in contender():
                    values.setdefault(key, []).append(value)
        return [Measured(row, *key, numbers) for key, numbers in values.items()]

    def folkmoot(self, name, *args, **env):
        """Runs a card into a new folder; its summary, its manifest and the seconds that the simulation took."""
        out = self.scratch / name
        shutil.rmtree(out, ignore_errors=True)
        words = [self.target / "release" / "folkmoot", "run", *args, "--quiet", "--out", out]
        self.run(*words, way_out="a card on public data needs FOLKMOOT_DATA", **env)
        with open(out / "timing.csv", encoding="utf-8") as file:
            stages = {line["stage"]: float(line["seconds"]) for line in csv.DictReader(file)}
        # Whoever splits the stages further: all but reading the data and writing or drawing the result is the simulation.
        others = [spent for stage, spent in stages.items() if not re.match("load|read|write|draw|plot|figure|total", stage)]
        summary, manifest = (json.loads((out / f"{file}.json").read_text()) for file in ["summary", "manifest"])
        shutil.rmtree(out)
        return summary, manifest, stages.get("simulate", sum(others))


def criterion_rates(printed):
    """Numbers a second by the name of the bench, which stands before its time, or on the line above if it is long."""
    rates, name, before = {}, "", ""
    for line in printed.splitlines():
        if " time: " in line:
            name = line.split(" time: ")[0].strip() or before
        found = re.search(r"thrpt:\s+\[\S+\s+\S+\s+(\S+)\s+([KMG]?)elem/s", line)
        if found:
            rates[name] = float(found.group(1)) * {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[found.group(2)]
        before = line.strip()
    if not rates:
        raise Failed(f"a bench printed no throughput; does its name still stand in `--list`? It printed:\n  {printed[:300]}")
    return rates


def mask(folder):
    """Copies the sources to `folder`/tree and takes AVX-512 out of every kernel's targets. What is there and right stays untouched, so that
    cargo builds again only what changed."""
    tree, wanted, n_masked = folder / "tree", set(), 0
    for top, dirs, files in os.walk(ROOT):
        dirs[:] = [name for name in dirs if name not in NOT_SOURCES and pathlib.Path(top, name) != folder]
        wanted |= {pathlib.Path(top, name).relative_to(ROOT) for name in files}
    for path in [path for path in tree.rglob("*") if path.is_file() and path.relative_to(tree) not in wanted]:
        path.unlink()
    for name in sorted(wanted):
        content = (ROOT / name).read_bytes()
        if name.suffix == ".rs":
            content, n = WIDE_TARGET.subn(b"", content)
            n_masked += n
            if re.search(rb"targets\([^)]*avx512", content):
                raise Failed(f"{name} names AVX-512 in a way that WIDE_TARGET of tests/bench/place.py does not know; teach it")
        if not (tree / name).is_file() or (tree / name).read_bytes() != content:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(content)
    if not n_masked:
        raise Failed("no kernel has AVX-512 among its targets; teach WIDE_TARGET of tests/bench/place.py their form")
    print(f"masked: {n_masked} kernels without AVX-512 in {tree}", file=sys.stderr)
    return tree


def masked_place(args):
    folder = pathlib.Path(args.masked).resolve()
    return Place(args, mask(folder), folder / "target", True)
