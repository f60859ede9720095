"""Public names of a package that are loaded when first used, so that an import is quick."""

import ast
import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from querist.errors import MissingLibraryError


def names_of(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package: the names that its `if TYPE_CHECKING:` imports.

    Type checkers and this function read the same lines, so that a name and its module are stated once.

    >>> get, names, _ = names_of("querist")
    >>> get("InputError").__name__, get("labelling").__name__, "InputError" in names()
    ('InputError', 'querist.labelling', True)
    """
    loader: Any = sys.modules[package].__loader__
    blocks = [node for node in ast.parse(loader.get_source(package)).body if isinstance(node, ast.If)]
    imports = [line for block in blocks for line in block.body if isinstance(line, ast.ImportFrom)]
    homes = {each.name: str(line.module) for line in imports for each in line.names}
    public = sorted(homes)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        module = importlib.import_module(homes[name])
        if not hasattr(module, name):
            importlib.import_module(f"{module.__name__}.{name}")
        return getattr(module, name)

    return get, lambda: public, public


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """While a library of an extra is imported: where it is missing, say what to install, and for what.

    >>> with needing("peers", "a data frame"):
    ...     import no_such_library
    Traceback (most recent call last):
    ...
    querist.errors.MissingLibraryError: a data frame needs no_such_library; pip install 'querist[peers]'
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        name = (missing.name or "a library").partition(".")[0]
        if name == "querist":
            raise
        raise MissingLibraryError(f"{what} needs {name}; pip install 'querist[{extra}]'") from None


class Library:
    """A module of another library that is imported when something of it is first asked for.

    >>> text = Library("textwrap")
    >>> text.shorten("a long story", 8)
    'a [...]'
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    @cached_property
    def _module(self) -> Any:
        return importlib.import_module(self._name)
