"""Other libraries' online classifiers, driven over a stream for comparisons.

They learn from labelled items only, one row at a time, after predicting it, as the others do.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from querist import InputError
from querist.budgeted import Stream
from querist.extend import checked_count, checked_stream
from querist_papers.types import Bools, Codes


class ScikitStream:
    """An estimator with `partial_fit(X, y, classes=)`, row by row."""

    def __init__(self, n_classes: int, model: Any) -> None:
        self.n_classes = checked_count("n_classes", n_classes, 2)
        self.model, self.fitted = model, False

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row, then learn it if it is labelled."""
        M, codes = checked_stream(X, labels, labelled, self.n_classes)
        done = Stream.blank(codes.size)
        classes = np.arange(self.n_classes)
        for t in range(codes.size):
            row = M[t : t + 1]
            if self.fitted:
                done.predicted[t] = self.model.predict(row)[0]
            if codes[t] >= 0:
                try:
                    self.model.partial_fit(row, codes[t : t + 1], classes=classes)
                except (
                    ValueError,
                    OverflowError,
                ) as problem:  # settings or numbers that the estimator refuses
                    name = type(self.model).__name__
                    raise InputError(f"{name} of scikit-learn cannot learn row {t}: {problem}") from problem
                self.fitted, done.actions[t] = True, 1
        return done


def dictionaries(M: Any) -> Iterator[dict[int, float]]:
    """Rows as river takes them, by column number; zeros are left out where the rows are sparse.

    >>> list(dictionaries(np.array([[0.0, 2.0]])))
    [{0: 0.0, 1: 2.0}]
    """
    for t in range(M.shape[0]):
        if isinstance(M, np.ndarray):
            yield dict(enumerate(M[t].tolist()))
        else:
            part = slice(M.indptr[t], M.indptr[t + 1])
            yield dict(zip(M.indices[part].tolist(), M.data[part].tolist(), strict=True))


class RiverStream:
    """A river classifier, row by row."""

    def __init__(self, n_classes: int, model: Any) -> None:
        self.n_classes = checked_count("n_classes", n_classes, 2)
        self.model, self.fitted = model, False

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row, then learn it if it is labelled."""
        M, codes = checked_stream(X, labels, labelled, self.n_classes)
        done = Stream.blank(codes.size)
        for t, x in enumerate(dictionaries(M)):
            found = self.model.predict_one(x) if self.fitted else None
            done.predicted[t] = -1 if found is None else int(found)
            if codes[t] >= 0:
                self.model.learn_one(x, bool(codes[t]) if self.n_classes == 2 else int(codes[t]))
                self.fitted, done.actions[t] = True, 1
        return done


def river(module: str) -> Any:
    """A module of river."""
    try:
        return import_module(f"river.{module}")
    except ModuleNotFoundError:
        raise InputError("this learner needs river; pip install 'querist[peers]'") from None


def several(model: Any, n_classes: int, wrap: Callable[[Any], Any]) -> Any:
    """A binary river model as it is for two classes, wrapped for more."""
    return model if n_classes == 2 else wrap(model)


def sklearn_sgd(n_classes: int, *, seed: int = 0, alpha: float = 1e-4) -> ScikitStream:
    """scikit-learn's SGDClassifier, row by row."""
    from sklearn.linear_model import SGDClassifier

    return ScikitStream(n_classes, SGDClassifier(alpha=alpha, random_state=seed))


def sklearn_naive_bayes(n_classes: int, *, seed: int = 0) -> ScikitStream:
    """scikit-learn's BernoulliNB, row by row."""
    from sklearn.naive_bayes import BernoulliNB

    return ScikitStream(n_classes, BernoulliNB())


def river_logistic(n_classes: int, *, seed: int = 0, l2: float = 0.0) -> RiverStream:
    """river's logistic regression, on features as they are; one a class above two."""
    model = river("linear_model").LogisticRegression(l2=l2)
    return RiverStream(n_classes, several(model, n_classes, river("multiclass").OneVsRestClassifier))


def river_hoeffding(n_classes: int, *, seed: int = 0, grace_period: int = 200) -> RiverStream:
    """river's Hoeffding tree."""
    return RiverStream(n_classes, river("tree").HoeffdingTreeClassifier(grace_period=grace_period))
