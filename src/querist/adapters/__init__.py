"""Our learners behind the contracts of scikit-learn, river and scikit-activeml."""

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "BudgetedLeastSquares": ".budgeted",
        "GraphAsker": ".river_graph",
        "GraphClassifier": ".river_graph",
        "OnGraph": ".on_graph",
        "RiverBudgetedLeastSquares": ".river_stream",
        "SelectiveSampling": ".activeml",
    },
)
