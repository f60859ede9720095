"""scikit-learn's contract around our learners: a stream learner, and classifiers tied to their graph.

`BudgetedLeastSquares` is the stream learner (bls19) with the user's own labels. `OnGraph` lets model
selection see the whole graph. Cross-validation hands an estimator some samples to learn from and others to be
judged by; on a graph the samples are *labelled nodes*, and all nodes and edges stay visible throughout:

    search = GridSearchCV(OnGraph(GMNR(), graph), {"classifier__lam": [1, 5, 20]}, cv=3)
    search.fit(nodes, labels)                 # node ids (n,) or (n, 1), and their labels
    search.best_estimator_.classifier_.labels_    # of every node
"""

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from querist.budgeted.closed_form import decide
from querist.budgeted.learner import Stream, StreamParameters
from querist.budgeted.similarity import Gram
from querist.collective.classifier import Classifier
from querist.errors import InputError
from querist.graph import as_graph
from querist.labels import UNLABELLED, encode, implied_missing, is_missing, plain
from querist.types import Bools, Codes, Floats


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetedLeastSquares(ClassifierMixin, BaseEstimator, StreamParameters):  # type: ignore[misc]
    """Learn from a stream that is mostly unlabelled, in bounded memory (bls19).

    `partial_fit(X, y, classes=...)` goes on with the stream; `fit` starts it anew; `run` does
    what a loop over predict and partial_fit, one row at a time, would do, compiled. Dense and
    sparse rows.

    Parameters
    ----------
    missing_label : the value in y that means "unlabelled", beside None. Where -1 is not one of
        your classes, `missing_label=-1` is scikit-learn's convention; `float("nan")` works too.
        By default None is unlabelled, and -1 beside class numbers of 0 or more, with a warning.
        `partial_fit` and `run` judge that by the classes, never by the labels of one batch.

    The others are those of `querist.budgeted.learner.StreamLearner`.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.2], [0.9, 1.1]])
    >>> model = BudgetedLeastSquares(missing_label="?").fit(X, ["no", "yes", "?", "?"])
    >>> model.predict([[0.2, 0.1], [1.0, 0.8]]).tolist()
    ['no', 'yes']
    """

    missing_label: Hashable = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- learning --------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> "BudgetedLeastSquares":
        """Forget, then learn the rows in order; the classes are those in y."""
        X, y = self._validated(X, y, reset=True)
        missing = implied_missing(y, None, self.missing_label, "missing_label")
        self._begin(self._distinct(y, missing))
        self._learner_.run(X, self._codes(y, missing))
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Iterable[Hashable] | None = None
    ) -> "BudgetedLeastSquares":
        """Learn more rows in order. The first call names all classes, unless they are all in its y."""
        X, codes = self._ready(X, y, classes)
        self._learner_.run(X, codes)
        return self

    def run(
        self, X: Any, y: Any, labelled: Bools | None = None, classes: Iterable[Hashable] | None = None
    ) -> Any:
        """(n,) what was predicted for every row before it was learned; compiled.

        `labelled` hides the labels where it is false. Before anything is known, the prediction is
        the first class, as in `predict`; `stream_` says more.
        """
        X, codes = self._ready(X, y, classes)
        self.stream_: Stream = self._learner_.run(X, codes, labelled)
        return self.classes_[np.maximum(self.stream_.predicted, 0)]

    # -- predicting ------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """(n,) f for two classes, above 0 for the second; (n, K) for more."""
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores = self._learner_.scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """(n,) the class of every row; the first one where nothing can be said."""
        scores = np.asarray(self.decision_function(X))
        codes = decide(scores[:, None] if scores.ndim == 1 else scores)
        return self.classes_[np.maximum(codes, 0)]

    # -- saved state -----------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, without pickle; `load` goes on with the same bits."""
        from querist.budgeted.storage import save

        check_is_fitted(self, "classes_")
        given = {name: value for name, value in self.get_params().items() if not callable(value)}
        names = getattr(self, "feature_names_in_", None)
        extra = {
            "params": given,
            "classes": [plain(c) for c in self.classes_],
            "dtype": self.classes_.dtype.str,
            "feature_names": None if names is None else list(names),
        }
        save(self._learner_, path, extra)

    @classmethod
    def load(cls, path: str | PathLike[str], kernel: Gram | None = None) -> "BudgetedLeastSquares":
        """The estimator that `save` wrote; a kernel that was a function must be given again."""
        from querist.budgeted.storage import load

        learner, extra = load(path, kernel)
        if "classes" not in extra:
            raise InputError(f"{path}: holds a bare StreamLearner; read it with StreamLearner.load")
        model = cls(**{**extra["params"], **({} if kernel is None else {"kernel": kernel})})
        model.classes_ = np.array(extra["classes"], dtype=np.dtype(extra["dtype"]))
        model._learner_ = learner
        if learner.n_features is not None:
            model.n_features_in_ = learner.n_features
        if extra["feature_names"] is not None:
            model.feature_names_in_ = np.array(extra["feature_names"], dtype=object)
        return model

    # -- the door --------------------------------------------------------------

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        if y is None:
            raise InputError(
                "BudgetedLeastSquares requires y to be passed, but the target y is None; give a label a row, "
                "and None for each that is unlabelled"
            )
        y = column_or_1d(_labels(y), warn=True)
        if y.shape[0] != X.shape[0]:
            raise InputError(
                f"{y.shape[0]} labels for {X.shape[0]} rows; give one a row, None where unlabelled"
            )
        return X, y

    def _distinct(self, y: Any, missing: Hashable) -> Any:
        known = y[~_unlabelled(y, missing)]
        if known.dtype == object and all(isinstance(value, str) for value in known):
            known = known.astype(str)
        if known.dtype == object and known.size and all(isinstance(value, int | float) for value in known):
            known = np.array(known.tolist())
        if known.dtype.kind == "f" and not np.isfinite(known).all():
            raise InputError(
                "Input y contains NaN or infinity; mark unlabelled rows with None, or set missing_label"
            )
        check_classification_targets(known)
        return unique_labels(known) if known.size else known

    def _ready(self, X: Any, y: Any, classes: Iterable[Hashable] | None) -> tuple[Any, Codes]:
        """The rows and codes of a batch, as its classes have them; those of the first call are kept."""
        fresh = not hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=fresh)
        if fresh:
            named = None if classes is None else unique_labels(np.asarray(list(classes)))
            self._begin(self._distinct(y, self.missing_label) if named is None else named)
        elif classes is not None and set(map(plain, classes)) != set(map(plain, self.classes_)):
            raise InputError(
                f"classes are {list(classes)!r} now and were {self.classes_.tolist()!r} at the first call to "
                "partial_fit; leave them out, or start with fit"
            )
        missing = implied_missing(y, self.classes_, self.missing_label, "missing_label")
        return X, self._codes(y, missing)

    def _begin(self, classes: Any) -> None:
        if len(classes) < 2:
            raise InputError(
                f"the labels hold {len(classes)} class(es), {list(classes)!r}; at least 2 classes are "
                "needed, in y or as classes="
            )
        learner = self.stream_learner(len(classes))
        self.classes_, self._learner_ = classes, learner

    def _codes(self, y: Any, missing: Hashable) -> Codes:
        unlabelled = _unlabelled(y, missing)
        codes = np.full(len(y), UNLABELLED, dtype=np.int64)
        codes[~unlabelled], _ = encode(y[~unlabelled].tolist(), classes=self.classes_.tolist())
        return codes


def _unlabelled(y: Any, missing: Hashable) -> Bools:
    """(n,) where a label is None or the missing one; a NaN that does not mean so is left to be refused."""
    nan = isinstance(missing, float) and math.isnan(missing)
    return np.array(
        [nan if isinstance(v, float) and math.isnan(v) else is_missing(v, missing) for v in map(plain, y)],
        dtype=np.bool_,
    )


def _labels(y: Any) -> Any:
    """Labels as an array; a list that holds None keeps its values as they are."""
    if sp.issparse(y):
        raise InputError("y is a sparse matrix; give one label a row")
    if isinstance(y, list | tuple) and any(value is None for value in y):
        found = np.empty(len(y), dtype=object)
        found[:] = y
        return found
    return np.asarray(y)


# -- whole graphs -----------------------------------------------------------------


class OnGraph(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Learns from nodes and their labels, and predicts the labels of other nodes of the same graph.

    Parameters
    ----------
    classifier : which one; it is cloned
    graph : whatever `as_graph` takes

    After `fit`: `classifier_`, fitted to the whole graph, and `classes_`.

    >>> from querist.collective.relational import WVRN
    >>> from querist.datasets import load
    >>> karate = load("karate")
    >>> model = OnGraph(WVRN(), karate).fit([0, 33], [karate.labels[0], karate.labels[33]])
    >>> print(f"{model.score(range(34), karate.labels):.3f}")
    0.971
    """

    def __init__(self, classifier: Classifier, graph: Any) -> None:
        self.classifier = classifier
        self.graph = graph

    def fit(self, X: Any, y: Any) -> Self:
        """`X` node ids, `y` the label of each."""
        graph = as_graph(self.graph)
        ids, values = _ids(X), list(y)
        if len(ids) != len(values):
            raise InputError(f"{len(values)} labels for {len(ids)} nodes; give one each")
        self.classifier_ = clone(self.classifier).fit(graph, dict(zip(ids, values, strict=True)))
        self.classes_ = self.classifier_.classes_
        self.row_of_ = graph.row_of
        return self

    def predict(self, X: Any) -> Any:
        """The label of each of these nodes; a node that is not reached gets the likeliest class of all."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """(m, K)."""
        ids = _ids(X)
        unknown = [node for node in ids if node not in self.row_of_]
        if unknown:
            raise InputError(
                f"{len(unknown)} unknown nodes, e.g. {unknown[0]!r}; ask about nodes of the graph"
            )
        return self.classifier_.probabilities_[[self.row_of_[node] for node in ids]]


def _ids(X: Any) -> list[Any]:
    array = X if isinstance(X, list | tuple | range) else np.ravel(X)
    return [plain(node) for node in array]
