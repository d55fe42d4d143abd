"""The Python of the book: each page's blocks, one after the other, in a folder of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict, List

import folkmoot
import pytest

#: Programs that recipes are about; `.ci/long` installs them.
OPTIONAL = {"aim", "mlflow", "tensorboardX", "torch", "wandb"}

BOOK = Path(__file__).parents[2] / "book" / "src"


def blocks(page: Path) -> List[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


PAGES = [page for page in sorted(BOOK.rglob("*.md")) if blocks(page)]


def test_the_book_has_python() -> None:
    assert PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folkmoot.frames("pandas")
    names: Dict[str, Any] = {}
    missing = []
    for block in blocks(page):
        try:
            exec(compile(block, str(page), "exec"), names)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL:
                raise
            missing.append(error.name)
    if missing:
        pytest.skip(f"blocks of {page.name} did not run, since these are not installed: {', '.join(missing)}")
