"""PyTorch Geometric to Folkmoot and back, exactly. Tested where it is installed; its stand-ins are in `test_graphs.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import folkmoot
import pytest

torch = pytest.importorskip("torch")
data = pytest.importorskip("torch_geometric.data")


def graph(seed: int, n: int = 7) -> Any:
    draw = torch.Generator().manual_seed(seed)
    ends = torch.randint(0, n, (2, 20), generator=draw)
    made = data.Data(x=torch.randn(n, 3, generator=draw), edge_index=ends, edge_attr=torch.randn(20, 2, generator=draw))
    made.y = torch.tensor([seed])
    return made


def same(one: Any, other: Any) -> None:
    assert sorted(one.keys) == sorted(other.keys) if not callable(one.keys) else sorted(one.keys()) == sorted(other.keys())
    for name, values in one.to_dict().items():
        back = other[name]
        if torch.is_tensor(values):
            assert values.dtype == back.dtype and values.shape == back.shape and torch.equal(values, back), name
        else:
            assert values == back, name


def test_a_data_comes_back_as_it_was(tmp_path: Path) -> None:
    one = graph(1)
    one.y = torch.arange(7) % 3
    one.train_mask = torch.arange(7) < 3
    one.val_mask = torch.arange(7) == 4
    one.test_mask = torch.arange(7) > 4
    one.node_id = [f"user{node}" for node in range(7)]
    one.client = torch.arange(7) % 2
    same(one, folkmoot.load(folkmoot.save(one, tmp_path / "one.npz"), "pyg"))
    bare = data.Data(edge_index=one.edge_index, num_nodes=9)
    same(bare, folkmoot.load(folkmoot.save(bare, tmp_path / "bare.npz"), "pyg"))


def test_a_list_and_a_data_set_come_back_as_they_were(tmp_path: Path) -> None:
    several = [graph(seed, 4 + seed) for seed in range(5)]
    for before, after in zip(several, folkmoot.load(folkmoot.save(several, tmp_path / "several.npz"), "pyg")):
        same(before, after)

    class Own(data.InMemoryDataset):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(None)
            self.data, self.slices = self.collate(several)

    for before, after in zip(several, folkmoot.load(folkmoot.save(Own(), tmp_path / "set.npz"), "pyg")):
        same(before, after)
    batch = data.Batch.from_data_list(several)
    assert len(folkmoot.load(folkmoot.save(batch, tmp_path / "batch.npz"))["ptr"]) == 6


def test_what_the_layout_lacks_is_said_and_the_rest_is_exact(tmp_path: Path) -> None:
    for kind in (torch.uint8, torch.int16, torch.int32, torch.float32, torch.float64, torch.bool):
        one = graph(1)
        one.x = torch.arange(21).reshape(7, 3).to(kind)
        one.y = torch.arange(7)
        same(one, folkmoot.load(folkmoot.save(one, tmp_path / "one.npz"), "pyg"))
    for kind in (torch.float16, torch.bfloat16):
        one.x = torch.ones(7, 3, dtype=kind)
        with pytest.warns(UserWarning, match=f"x is of {str(kind)[6:]}, which an archive does not have: it is saved as float32") as warned:
            folkmoot.save(one, tmp_path / "one.npz")
        assert warned[0].filename == __file__
    several = [graph(1), graph(2)]
    for made in several:
        made.y = torch.tensor(3)
    with pytest.warns(UserWarning, match=r"y of a Data has shape \(\)"):
        back = folkmoot.load(folkmoot.save(several, tmp_path / "several.npz"), "pyg")
    assert [made.y.tolist() for made in back] == [[3], [3]]


def test_graphs_of_several_types_and_of_time_are_refused(tmp_path: Path) -> None:
    for refused, words in [(data.HeteroData(), "HeteroData is"), (data.TemporalData(src=torch.tensor([0])), "TemporalData is")]:
        with pytest.raises(folkmoot.FolkmootError, match=words):
            folkmoot.save(refused, tmp_path / "g.npz")
