"""Label the nodes of a graph by asking for as few labels as possible.

The public names are loaded when first used, so `import querist` is quick.
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of
from querist.version import VERSION

__version__ = VERSION

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "ALGORITHMS": ".online.catalogue",
        "Answer": ".online.checks",
        "Asking": ".asking.asking",
        "BudgetedLeastSquares": ".adapters.sklearn",
        "CLASSIFIERS": ".collective.catalogue",
        "Decision": ".online.trace",
        "Embedding": ".embedding",
        "Graph": ".graph",
        "InputError": ".errors",
        "Learner": ".online.learner",
        "OnGraph": ".adapters.sklearn",
        "Operator": ".operator",
        "QueristError": ".errors",
        "RiverBudgetedLeastSquares": ".adapters.river",
        "STREAMS": ".budgeted.catalogue",
        "Trace": ".online.trace",
        "as_graph": ".graph",
        "ask": ".asking.asking",
        "embed": ".embedding",
        "from_points": ".graph",
        "label": ".labelling.labelling",
        "laplacian": ".graph",
        "load": ".datasets",
        "load_graph": ".datasets",
        "load_vectors": ".datasets",
        **dict.fromkeys(
            [
                "adapters", "asking", "budgeted", "collective", "datasets", "embedding", "errors",
                "experiment", "graph", "labelling", "labels", "metrics", "online", "operator", "papers",
                "report", "stats", "tables", "theory",
            ],
            "",
        ),
    },
)  # fmt: skip

if TYPE_CHECKING:
    from querist import (
        adapters as adapters,
    )
    from querist import (
        asking as asking,
    )
    from querist import (
        budgeted as budgeted,
    )
    from querist import (
        collective as collective,
    )
    from querist import (
        datasets as datasets,
    )
    from querist import (
        embedding as embedding,
    )
    from querist import (
        errors as errors,
    )
    from querist import (
        experiment as experiment,
    )
    from querist import (
        graph as graph,
    )
    from querist import (
        labelling as labelling,
    )
    from querist import (
        labels as labels,
    )
    from querist import (
        metrics as metrics,
    )
    from querist import (
        online as online,
    )
    from querist import (
        operator as operator,
    )
    from querist import (
        papers as papers,
    )
    from querist import (
        report as report,
    )
    from querist import (
        stats as stats,
    )
    from querist import (
        tables as tables,
    )
    from querist import (
        theory as theory,
    )
    from querist.adapters.river import RiverBudgetedLeastSquares as RiverBudgetedLeastSquares
    from querist.adapters.sklearn import BudgetedLeastSquares as BudgetedLeastSquares
    from querist.adapters.sklearn import OnGraph as OnGraph
    from querist.asking.asking import Asking as Asking
    from querist.asking.asking import ask as ask
    from querist.budgeted.catalogue import STREAMS as STREAMS
    from querist.collective.catalogue import CLASSIFIERS as CLASSIFIERS
    from querist.datasets import load as load
    from querist.datasets import load_graph as load_graph
    from querist.datasets import load_vectors as load_vectors
    from querist.embedding import Embedding as Embedding
    from querist.embedding import embed as embed
    from querist.errors import InputError as InputError
    from querist.errors import QueristError as QueristError
    from querist.graph import Graph as Graph
    from querist.graph import as_graph as as_graph
    from querist.graph import from_points as from_points
    from querist.graph import laplacian as laplacian
    from querist.labelling.labelling import label as label
    from querist.online.catalogue import ALGORITHMS as ALGORITHMS
    from querist.online.checks import Answer as Answer
    from querist.online.learner import Learner as Learner
    from querist.online.trace import Decision as Decision
    from querist.online.trace import Trace as Trace
    from querist.operator import Operator as Operator
