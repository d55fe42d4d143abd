"""`python -m folkmoot`: the commands that need a Python library."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import List, Optional

from . import FolkmootError, Run, Sweep


def main(args: Optional[List[str]] = None) -> int:
    """Returns the exit code: 0 done, 2 bad usage or a file that cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m folkmoot", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="curves of a run or sweep as Parquet or for TensorBoard")
    export.add_argument("dir", metavar="DIR", type=Path, help="a run or sweep directory")
    form = export.add_mutually_exclusive_group(required=True)
    form.add_argument("--parquet", action="store_true", help="one Parquet file")
    form.add_argument("--tensorboard", action="store_true", help="a folder of event files; wall time is virtual seconds")
    export.add_argument("--to", metavar="PATH", required=True, help="the file or folder to write; it must not exist")
    planetoid = commands.add_parser("planetoid", help="convert the pickles of Cora, Citeseer and Pubmed")
    planetoid.add_argument("folder", metavar="DIR", type=Path, help="has the folder raw with the files ind.NAME.*, and gets NAME.npz")
    planetoid.add_argument("names", metavar="NAME", nargs="*", help="such as cora [default: all that are not converted]")
    chosen = parser.parse_args(args)
    try:
        if chosen.command == "export":
            made = (Sweep if (chosen.dir / "sweep.json").is_file() else Run)(chosen.dir)
            (made.to_parquet if chosen.parquet else made.to_tensorboard)(chosen.to)
        else:
            from .planetoid import convert

            for path in convert(chosen.folder, chosen.names):
                check = f"folkmoot data fetch {path.stem.capitalize()} --data {chosen.folder.parent}"
                print(f"{path}: written\n  help: {check}   (checks its fingerprint)")
    except (FolkmootError, OSError) as error:
        print(f"error: {str(error).removeprefix('error: ')}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
