"""Label the nodes of a graph by asking for as few labels as possible.

The public names are loaded when first used, so `import querist` is quick.
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of
from querist.version import VERSION

__version__ = VERSION

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist import (
        adapters as adapters,
        asking as asking,
        budgeted as budgeted,
        cluster as cluster,
        collective as collective,
        datasets as datasets,
        experiment as experiment,
        extend as extend,
        labelling as labelling,
        metrics as metrics,
        online as online,
        stats as stats,
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
    from querist.datasets import load_graph as load_graph, load_vectors as load_vectors
    from querist.embedding import Embedding as Embedding, embed as embed
    from querist.errors import (
        DownloadError as DownloadError,
        InputError as InputError,
        QueristError as QueristError,
        ResidualWarning as ResidualWarning,
        UnknownNameError as UnknownNameError,
    )
    from querist.graph import Graph as Graph, as_graph as as_graph, from_points as from_points
    from querist.graph.laplacian import effective_resistance as effective_resistance, laplacian as laplacian
    from querist.labelling import Labelling as Labelling, label as label
    from querist.labels import Labels as Labels
    from querist.online import (
        ALGORITHMS as ALGORITHMS,
        Answer as Answer,
        Decision as Decision,
        Learner as Learner,
        Trace as Trace,
    )
    from querist.serve import connect as connect
