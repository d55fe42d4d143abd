"""Planetoid's files: the archive that is made of them, and what is rejected."""

from __future__ import annotations

import hashlib
import struct
import zipfile
from pathlib import Path
from typing import Dict, List, Optional, Sequence

import folkmoot
import numpy
import pytest
from folkmoot.__main__ import main
from folkmoot.planetoid import convert

# Nodes that train, and nodes of `allx`: 500 more than train validate.
N_TRAINING, N_ALL = 2, 504


def number(n: int) -> bytes:
    return b"J" + struct.pack("<i", n)


def array(kind: str, values: Sequence[int], shape: Sequence[int]) -> bytes:
    """An array as NumPy pickled it under Python 2."""
    data = numpy.array(values, f"<{kind}").tobytes()
    return b"".join(
        [
            b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01(",
            *map(number, shape),
            b"tcnumpy\ndtype\nU\x02",
            kind.encode(),
            b"K\x00K\x01\x87R(K\x03U\x01<NNNK\x00K\x00K\x00tb\x89T",
            struct.pack("<I", len(data)),
            data,
            b"tb",
        ]
    )


def pickled(value: bytes) -> bytes:
    return b"\x80\x02" + value + b"."


def features(n_rows: int) -> bytes:
    """Rows of which row `i` has a one in column `i % 7`."""
    return pickled(
        b"".join(
            [
                b"cscipy.sparse.csr\ncsr_matrix\n)\x81}(U\x06_shape",
                number(n_rows) + number(7) + b"\x86U\x06indptr",
                array("i4", range(n_rows + 1), [n_rows + 1]),
                b"U\x07indices" + array("i4", [row % 7 for row in range(n_rows)], [n_rows]),
                b"U\x04data" + array("f8", [1] * n_rows, [n_rows]) + b"ub",
            ]
        )
    )


def classes(n_rows: int) -> bytes:
    """Rows of which row `i` has class `i % 3`."""
    return pickled(array("i4", [int(row % 3 == label) for row in range(n_rows) for label in range(3)], [n_rows, 3]))


def ring(n_nodes: int) -> bytes:
    """A ring of all nodes except the last, which has no edge; every neighbour is named twice, and node 0 names itself."""
    lists = []
    for node in range(n_nodes):
        following = node + 1 if node + 2 < n_nodes else 0
        items: List[int] = [] if node + 1 == n_nodes else [following, following] if node else [0, following, following]
        lists.append(number(node) + b"](" + b"".join(map(number, items)) + b"e")
    return pickled(b"ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(" + b"".join(lists) + b"u")


def shared(n: int) -> bytes:
    """One list of `n` neighbours, which the pickle keeps and gives to each of `n` nodes."""
    kept = number(0) + b"](" + b"K\x01" * n + b"eq\x00"
    return pickled(b"}(" + kept + b"".join(number(node) + b"h\x00" for node in range(1, n)) + b"u")


def published() -> Dict[str, bytes]:
    """508 nodes: behind those of `allx` two test nodes, in the order 506, 504, and two that are in no file."""
    return {
        "allx": features(N_ALL),
        "tx": features(2),
        "ally": classes(N_ALL),
        "ty": classes(2),
        "y": classes(N_TRAINING),
        "graph": ring(508),
        "test.index": b"506\n504\n",
    }


def laid(folder: Path, name: str = "cora", changed: Optional[Dict[str, bytes]] = None) -> Path:
    """The folder, with the files in `raw`."""
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    for ending, content in {**published(), **(changed or {})}.items():
        (folder / "raw" / f"ind.{name}.{ending}").write_bytes(content)
    return folder


#: The members of the archive, by the first 16 digits of their SHA-256, as an independent reader in Rust wrote them.
MEMBERS = {
    "adj_data.npy": "c4d225f276c702d6",
    "adj_indices.npy": "dd1822138da0f5a9",
    "adj_indptr.npy": "9ed8b0755417ca46",
    "adj_shape.npy": "bc4229fe9c3a3935",
    "attr_data.npy": "07d84f129e6550f5",
    "attr_indices.npy": "4f4d3d5986af4d91",
    "attr_indptr.npy": "9df79ed4dce6e9f2",
    "attr_shape.npy": "881a09bb9d67acfd",
    "labels.npy": "00f8b3b6a53fc434",
    "train_mask.npy": "6c16c5aab9b2688c",
    "val_mask.npy": "72753e3c420128b9",
    "test_mask.npy": "ac203b72c5f8a0a5",
}

#: The fingerprint of an archive of the same nodes, rows and edges that another program wrote.
FINGERPRINT = "f14bf786a7ffbd4694e9f2841fbc8e9049ea53e05ff8783f50fd6a6a36b71781"


def test_the_members_have_the_bytes_of_an_independent_reader(tmp_path: Path) -> None:
    assert convert(laid(tmp_path)) == [tmp_path / "cora.npz"]
    with zipfile.ZipFile(tmp_path / "cora.npz") as archive:
        found = {name: hashlib.sha256(archive.read(name)).hexdigest()[:16] for name in archive.namelist()}
    assert found == MEMBERS and list(found) == list(MEMBERS)


def test_the_program_knows_the_archive_by_its_fingerprint(tmp_path: Path) -> None:
    convert(laid(tmp_path / "planetoid"))
    made = f'Planetoid(file: (path: "planetoid/cora.npz"), fingerprint: "{FINGERPRINT}")'
    table = f'[(name: "Cora", about: "a", source: "b", licence: "c", made: {made})]'
    (tmp_path / "table.ron").write_text(table)
    said = folkmoot.program.call("data", "fetch", "Cora", "--data", str(tmp_path), "--sources", str(tmp_path / "table.ron"))
    assert "planetoid/cora.npz: exists, fingerprint verified" in said


def test_the_archive_has_the_public_split_and_every_edge_in_both_directions(tmp_path: Path) -> None:
    made = numpy.load(convert(laid(tmp_path))[0])
    assert [int(made[f"{part}_mask"].sum()) for part in ("train", "val", "test")] == [2, 500, 2]
    assert made["test_mask"].nonzero()[0].tolist() == [504, 506]
    # Row 0 of the test nodes is node 506.
    assert made["labels"][503:].tolist() == [503 % 3, 1, -1, 0, -1]
    assert made["attr_shape"].tolist() == [508, 7] and len(made["attr_data"]) == 506
    assert made["adj_indptr"][[0, 1, 507, 508]].tolist() == [0, 2, 1014, 1014]
    assert made["adj_indices"][:2].tolist() == [1, 506]


def test_what_is_converted_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laid(laid(tmp_path / "planetoid"), "citeseer")
    (tmp_path / "planetoid" / "citeseer.npz").write_text("mine")
    assert main(["planetoid", str(tmp_path / "planetoid")]) == 0
    said = capsys.readouterr().out
    assert "cora.npz: written" in said and f"help: folkmoot data fetch Cora --data {tmp_path}" in said
    assert main(["planetoid", str(tmp_path / "planetoid")]) == 0
    assert main(["planetoid", str(tmp_path / "planetoid"), "Citeseer"]) == 2
    assert "citeseer.npz already exists and is never overwritten" in capsys.readouterr().err
    assert (tmp_path / "planetoid" / "citeseer.npz").read_text() == "mine"
    assert sorted(path.name for path in (tmp_path / "planetoid").iterdir()) == ["citeseer.npz", "cora.npz", "raw"]
    assert main(["planetoid", str(tmp_path)]) == 2
    assert "help: folkmoot data fetch Cora" in capsys.readouterr().err


@pytest.mark.parametrize(
    "ending, content, why",
    [
        ("allx", b"\x80\x02cos\nsystem\n(U\x01xtR.", "names os.system, which no such file needs"),
        ("allx", b"\x80\x02cbuiltins\neval\n(U\x01xtR.", "names builtins.eval"),
        ("allx", b"\x80\x02cnumpy.core.multiarray\nscalar\n.", "names numpy.core.multiarray.scalar"),
        ("allx", b"\x80\x02cnumpy\nload\n(U\x01xtR.", "names numpy.load"),
        ("allx", features(2)[:100], "is no pickle of NumPy arrays"),
        ("allx", b"\x80\x02" + b")" + b"\x85" * 100_000 + b".", "is no sparse matrix"),
        ("allx", classes(3), "is no sparse matrix"),
        ("allx", features(3).replace(number(7), number(2), 1), "is no sparse matrix"),
        ("ty", features(2), "is no table of classes"),
        ("ty", pickled(array("c8", [0] * 6, [2, 3])), "is no table of classes"),
        ("ally", classes(3), "does not go with the other files"),
        ("graph", classes(3), "is no graph"),
        ("graph", pickled(b"}" + number(0) + b"]" + number(-1) + b"as"), "is no graph"),
        ("graph", pickled(b"}" + number(0) + b"]" + number((1 << 24) - 2) + b"as"), "names node 16777214, and only 2 nodes in all"),
        ("graph", shared(1000), "names more nodes than it has bytes"),
        ("y", classes(10), "has more rows than there are nodes to train and validate"),
        ("test.index", b"506\n508\n", "has a line that is no node"),
        ("test.index", b"506\n-1\n", "has a line that is no node"),
        ("test.index", b"506\n", "has not as many lines as there are test nodes"),
    ],
)
def test_files_that_are_not_those_published_are_rejected(tmp_path: Path, ending: str, content: bytes, why: str) -> None:
    laid(tmp_path, changed={ending: content})
    with pytest.raises(folkmoot.FolkmootError) as caught:
        convert(tmp_path)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / 'raw' / 'ind.cora.'}{ending}: ") and why in said
    assert "it is not what its authors published: move it away and fetch it again" in said
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_no_damaged_byte_does_more_than_fail(tmp_path: Path) -> None:
    whole = pickled(array("i4", [0], [1]))
    for at in range(len(whole)):
        for content in [whole[:at]] + [whole[:at] + bytes([byte]) + whole[at + 1 :] for byte in (0, 40, 82, 99, 255)]:
            laid(tmp_path, changed={"ty": content})
            with pytest.raises(folkmoot.FolkmootError):
                convert(tmp_path)
