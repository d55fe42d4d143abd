"""Apps of a notebook: the stored source has all that their functions reach."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Dict

import pytest

CELLS = [
    "import folkmoot as fm\nimport numpy as np\nfrom collections import OrderedDict as Ordered",
    "RATE = 0.5\nLIMITS = [RATE, 1]\nTABLE = np.zeros(1000)\nUNUSED = 3\nONE = 1\nUNO = 1",
    "class Base:\n    rate = RATE",
    "from dataclasses import dataclass\n\n@dataclass\nclass Net(Base):\n    width: int = ONE\n\nhalf = lambda x: x / 2\nclass Idle: pass",
    "def helper(n):\n    inner = lambda: half(n) + TABLE[0] + UNO\n    return Ordered(w=np.full(3, inner() + LIMITS[0] + Net().width))",
    "def made(scale):\n    def cost(shard, config):\n        return scale * 2.0\n    return cost",
    "@fm.initial\ndef initial(facts, rng):\n    return helper(2)",
    "@fm.train(cost=made(RATE))\ndef train(params, shard, ctx):\n    return fm.Update(params)",
    "from folkmoot.notebook import stored\nprint(stored(globals()))",
]


def test_source_of_cells_is_whole_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("cloudpickle", "ipykernel"):
        pytest.importorskip(package)
    client, form = pytest.importorskip("nbclient"), pytest.importorskip("nbformat").v4
    notebook = form.new_notebook(cells=[form.new_code_cell(cell) for cell in CELLS])
    client.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    path = Path("".join(output["text"] for output in notebook.cells[-1].outputs).strip())
    text = path.with_suffix(".py").read_text()
    for words in ("UNUSED", "class Idle"):
        assert words not in text, text
    for words in ("# TABLE: a ndarray", "@dataclass\nclass Net(Base):", "def made(scale):", "import numpy as np\n"):
        assert words in text, text
    places = [text.index(words) for words in ("RATE = 0.5", "class Base", "class Net", "def helper", "def initial", "def train")]
    assert places == sorted(places), text
    names: Dict[str, Any] = {"__name__": "app"}
    monkeypatch.setitem(sys.modules, "app", ModuleType("app"))
    exec(compile(text.replace("# TABLE", "TABLE = [0]  #"), "app.py", "exec", dont_inherit=True), names)
    assert names["initial"](None, None)["w"].tolist() == [1 + 1 + 0.5 + 1] * 3


def test_no_source_is_said_and_closures_are_followed() -> None:
    from folkmoot.notebook import source

    names: Dict[str, Any] = {"__name__": __name__}
    exec("def lost(): pass", names)
    assert source({"lost": names["lost"]}) == "# the source of lost is not known\n"
    scale = 7

    def inside() -> int:
        return scale

    assert source({"inside": inside}) == "scale = 7\n\ndef inside() -> int:\n    return scale\n"
