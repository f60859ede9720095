"""Experiments as data: a specification, its runs, their store, and the tables and figures made of them.

>>> from querist.experiment import Specification, Store, run
>>> spec = Specification("collective", "karate", "harmonic", protocol={"labelled": 0.2}, repeats=3)
>>> [result] = run([spec], Store())
>>> round(result.mean("accuracy"), 2)
0.94
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.experiment.results import (
        CONTROL as CONTROL,
        Outcome as Outcome,
        Result as Result,
        direction as direction,
    )
    from querist.experiment.runner import run as run, run_here as run_here
    from querist.experiment.specification import Specification as Specification, blame as blame
    from querist.experiment.store import Store as Store
    from querist.experiment.tables import Cell as Cell, Shown as Shown, Table as Table
    from querist.experiment.tasks import register as register
    from querist.experiment.tasks.collective import CollectiveTask as CollectiveTask
    from querist.experiment.tasks.online import OnlineTask as OnlineTask
    from querist.experiment.tasks.stream import StreamTask as StreamTask
    from querist.experiment.tasks.transduce import TransduceTask as TransduceTask
    from querist.report import charts as charts
    from querist.report.figures import Figure as Figure
