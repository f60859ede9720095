"""Results on disk: whole lines or none."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from querist import __version__
from querist.experiment import Outcome, Specification, Store
from querist.experiment.store import RUN, TUNING, Record

SPEC = Specification("online", "karate", "msg")
CONDITIONS = {"seconds": 0.1, "versions": {"querist": __version__}, "machine": {"cores": 2}}


def record(repeat: int, stage: str = RUN, error: float = 0.1 + 0.2) -> Record:
    outcome = Outcome({"error_rate": error + repeat}, {"error_rate": [0.5, 1 / 3]})
    return Record(stage, {"h": 0.1}, 7, repeat, outcome, CONDITIONS)


def test_what_is_written_is_read(tmp_path):
    store = Store(tmp_path / "deep" / "down")
    assert store.read(SPEC) == {}
    written = [record(0), record(1), record(0, TUNING)]
    for each in written:
        store.append(SPEC, each)
    assert list(Store(store.folder).read(SPEC).values()) == written, "every bit of every number"
    for line in store.path(SPEC).read_text().splitlines():
        found = json.loads(line)["value"]["Line"]
        assert found["key"] == SPEC.key
        assert found["specification"]["table"]["dataset"] == SPEC.dataset
        assert {"seconds", "versions", "machine"} <= set(found["record"]["Record"]["conditions"]["table"])


def test_no_number_is_written_as_json_has_it_and_comes_back(tmp_path):
    store = Store(tmp_path)
    store.append(SPEC, record(0, error=math.nan))
    assert "NaN" not in store.path(SPEC).read_text()
    (found,) = store.read(SPEC).values()
    assert math.isnan(found.outcome.numbers["error_rate"])


def test_a_file_cut_anywhere_loses_only_what_is_cut(tmp_path):
    store = Store(tmp_path)
    for repeat in range(3):
        store.append(SPEC, record(repeat))
    path, whole = store.path(SPEC), store.path(SPEC).read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(0, len(whole), 7):
        path.write_bytes(whole[:cut])
        finished = sum(end <= cut for end in ends)
        again = Store(tmp_path)
        assert len(again.read(SPEC)) == finished
        for repeat in range(finished, 3):
            again.append(SPEC, record(repeat))
        assert path.read_bytes() == whole


def test_what_another_process_left_half_written_costs_no_run_of_this_one(tmp_path):
    """Two write into one file; one of them is killed while it writes."""
    store = Store(tmp_path)
    store.append(SPEC, record(0))
    with store.path(SPEC).open("ab") as file:
        file.write(b'{"key": "half of a li')
    store.append(SPEC, record(1))
    assert [each.repeat for each in store.read(SPEC).values()] == [0, 1]


WRITER = """
import sys
from querist.experiment import Store
from tests.unit.experiment.test_store import SPEC, record
store = Store(sys.argv[1])
for repeat in range(int(sys.argv[2]), int(sys.argv[2]) + 200):
    store.append(SPEC, record(repeat))
"""


@pytest.mark.slow
def test_two_processes_write_into_one_file(tmp_path):
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, first], cwd=root) for first in ("0", "200")]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert {each.repeat for each in Store(tmp_path).read(SPEC).values()} == set(range(400))


@pytest.mark.skipif(sys.platform == "win32", reason="a limit on the size of files stands in for a full disk")
def test_a_full_disk_loses_nothing_that_is_finished(tmp_path):
    import resource

    store = Store(tmp_path)
    store.append(SPEC, record(0))
    whole = store.path(SPEC).stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole + 100, before[1]))
    try:
        with pytest.raises(OSError, match=store.path(SPEC).name):
            store.append(SPEC, record(1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert store.path(SPEC).stat().st_size == whole, "what was begun is taken back"
    store.append(SPEC, record(1))
    assert len(store.read(SPEC)) == 2


@pytest.mark.parametrize("rubbish", [b"{}\n", b"not json\n", b"[1]\n", b"\x00\xff\n", b"\n"])
def test_lines_that_are_none_are_passed_over(tmp_path, rubbish):
    store = Store(tmp_path)
    store.append(SPEC, record(0))
    with store.path(SPEC).open("ab") as file:
        file.write(rubbish)
    store.append(SPEC, record(1))
    assert [each.repeat for each in store.read(SPEC).values()] == [0, 1]


def test_a_changed_digit_is_found(tmp_path):
    store = Store(tmp_path)
    store.append(SPEC, record(0, error=0.25))
    line = store.path(SPEC).read_bytes()
    assert len(store.read(SPEC)) == 1
    store.path(SPEC).write_bytes(line.replace(b"0.25", b"0.35"))
    assert store.read(SPEC) == {}, "it is run again"
    unsummed = json.loads(line)
    del unsummed["digest"]
    store.path(SPEC).write_bytes(json.dumps(unsummed).encode() + b"\n")
    assert store.read(SPEC) == {}


def test_the_first_of_two_lines_for_one_run_counts(tmp_path):
    store = Store(tmp_path)
    store.append(SPEC, record(0, error=0.25))
    store.append(SPEC, record(0, error=0.75))
    (found,) = store.read(SPEC).values()
    assert found.outcome.numbers["error_rate"] == 0.25


def test_what_another_version_computed_is_computed_again(tmp_path):
    store = Store(tmp_path)
    old = {**CONDITIONS, "versions": {"querist": "0.0.1"}}
    store.append(SPEC, replace(record(0, error=0.25), conditions=old))
    assert store.read(SPEC) == {}
    store.append(SPEC, record(0, error=0.75))
    (found,) = store.read(SPEC).values()
    assert found.outcome.numbers["error_rate"] == 0.75
