"""A user's TOML file: what it may say, and how it is told that it is wrong."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from querist.errors import InputError
from querist.lab.comparison import Comparison

BASE = 'task = "online"\ndataset = "karate"\nrepeats = 5\n'
MSG = '[[experiment]]\nmethod = "msg"\n'


@pytest.fixture
def read(tmp_path: Path):
    def reader(text: str) -> Comparison:
        (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
        return Comparison.read(tmp_path / "mine.toml")

    return reader


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (BASE + '[[experiment]]\nmethod = "msgg"\n', 5, "unknown method 'msgg'; did you mean 'msg'?"),
        (BASE.replace("karate", "karatee") + MSG, 2, "unknown data set 'karatee'; did you mean 'karate'?"),
        (BASE.replace("online", "onlin") + MSG, 1, "unknown task 'onlin'; did you mean 'online'?"),
        (BASE + "repeets = 3\n" + MSG, 4, "unknown key 'repeets'; did you mean 'repeats'?"),
        (
            BASE + MSG + "[experiment.parameters]\ngama = 1\n",
            7,
            "unknown parameter 'gama'; did you mean 'gamma'?",
        ),
        (BASE + MSG + "[experiment.parameters]\nh = 1\ngamma = 'a'\n", 8, "gamma = 'a'; it must be a number"),
        (BASE + MSG + "[experiment.parameters]\nh = 1\ngamma = -1\n", 8, "gamma = -1.0; it must be above 0"),
        (
            BASE + MSG + "[experiment.grid]\nh = [1,\n2]\nhh = [1]\n",
            9,
            "unknown parameter 'hh'; did you mean 'h'?",
        ),
        (BASE + MSG + "[experiment.grid]\ngamma = [1.0, -1.0]\n", 7, "gamma = -1.0; it must be above 0"),
        (BASE + "[representation]\nranc = 8\n" + MSG, 5, "'ranc'; did you mean 'rank'?"),
        (BASE + "[representation]\nrank = 50\n" + MSG, 5, "rank = 50; karate has 34 nodes"),
        (BASE + '[representation]\nkind = "spectrel"\n' + MSG, 5, "must be one of spectral, diffusion, both"),
        (BASE + "[protocol]\ncurv = 3\n" + MSG, 5, "'curv'; did you mean 'curve'?"),
        (BASE + "[protocol]\ntunin = 3\n" + MSG, 5, "'tunin'; did you mean 'tuning'?"),
        (BASE + "[protocol]\ncurve = -3\n" + MSG, 5, "curve = -3"),
        (BASE + "[protocol]\ncontrol = false\n" + MSG, 5, "random asking always stands beside"),
        (
            BASE + "held_out = 3\n" + MSG + "[experiment.grid]\nh = [1.0]\n",
            4,
            "one of the reported draws, 0 to 4",
        ),
        (BASE + MSG + "repeats = 0\n", 6, "repeats = 0; it must be a whole number from 1"),
        (BASE + 'measures = ["error_rat"]\n' + MSG, 4, "'error_rat' does not fit online on karate"),
        (BASE + 'measures = ["error_rat"]\n' + MSG, 4, "did you mean 'error_rate'?"),
        (
            'task = "collective"\ndataset = "karate"\nmethod = "wvrn"\nmeasures = ["error_rate"]\n',
            4,
            "'error_rate' does not fit collective on karate",
        ),
        (
            BASE + MSG + 'protocol = {tuned_by = "queriez"}\ngrid = {h = [1.0]}\n',
            6,
            "unknown measure 'queriez'; did you mean 'queries'?",
        ),
        (
            BASE + MSG + 'protocol = {tuned_by = "rounds"}\ngrid = {h = [1.0]}\n',
            6,
            "neither better when larger",
        ),
        (
            BASE + MSG + 'grid = {h = [1.0]}\n[experiment.protocol]\ntuned_with = "cmogg"\n',
            8,
            "unknown method 'cmogg'; did you mean 'cmog'?",
        ),
        (
            'task = "collective"\ndataset = "karate"\nmethod = "wvrn"\n[grid]\ndecay = [0.5, 3.0]\n',
            5,
            "decay = 3.0; it must be above 0",
        ),
        ('task = "stream"\ndataset = "karate"\nmethod = "bls"\n', 2, "holds a graph, not vectors"),
        (BASE + "[[experiment]]\nmethod = 3\n", 5, "method = 3; it must be a text"),
        ("title = 3\n" + BASE + MSG, 1, "title = 3; it must be a text"),
        ("experiment = 3\n" + BASE, 1, "must be [[experiment]]"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(read, text, line, said):
    with pytest.raises(InputError) as caught:
        read(text)
    assert f"mine.toml, line {line}: " in str(caught.value)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("task = \n", "not TOML: Invalid value (at line 1"),
        ("", "there is no task"),
        ('dataset = "karate"\n', "no task"),
    ],
)
def test_files_without_a_line_to_blame(read, text, said):
    with pytest.raises(InputError) as caught:
        read(text)
    assert said in str(caught.value)


def test_a_measure_that_several_labels_do_not_have(read, tmp_path):
    labels = sp.csr_array(np.array([[1, 0], [1, 1], [0, 1], [1, 1]] * 3))
    parts = {f"labels_{name}": getattr(labels, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "two.npz", edges=np.array([(i, (i + 1) % 12) for i in range(12)]), **parts)
    base = f'task = "collective"\ndataset = "{tmp_path / "two.npz"}"\nmethod = "wvrn"\n'
    assert read(base + 'measures = ["one_error"]\n').specifications
    with pytest.raises(InputError, match="line 4: 'accuracy' does not fit collective"):
        read(base + 'measures = ["accuracy"]\n')
    with pytest.raises(InputError, match="line 4: 'accuracy' does not fit collective"):
        read(base + "grid = {max_iter = [10]}\n")


def test_shared_keys_lists_and_names(read):
    found = read(
        'title = "T"\n' + BASE.replace('"karate"', '["karate", "two_moons"]')
        + "[parameters]\ngamma = 0.5\n[representation]\nrank = 8\n"
        + '[[experiment]]\nmethod = ["msg", "bbq"]\n'
        + '[[experiment]]\nname = "MSG, tuned"\nmethod = "msg"\ndataset = "karate"\nrepeats = 2\n'
        + "[experiment.grid]\ngamma = [0.1, 1.0]\n[experiment.representation]\nconstant = 3.0\n"
    )  # fmt: skip
    assert found.title == "T"
    assert [(s.dataset, s.method) for s in found.specifications] == [
        ("karate", "msg"), ("karate", "bbq"), ("two_moons", "msg"), ("two_moons", "bbq"), ("karate", "msg"),
    ]  # fmt: skip
    last = found.specifications[-1]
    assert (found.names[-1], last.repeats, found.specifications[0].repeats) == ("MSG, tuned", 2, 5)
    assert dict(last.parameters) == {}, "a grid comes before the shared parameter"
    assert dict(last.representation) == {"rank": 8, "constant": 3.0}
    assert dict(found.specifications[0].parameters) == {"gamma": 0.5}


def test_equal_names_are_told_apart(read):
    found = read(BASE + '[[experiment]]\nmethod = "msg"\nparameters = {h = 1.0}\n' + MSG)
    assert found.names == ["msg (h 1.0)", "msg"]


def test_one_experiment_needs_no_header_and_curves_come_by_themselves(read):
    (spec,) = read(BASE + 'method = "msg"\n').specifications
    assert spec.protocol["curve"] == 50
    assert read(BASE + 'method = "msg"\n[protocol]\ncurve = 7\n').specifications[0].protocol["curve"] == 7


def test_a_file_that_is_not_there_or_no_text(tmp_path):
    with pytest.raises(OSError, match="absent"):
        Comparison.read(tmp_path / "absent.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="UTF-8"):
        Comparison.read(tmp_path / "x.toml")
