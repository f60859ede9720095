"""Every package has its public names and declares them to type checkers; documented code is exactly typed."""

import importlib
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import querist
from querist.asking.model import QuickModel
from querist.types import Floats

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(path.parent.name for path in (ROOT / "src" / "querist").glob("*/__init__.py"))


@pytest.mark.parametrize("package", ["", *(f".{name}" for name in PACKAGES)])
def test_a_package_has_every_name_in_its_all(package):
    """Names that are loaded late exist."""
    module = importlib.import_module(f"querist{package}")
    names = getattr(module, "__all__", [])
    for name in names:
        assert getattr(module, name) is not None
        assert name in dir(module)


def test_public_names_are_those_of_their_packages():
    from querist.embedding import embed

    assert querist.ALGORITHMS["fastonl"].__module__ == "querist_papers.rivals.fastonl"
    assert querist.embed is embed


def test_every_query_strategy_can_be_imported_by_name():
    for name, strategy in querist.asking.STRATEGIES.items():
        function = getattr(importlib.import_module("querist.asking"), name)
        assert function is strategy.values and name in querist.asking.__all__
        assert typing.get_type_hints(function) == {"model": QuickModel, "return": Floats}


@pytest.mark.parametrize(
    ("package", "registry"),
    [("online", "ALGORITHMS"), ("budgeted", "STREAMS"), ("collective", "CLASSIFIERS")],
)
def test_a_registered_name_stands_for_the_class_that_is_imported_by_name(package, registry):
    module = importlib.import_module(f"querist.{package}")
    own = [kind for kind in getattr(module, registry).values() if kind.__module__.startswith("querist.")]
    assert len(own) >= 4
    assert all(getattr(module, kind.__name__) is kind for kind in own)


PROBE = """
import numpy as np
from querist.budgeted import BLS, PA1
from querist.collective import GMNR
from querist.online import MSG, POUNCE, BBQEps, Paced

rows = np.eye(3)
MSG(rows, 2, gamma=0.1, h=0.2, update="always", budget=3, tie_order=[1, 0])
BBQEps(rows, 2, eps=0.1, gamma=2.0, scheme="one-vs-rest", seed=1)
POUNCE(rows, 2, pace=1.0, budget=3)
Paced(rows, 2, spread=0.0)
BLS(2, lambda1=0.5)
PA1(2, C=0.5)
GMNR(lam=2.0)
"""


MISSPELT = [
    "MSG(rows, 2, hh=0.2)",
    "MSG(rows, 2, budgets=3)",
    "MSG(rows, 2, update='allways')",
    "MSG(rows, 2, scheme='multiclass')",
    "BBQEps(rows, 2, eps=0.1, gama=2.0)",
    "POUNCE(rows, 2, project=True)",
    "Paced(rows, 2, spreads=0.0)",
    "BLS(2, lambda3=0.5)",
    "PA1(2, c=0.5)",
    "GMNR(lamb=2.0)",
]


@pytest.mark.parametrize("call", MISSPELT)
def test_what_is_misspelt_fails_when_it_runs(call):
    names: dict[str, object] = {}
    exec(PROBE, names)
    with pytest.raises((querist.QueristError, TypeError)):
        eval(call, names)


@pytest.mark.slow
def test_parameters_are_typed(tmp_path):
    """mypy accepts the calls of the probe, and refuses each that is misspelt."""
    pytest.importorskip("mypy")
    (tmp_path / "probe.py").write_text(PROBE + "\n".join(MISSPELT) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", str(tmp_path / "probe.py")],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )  # fmt: skip
    refused = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    first = PROBE.count("\n") + 1
    assert refused == set(range(first, first + len(MISSPELT))), done.stdout + done.stderr


def test_help_loads_nothing_heavy():
    code = (
        "import sys, querist.cli, querist.online, querist.collective, querist.budgeted; print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numba", "sklearn", "river", "pyarrow", "matplotlib"} & set(found)


def test_vectors_and_graphs_come_as_what_they_are(tmp_path):
    path = tmp_path / "flowers.csv"
    path.write_text("length,label\n1.0,rose\n2.0,\n3.0,tulip\n")
    found = querist.load_vectors(path, label="label")
    assert found.y.tolist() == ["rose", None, "tulip"] and found.classes == ("rose", "tulip")
    with pytest.raises(querist.InputError, match="holds a graph"):
        querist.load_vectors("karate")
    assert querist.load_graph("karate").n_nodes == 34


@pytest.mark.slow
def test_documented_python_passes_mypy(tmp_path):
    pytest.importorskip("mypy")
    docs = ROOT / "docs"
    pages = [ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted((docs / "howto").glob("*.md"))]
    fence = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
    for page in pages:
        for number, code in enumerate(fence.findall(page.read_text(encoding="utf-8"))):
            (tmp_path / f"{page.stem.lower()}_{number}.py").write_text(code)
    assert any(tmp_path.iterdir())
    done = subprocess.run(
        # In the project's own folder, with its own settings: what lint has looked at is not looked at again.
        [sys.executable, "-m", "mypy", *map(str, sorted(tmp_path.glob("*.py")))],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
