#!/usr/bin/env python3
"""Reads the metadata that Folkmoot writes with the packages of their standards: RO-Crate of a run and a sweep, Croissant of a data set.

    tests/metadata.py FOLKMOOT

Needs the packages rocrate and mlcroissant.
"""

import pathlib
import subprocess
import sys
import tempfile
from urllib.parse import unquote

import mlcroissant
from rocrate.rocrate import ROCrate


def crate(folder, n_parts):
    read = ROCrate(str(folder))
    root = read.root_dataset
    parts = [part.id for part in root["hasPart"]]
    assert len(parts) >= n_parts, parts
    for part in parts:
        assert (folder / unquote(part)).exists(), part
    actions = [entity for entity in read.contextual_entities if entity.type == "CreateAction"]
    assert len(actions) == 1 and actions[0]["instrument"]["name"] == "Folkmoot", actions
    # A sweep names data of files; data that are generated stand with each run.
    assert actions[0].get("object") or folder.name == "sweep", "no data set"
    # Numbers are those of a run; a mean over the arms of a sweep would say nothing.
    has_value = ["value" in number.properties() for number in root["variableMeasured"]]
    assert has_value and set(has_value) == {folder.name == "run"}, has_value
    assert root["datePublished"] and root["description"], root.properties()
    with tempfile.TemporaryDirectory() as copy:
        read.write(copy)
        for part in parts:
            assert (pathlib.Path(copy) / unquote(part)).exists(), f"{part} is not copied"
    print(f"{folder.name}: RO-Crate of {len(parts)} parts")


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as temp:
        temp = pathlib.Path(temp)

        def folkmoot(*words):
            subprocess.run([program, *words], cwd=temp, check=True, stdout=subprocess.DEVNULL)

        folkmoot("run", "fed-avg/tiny", "--quiet", "--out", "run")
        folkmoot("sweep", "fed-avg/small", "--quiet", "--set", "strategy.protocol.rounds=2", "--out", "sweep")
        for name, n_parts in [("run", 8), ("sweep", 10)]:
            folkmoot("export", name, "--ro-crate")
            crate(temp / name, n_parts)
        folkmoot("data", "generate", "Rmat(n_nodes: 1000)", "--to", "set.fkm", "--croissant")
        issues = mlcroissant.Dataset(jsonld=str(temp / "set.fkm.croissant.json")).metadata.issues
        assert not issues.errors, issues.errors
        print(f"Croissant: {len(issues.warnings)} recommendations not followed")
        for warning in issues.warnings:
            print("  ", warning)


main()
