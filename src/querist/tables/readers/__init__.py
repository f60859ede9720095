"""One module a file format; each holds a `FORMAT`, and is found by being here."""

import pkgutil
from functools import cache
from importlib import import_module

from querist.tables.formats import Format


@cache
def formats() -> tuple[Format, ...]:
    """Every format, in the order of the modules' names."""
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return tuple(module.FORMAT for module in modules)
