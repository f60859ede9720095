"""`querist stream` and `querist transduce`: what they read, what they print, what they refuse."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_iris

import querist as package
from querist.budgeted.learner import StreamLearner
from querist.cli.stream import NAMES


@pytest.fixture
def iris(tmp_path):
    """Iris as a CSV file, shuffled."""
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    lines = ["a,b,c,d,species"]
    lines += [",".join([*map(str, X[i]), "xyz"[y[i]]]) for i in order]
    path = tmp_path / "iris.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_names_in_the_help_are_those_of_the_catalogue():
    assert tuple(package.STREAMS) == NAMES


def test_stream_as_json(querist, iris):
    ran = querist(
        *f"stream {iris} --method bls --set strategy=remove --set lambda1=0.1 --labelled 0.5 "
        "--budget-labelled 40 --budget-unlabelled 20 --repeats 2 --seed 0 --json".split()
    )
    assert ran.code == 0
    found = ran.json
    assert list(found) == [
        "method",
        "dataset",
        "rows",
        "features",
        "labelled",
        "parameters",
        "accuracy",
        "budget",
        "updates",
        "seconds",
        "instances_per_second",
    ]
    assert (found["method"], found["dataset"], found["rows"], found["features"]) == ("bls", "iris", 150, 4)
    assert found["budget"] == {"labelled": 40, "unlabelled": 20}
    assert found["parameters"]["lambda1"] == 0.1
    assert len(found["accuracy"]["runs"]) == 2
    assert found["accuracy"]["mean"] == pytest.approx(np.mean(found["accuracy"]["runs"]))
    assert found["accuracy"]["std"] == pytest.approx(np.std(found["accuracy"]["runs"]))
    assert 0.7 < found["accuracy"]["mean"] <= 1
    again = querist(
        *f"stream {iris} --set lambda1=0.1 --labelled 0.5 --budget-labelled 40 --budget-unlabelled 20 "
        "--repeats 2 --json".split()
    )
    assert again.json["accuracy"] == found["accuracy"]


@pytest.mark.parametrize("method", NAMES)
def test_every_method_runs_and_prints_a_table(querist, iris, method):
    ran = querist("stream", str(iris), "--method", method, "--repeats", "1", "--labelled", "0.5")
    assert ran.code == 0
    assert "iris: 150 vectors of 4 features, 3 classes" in ran.out
    assert "accuracy %" in ran.out


def test_the_order_of_the_source(querist, iris):
    ran = querist("stream", str(iris), "--labelled", "1", "--order", "source", "--repeats", "2", "--json")
    first, second = ran.json["accuracy"]["runs"]
    assert first == second


def test_standard_input(querist, iris, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.StringIO(iris.read_text()))
    ran = querist("stream", "-", "--labelled", "1", "--save", str(tmp_path / "model.npz"), "--json")
    assert ran.code == 0
    piped = ran.json
    assert piped["rows"] == 150
    assert piped["accuracy"]["mean"] > 0.7
    assert StreamLearner.load(tmp_path / "model.npz").seen == 150
    monkeypatch.setattr("sys.stdin", io.StringIO(iris.read_text()))
    shown = querist("stream", "-", "--labelled", "1")
    assert "150 rows  accuracy" in shown.out


def test_a_broken_line_on_standard_input(querist, iris, monkeypatch, tmp_path):
    lines = iris.read_text().splitlines()
    lines[100] = "1,2,3"
    text = "\n".join(lines)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = querist("stream", "-", "--labelled", "1", "--save", str(tmp_path / "model.npz"))
    assert ran.code == 2
    assert "line 101: 3 values for 5 columns" in ran.err
    assert "99 rows" in ran.out
    assert StreamLearner.load(tmp_path / "model.npz").seen == 99
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = querist("stream", "-", "--labelled", "1", "--skip-broken", "--json")
    assert ran.code == 0
    assert ran.json["broken_lines"] == 1
    assert ran.json["rows"] == 149


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--method bsl", "did you mean 'bls'"),
        ("--set lamda1=1", "did you mean 'lambda1'"),
        ("--set lambda1=0", "lambda1 = 0.0"),
        ("--budget-labelled 0", "budget_labelled = 0"),
        ("--method pa --budget-labelled 5", "pa has no budget_labelled"),
        ("--labelled 0", "share above 0"),
        ("--label colour", "no column 'colour'"),
        ("--save model.npz", "--save is for standard input"),
    ],
)
def test_what_stream_refuses(querist, iris, arguments, said):
    ran = querist("stream", str(iris), *arguments.split())
    assert ran.code == 2
    assert said in ran.err


def test_what_else_stream_refuses(querist, tmp_path, monkeypatch):
    assert "no such file" in querist("stream", str(tmp_path / "absent.csv")).err
    assert "holds a graph" in querist("stream", "karate").err
    one = tmp_path / "one.csv"
    one.write_text("f,label\n1,a\n2,a\n")
    assert "1 classes" in querist("stream", str(one)).err
    partly = tmp_path / "partly.csv"
    partly.write_text("f,label\n1,a\n2,b\n3,\n")
    assert "1 rows without a label" in querist("stream", str(partly)).err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "no rows" in querist("stream", "-").err


@pytest.mark.parametrize("method", ["bls", "lp", "rlp"])
def test_transduce(querist, iris, method):
    ran = querist("transduce", str(iris), "--method", method, "--labelled", "0.2", "--trials", "3", "--json")
    assert ran.code == 0
    found = ran.json
    assert (found["method"], found["rows"], found["classes"], found["trials"]) == (method, 150, 3, 3)
    assert found["accuracy"]["mean"] > 0.6
    assert len(found["accuracy"]["runs"]) == 3


def test_transduce_tunes_and_refuses(querist, iris):
    ran = querist("transduce", str(iris), "--kernel", "linear", "--trials", "2", "--tune", "--json")
    assert ran.json["tuned"] is True
    assert ran.json["parameters"]["width"] is None
    shown = querist("transduce", str(iris), "--trials", "2")
    assert "rbf kernel, lambda1=1" in shown.out
    assert "use --kernel rbf" in querist("transduce", str(iris), "--method", "lp", "--kernel", "linear").err
    assert "leave --set out" in querist("transduce", str(iris), "--tune", "--set", "lambda1=1").err
    assert "share between 0 and 1" in querist("transduce", str(iris), "--labelled", "1").err
