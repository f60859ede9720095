"""Experiments as data: a specification, its runs, their store, and the tables and figures made of them.

>>> from querist.experiment import Specification, Store, run
>>> spec = Specification("collective", "karate", "harmonic", protocol={"labelled": 0.2}, repeats=3)
>>> [result] = run([spec], Store())
>>> round(result.mean("accuracy"), 2)
0.94
"""

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
    from querist.experiment.item import (
        Cell as Cell,
        Figure as Figure,
        Item as Item,
        Number as Number,
        Paper as Paper,
        Published as Published,
        Shown as Shown,
        Table as Table,
    )
    from querist.experiment.results import Outcome as Outcome, Result as Result
    from querist.experiment.runner import run as run, run_here as run_here
    from querist.experiment.specification import (
        Specification as Specification,
        SpecificationError as SpecificationError,
    )
    from querist.experiment.store import Store as Store
    from querist.experiment.tasks import Task as Task, register as register
