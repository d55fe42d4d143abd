"""Kills runs of every strategy at random instants and goes on with them, until each has come to the fingerprint of the run that nobody killed.

    python tests/bench/kill.py target/release/folkmoot                    100 kills
    python tests/bench/kill.py target/release/folkmoot --kills 1000       as many as that
    python tests/bench/kill.py target/release/folkmoot --only fedwalk     of cards with that in their names

A run saves its state so often that kills fall into the writing of it, too, and is resumed with another number of threads each time. It
ends with code 1 at the first fingerprint that differs and at the first refusal that is none of those there may be: a run that was killed
before its first checkpoint has none, and is begun again. Nothing outside of a folder of its own is touched.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

ROUGH = [
    "cohort=Size(n: 6, over_select: 1.5)",
    "availability=Bernoulli(online_prob: 0.8)",
    "network=Links(uplink: (latency_ms: Uniform(low: 20, high: 200), loss_prob: 0.2), max_retries: 0)",
]
CARDS = [
    ["karate"],
    ["fedwalk/walks", "dataset.n_nodes=2000"],
    ["fed-avg/small", *ROUGH],
    ["fed-avg/small", "strategy.protocol.aggregation=Buffered(size: 3)", *ROUGH],
    ["fed-avg/small", "strategy.protocol.secure=Pairwise()", *ROUGH],
    ["scaffold/small"],
    ["gw-ldp/small", "strategy.protocol.rounds=20"],
    ["fgcl/small"],
    ["ppgm/small"],
    ["ppgm/federated", "strategy.protocol.rounds=5"],
    ["deep-walk/edge-response", "dataset.n_nodes=300"],
]


def fingerprint(out):
    """The fingerprint of a finished run, else None."""
    try:
        return json.loads((out / "manifest.json").read_text())["result_fingerprint"]
    except FileNotFoundError:
        return None


def command(program, card, out):
    settings = [word for setting in card[1:] for word in ("--set", setting)]
    return [program, "run", card[0], *settings, "--out", str(out), "--quiet"]


def tortured(program, card, folder, whole, seconds, draw, counts):
    """Kills a run until it has finished, or has been killed five times, and then lets it finish."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    for life in range(6):
        threads = ["--threads", str(draw.randint(1, 3))]
        every = ["--checkpoint-every", draw.choice(["1rounds", "0.001s", "0.02s", "0.1s", "1virtual_s"])]
        resumed = (out / "checkpoint" / "state").exists()
        if not resumed:
            shutil.rmtree(out, ignore_errors=True)
        words = [program, "resume", str(out), "--quiet"] if resumed else command(program, card, out)
        counts["resumed"] += resumed
        run = subprocess.Popen([*words, *threads, *every], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if life < 5:
            time.sleep(draw.random() * seconds)
            counts["killed"] += run.poll() is None
            run.kill()
        _, said = run.communicate()
        found = fingerprint(out)
        if found is not None:
            if found != whole:
                sys.exit(f"{card}: {found} and not {whole} after {life} kills; see {out}")
            counts["same"] += 1
            return
        if run.returncode not in (-9, 0):
            sys.exit(f"{card}: ended with code {run.returncode}: {said.decode()}")
    sys.exit(f"{card}: has not finished though nobody killed it: {said.decode()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    draw = random.Random(args.seed)
    counts = {"killed": 0, "resumed": 0, "same": 0}
    with tempfile.TemporaryDirectory(prefix="folkmoot-kill-") as name:
        folder = pathlib.Path(name)
        cards = []
        for card in (card for card in CARDS if args.only in " ".join(card)):
            started = time.monotonic()
            subprocess.run(command(program, card, folder / "whole"), check=True)
            cards.append((card, fingerprint(folder / "whole"), time.monotonic() - started))
            shutil.rmtree(folder / "whole")
            print(f"{' '.join(card)}: {cards[-1][1][:16]} in {cards[-1][2]:.2f} s", flush=True)
        while counts["killed"] < args.kills:
            for card, whole, seconds in cards:
                tortured(program, card, folder, whole, seconds, draw, counts)
            print(", ".join(f"{name} {n}" for name, n in counts.items()), flush=True)


main()
