"""`querist embed`: the file, what is printed, what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from querist import as_graph, embed as embed_graph
from querist.cli.embed import embed
from querist.errors import InputError

app = typer.Typer()
app.command()(embed)


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    file = tmp_path / "edges.csv"
    rows = [(i, (i * i + 1) % 23) for i in range(23)] + [(i, i + 1) for i in range(22)]
    file.write_text("source,target\n" + "\n".join(f"{i},{j}" for i, j in rows if i != j))
    return file


def run(*words: str | Path) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("normalised", [True, False])
def test_the_file_holds_the_rows_and_json_says_how(edges: Path, tmp_path: Path, normalised: bool) -> None:
    out = tmp_path / "rows.npy"
    found = json.loads(
        run(edges, "--rank", "7", "--out", out, "--normalised" if normalised else "--no-normalised", "--json")
    )
    expected = embed_graph(as_graph(edges), 7, normalised=normalised)
    np.testing.assert_array_equal(np.load(out), expected.rows)
    assert (found["nodes"], found["rank"], found["columns"]) == (23, 7, 7)
    assert found["solver"] == "dense"
    assert found["laplacian"] == ("normalised" if normalised else "combinatorial")
    assert len(found["residuals"]) == 6
    assert max(found["residuals"]) == found["residual"] < 1e-12
    assert found["seconds"] >= 0
    assert found["bytes"] == out.stat().st_size
    assert [file.name for file in tmp_path.iterdir() if file.name.endswith(".part")] == []


def test_without_json_it_prints_the_report(edges: Path, tmp_path: Path) -> None:
    text = run(edges, "--out", tmp_path / "rows.npy", "--constant", "3")
    assert "23 rows" in text
    assert "dense, residual" in text
    assert "MB" in text
    assert np.load(tmp_path / "rows.npy")[0, -1] == 3.0


def test_what_cannot_be_is_refused_before_the_work(edges: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    for out in (tmp_path / "rows.csv", tmp_path / "nowhere" / "rows.npy", tmp_path / "folder.npy"):
        with pytest.raises(InputError, match=r"--out|folder"):
            run(edges, "--out", out)
    with pytest.raises(InputError, match="rank 99"):
        run(edges, "--rank", "99", "--out", tmp_path / "rows.npy")
    assert not (tmp_path / "rows.npy").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--device", "cuda"),
        ("--no-cache",),
        ("--embedding", "diffusion"),
        ("--parallel", "sum"),
        ("--missing", "0"),
    ],
)
def test_what_a_cluster_does_not_know_is_refused(edges: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match=f"{words[0]} does not go with --cluster"):
        run(edges, "--out", tmp_path / "rows", "--cluster", "tcp://127.0.0.1:9", *words)


def test_columns_of_any_name_and_a_data_set_by_its_name(tmp_path: Path) -> None:
    file, out = tmp_path / "pay.csv", tmp_path / "rows.npy"
    file.write_text("when,payer,payee,amount\n1,a,b,2\n2,a,b,3\n3,b,c,4\n4,c,d,1\n5,d,a,1\n")
    columns = ("--source", "payer", "--target", "payee", "--weight", "amount", "--parallel", "sum")
    run(file, "--out", out, "--rank", "3", *columns)
    edges = [("a", "b", 5.0), ("b", "c", 4.0), ("c", "d", 1.0), ("d", "a", 1.0)]
    np.testing.assert_array_equal(np.load(out), embed_graph(as_graph(edges), 3).rows)
    assert "34 rows" in run("karate", "--out", out, "--rank", "3")
    with pytest.raises(InputError, match="karate is a data set, which needs no source="):
        run("karate", "--out", out, "--source", "payer")
