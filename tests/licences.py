"""Writes `LICENSES-THIRD-PARTY.md`: the licences of the crates in `Cargo.lock`, from their own files.

    python3 tests/licences.py

Each crate is listed with its version, its licence and its copyright lines. Of several licences to choose
from, MIT is taken, else Apache-2.0. The text of a licence stands once. Needs Cargo and the crates' sources,
which `cargo fetch --locked` gets.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "LICENSES-THIRD-PARTY.md"
NAMES = ("LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE", "COPYRIGHT")
#: The licences of choice, first those with the shortest terms.
PREFERRED = ["MIT", "Apache-2.0", "Zlib", "ISC", "BSD-3-Clause"]
#: A crate whose file has the text of a licence and little else.
MODELS = {
    "MIT": "serde/LICENSE-MIT",
    "Apache-2.0": "serde/LICENSE-APACHE",
    "ISC": "untrusted/LICENSE.txt",
    "BSD-3-Clause": "subtle/LICENSE",
    "Zlib": "foldhash/LICENSE",
    "Unicode-3.0": "unicode-ident/LICENSE-UNICODE",
    "CDLA-Permissive-2.0": "webpki-roots/LICENSE",
}


def chosen(expression: str) -> list[str]:
    """The licences under which a crate is used: one of each choice."""
    parts = re.split(r"\s+AND\s+", expression)
    taken = []
    for part in parts:
        choices = re.split(r"\s+OR\s+|\s*/\s*", part.strip("() "))
        known = [name for name in PREFERRED if name in choices]
        taken.append(known[0] if known else choices[0])
    return taken


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(NAMES))


def copyright_lines(folder: Path) -> list[str]:
    """Who holds the rights, as the licence files say, templates left out."""
    found: list[str] = []
    for path in files(folder):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            line = re.sub(r"\S+@\S+|[\x00-\x1f*#|<>`]", " ", line)
            line = re.sub(r"[ ,]+$", "", re.sub(r" +", " ", line)).strip()
            said = re.match(r"(?i)copyright\b.*(\(c\)|©|\d{4}|the .*(developers|authors|contributors|project))", line)
            if said and not re.search(r"(?i)\[yyyy\]|\{yyyy\}|license|notice|holder|owner", line) and line not in found:
                found.append(line)
    return found


def main() -> None:
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    read = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    packages = sorted((p for p in read["packages"] if p["source"]), key=lambda p: (p["name"], p["version"]))
    folders = {p["name"]: Path(p["manifest_path"]).parent for p in packages}
    lines, used = [], set()
    for package in packages:
        licences = chosen(package["license"])
        used.update(licences)
        who = copyright_lines(Path(package["manifest_path"]).parent)
        who = who or ([f"by {', '.join(re.sub(r' *<.*?>', '', name) for name in package['authors'])}"] if package["authors"] else [])
        said = f": {'; '.join(who)}" if who else ""
        lines.append(f"- {package['name']} {package['version']}, {' and '.join(licences)}{said}")
    texts = []
    for licence in sorted(used):
        crate, name = MODELS[licence].split("/")
        text = (folders[crate] / name).read_text(encoding="utf-8").strip()
        texts.append(f"## {licence}\n\n```text\n{text}\n```\n")
    OUT.write_text(
        "# Licences of third parties\n\n"
        "Folkmoot is built with these crates. Each line names a crate, its version, the licence under which it is used, and\n"
        "who holds the rights. The texts of the licences follow. `tests/licences.py` writes this file. The font of figures,\n"
        "DejaVu Sans, has its licence in `plots/fonts`.\n\n" + "\n".join(lines) + "\n\n" + "\n".join(texts),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
