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
        "ALGORITHMS": ".online",
        "Answer": ".online",
        "Asking": ".asking",
        "BudgetedLeastSquares": ".adapters",
        "CLASSIFIERS": ".collective",
        "Decision": ".online",
        "Embedding": ".embedding",
        "Graph": ".graph",
        "GraphLabelClassifier": ".adapters",
        "InputError": ".errors",
        "Labelling": ".labelling",
        "Learner": ".online",
        "OnGraph": ".adapters",
        "Operator": ".operator",
        "QueristError": ".errors",
        "RiverBudgetedLeastSquares": ".adapters",
        "STREAMS": ".budgeted",
        "Trace": ".online",
        "as_graph": ".graph",
        "ask": ".asking",
        "connect": ".serve",
        "embed": ".embedding",
        "from_points": ".graph",
        "label": ".labelling",
        "laplacian": ".graph",
        "load": ".datasets",
        "load_graph": ".datasets",
        "load_vectors": ".datasets",
        **dict.fromkeys(
            [
                "adapters", "asking", "budgeted", "cluster", "collective", "datasets", "embedding", "errors",
                "experiment", "graph", "labelling", "labels", "metrics", "online", "operator", "papers",
                "report", "serve", "stats", "tables", "theory",
            ],
            "",
        ),
    },
)  # fmt: skip

if TYPE_CHECKING:
    from querist import (
        adapters as adapters,
        asking as asking,
        budgeted as budgeted,
        cluster as cluster,
        collective as collective,
        datasets as datasets,
        embedding as embedding,
        errors as errors,
        experiment as experiment,
        graph as graph,
        labelling as labelling,
        labels as labels,
        metrics as metrics,
        online as online,
        operator as operator,
        papers as papers,
        report as report,
        serve as serve,
        stats as stats,
        tables as tables,
        theory as theory,
    )
    from querist.adapters import (
        BudgetedLeastSquares as BudgetedLeastSquares,
        GraphLabelClassifier as GraphLabelClassifier,
        OnGraph as OnGraph,
        RiverBudgetedLeastSquares as RiverBudgetedLeastSquares,
    )
    from querist.asking import Asking as Asking, ask as ask
    from querist.budgeted import STREAMS as STREAMS
    from querist.collective import CLASSIFIERS as CLASSIFIERS
    from querist.datasets import load as load, load_graph as load_graph, load_vectors as load_vectors
    from querist.embedding import Embedding as Embedding, embed as embed
    from querist.errors import InputError as InputError, QueristError as QueristError
    from querist.graph import (
        Graph as Graph,
        as_graph as as_graph,
        from_points as from_points,
        laplacian as laplacian,
    )
    from querist.labelling import Labelling as Labelling, label as label
    from querist.online import (
        ALGORITHMS as ALGORITHMS,
        Answer as Answer,
        Decision as Decision,
        Learner as Learner,
        Trace as Trace,
    )
    from querist.operator import Operator as Operator
    from querist.serve import connect as connect
