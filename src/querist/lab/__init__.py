"""Experiments as data: specifications, the runner, and every table and figure of the five papers.

The public names are loaded when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Cell": "querist.lab.item",
    "Comparison": "querist.lab.comparison",
    "Figure": "querist.lab.item",
    "Item": "querist.lab.item",
    "Number": "querist.lab.item",
    "Outcome": "querist.lab.results",
    "Result": "querist.lab.results",
    "Shown": "querist.lab.item",
    "Specification": "querist.lab.specification",
    "SpecificationError": "querist.lab.specification",
    "Store": "querist.lab.store",
    "Table": "querist.lab.item",
    "Task": "querist.lab.tasks",
    "register": "querist.lab.tasks",
    "run": "querist.lab.runner",
}

__all__ = sorted(_HOME)  # noqa: PLE0605

if TYPE_CHECKING:
    from querist.lab.comparison import Comparison as Comparison
    from querist.lab.item import Cell as Cell
    from querist.lab.item import Figure as Figure
    from querist.lab.item import Item as Item
    from querist.lab.item import Number as Number
    from querist.lab.item import Shown as Shown
    from querist.lab.item import Table as Table
    from querist.lab.results import Outcome as Outcome
    from querist.lab.results import Result as Result
    from querist.lab.runner import run as run
    from querist.lab.specification import Specification as Specification
    from querist.lab.specification import SpecificationError as SpecificationError
    from querist.lab.store import Store as Store
    from querist.lab.tasks import Task as Task
    from querist.lab.tasks import register as register


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'querist.lab' has no attribute {name!r}")
