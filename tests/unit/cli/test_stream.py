"""`querist evaluate stream` and `transduce`: what they read, print and refuse."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_iris

import querist as package
from querist.budgeted.learner import BLS


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


def test_stream_as_json(querist, iris):
    ran = querist(
        *f"evaluate stream {iris} --method bls --set maintenance=remove --set lambda1=0.1 --labelled 0.5 "
        "--set budget_labelled=40 --set budget_unlabelled=20 --repeats 2 --seed 0 --json".split()
    )
    assert ran.code == 0
    found = ran.json
    about = {"method", "dataset", "rows", "features", "share", "instances_per_second", "parameters"}
    numbers = {"accuracy", "updates", "kept_labelled", "kept_unlabelled", "seconds"}
    assert set(found) == about | numbers | {"repeats", "seed"}
    assert (found["method"], found["dataset"], found["rows"], found["features"]) == ("bls", "iris", 150, 4)
    assert found["parameters"]["budget_labelled"] == 40 and found["parameters"]["budget_unlabelled"] == 20
    assert found["parameters"]["lambda1"] == 0.1
    assert len(found["accuracy"]["runs"]) == 2
    assert found["accuracy"]["mean"] == pytest.approx(np.mean(found["accuracy"]["runs"]))
    assert found["accuracy"]["std"] == pytest.approx(np.std(found["accuracy"]["runs"]))
    assert 0.7 < found["accuracy"]["mean"] <= 1
    again = querist(
        *f"evaluate stream {iris} --set lambda1=0.1 --labelled 0.5 --set budget_labelled=40 "
        "--set budget_unlabelled=20 --repeats 2 --json".split()
    )
    assert again.json["accuracy"] == found["accuracy"]


@pytest.mark.slow
@pytest.mark.parametrize("method", package.STREAMS)
def test_every_method_runs_and_prints_a_table(querist, iris, method):
    ran = querist("evaluate", "stream", str(iris), "--method", method, "--repeats", "1", "--labelled", "0.5")
    assert ran.code == 0
    assert "iris: 150 vectors of 4 features, 3 classes" in ran.out
    assert "accuracy %" in ran.out


def test_the_order_of_the_source(querist, iris):
    ran = querist(
        "evaluate", "stream", str(iris), "--labelled", "1", "--order", "source", "--repeats", "2", "--json"
    )
    first, second = ran.json["accuracy"]["runs"]
    assert first == second


def test_standard_input(querist, iris, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stdin", io.StringIO(iris.read_text()))
    ran = querist(
        "evaluate", "stream", "-", "--labelled", "1", "--save", str(tmp_path / "model.npz"), "--json"
    )
    assert ran.code == 0
    piped = ran.json
    assert piped["rows"] == 150
    assert piped["accuracy"]["mean"] > 0.7
    assert BLS.load(tmp_path / "model.npz").seen == 150
    monkeypatch.setattr("sys.stdin", io.StringIO(iris.read_text()))
    shown = querist("evaluate", "stream", "-", "--labelled", "1")
    assert "150 rows  accuracy" in shown.out


def test_a_broken_line_on_standard_input(querist, iris, monkeypatch, tmp_path):
    lines = iris.read_text().splitlines()
    lines[100] = "1,2,3"
    text = "\n".join(lines)
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = querist("evaluate", "stream", "-", "--labelled", "1", "--save", str(tmp_path / "model.npz"))
    assert ran.code == 2
    assert "line 101: 3 values for 5 columns" in ran.err
    assert "99 rows" in ran.out
    assert BLS.load(tmp_path / "model.npz").seen == 99
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    ran = querist("evaluate", "stream", "-", "--labelled", "1", "--skip-broken", "--json")
    assert ran.code == 0
    assert ran.json["broken_lines"] == 1
    assert ran.json["rows"] == 149


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--method bsl", "did you mean 'bls'"),
        ("--set lamda1=1", "did you mean 'lambda1'"),
        ("--set lambda1=0", "lambda1 = 0.0"),
        ("--set budget_labelled=0", "budget_labelled = 0"),
        ("--method pa --set budget_labelled=5", "unknown parameter 'budget_labelled'"),
        ("--labelled 0", "above 0"),
        ("--label-column colour", "no column 'colour'"),
        ("--save model.npz", "--save is for standard input"),
        ("--skip-broken", "--skip-broken is for standard input"),
    ],
)
def test_what_stream_refuses(querist, iris, arguments, said):
    ran = querist("evaluate", "stream", str(iris), *arguments.split())
    assert ran.code == 2
    assert said in ran.err


def test_what_else_stream_refuses(querist, tmp_path, monkeypatch):
    assert "no such file" in querist("evaluate", "stream", str(tmp_path / "absent.csv")).err
    assert "holds a graph" in querist("evaluate", "stream", "karate").err
    one = tmp_path / "one.csv"
    one.write_text("f,label\n1,a\n2,a\n")
    assert "1 classes" in querist("evaluate", "stream", str(one)).err
    partly = tmp_path / "partly.csv"
    partly.write_text("f,label\n1,a\n2,b\n3,\n")
    assert "1 rows without a label" in querist("evaluate", "stream", str(partly)).err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert "no rows" in querist("evaluate", "stream", "-").err
    for option in (("--repeats", "2"), ("--order", "source")):
        assert (
            f"{option[0]} does not go with standard input" in querist("evaluate", "stream", "-", *option).err
        )


@pytest.mark.parametrize("method", ["bls", "lp", "rlp"])
def test_transduce(querist, iris, method):
    words = ("evaluate", "transduce", str(iris), "--method", method, "--repeats", "3")
    found = querist(*words, "--json").json
    assert (found["method"], found["rows"], found["kernel"], found["share"]) == (method, 150, "rbf", 0.2)
    assert found["parameters"]["width"] > 0
    assert found["accuracy"]["mean"] > 0.6 and len(found["accuracy"]["runs"]) == 3
    shown = querist(*words)
    assert "iris: 150 vectors of 4 features, 3 classes" in shown.out and "accuracy %" in shown.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--method lp --kernel linear", 'use kernel = "rbf"'),
        ("--kernel linear --width 2", 'width is of the kernel "rbf"'),
        ("--labelled 1", "below 1"),
        ("--set lamda1=1", "did you mean 'lambda1'"),
        ("--method lp --set ridge=1", "unknown parameter 'ridge'; known: none"),
    ],
)
def test_what_transduce_refuses(querist, iris, arguments, said):
    ran = querist("evaluate", "transduce", str(iris), *arguments.split())
    assert ran.code == 2
    assert said in ran.err
