"""Which names are public: those in `__all__` of `querist`, and of each package or module that it lists."""

import ast
import doctest
import importlib
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import querist


@dataclass(frozen=True)
class PublicName:
    """A public name: the module that gives it, what it stands for, and the docstring that says so."""

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """As a user writes it."""
        return f"{self.module}.{self.name}"

    @property
    def home(self) -> str:
        """Where it is defined, which griffe finds even where a module has the name of what it gives."""
        if inspect.ismodule(self.value):
            return str(self.value.__name__)
        if self.is_value:
            return f"{assigning(importlib.import_module(self.module), self.name).__name__}.{self.name}"
        return f"{self.value.__module__}.{self.value.__qualname__}"

    @property
    def doc(self) -> str:
        """Of a module, class or function its own docstring; of a value the text below its assignment."""
        if self.is_value:
            return text_below(assigning(importlib.import_module(self.module), self.name), self.name)
        return inspect.getdoc(self.value) or ""

    @property
    def is_value(self) -> bool:
        """Whether it is neither a module nor a class nor a function."""
        return not (
            inspect.ismodule(self.value) or inspect.isclass(self.value) or inspect.isfunction(self.value)
        )

    @property
    def examples(self) -> list[doctest.Example]:
        """The examples of the docstring."""
        return doctest.DocTestParser().get_examples(self.doc)


def modules() -> list[str]:
    """The public modules, the package first."""
    return ["querist", *(f"querist.{name}" for name in querist.__all__ if is_module(name))]


def is_module(name: str) -> bool:
    """Whether a name of the package is one of its modules."""
    return inspect.ismodule(getattr(querist, name))


def module_members() -> dict[str, list[str]]:
    """The names in `__all__` of each module that is a public name without a page of its own."""
    found = (one for one in public_names() if inspect.ismodule(one.value) and one.path not in modules())
    return {one.path: sorted(one.value.__all__) for one in found}


def names_in(path: str) -> list[str]:
    """The public names of a module, in the order of the alphabet."""
    return sorted(importlib.import_module(path).__all__)


def targets_of(node: ast.stmt) -> list[str]:
    """The names that a statement assigns, if it is an assignment."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        targets = []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@cache
def public_names() -> list[PublicName]:
    """Every public name once: those of the packages, then what `querist` alone gives."""
    found: list[PublicName] = []
    seen: set[int] = set()
    for path in [*modules()[1:], "querist"]:
        for name in names_in(path):
            value = getattr(importlib.import_module(path), name)
            if id(value) not in seen:
                seen.add(id(value))
                found.append(PublicName(path, name, value))
    return found


def assigning(module: ModuleType, name: str) -> ModuleType:
    """The module that assigns a name: this one, or the one it is imported from."""
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return assigning(importlib.import_module(node.module or ""), name)
    return module


def text_below(module: ModuleType, name: str) -> str:
    """The text below the assignment of a name in its module."""
    body = tree_of(module).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if name in targets_of(node) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return inspect.cleandoc(str(after.value.value))
    return ""


@cache
def tree_of(module: ModuleType) -> ast.Module:
    """The source of a module, parsed."""
    return ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
