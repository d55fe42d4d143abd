"""Kills runs and sweeps at random instants and goes on with them, until each has come to the fingerprint of the one that nobody killed.

    python tests/bench/kill.py target/release/folkmoot                    100 kills
    python tests/bench/kill.py target/release/folkmoot --kills 1000       as many as that
    python tests/bench/kill.py target/release/folkmoot --only fed-avg     of cards with that in their names
    python tests/bench/kill.py target/release/folkmoot --card FILE        of a card's run, and no others
    python tests/bench/kill.py target/release/folkmoot --gallery --kills 3
                                     of each example of the book's gallery, on small data: 3 of each

A run saves its state so often that kills fall into the writing of it, too, and every other run is killed there on purpose: it is halted
as soon as the file that a state is written to is there, and killed if it is there still. Whatever was killed goes on with another number
of threads. One run may be killed several times before it is let finish, so there are fewer runs than kills. The first that is killed is a
sweep, which goes on by `resume` or by `--only-missing`. With `--card` and `--gallery` a kill counts if the run was resumed from a state.

It ends with code 1 at the first fingerprint that differs, at the first refusal that is none of those there may be, a run that was killed
before its first checkpoint having none to go on with, and if no kill fell into the writing of a state. Nothing outside of a folder of its
own is touched. The runs are the rows of the list `kills` in `scenarios/*/trials.json`.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import trials

SWEEP = ["sweep", "fed-avg/small", ["strategy.protocol.rounds=5"]]
RUNS = [["run", card, settings] for card, settings in trials.rows("kills")]
# Rounds of an example of the gallery. Imports of PyTorch take longer than the first ones.
N_ROUNDS = 30
# A run is killed so often at most before it is let finish.
LIVES = [1, 1, 2, 5]
STAGED = pathlib.Path("checkpoint", ".state.tmp")


def fingerprint(out):
    """The fingerprint of a finished run or sweep, else None."""
    try:
        if not (out / "sweep.json").exists():
            return json.loads((out / "manifest.json").read_text())["result_fingerprint"]
        if not json.loads((out / "sweep.json").read_text())["finished"]:
            return None
        points = [fingerprint(point) for point in sorted((out / "points").iterdir())]
        return hashlib.sha256(repr(points).encode() + (out / "points.csv").read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def command(program, card, out):
    return [program, card[0], *trials.words(*card[1:]), "--out", str(out)]


def gallery(folder):
    """The run of each example whose packages are installed for this interpreter, which workers run. `digits` has its data in the folder."""
    sys.path.insert(0, str(trials.SCENARIOS.parent / "sim/python/tests"))
    import small

    os.environ |= {"FOLKMOOT_PYTHON": sys.executable, "FOLKMOOT_DATA": str(folder)}
    for name, example in small.EXAMPLES.items():
        if example.missing:
            print(f"NOT RUN: {name}: not installed: {', '.join(example.missing)}", flush=True)
            continue
        if name == "digits":
            small.make_digits(folder)
        yield ["run", str(example.path), example.words(N_ROUNDS)]


def title(card):
    return " ".join([*card[:2], *card[2]])


def going_on(program, card, out, draw):
    """The command that goes on with what was killed, or begins again where there is nothing to resume."""
    if card[0] == "sweep":
        can_resume = (out / "sweep.json").exists() and draw.random() < 0.5
        return [program, "resume", str(out)] if can_resume else [*command(program, card, out), "--only-missing"]
    if (out / "checkpoint" / "state").exists():
        return [program, "resume", str(out)]
    shutil.rmtree(out, ignore_errors=True)
    return command(program, card, out)


def killed_while_writing(run, staged, replaces):
    """Kills a process while it writes a state to this file, with `replaces` only if an older state exists; False if it ends before."""
    needed = [staged, staged.with_name("state")] if replaces else [staged]
    while run.poll() is None:
        if not all(path.exists() for path in needed):
            continue
        run.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if staged.exists() and run.poll() is None:
            run.kill()
            return True
        run.send_signal(signal.SIGCONT)
    return False


def killed_by_chance(run, seconds):
    """Kills a process after so long; False if it ends before that."""
    try:
        run.wait(seconds)
        return False
    except subprocess.TimeoutExpired:
        run.kill()
        return True


def tortured(program, card, folder, whole, seconds, draw, counts):
    """Kills a run until it has finished or been killed often enough, and then lets it finish."""
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    in_writing = card[0] == "run" and counts["finished"] % 2 == 1
    lives, threads, kills = draw.choice(LIVES), 0, 0
    while True:
        words = going_on(program, card, out, draw)
        threads = draw.choice([n for n in (1, 2, 3) if n != threads])
        words += ["--quiet", "--threads", str(threads)]
        if card[0] == "run":
            every = "0.001s" if in_writing else draw.choice(["1rounds", "0.001s", "0.02s", "0.1s", "1virtual_s"])
            words += ["--checkpoint-every", every if kills < lives else "0.1s"]
        counts["resumed"] += words[1] == "resume" or "--only-missing" in words and kills > 0
        run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        was_killed = False
        if kills < lives:
            staged = out / STAGED
            chance = draw.random() * seconds
            # Without an older state no run is resumed, and the first state may take so long that each kill interrupts it.
            replaces = draw.random() < 0.7
            was_killed = killed_while_writing(run, staged, replaces) if in_writing else killed_by_chance(run, chance)
        _, said = run.communicate()
        kills += was_killed
        counts["kills"] += was_killed
        counts["in_writing"] += was_killed and (out / STAGED).exists()
        counts["in_sweeps"] += was_killed and card[0] == "sweep"
        found = fingerprint(out)
        if found is not None:
            if found != whole:
                sys.exit(f"{card}: {found} and not {whole} after {kills} kills; see {out}")
            counts["finished"] += 1
            counts["finished_killed"] += kills > 0
            return
        if run.returncode not in (-signal.SIGKILL, 0) or not was_killed:
            sys.exit(f"{card}: ended with code {run.returncode} and no result: {said.decode()}")


def report(counts):
    print(
        f"{counts['kills']} kills, {counts['in_writing']} of them while a state was being written and {counts['in_sweeps']} in sweeps; "
        f"{counts['resumed']} times something went on; {counts['finished']} runs and sweeps finished, {counts['finished_killed']} of them "
        "killed at least once, all with the fingerprint of the one that nobody killed",
        flush=True,
    )


def torture(program, cards, folder, counted, target, draw, counts):
    """Kills runs of the cards in turns until the count of kills or of resumed runs reaches the target."""
    wholes = {}
    while counts[counted] < target:
        for place, card in enumerate(cards):
            if counts[counted] >= target:
                break
            if place not in wholes:
                started = time.monotonic()
                subprocess.run([*command(program, card, folder / "whole"), "--quiet"], check=True)
                wholes[place] = (fingerprint(folder / "whole"), time.monotonic() - started)
                shutil.rmtree(folder / "whole")
                print(f"{title(card)}: {wholes[place][0][:16]} in {wholes[place][1]:.2f} s", flush=True)
            tortured(program, card, folder, *wholes[place], draw, counts)
        report(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--only", default="")
    parser.add_argument("--card", action="append")
    parser.add_argument("--gallery", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    program = str(pathlib.Path(args.program).resolve())
    draw = random.Random(args.seed)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="folkmoot-kill-") as name:
        folder = pathlib.Path(name)
        cards = [card for card in [SWEEP, *draw.sample(RUNS, len(RUNS))] if args.only in title(card)]
        cards = [["run", card, []] for card in args.card] if args.card else cards
        counted = "resumed" if args.card or args.gallery else "kills"
        for group in ([card] for card in gallery(folder)) if args.gallery else [cards]:
            torture(program, group, folder, counted, counts[counted] + args.kills, draw, counts)
    if counts["in_writing"] == 0:
        sys.exit("no kill fell into the writing of a state")


main()
