"""The examples of the book's gallery on small data, for tests, `bits.py` and `kill.py`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from folkmoot.program import quoted, ron

CARDS = Path(__file__).parents[1] / "examples" / "gallery"
#: The data set of `digits`, made by `make_digits`.
DIGITS = "digits.npz"


def missing(*packages: str) -> List[str]:
    """The packages that are not installed for this interpreter."""
    return [name for name in packages if importlib.util.find_spec(name) is None]


class Example(NamedTuple):
    """A card, the required packages, settings for small data, the number of rounds in tests and its
    field, and a score from 0 to 1."""

    card: str
    packages: Sequence[str]
    small: Mapping[str, Any]
    n_rounds: int = 2
    rounds: str = "strategy.protocol.rounds"
    score: str = "test_accuracy"

    @property
    def path(self) -> Path:
        return CARDS / f"{self.card}.ron"

    @property
    def missing(self) -> List[str]:
        return missing("numpy", *self.packages)

    def settings(self, n_rounds: Optional[int] = None) -> Dict[str, Any]:
        """Fields and values for `fm.run`. The default number of rounds is that of tests."""
        return {**self.small, self.rounds: n_rounds or self.n_rounds}

    def words(self, n_rounds: Optional[int] = None) -> List[str]:
        """The settings as values of the option `--set`."""
        return [f"{path}={ron(value)}" for path, value in self.settings(n_rounds).items()]


#: A graph in place of Cora, and four clients.
SMALL = {
    "dataset": "ContextualSbm(n_nodes: 150, n_classes: 3, n_features: 12)",
    "partition": "LabelSkew(n_clients: 4, min_size: 20)",
}
PHONES = {
    "dataset": "AppClients(n_clients: 30)",
    "strategy.run_config.fraction-train": 0.5,
    "strategy.run_config.fraction-evaluate": 0.2,
}
REPORTED = "test_reported_accuracy"
EXAMPLES = {
    "gatv2": Example("gatv2", ["torch", "torch_geometric"], SMALL),
    **{
        name: Example("drift", [], {**SMALL, "strategy.app": quoted(f"folkmoot.examples.{name}")})
        for name in ("fed_prox", "scaffold")
    },
    # Prototypes pull from the second round on, and clients evaluate before they train.
    "fed_proto": Example("fed_proto", ["torch"], SMALL, n_rounds=4, score=REPORTED),
    "heads": Example("heads", ["torch"], SMALL, score=REPORTED),
    "links": Example("links", ["torch", "torch_geometric"], SMALL, score="test_auc"),
    "digits": Example("digits", ["torch", "sklearn"], {}, n_rounds=1),
    "phones": Example(
        "phones", ["flwr"], PHONES, rounds="strategy.run_config.num-server-rounds"
    ),
    "curious": Example(
        "curious", [], {}, n_rounds=3, rounds="strategy.rounds", score="test_attack_accuracy"
    ),
}


def make_digits(folder: Path) -> None:
    """Makes the data set of `digits` in a data folder, with scikit-learn."""
    make = [sys.executable, "-m", "folkmoot.examples.digits", str(folder / DIGITS)]
    subprocess.run(make, check=True)
