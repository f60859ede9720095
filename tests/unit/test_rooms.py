"""Every room gives its public names, and tells a type checker of them; documented code is exactly typed."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import querist

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.parent.name for path in (ROOT / "src" / "querist").glob("*/__init__.py"))


@pytest.mark.parametrize("room", ["", *(f".{room}" for room in ROOMS)])
def test_a_room_gives_every_name_it_names(room):
    """What is loaded late is there, and a type checker is told where each name lives."""
    module = importlib.import_module(f"querist{room}")
    source = Path(module.__file__).read_text(encoding="utf-8")
    names = getattr(module, "__all__", [])
    for name in names:
        assert getattr(module, name) is not None
        assert name in dir(module)
    if "names_of(" in source:
        told = {
            alias.asname
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.If)
            for line in node.body
            if isinstance(line, ast.ImportFrom)
            for alias in line.names
        }
        assert told == set(names)


def test_public_things_are_found_in_their_rooms():
    from querist.budgeted import StreamLearner
    from querist.collective import GMNR
    from querist.embedding import embed
    from querist.online import fastonl, msg, nearest, paced, pounce

    assert querist.CLASSIFIERS["gmnr"] is GMNR
    assert querist.ALGORITHMS["msg"].__wrapped__ is msg
    assert querist.ALGORITHMS["nearest"] is nearest
    assert querist.ALGORITHMS["pounce"] is pounce
    assert querist.ALGORITHMS["paced"] is paced
    assert querist.ALGORITHMS["fastonl"] is fastonl
    assert querist.STREAMS["bls"](2).__class__ is StreamLearner
    assert querist.embed is embed


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


def test_the_changelog_says_where_modules_went():
    """Every path of 0.1.0 in the table is gone, and every path it leads to is there."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| `(.*?) \| `(.*?) \|$", text, re.MULTILINE)
    assert len(lines) > 40

    def there(path):
        place = ROOT / "src" / "querist" / path.replace(".", "/")
        return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()

    for old, new in lines:
        room = old.partition("`")[0].rpartition(".")[0]
        gone = [f"{room}{name}" if name.startswith(".") else name for name in re.findall(r"[\w.]+", old)]
        now = re.findall(r"`?([\w.*]+)`", new.partition(" (")[0])
        assert not any(map(there, gone)), old
        for path in now:
            expected = (
                [path.replace("*", name.rpartition(".")[2]) for name in gone] if "*" in path else [path]
            )
            assert all(map(there, expected)), (old, new)
