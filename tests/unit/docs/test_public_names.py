"""At most 150 names are public; each has a docstring with an example, and every example runs."""

import ast
import doctest
import importlib
import re
from pathlib import Path

import pytest
from hooks import names_table, reference_page
from public_names import module_members, modules, public_names

import querist

NAMES = public_names()
VALUES = [name for name in NAMES if name.is_value]
MOST_NAMES, MOST_MEMBERS = 150, 37
ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_few_names_are_public():
    """Two of the names are modules, whose members count beside them; docs/stability.md has the numbers."""
    members = module_members()
    many, inside = len(NAMES), sum(map(len, members.values()))
    page = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
    stated = re.findall(r"(\d+)\s+names|; (\d+) of\s+them|there are (\d+) in all", page)
    own = len(querist.extend.__all__)
    assert [int("".join(each)) for each in stated] == [many, own, inside, many + inside]
    assert many <= MOST_NAMES
    assert [*members] == ["querist.experiment.charts", "querist.extend.steps"]
    assert inside <= MOST_MEMBERS


def test_no_package_lists_a_name_that_is_not_public():
    """A name in `__all__` of a package is public and counts."""
    package = Path(querist.__file__).parent
    public = {id(name.value) for name in NAMES}
    paths = (path.parent.relative_to(package.parent) for path in package.rglob("__init__.py"))
    listed = {
        f"{room.__name__}.{name}"
        for room in (importlib.import_module(".".join(path.parts)) for path in paths)
        for name in getattr(room, "__all__", ())
        if id(getattr(room, name)) not in public
    }
    assert listed == set()


def test_the_reference_shows_exactly_the_public_names():
    shown = re.findall(r"heading: '([\w.]+)'", "\n".join(map(reference_page, modules())))
    assert sorted([*shown, *modules()[1:]]) == sorted(name.path for name in NAMES)
    for path, members in module_members().items():
        assert f"heading: '{path}', toc_label: '{path.rpartition('.')[2]}', members: {members}" in "\n".join(
            map(reference_page, modules())
        )
    listed = re.findall(r"^\| \[`(\w+)`\]", names_table(), re.MULTILINE)
    assert listed == [path.rpartition(".")[2] for path in shown]


def code_of(page):
    """The Python of a page of Markdown."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def private_names(code):
    """What Python imports from querist, or names through it, without its being public."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "querist":
            public = importlib.import_module(node.module).__all__ if node.module in modules() else ()
            yield from (f"{node.module}.{name.name}" for name in node.names if name.name not in public)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in modules():
            path = ast.unparse(node.value)
            if node.attr not in importlib.import_module(path).__all__:
                yield f"{path}.{node.attr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_documented_python_uses_public_names_only(page):
    assert {name for code in code_of(page) for name in private_names(code)} == set()


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("from querist.tables import save", "querist.tables.save"),
        ("import querist\nquerist.datasets.karate()", "querist.datasets.karate"),
        ("import querist\nquerist.tables", "querist.tables"),
    ],
)
def test_a_private_name_is_found(code, name):
    assert [*private_names(code)] == [name]


def test_every_public_name_has_an_example():
    without = [name.path for name in NAMES if not name.examples]
    assert without == []


@pytest.mark.parametrize("name", VALUES, ids=lambda name: name.path)
def test_the_examples_of_values_run(name, tmp_path, monkeypatch):
    """`--doctest-modules` runs those of modules, classes and functions; a value has none of its own."""
    monkeypatch.chdir(tmp_path)
    home = importlib.import_module(name.home.rpartition(".")[0])
    test = doctest.DocTest(name.examples, dict(vars(home)), name.path, home.__file__, 0, name.doc)
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried > 0
    assert failed == 0
