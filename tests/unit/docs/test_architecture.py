"""The plan of the house says what is there."""

import importlib.util
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def drawn():
    """`tools/architecture.py`, loaded as a module."""
    spec = importlib.util.spec_from_file_location("architecture", ROOT / "tools" / "architecture.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["architecture"] = module
    spec.loader.exec_module(module)
    return module


def test_the_picture_shows_the_imports_as_they_are():
    tool = drawn()
    assert tool.PICTURE.read_text(encoding="utf-8") == tool.picture(), "run `make picture`"


def test_every_room_is_in_the_plan_and_every_room_of_the_plan_is_there():
    rooms = set(drawn().rooms())
    package = ROOT / "src" / "querist"
    there = {path.name for path in package.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    there |= {path.stem for path in package.glob("*.py") if path.stem not in ("__init__", "__main__")}
    assert rooms == there, "the import contract in pyproject.toml names every room"
    plan = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    page = plan.partition("## Rooms")[2].partition("\n## ")[0]
    told = set(re.findall(r"^\| `(\w+)(?:/|\.py)`", page, flags=re.MULTILINE))
    assert rooms == told


def test_no_room_has_more_than_twenty_files():
    package = ROOT / "src" / "querist"
    crowded = {
        str(folder.relative_to(package)): count
        for folder in package.rglob("*")
        if folder.is_dir() and (count := len([p for p in folder.glob("*.py") if p.stem != "__init__"])) > 20
    }
    assert not crowded
