"""pyproject.toml against the sources: what is imported is declared, and the version is said once."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from querist import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EVERYBODY_HAS = {"querist", *sys.stdlib_module_names}
DEVICE = {"device", "device.py"}
"""The folders and the module of what runs on torch."""
SERVER = {"app.py", "bodies.py", "routes.py", "running.py", "site.py"}


def names(requirements: list[str]) -> set[str]:
    """Distributions by their normalised names."""
    return {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for line in requirements}


def imports(at_once: bool) -> dict[str, set[str]]:
    """Modules that the sources import, and where; all of them, or those of a module's own top level."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "src" / "querist").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body if at_once else ast.walk(tree):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                modules = [node.module or ""]
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Library":
                modules = [ast.literal_eval(node.args[0])]
            else:
                continue
            for module in modules:
                place = "device" if path.parent.name == "device" else path.name
                found.setdefault(module.partition(".")[0], set()).add(place)
    return {module: where for module, where in found.items() if module not in EVERYBODY_HAS}


def distributions(module: str) -> set[str]:
    found = packages_distributions().get(module)
    if found is None:
        pytest.skip(f"{module} is not installed")
    return {name.lower().replace("_", "-") for name in found}


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(imports(at_once=False)))
def test_every_imported_package_is_declared(module: str) -> None:
    extras = [name for lines in PROJECT["optional-dependencies"].values() for name in lines]
    assert distributions(module) & names(PROJECT["dependencies"] + extras), imports(at_once=False)[module]


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    sorted(name for name, places in imports(at_once=True).items() if not places <= DEVICE | SERVER),
)
def test_what_is_imported_at_once_needs_no_extra(module: str) -> None:
    """Devices and the server aside, which nobody imports without the libraries they stand on."""
    assert distributions(module) & names(PROJECT["dependencies"]), imports(at_once=True)[module]


def test_the_version_is_said_once() -> None:
    assert "version" not in PROJECT and PROJECT["dynamic"] == ["version"]
    said = [
        path.name
        for path in (ROOT / "src" / "querist").rglob("*.py")
        if re.search(rf"['\"]{re.escape(__version__)}['\"]", path.read_text(encoding="utf-8"))
    ]
    assert said == ["version.py"]


DOCUMENTED = {"os._exit"}


@pytest.mark.slow
def test_no_private_name_of_another_library_is_reached_for() -> None:
    """`module._name`, where the module is not ours. What dispatchers hide is in `compiled.py`, guarded."""
    for path in sorted((ROOT / "src" / "querist").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        foreign = {
            (alias.asname or alias.name).partition(".")[0]
            for node in nodes
            if isinstance(node, ast.Import)
            for alias in node.names
            if not alias.name.startswith("querist")
        }
        taken = [
            f"{node.module}.{alias.name}"
            for node in nodes
            if isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("querist")
            for alias in node.names
        ] + [
            f"{node.value.id}.{node.attr}"
            for node in nodes
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in foreign
        ]
        private = {name for name in taken if re.search(r"(^|\.)_[a-z]", name)}
        assert private <= DOCUMENTED, path
