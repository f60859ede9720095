"""docs/architecture.md agrees with the code."""

import importlib.util
import re
import sys
from pathlib import Path

import typer

ROOT = Path(__file__).parents[3]


def loaded():
    """`tools/architecture.py` as a module."""
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "tools" / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["architecture"] = module
    spec.loader.exec_module(module)
    return module


def section(title):
    """A section of the page."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_the_picture_shows_the_imports_as_they_are():
    tool = loaded()
    assert tool.PICTURE.read_text(encoding="utf-8") == tool.picture(), "run `make picture`"


def test_the_contract_names_every_package():
    package = ROOT / "src" / "querist"
    present = {path.name for path in package.iterdir() if (path / "__init__.py").exists()}
    present |= {path.stem for path in package.glob("*.py") if path.stem not in ("__init__", "__main__")}
    assert sorted(loaded().listed()) == sorted(present), "name every package in the import contract"


def test_the_table_lists_packages_in_the_order_of_the_contract():
    first = re.findall(r"^\| (`.*?) \|", section("Packages"), flags=re.MULTILINE)
    assert re.findall(r"`(\w+)(?:/|\.py)`", " ".join(first)) == loaded().listed()


def test_every_verb_has_its_path():
    from querist.cli.app import app

    def verbs_of(group, before=""):
        for name, verb in group.commands.items():
            inner = hasattr(verb, "commands")
            yield from verbs_of(verb, f"{name} ") if inner else [before + name]

    verbs = {*verbs_of(typer.main.get_command(app))}
    first = re.findall(r"^\| (`.*?) \|", section("The path of each verb"), flags=re.MULTILINE)
    named = re.findall(r"`([\w ]+)`", " ".join(first))
    assert {*named} == verbs and len(named) == len(verbs)


def test_no_package_has_more_than_twenty_files():
    package = ROOT / "src" / "querist"
    crowded = {
        str(folder.relative_to(package)): count
        for folder in package.rglob("*")
        if folder.is_dir() and (count := len([p for p in folder.glob("*.py") if p.stem != "__init__"])) > 20
    }
    assert not crowded
