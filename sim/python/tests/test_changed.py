"""Runs that are resumed or verified after their app was changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from folkmoot.program import part, program, quoted

APP = """
import numpy as np
import folkmoot as fm

@fm.initial
def initial(facts, rng):
    return {"w": np.zeros(2)}

@fm.train(cost=lambda shard, config: 1e3)
def train(params, shard, ctx):
    if ctx.round == 3:
        raise ValueError("late")
    return fm.Update({"w": params["w"] + ctx.rng.numpy.normal()})
"""
STRATEGY = part("Python", app=quoted("client.py"), inputs=part("Degree"), protocol=part(rounds=6))
CARD = f"(dataset: ErdosRenyi(n_nodes: 20), partition: Iid(n_clients: 4), strategy: {STRATEGY})"


def said(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [program(), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_changed_app_is_resumed_only_when_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(APP)
    (tmp_path / "card.ron").write_text(CARD)
    python = ("--python", sys.executable)
    failed = said(tmp_path, "run", "card.ron", "--out", "r", "--checkpoint-every", "1rounds", *python)
    assert failed.returncode == 1, failed.stderr
    assert "ValueError: late" in failed.stderr and "resume r --allow-changed-code" in failed.stderr, failed.stderr
    (tmp_path / "client.py").write_text(APP.replace("ctx.round == 3", "False"))
    refused = said(tmp_path, "resume", "r", *python)
    assert refused.returncode == 2, refused.stderr
    for words in ("r cannot be resumed: client.py, or a module that it imports, was changed", "r/program has the code of then"):
        assert words in refused.stderr, refused.stderr
    resumed = said(tmp_path, "resume", "r", "--allow-changed-code", *python)
    assert resumed.returncode == 0, resumed.stderr
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert list(manifest["changed_programs"]) == ["client.py"] and manifest["finished"], manifest


def test_verify_names_a_changed_app(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(APP.replace("ctx.round == 3", "False"))
    (tmp_path / "card.ron").write_text(CARD)
    python = ("--python", sys.executable)
    assert said(tmp_path, "run", "card.ron", "--out", "r", *python).returncode == 0
    assert said(tmp_path, "verify", "r", *python).returncode == 0
    (tmp_path / "client.py").write_text(APP)
    changed = said(tmp_path, "verify", "r", *python)
    assert changed.returncode != 0
    assert "client.py, or a file that it reads or imports, has changed since the run" in changed.stdout, changed.stdout
