"""`--cluster` on the command line."""

import json

import pyarrow.parquet as pq
import pytest

from querist.cli import main


@pytest.fixture
def querist(capsys, tmp_path, monkeypatch):
    """Run a command line here: its code, what it printed, and to whom."""
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.mark.slow
def test_verbs_run_on_a_cluster(querist, folders, cluster, tmp_path):
    there = ("--cluster", cluster.scheduler_address, "--json")
    code, out, _ = querist("embed", folders / "edges", "--out", tmp_path / "rows", "--rank", 6, *there)
    assert (
        code == 0 and json.loads(out)["nodes"] == 1500 and pq.read_table(tmp_path / "rows").num_rows == 1500
    )
    tables = ("--labels", folders / "labels", "--nodes", folders / "attributes")
    code, out, _ = querist("label", folders / "edges", "--out", tmp_path / "labels", *tables, *there)
    assert code == 0 and json.loads(out)["labels"] == 150
    assert set(pq.read_table(tmp_path / "labels").column_names) == {"node", "label", "probability", "reached"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("embed", "edges", "--out", "rows", "--embedding", "diffusion"),
            "--embedding does not go with --cluster",
        ),
        (("embed", "edges", "--out", "rows", "--parallel", "sum"), "--parallel does not go with --cluster"),
        (("embed", "edges"), "missing option '--out'"),
        (("label", "edges", "--out", "rows", "--labels", "x", "--goal", "f1"), "--goal does not go"),
        (("label", "edges", "--out", "rows"), "--cluster needs --labels"),
    ],
)
def test_what_a_cluster_cannot_do_is_said(querist, arguments, said):
    code, _, error = querist(*arguments, "--cluster", "tcp://127.0.0.1:9")
    assert code and said in error
