"""Experiments as data: a specification, its runs, their store, and the tables and figures made of them."""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "Cell": ".item",
        "Comparison": ".comparison",
        "Figure": ".item",
        "Item": ".item",
        "Number": ".item",
        "Outcome": ".results",
        "Paper": ".item",
        "Published": ".item",
        "Result": ".results",
        "Shown": ".item",
        "Specification": ".specification",
        "SpecificationError": ".specification",
        "Store": ".store",
        "Table": ".item",
        "Task": ".tasks",
        "register": ".tasks",
        "run": ".runner",
        "run_here": ".runner",
    },
)

if TYPE_CHECKING:
    from querist.experiment.comparison import Comparison as Comparison
    from querist.experiment.item import Cell as Cell
    from querist.experiment.item import Figure as Figure
    from querist.experiment.item import Item as Item
    from querist.experiment.item import Number as Number
    from querist.experiment.item import Paper as Paper
    from querist.experiment.item import Published as Published
    from querist.experiment.item import Shown as Shown
    from querist.experiment.item import Table as Table
    from querist.experiment.results import Outcome as Outcome
    from querist.experiment.results import Result as Result
    from querist.experiment.runner import run as run
    from querist.experiment.runner import run_here as run_here
    from querist.experiment.specification import Specification as Specification
    from querist.experiment.specification import SpecificationError as SpecificationError
    from querist.experiment.store import Store as Store
    from querist.experiment.tasks import Task as Task
    from querist.experiment.tasks import register as register
