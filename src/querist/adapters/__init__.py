"""Our learners behind the contracts of scikit-learn, river and scikit-activeml.

>>> import querist
>>> club = querist.load_graph("karate")
>>> model = querist.adapters.GraphLabelClassifier(club, method="walks")
>>> model.fit([0, 33], ["Mr. Hi", "Officer"]).predict([1, 32]).tolist()
['Mr. Hi', 'Officer']
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

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
