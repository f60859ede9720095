"""This distribution uses only public names of querist: those in `__all__` of its packages and modules."""

import ast
import importlib
import re
import tomllib
from inspect import ismodule
from pathlib import Path

import pytest

import querist
import querist_papers
from querist import extend, plugins
from querist.version import VERSION

SOURCES = sorted(Path(querist_papers.__file__).parent.rglob("*.py"))
ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "papers" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST_NAMES, MEMBERS = 30, 22
"""Names of `querist.extend`, and those of the module `steps` besides; docs/stability.md says so."""
PUBLIC_MODULES = {name for name in querist.__all__ if ismodule(getattr(querist, name))}


def strange(tree):
    """What a module uses of querist without its being public."""
    own = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("querist."))
        if not isinstance(node, ast.ImportFrom) or (node.module or "").partition(".")[0] != "querist":
            continue
        _, _, inner = node.module.partition(".")
        public = importlib.import_module(node.module).__all__ if not inner or inner in PUBLIC_MODULES else ()
        for name in node.names:
            if name.name not in public:
                yield f"{node.module}.{name.name}"
            elif ismodule(value := getattr(importlib.import_module(node.module), name.name)):
                own[name.asname or name.name] = value
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in own:
            module = own[node.value.id]
            if node.attr not in module.__all__:
                yield f"{module.__name__}.{node.attr}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_only_public_names_are_used(path):
    assert [*strange(ast.parse(path.read_text(encoding="utf-8")))] == []


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("from querist.experiment.runner import run", "querist.experiment.runner.run"),
        ("from querist.experiment import runner", "querist.experiment.runner"),
        ("from querist.online import kernels", "querist.online.kernels"),
        ("import querist.saved", "querist.saved"),
        ("from querist.extend import steps\nsteps.hidden", "querist.online.steps.hidden"),
        ("from querist.extend import graph_of, Specification", "querist.extend.Specification"),
    ],
)
def test_what_is_not_public_is_found(code, name):
    assert [*strange(ast.parse(code))] == [name]


def test_the_interface_for_plugins_is_small():
    assert len(extend.__all__) <= MOST_NAMES
    assert members_of(extend) == MEMBERS


def members_of(module):
    """How many names the modules among the names of a module have."""
    return sum(len(value.__all__) for name in module.__all__ if ismodule(value := getattr(module, name)))


def test_the_interface_for_plugins_names_what_it_has():
    """The names in its docstring, and the kinds of entry points."""
    text = extend.__doc__.partition(">>>")[0]
    assert set(re.findall(r"`([a-z_A-Z]+)`", text.partition("those listed here")[2])) == set(extend.__all__)
    assert {kind for kind, _ in re.findall(r'"(\w+)\.(mine)"', text)} == set(plugins.KINDS)


def test_the_version_is_that_of_querist():
    assert PROJECT["version"] == VERSION
    assert any(need.endswith(f"=={VERSION}") for need in PROJECT["dependencies"])
