"""Our learners behind the contracts of scikit-learn, river and scikit-activeml."""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "BudgetedLeastSquares": ".sklearn",
        "GraphAsker": ".river",
        "GraphClassifier": ".river",
        "GraphLabelClassifier": ".sklearn",
        "OnGraph": ".sklearn",
        "RiverBudgetedLeastSquares": ".river",
        "SelectiveSampling": ".activeml",
    },
)

if TYPE_CHECKING:
    from querist.adapters.activeml import SelectiveSampling as SelectiveSampling
    from querist.adapters.river import (
        GraphAsker as GraphAsker,
        GraphClassifier as GraphClassifier,
        RiverBudgetedLeastSquares as RiverBudgetedLeastSquares,
    )
    from querist.adapters.sklearn import (
        BudgetedLeastSquares as BudgetedLeastSquares,
        GraphLabelClassifier as GraphLabelClassifier,
        OnGraph as OnGraph,
    )
