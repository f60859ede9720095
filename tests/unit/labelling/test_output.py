"""One row a node, in the format that the name asks for, all or nothing."""

import errno
import gzip
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from querist import as_graph
from querist.errors import InputError
from querist.labelling import label
from querist.labelling.influence import influences
from querist.labelling.labelling import Labelling
from querist.labelling.storage import columns_of
from querist.tables.output import check_place, save

PAIRS = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "f"), ("f", "d"), ("c", "d"), ("g", "h")]


@pytest.fixture(scope="module")
def labelled() -> Labelling:
    return label(as_graph(PAIRS), {"a": "x", "f": "y", "b": "x"}, method="harmonic")


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", ".parquet"])
def test_what_is_written_is_what_was_found(ending: str, labelled: Labelling, tmp_path: Path) -> None:
    path = tmp_path / f"out{ending}"
    labelled.write(path)
    if ending == ".parquet":
        frame = pd.read_parquet(path)
        frame["influences"] = [";".join(names) for names in frame["influences"]]
    else:
        frame = pd.read_csv(path, sep="\t" if "tsv" in ending else ",", keep_default_na=False, na_values=[""])
        frame["influences"] = frame["influences"].fillna("")
    assert list(frame.columns) == ["node", "label", "probability", "runner_up", "reached", "influences"]
    frame = frame.set_index("node")
    assert frame["label"].fillna("").tolist() == [*"xxxyyy", "", ""]
    assert frame["reached"].tolist() == [True] * 6 + [False] * 2
    assert frame["probability"].isna().tolist() == [False] * 6 + [True] * 2
    np.testing.assert_allclose(frame["probability"][:6], labelled.probability[:6], atol=1e-6)
    assert frame.loc["a", "influences"].split(";")[0] == "a"
    assert set(frame.loc["e", "influences"].split(";")) == {"a", "b", "f"}
    assert frame.loc["g", "influences"] == ""
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_names_with_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    names = ["Smith, J.", 'the "big" one', "two\nlines", "plain"]
    graph = as_graph([(names[k], names[(k + 1) % 4]) for k in range(4)])
    found = label(graph, {names[0]: "a,b", names[2]: "c"}, method="harmonic")
    found.write(tmp_path / "out.csv")
    assert set(pd.read_csv(tmp_path / "out.csv")["node"]) == set(names)
    assert "a,b" in set(pd.read_csv(tmp_path / "out.csv")["label"])


def test_ids_and_labels_keep_their_types_in_parquet(tmp_path: Path) -> None:
    found = label(as_graph([(1, 2), (2, 3), (3, 4)]), {1: 10, 4: 20}, method="harmonic")
    found.write(tmp_path / "out.parquet")
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert str(schema.field("node").type) == str(schema.field("label").type) == "int64"
    assert "int64" in str(schema.field("influences").type)


def test_mixed_ids_become_text(tmp_path: Path) -> None:
    found = label(as_graph([(1, "b"), ("b", (2, 3))]), {1: "x", (2, 3): "y"}, method="harmonic")
    found.write(tmp_path / "out.csv")
    assert set(pd.read_csv(tmp_path / "out.csv")["node"]) == {"1", "b", "(2, 3)"}


def test_several_labels_a_node(tmp_path: Path) -> None:
    graph = as_graph(PAIRS)
    found = label(graph, {"a": {"x", "z"}, "f": {"y"}, "b": {"x"}}, multilabel=True)
    found.write(tmp_path / "out.csv.gz")
    with gzip.open(tmp_path / "out.csv.gz", "rt") as file:
        assert next(line for line in file if line.startswith("a,")).startswith("a,x;z,1")
    found.write(tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet")["label"][0].as_py() == ["x", "z"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("out.xlsx", "must end in .csv"), ("none/out.csv", "there is no folder"), ("dir.csv", "is a folder")],
)
def test_a_bad_place_is_refused_before_the_work(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(InputError, match=message):
        check_place(tmp_path / name)
    with pytest.raises(InputError, match="safe_csv is for text"):
        check_place(tmp_path / "out.parquet", safe_csv=True)


def test_nothing_is_left_behind_when_writing_fails(
    labelled: Labelling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out.parquet").write_text("before")

    def fail(table: object, file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(pq, "write_table", fail)
    with pytest.raises(OSError, match="disk full"):
        labelled.write(tmp_path / "out.parquet")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.parquet", "before")]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_full_disk_is_said_with_the_file(ending: str, labelled: Labelling, tmp_path: Path) -> None:
    import resource

    table = columns_of(labelled, influences(labelled), text=ending != ".parquet")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
        with pytest.raises(OSError, match="File too large") as caught:
            save(table, tmp_path / f"o{ending}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.filename == str(tmp_path / f"o{ending}"), "so the command line names it"
    assert not list(tmp_path.iterdir())


def test_names_that_hold_the_mark_are_told_apart(tmp_path: Path) -> None:
    odd = [tuple(f"{v};1" for v in pair) for pair in PAIRS]
    label(as_graph(odd), {"a;1": "x", "f;1": "y", "b;1": "x"}, method="harmonic").write(tmp_path / "o.csv")
    first = pd.read_csv(tmp_path / "o.csv").influences[0].split("|")
    assert set(first) <= {"a;1", "b;1", "f;1"} and len(first) > 1
