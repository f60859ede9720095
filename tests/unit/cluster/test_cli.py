"""`--cluster` and `--estimate` on the command line."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from querist.cli import main
from querist.operator.estimate import compared, estimate, halo_share, machines_for


@pytest.fixture
def querist(capsys, tmp_path, monkeypatch):
    """Run a command line here: its code, what it printed, and to whom."""
    monkeypatch.setenv("QUERIST_CACHE", str(tmp_path / "cache"))

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def test_an_estimate_is_printed_before_anything_is_started(querist):
    sizes = ("--nodes", "1e8", "--edges", "1e9", "--machines", "16")
    code, out, _ = querist("embed", "--estimate", *sizes)
    assert code == 0 and "one machine" in out and "16 machines, 33 % cut" in out and "H200" in out
    code, out, _ = querist("embed", "--estimate", *sizes, "--json")
    found = json.loads(out)
    assert [each["machines"] for each in found] == [1, 16, 16, 16, 1]
    assert found[0]["memory"] > found[1]["memory"] > found[2]["memory"] > found[3]["memory"]
    code, _, error = querist("embed", "--estimate", "--nodes", "many", "--edges", "1e9")
    assert code and "--nodes 1e8" in error


def test_the_model_is_that_of_its_page():
    # 2 machines, z = 20, a half of the entries between them: all rows of the other are needed but e^-10.
    assert halo_share(2, 20, 0.5) == pytest.approx(0.5 * (1 - np.exp(-10)))
    found = estimate(1e6, 1e7, 2, cores=1, network=8, cut=0.5)
    halo = 2 * 48 * 1e6 * found.halo
    assert found.product_bytes == pytest.approx(halo)
    assert found.product_seconds == pytest.approx(2e7 * 104 / 2 / 12.5e9 + halo / 0.9e9 + halo / 4.7e9)
    assert found.memory == pytest.approx(6 * 2e7 + 4 * 48 * (2e6 + 3e6 * found.halo))
    # A block that lies in the caches keeps its precision.
    assert estimate(1e4, 1e5, 2, cut=0.5).product_bytes == pytest.approx(4 * 48 * 1e4 * found.halo)
    count = machines_for(1e8, 1e9, 64e9)
    assert estimate(1e8, 1e9, count).memory <= 64e9 < estimate(1e8, 1e9, count - 1).memory
    assert machines_for(1e12, 1e14, 1e9) == 0
    assert [each.where for each in compared(1e6, 1e7, 1)] == ["machines", "device"]


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
    code, out, _ = querist(
        "classify", folders / "edges", "--scratch", tmp_path / "work", "--trials", 2, "--labelled", 0.5,
        "--set", "max_iter=5", *tables, *there,
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0 and len(found["runs"]) == 2 and found["runs"][0]["labelled"] in (75, 76, 77)
    assert found["accuracy"]["mean"] > 0.4 and list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("embed", "edges", "--out", "rows", "--embedding", "diffusion"),
            "--embedding does not go with --cluster",
        ),
        (("embed", "edges", "--out", "rows", "--parallel", "sum"), "--parallel does not go with --cluster"),
        (("embed", "edges"), "no --out"),
        (("label", "edges", "--out", "rows", "--labels", "x", "--goal", "f1"), "--goal does not go"),
        (("label", "edges", "--out", "rows"), "--cluster needs --labels"),
        (("classify", "edges", "--method", "wvrn"), "--method wvrn does not go"),
        (("classify", "edges"), "--cluster needs --labels"),
    ],
)
def test_what_a_cluster_cannot_do_is_said(querist, arguments, said):
    code, _, error = querist(*arguments, "--cluster", "tcp://127.0.0.1:9")
    assert code and said in error
