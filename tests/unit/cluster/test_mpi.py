"""Ranks that mpirun started, two of them on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from querist.cluster import embed
from querist.cluster.mpi import MpiRank
from querist.errors import MissingLibraryError

RANKS = Path(__file__).with_name("mpi_ranks.py")


@pytest.fixture
def mpirun():
    """Run the script as two ranks."""
    pytest.importorskip("mpi4py", reason="ranks of MPI are the extra [mpi]")
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun")

    def run(*words):
        # Open MPI asks twice before it runs as root, as it may in a container.
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        more = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader,tcp"}
        command = ["mpirun", "-n", "2", sys.executable, str(RANKS), *map(str, words)]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**os.environ, **allowed, **more},
        )

    return run


@pytest.mark.slow
def test_arrays_are_exchanged(mpirun):
    done = mpirun("exchange")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([[[0] * 5, [1] * 5]] * 2)


@pytest.mark.slow
def test_a_graph_is_embedded_as_on_a_cluster_of_dask(mpirun, folders, cluster, tmp_path):
    done = mpirun("embed", folders / "edges", tmp_path / "there")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["2 workers"] * 2, "and nothing that only a terminal understands"
    embed(folders / "edges", tmp_path / "here", 6, cluster=cluster.scheduler_address)
    here, *others = (
        pq.read_table(tmp_path / name).sort_by("node") for name in ("here", "there", "there_again")
    )
    assert here.num_rows == 1500 and all(other.equals(here) for other in others)


def test_the_trouble_of_one_rank_ends_all(mpirun):
    done = mpirun("trouble")
    assert done.returncode != 0
    assert "rank 1 of 2: a file of this rank is no table" in done.stderr and "Traceback" not in done.stderr


def test_without_its_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(
        MissingLibraryError, match=r"--cluster mpi needs mpi4py; pip install 'querist\[mpi\]'"
    ):
        MpiRank()
