"""Tests run in a folder of their own: calls store cards, data and apps in `runs` of the current one."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(scope="session", autouse=True)
def current_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.chdir(tmp_path_factory.mktemp("current"))
