"""Our learners behind the contracts of scikit-learn, river and scikit-activeml."""

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "BudgetedLeastSquares": ".sklearn",
        "GraphAsker": ".river",
        "GraphClassifier": ".river",
        "OnGraph": ".sklearn",
        "RiverBudgetedLeastSquares": ".river",
        "SelectiveSampling": ".activeml",
    },
)
