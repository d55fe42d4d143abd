"""Rows of `scenarios/*/trials.json`: cards and settings with which algorithms are tried. `tests/trials.rs` says what each list is for.

    python3 tests/trials.py LIST      prints the card and the settings of each row of a list, quoted for a shell
"""

import json
import pathlib
import shlex
import sys

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent / "scenarios"


def files():
    """Every file by its folder."""
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(SCENARIOS.glob("*/trials.json"))}


def rows(name):
    """The card and the settings of each row of the list of this name, folder by folder."""
    found = []
    for file in files().values():
        for row in file.get(name, []):
            shared = [setting for of in row.get("with", []) for setting in file["shared"][of]]
            found.append((row["card"], shared + row.get("set", [])))
    return found


def words(card, settings):
    """A row as arguments of the program."""
    return [card, *(word for setting in settings for word in ("--set", setting))]


if __name__ == "__main__":
    for row in rows(sys.argv[1]):
        print(shlex.join(words(*row)))
