"""Other libraries' online classifiers, driven over a stream for comparisons.

They learn from labelled items only, one row at a time, after predicting it, as the others do.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from querist import InputError
from querist.budgeted import Stream
from querist.extend import checked_count, checked_stream
from querist_papers.types import Bools, Codes


class PeerStream:
    """A model of another library, row by row; `predict` and `learn` take it, and a row as it has it."""

    def __init__(
        self, n_classes: int, model: Any, rows: Callable[[Any], Iterable[Any]], predict: Any, learn: Any
    ) -> None:
        self.n_classes, self.model, self.rows = n_classes, model, rows
        self.predict, self.learn, self.fitted = predict, learn, False

    def run(self, X: Any, labels: Codes, labelled: Bools | None = None) -> Stream:
        """Predict every row, then learn it if it is labelled."""
        M, codes = checked_stream(X, labels, labelled, self.n_classes)
        done = Stream.blank(codes.size)
        for t, x in enumerate(self.rows(M)):
            found = self.predict(self.model, x) if self.fitted else None
            done.predicted[t] = -1 if found is None else int(found)
            if codes[t] >= 0:
                try:
                    self.learn(self.model, x, codes[t])
                except (ValueError, OverflowError) as problem:  # settings or numbers that it refuses
                    name = type(self.model).__name__
                    raise InputError(f"{name} cannot learn row {t}: {problem}") from problem
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


def river(module: str) -> Any:
    """A module of river."""
    try:
        return import_module(f"river.{module}")
    except ModuleNotFoundError:
        raise InputError("this learner needs river; pip install 'querist[peers]'") from None


def of_river(n_classes: int, model: Any) -> PeerStream:
    """A river classifier; labels of two classes are yes or no."""
    kind = bool if checked_count("n_classes", n_classes, 2) == 2 else int
    return PeerStream(
        n_classes,
        model,
        dictionaries,
        lambda model, x: model.predict_one(x),
        lambda model, x, code: model.learn_one(x, kind(code)),
    )


def of_sklearn(n_classes: int, model: Any) -> PeerStream:
    """An estimator with `partial_fit(X, y, classes=)`."""
    classes = np.arange(checked_count("n_classes", n_classes, 2))
    return PeerStream(
        n_classes,
        model,
        lambda M: (M[t : t + 1] for t in range(M.shape[0])),
        lambda model, row: model.predict(row)[0],
        lambda model, row, code: model.partial_fit(row, [code], classes=classes),
    )


def sklearn_sgd(n_classes: int, *, seed: int = 0, alpha: float = 1e-4) -> PeerStream:
    """scikit-learn's SGDClassifier, row by row."""
    from sklearn.linear_model import SGDClassifier

    return of_sklearn(n_classes, SGDClassifier(alpha=alpha, random_state=seed))


def sklearn_naive_bayes(n_classes: int, *, seed: int = 0) -> PeerStream:
    """scikit-learn's BernoulliNB, row by row."""
    from sklearn.naive_bayes import BernoulliNB

    return of_sklearn(n_classes, BernoulliNB())


def river_logistic(n_classes: int, *, seed: int = 0, l2: float = 0.0) -> PeerStream:
    """river's logistic regression, on features as they are; one a class above two."""
    model = river("linear_model").LogisticRegression(l2=l2)
    return of_river(n_classes, model if n_classes == 2 else river("multiclass").OneVsRestClassifier(model))


def river_hoeffding(n_classes: int, *, seed: int = 0, grace_period: int = 200) -> PeerStream:
    """river's Hoeffding tree."""
    return of_river(n_classes, river("tree").HoeffdingTreeClassifier(grace_period=grace_period))
