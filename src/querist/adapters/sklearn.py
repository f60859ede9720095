"""scikit-learn's contract around our learners: a stream learner, and classifiers tied to their graph.

`BudgetedLeastSquares` is the stream learner (bls19) with the user's own labels. `GraphLabelClassifier` is
`querist.label`, and `OnGraph` puts a classifier of `querist.CLASSIFIERS` in its place. Cross-validation hands
an estimator some samples to learn from and others to be judged by; on a graph the samples are *labelled
nodes*, and all nodes and edges stay visible throughout:

    cross_val_score(GraphLabelClassifier(graph), nodes, labels)    # node ids (n,) or (n, 1), and their labels
    search = GridSearchCV(OnGraph(GMNR(), graph), {"classifier__lam": [1, 5, 20]}, cv=3)
    search.fit(nodes, labels).best_estimator_.classifier_.labels_  # of every node
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from querist.budgeted.checks import masked
from querist.budgeted.closed_form import decide
from querist.budgeted.learner import Stream, StreamParameters
from querist.collective.classifier import Classifier
from querist.errors import InputError
from querist.graph import as_graph, from_points
from querist.graph.neighbours import PointOptions
from querist.labelling.labelling import label
from querist.labelling.options import Costs, Goal, LabelOptions
from querist.labels import encode, implied_missing, is_missing, plain
from querist.matrices import checked_sparse
from querist.types import Bools, Codes, Floats

OF_LABEL = ("method", "goal", "costs", "picked", "device")
"""Options of `label` that an estimator has under the same name."""
TINY = np.finfo(np.float64).tiny
JUDGED, AT_ONCE = 200, 20
"""Labelled rows of a stream by whose scores probabilities are made steep, and how many are scored at once."""


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

    The others are those of `querist.budgeted.BLS`.

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
        self._begin(_distinct(y, missing))
        self._run(X, encode(y.tolist(), self.classes_.tolist(), missing).codes)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Iterable[Hashable] | None = None
    ) -> "BudgetedLeastSquares":
        """Learn more rows in order. The first call names all classes, unless they are all in its y."""
        self._run(*self._ready(X, y, classes))
        return self

    def run(
        self, X: Any, y: Any, labelled: Bools | None = None, classes: Iterable[Hashable] | None = None
    ) -> Any:
        """(n,) what was predicted for every row before it was learned; compiled.

        `labelled` hides the labels where it is false. Before anything is known, the prediction is
        the first class, as in `predict`; `stream_` says more.
        """
        X, codes = self._ready(X, y, classes)
        self.stream_: Stream = self._run(X, masked(codes, labelled))
        return self.classes_[np.maximum(self.stream_.predicted, 0)]

    # -- predicting ------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """(n,) f for two classes, above 0 for the second; (n, K) for more."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Any:
        """(n,) the class of every row; the first one where nothing can be said."""
        scores = self._scores(X)  # before what only fitting makes
        return self.classes_[np.maximum(decide(scores), 0)]

    def predict_proba(self, X: Any) -> Floats:
        """(n, K) the softmax of the scores times a slope; equal where nothing can be said.

        f estimates `2 p - 1` of each class, so the slope is 2 before anything is known; from then on it is
        what makes the last labels likeliest by what was said of them before they were learned.
        """
        scores = _columns(self._scores(X))
        return np.asarray(softmax(_slope(*self._said_) * scores, axis=1))

    def _scores(self, X: Any) -> Floats:
        """(n, K), or (n, 1) for two classes."""
        check_is_fitted(self, "classes_")
        return self._learner_.scores(validated_rows(self, X, reset=False))

    # -- checked input ---------------------------------------------------------

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        X = validated_rows(self, X, reset=reset)
        y = _one_each(y, X.shape[0], type(self).__name__)
        return X, y

    def _ready(self, X: Any, y: Any, classes: Iterable[Hashable] | None) -> tuple[Any, Codes]:
        """The rows and codes of a batch, as its classes have them; those of the first call are kept."""
        fresh = not hasattr(self, "classes_")
        X, y = self._validated(X, y, reset=fresh)
        if fresh:
            named = None if classes is None else unique_labels(np.asarray(list(classes)))
            self._begin(_distinct(y, self.missing_label) if named is None else named)
        elif classes is not None and set(map(plain, classes)) != set(map(plain, self.classes_)):
            raise InputError(
                f"classes are {list(classes)!r} now and were {self.classes_.tolist()!r} at the first call to "
                "partial_fit; leave them out, or start with fit"
            )
        missing = implied_missing(y, self.classes_, self.missing_label, "missing_label")
        return X, encode(y.tolist(), self.classes_.tolist(), missing).codes

    def _begin(self, classes: Any) -> None:
        if len(classes) < 2:
            raise InputError(
                f"the labels hold {len(classes)} class(es), {list(classes)!r}; at least 2 classes are "
                "needed, in y or as classes="
            )
        learner = self.stream_learner(len(classes))
        self.classes_, self._learner_ = classes, learner
        self._said_ = np.empty((0, learner.n_problems)), np.empty(0, dtype=np.int64)

    def _run(self, X: Any, codes: Codes) -> Stream:
        """Learn the rows in order; of the last labelled ones, what was said before they were learned is kept.

        They are scored a few at a time, by the model as it was before the first of these.
        """
        known = np.flatnonzero(codes >= 0)
        cuts = np.unique([0, *known[-JUDGED:][::AT_ONCE], len(codes)])
        parts = []
        for first, last in pairwise(cuts.tolist()):
            rows = known[(known >= first) & (known < last)][-JUDGED:]
            if rows.size:
                scores, of = self._said_
                scores = np.concatenate([scores, self._learner_.scores(X[rows])])
                self._said_ = scores[-JUDGED:], np.concatenate([of, codes[rows]])[-JUDGED:]
            parts.append(self._learner_.run(X[first:last], codes[first:last]))
        return Stream(
            np.concatenate([p.predicted for p in parts]), np.concatenate([p.actions for p in parts])
        )


def _columns(scores: Floats) -> Floats:
    """(n, K) scores of all classes; those of two classes are opposite, and given as one number."""
    return np.hstack([-scores, scores]) / 2 if scores.shape[1] == 1 else scores


def _slope(scores: Floats, codes: Codes) -> float:
    """By how much scores are multiplied so that these labels are likeliest; 2 where there are none.

    The prior is normal in its logarithm, with deviation 1.
    """
    f, rows = _columns(scores), np.arange(codes.size)

    def cost(log_slope: float) -> float:
        logits = 2 * math.exp(log_slope) * f
        return float((logsumexp(logits, axis=1) - logits[rows, codes]).sum() + log_slope**2 / 2)

    return float(2 * math.exp(minimize_scalar(cost, bounds=(-4.0, 6.0), method="bounded").x))


def _one_each(y: Any, n: int, who: str) -> Any:
    """(n,) the labels, one a row."""
    if y is None:
        raise InputError(
            f"{who} requires y to be passed, but the target y is None; give a label a row, and None for each "
            "that is unlabelled"
        )
    if sp.issparse(y):
        raise InputError("y is a sparse matrix; give one label a row")
    if isinstance(y, list | tuple) and any(value is None for value in y):
        y = np.fromiter(y, dtype=object, count=len(y))  # values stay as they are
    y = column_or_1d(np.asarray(y), warn=True)
    if y.shape[0] != n:
        raise InputError(f"{y.shape[0]} labels for {n} rows; give one a row, None where unlabelled")
    return y


def _distinct(y: Any, missing: Hashable) -> Any:
    """The classes in the labels, in order."""
    known = y[~_unlabelled(y, missing)]
    values = [plain(value) for value in known]
    if known.dtype == object and any(all(isinstance(v, kind) for v in values) for kind in (str, int | float)):
        known = np.array(values)
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        raise InputError(
            "Input y contains NaN or infinity; mark unlabelled rows with None, or set missing_label"
        )
    check_classification_targets(known)
    return unique_labels(known) if known.size else known


def _unlabelled(y: Any, missing: Hashable) -> Bools:
    """(n,) where a label is None or the missing one; a NaN that does not mean so is left to be refused."""
    nan = isinstance(missing, float) and math.isnan(missing)
    return np.array(
        [nan if isinstance(v, float) and math.isnan(v) else is_missing(v, missing) for v in map(plain, y)],
        dtype=np.bool_,
    )


def validated_rows(estimator: Any, X: Any, reset: bool = True) -> Any:
    """Rows of numbers by the rules of scikit-learn, which trusts the indices of a sparse matrix."""
    if sp.issparse(X):
        checked_sparse(X, "X")
    return validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset)


# -- whole graphs -----------------------------------------------------------------


class _OfNodes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of nodes, some of which it may not reach."""

    missing_label: Hashable = None

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of correct labels; an unreachable node counts as wrong, and samples that are unlabelled
        in y are not judged."""
        found = self.predict(X)
        y = _one_each(y, len(found), type(self).__name__)
        missing = implied_missing(y, self.classes_, self.missing_label, None)
        judged = ~_unlabelled(y, missing)
        if not judged.any():
            raise InputError("no sample has a label in y; give the labels to compare with")
        weights = None if sample_weight is None else np.asarray(sample_weight)[judged]
        return float(np.average(found[judged] == y[judged], weights=weights))


class OnGraph(_OfNodes):
    """Learns from nodes and their labels, and predicts the labels of other nodes of the same graph.

    Parameters
    ----------
    classifier : which one; it is cloned
    graph : whatever `as_graph` takes

    After `fit`: `classifier_`, fitted to the whole graph, and `classes_`.

    >>> from querist.collective.relational import WVRN
    >>> from querist.datasets import load_graph
    >>> karate = load_graph("karate")
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
        """The label of each of these nodes; an unreachable node has None, or zeros with several labels."""
        rows = _rows_of(self.row_of_, _ids(X))
        labels = self.classifier_.labels_[rows]
        one_each = labels.ndim == 1 and self.classifier_.reached_[rows].all()
        return labels.astype(self.classes_.dtype) if one_each else labels

    def predict_proba(self, X: Any) -> Any:
        """(m, K); the class priors for an unreachable node."""
        return self.classifier_.probabilities_[_rows_of(self.row_of_, _ids(X))]


@dataclass(eq=False, repr=False)
class GraphLabelClassifier(_OfNodes):
    """`querist.label` as an estimator: a label for every node of a graph from the labels of some.

    With a graph, X holds node ids, (n,) or (n, 1), and all nodes and edges are seen whatever X holds. Without
    one, X holds rows of numbers, each of which is joined to its nearest neighbours; a row that was not fitted
    is answered by the fitted rows nearest to it, which count by the inverse of their distance.

    Parameters
    ----------
    graph : whatever `as_graph` takes; None for rows of numbers. Labels it holds are not looked at
    method, goal, costs, picked, device : as in `LabelOptions`; the goal decides what `predict` says
    k : nearest neighbours of a row of numbers; no more than there are
    missing_label : the value in y that means "unlabelled", beside None. By default also -1 beside class
        numbers of 0 or more, with a warning
    random_state : the seed, an int

    After `fit`: `labelling_`, a `Labelling` of the whole graph, `classes_`, and `transduction_`, the label of
    every node or row that was fitted; None for an unreachable one.

    >>> from querist.datasets import load_graph
    >>> karate = load_graph("karate")
    >>> known = [label if node in (0, 1, 32, 33) else None for node, label in enumerate(karate.labels)]
    >>> model = GraphLabelClassifier(karate).fit(karate.nodes, known)
    >>> print(f"{model.score(karate.nodes, karate.labels):.3f}")
    0.971
    """

    graph: Any = None
    _: KW_ONLY
    method: str = LabelOptions.method
    goal: Goal = LabelOptions.goal
    costs: Costs | str | Path | None = LabelOptions.costs
    picked: bool = LabelOptions.picked
    device: str | None = LabelOptions.device
    k: int = PointOptions.k
    missing_label: Hashable = LabelOptions.missing
    random_state: int = LabelOptions.seed

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """`X` node ids, or rows of numbers; `y` the label of each, None or -1 where it has none."""
        if self.graph is None:
            rows = validated_rows(self, X)
            if rows.shape[0] < 2:
                raise InputError(f"{rows.shape[0]} sample; at least 2 are needed to join neighbours")
            graph = from_points(rows, k=min(self.k, rows.shape[0] - 1))
            ids = list(graph.nodes)
        else:
            graph, ids = as_graph(self.graph).without_labels(), _ids(X)
        y = _one_each(y, len(ids), type(self).__name__)
        missing = implied_missing(y, None, self.missing_label, "missing_label")
        classes, known = _distinct(y, missing), ~_unlabelled(y, missing)
        if len(classes) < 2:
            raise InputError(
                f"the labels hold {len(classes)} class(es), {list(classes)!r}; at least 2 classes are needed"
            )
        self.labelling_ = label(
            graph,
            _by_node([ids[i] for i in np.flatnonzero(known)], y[known].tolist()),
            LabelOptions(seed=self.random_state, **{name: getattr(self, name) for name in OF_LABEL}),
            classes=classes.tolist(),
        )
        self.classes_ = classes
        P, reached = self.labelling_.probabilities, self.labelling_.reached
        # An unreachable node has the mean probabilities of the others, and no label.
        self._P = np.where(reached[:, None], P, P[reached].mean(axis=0))
        if self.graph is None:
            self._rows = rows
        places = _rows_of(graph.row_of, ids)
        self.transduction_ = self._labels(self._P[places], reached[places])
        return self

    def predict(self, X: Any) -> Any:
        """The label of each of these nodes or rows; None for one that no label reaches."""
        return self._labels(*self._answers(X))

    def predict_proba(self, X: Any) -> Floats:
        """(m, K) calibrated; of a node whose label was given, 1."""
        return self._answers(X)[0]

    def _answers(self, X: Any) -> tuple[Floats, Bools]:
        """(m, K) probabilities, and (m,) whether a label reaches the node or one of the nearest rows."""
        check_is_fitted(self, "classes_")
        reached = self.labelling_.reached
        if self.graph is not None:
            places = _rows_of(self.labelling_.graph.row_of, _ids(X))
            return np.asarray(self._P[places]), reached[places]
        rows = validated_rows(self, X, reset=False)
        near = NearestNeighbors(n_neighbors=min(self.k, self._rows.shape[0])).fit(self._rows)
        distance, who = near.kneighbors(rows)
        # A row that was fitted has no distance from itself, and counts alone.
        weight = np.where(distance[:, :1] > 0, 1 / np.maximum(distance, TINY), distance == 0)
        P = np.einsum("ij,ijk->ik", weight, self._P[who]) / weight.sum(axis=1)[:, None]
        return np.asarray(P), ((weight > 0) & reached[who]).any(axis=1)

    def _labels(self, P: Floats, reached: Bools) -> Any:
        """The labels of rows of probabilities by the goal; None where no label reaches."""
        found = self.classes_[self.labelling_.decision.scores(P).argmax(axis=1)]
        return found if reached.all() else np.where(reached, found.astype(object), None)


def _ids(X: Any) -> list[Any]:
    """Node ids, (n,) or (n, 1); a tuple may be an id."""
    array = X if isinstance(X, list | tuple | range) else np.ravel(X)
    return [plain(node[0] if isinstance(node, list | np.ndarray) else node) for node in array]


def _rows_of(row_of: Mapping[Any, int], ids: Iterable[Any]) -> list[int]:
    """Where these nodes are in the graph."""
    ids = list(ids)
    unknown = [node for node in ids if node not in row_of]
    if unknown:
        raise InputError(f"{len(unknown)} unknown nodes, e.g. {unknown[0]!r}; ask about nodes of the graph")
    return [row_of[node] for node in ids]


def _by_node(ids: Iterable[Any], values: Iterable[Any]) -> dict[Any, Any]:
    """Labels by node; a node may be given twice with one label, not with two."""
    found: dict[Any, Any] = {}
    for node, value in zip(ids, values, strict=True):
        if found.setdefault(node, value) != value:
            raise InputError(f"node {node!r} is {found[node]!r} and {value!r}; give it one label")
    return found
