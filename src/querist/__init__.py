"""Label the nodes of a graph by asking for as few labels as possible.

The public names are loaded when first used, so `import querist` is quick.
"""

import importlib
from typing import TYPE_CHECKING, Any

from querist.version import VERSION

__version__ = VERSION

_HOME = {
    "ALGORITHMS": "querist.online.catalogue",
    "Answer": "querist.online.door",
    "Asking": "querist.assist.asking",
    "BudgetedLeastSquares": "querist.budgeted.estimator",
    "CLASSIFIERS": "querist.collective.catalogue",
    "Decision": "querist.online.trace",
    "Embedding": "querist.embedding",
    "Graph": "querist.graph",
    "InputError": "querist.errors",
    "Learner": "querist.online.learner",
    "OnGraph": "querist.collective.ongraph",
    "Operator": "querist.operator",
    "QueristError": "querist.errors",
    "RiverBudgetedLeastSquares": "querist.budgeted.river",
    "STREAMS": "querist.budgeted.catalogue",
    "Trace": "querist.online.trace",
    "as_graph": "querist.graph",
    "ask": "querist.assist.asking",
    "embed": "querist.embedding",
    "from_points": "querist.graph",
    "label": "querist.assist.labelling",
    "laplacian": "querist.graph",
    "load": "querist.datasets",
}
_ROOMS = (
    "assist",
    "budgeted",
    "collective",
    "datasets",
    "embedding",
    "errors",
    "graph",
    "lab",
    "labels",
    "metrics",
    "online",
    "operator",
    "stats",
    "theory",
)

__all__ = sorted([*_HOME, *_ROOMS, "__version__"])  # noqa: PLE0605

if TYPE_CHECKING:
    from querist import datasets as datasets
    from querist.assist.asking import Asking as Asking
    from querist.assist.asking import ask as ask
    from querist.assist.labelling import label as label
    from querist.budgeted.catalogue import STREAMS as STREAMS
    from querist.budgeted.estimator import BudgetedLeastSquares as BudgetedLeastSquares
    from querist.budgeted.river import RiverBudgetedLeastSquares as RiverBudgetedLeastSquares
    from querist.collective.catalogue import CLASSIFIERS as CLASSIFIERS
    from querist.collective.ongraph import OnGraph as OnGraph
    from querist.datasets import load as load
    from querist.embedding import Embedding as Embedding
    from querist.embedding import embed as embed
    from querist.errors import InputError as InputError
    from querist.errors import QueristError as QueristError
    from querist.graph import Graph as Graph
    from querist.graph import as_graph as as_graph
    from querist.graph import from_points as from_points
    from querist.graph import laplacian as laplacian
    from querist.online.catalogue import ALGORITHMS as ALGORITHMS
    from querist.online.door import Answer as Answer
    from querist.online.learner import Learner as Learner
    from querist.online.trace import Decision as Decision
    from querist.online.trace import Trace as Trace
    from querist.operator import Operator as Operator


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _ROOMS:
        return importlib.import_module(f"querist.{name}")
    raise AttributeError(f"module 'querist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
