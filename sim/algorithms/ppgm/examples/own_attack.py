"""An attacker of one's own on messages that a run has kept: who knows the property of the training graphs guesses it of others.

    python3 own_attack.py          # some seconds; needs numpy and pandas

The attacker takes the class whose mean message lies nearest, in standardised numbers. Beside it stands the same with the known
properties dealt out anew, which can find nothing.
"""

import tempfile
from pathlib import Path
from typing import Dict

import folkmoot
import numpy as np


# Messages are kept of a card that can keep them, and these parts of a match are read.
CARD = "ppgm/small"
PARTS = ("g_1", "o_1")


def guessed(known: np.ndarray, properties: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The property whose mean row is nearest, for each row of `asked`."""
    mean, scale = known.mean(axis=0), known.std(axis=0) + 1e-6
    known, asked = (known - mean) / scale, (asked - mean) / scale
    names = np.unique(properties)
    centres = np.stack([known[properties == name].mean(axis=0) for name in names])
    nearest: np.ndarray = names[((asked[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)]
    return nearest


def attack(run: folkmoot.Run, part: str) -> Dict[str, float]:
    """The share of other graphs whose property is guessed from one part of a match, as `g_1` or `o_1`, and by chance."""
    rows, columns = run.artifact("intercepted.csv"), run.artifact("intercepted_columns.csv")
    place = columns[columns["part"] == part].iloc[0]
    messages = run.artifact("intercepted.npy")[:, int(place["from"]) : int(place["to"])]
    is_known = (rows["part"] == "train").to_numpy()
    properties = rows["property"].to_numpy()
    dealt = np.random.default_rng(1).permutation(properties[is_known])
    by = {"found": properties[is_known], "by chance": dealt}
    return {
        name: float((guessed(messages[is_known], known, messages[~is_known]) == properties[~is_known]).mean()) for name, known in by.items()
    }


def main(folder: Path) -> Dict[str, Dict[str, float]]:
    folkmoot.frames("pandas")
    run = folkmoot.run(CARD, set={"strategy.thorough": folkmoot.part(messages=True)}, seed=1, out=folder / "run")
    return {part: attack(run, part) for part in PARTS}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for part, shares in main(Path(folder)).items():
            print(part, ", ".join(f"{name} {share:.2f}" for name, share in shares.items()))
