"""One contract for all classifiers of whole graphs, in scikit-learn's terms.

    classifier = GMNR(lam=5).fit(graph, labels)
    classifier.labels_, classifier.probabilities_, classifier.reached_, classifier.history_

A method is a subclass with its parameters as fields and one function, `infer`, from a
`Problem` to an `Inference`. Everything else is here: reading graph and labels, one-against-all
for methods that know one class a node (binary relevance), clamping the seeds, deciding.

In scikit-learn's eyes a graph is a *pairwise* input: a square matrix whose rows and columns are
nodes. `fit(adjacency[train][:, train], y)` and `predict(adjacency[test][:, train])` are what its
model selection does with such an input; the second asks about nodes that were not there, and each
is answered by the weighted vote of the fitted nodes that it is joined to. To select among
parameters with the whole graph in sight, use `OnGraph`.
"""

import warnings
from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from querist.collective.problem import Inference, Problem, check_range, in_range, pose, smoothness
from querist.collective.threshold import Threshold, decide
from querist.errors import InputError, SingularError, refuse
from querist.graph import Graph
from querist.graph.scaling import far_apart, scaled, widest_ratio
from querist.labels import UNLABELLED, implied_missing, tabulate
from querist.matrices import as_floats, checked_sparse
from querist.operator.harmonic import reached
from querist.parameters import Range, check_values, parameters_of
from querist.progress import Progress, part, silent
from querist.types import Bools, Floats

if TYPE_CHECKING:  # of an untyped class, type checkers would take any parameter

    class ClassifierMixin:
        """What is used of scikit-learn's."""

        def __sklearn_tags__(self) -> Any:
            """What kind of input it takes."""

    class BaseEstimator:
        """What is used of scikit-learn's."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Parameters by name."""

        def set_params(self, **parameters: Any) -> Self:
            """The same with other parameters."""

else:
    from sklearn.base import BaseEstimator, ClassifierMixin

ROUGH = 1e-2
"""How far from a probability an iterative solve may leave a number."""


@dataclass(frozen=True)
class History:
    """(iterations,) the objective after each iteration, and the largest change of a probability in it.

    A method without an objective of its own reports `-tr P'LP`, the smoothness of the answer.

    >>> from querist.collective import WVRN
    >>> path = [("a", "b"), ("b", "c"), ("c", "d")]
    >>> history = WVRN().fit(path, {"a": "left", "d": "right"}).history_
    >>> len(history.change) == len(history.objective)
    True
    """

    objective: Floats
    change: Floats

    def __len__(self) -> int:
        return int(self.change.size)


@dataclass(eq=False, repr=False, kw_only=True)
class Classifier(ClassifierMixin, BaseEstimator):
    """Labels a whole graph from a few labels.

    Parameters
    ----------
    classes : in the order of the columns; those that occur, by default
    missing : the label that means "unlabelled", besides None and NaN; where it is not given, -1 beside class
        numbers of 0 or more means so, with a warning. `float("nan")` for nothing else
    threshold : with several labels a node, "max_drop" or a number: the least score of a class
    top_k : with several labels a node, how many classes each gets, instead of a threshold
    progress : what the iterations report to (`querist.progress`)

    After `fit`
    -----------
    probabilities_ : (n, K); rows sum to one, except for several labels a node under one-against-all
    labels_ : (n,) in the user's own terms, None where not reached; with several labels per node an (n, K) 0/1
        matrix, as in scikit-learn: there a node that is not reached has a row of zeros, and `reached_` alone
        sets it apart from a node without a class
    reached_ : (n,) False where no label could reach the node; its probabilities are the labels' shares
    history_ : `History`
    classes_ : (K,) what the columns stand for

    >>> from querist.collective import Harmonic
    >>> isinstance(Harmonic(), Classifier), Harmonic().threshold
    (True, 'max_drop')
    """

    classes: Sequence[Hashable] | None = None
    missing: Hashable = None
    threshold: Threshold = "max_drop"
    top_k: Annotated[int | None, Range(1)] = None
    progress: Progress = silent

    knows_multilabel: ClassVar[bool] = False
    """Whether the method itself knows nodes with several classes; otherwise binary relevance."""

    # -- what a method says -------------------------------------------------------

    def check(self) -> None:
        """Refuse parameters of a wrong type or out of the range that their annotation gives."""
        check_values(parameters_of(type(self)), vars(self))

    def compares_weights(self) -> bool:
        """Whether all weights of a component times a number change nothing; where they do, they are refused
        far from 1."""
        return getattr(self, "features", "attributes") != "links"

    def infer(self, problem: Problem) -> Inference:
        """The answer of the method; rows of seeds are overwritten afterwards."""
        raise NotImplementedError

    def infer_all(self, problems: Sequence[Problem]) -> list[Inference]:
        """`infer` for several labellings of one graph; a method may know how to do all at once."""
        return [self.infer(problem) for problem in problems]

    def answer(self, problem: Problem) -> Inference:
        """`infer` on weights that doubles can work with; refused where the answer shows they could not."""
        return self.answers([problem])[0]

    def answers(self, problems: Sequence[Problem]) -> list[Inference]:
        """`answer` for several labellings of one graph."""
        if self.compares_weights():
            problems = [in_range(problem) for problem in problems]
        else:
            check_range(problems[0].graph, type(self).__name__)
        try:
            found: Sequence[Inference | None] = self.infer_all(problems)
        except SingularError:
            found = [None]
        far = far_apart(problems[0].graph.adjacency)
        return [self._digits_left(problems[0], each, far) for each in found]

    def _digits_left(self, problem: Problem, found: Inference | None, far: bool) -> Inference:
        far = far or (found is not None and found.rough)
        if found is None or not _probable(found, strict=far):
            raise InputError(
                f"{_far_weights(problem, found)}: {type(self).__name__} has no digits left there. Leave the "
                "lightest edges out, scale the weights, or take another method, such as wvrn"
            )
        return _evened(found) if far else found

    # -- the contract ---------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, attributes: Any = None) -> Self:
        """Label the nodes of the graph `X` (whatever `as_graph` takes) from the labels `y`.

        `y` is anything that `querist.labels.tabulate` reads: a dict by node id, a value a node with
        unlabelled ones missing, a pandas Series, a 0/1 matrix; the graph's own labels by default.
        `attributes` (n, M) are those of the graph by default.
        """
        self.check()
        problem = pose(X, y, attributes, self.classes, self.missing)
        self._refuse_idle(problem, attributes)
        _warn_of_minus_one(problem)
        outcome = (
            self._relevance(problem)
            if problem.multilabel and not self.knows_multilabel
            else self.answer(problem)
        )
        P = _settled(problem, outcome)
        self.probabilities_, self.reached_ = P, outcome.reached | problem.seeds
        objective = outcome.objective if len(outcome.objective) else [smoothness(scaled(problem.graph), P)]
        change = outcome.change if len(outcome.change) else [float(abs(P - problem.rows).max())]
        self.history_ = History(np.array(objective, dtype=np.float64), np.array(change, dtype=np.float64))
        self.n_iter_ = len(self.history_)
        self.classes_ = _as_array(problem.known.classes)
        self.n_features_in_ = problem.graph.n_nodes
        self.problem_ = problem
        for name, value in outcome.details.items():
            setattr(self, f"{name}_", value)
        self.labels_ = self._labels(P, self.reached_, keep=problem.seeds)
        return self

    def predict(self, X: Any = None) -> Any:
        """`labels_` of the fitted nodes; or of new ones, from an (m, n) matrix of weights to the fitted."""
        return self._answers(X)[2]

    def predict_proba(self, X: Any = None) -> Floats:
        """(m, K) as `predict`; a node that is joined to no reached node gets the labels' shares."""
        return self._answers(X)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of nodes that get the label they have in `y`; one that is not reached counts as wrong.

        `X` is as for `predict` and `y` as for `fit`; nodes that are unlabelled in `y` are not judged. With
        several labels per node, all of them must be right.
        """
        P, has_answer, found = self._answers(X)
        # By the classes that were fitted: some of the nodes may have no label but -1 and one other.
        missing = implied_missing([UNLABELLED], self.classes_, self.missing, None)
        truth = tabulate(
            y,
            self.problem_.graph.nodes if P is self.probabilities_ else range(len(P)),
            self.problem_.known.classes if self.problem_.multilabel else None,
            missing=float("nan") if missing is None else missing,
        )
        judged = truth.known
        if not judged.any():
            raise InputError("no node has a label in y; give the labels to compare with")
        if self.problem_.multilabel:
            right = (truth.indicator == found).all(axis=1)
        else:
            right = np.array([a == b for a, b in zip(found.tolist(), truth.names(), strict=True)])
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[judged]
        return float(np.average((right & has_answer)[judged], weights=weights))

    def fit_predict(self, X: Any, y: Any = None, *, attributes: Any = None) -> Any:
        """`fit`, then the labels."""
        return self.fit(X, y, attributes=attributes).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        return tags

    # -- inside -----------------------------------------------------------------------

    def _refuse_idle(self, problem: Problem, attributes: Any) -> None:
        """Refuse parameters that would change nothing."""
        name, fixed = type(self).__name__, self.threshold == "max_drop"
        refuse(
            {
                f"attributes do nothing in {name}, which learns from links; leave them out": (
                    attributes is not None and getattr(self, "features", "links") == "links"
                ),
                f"top_k = {self.top_k!r} does nothing if every node has one label; leave it out, or give "
                "sets of labels": self.top_k is not None and not problem.multilabel,
                f"threshold = {self.threshold!r} does nothing if every node has one label; leave it out, or "
                "give sets of labels": not fixed and not problem.multilabel,
                f"threshold = {self.threshold!r} does nothing beside top_k = {self.top_k!r}; give one of the "
                "two": not fixed and self.top_k is not None,
            }
        )

    def _relevance(self, problem: Problem) -> Inference:
        """Binary relevance: an independent problem a class (mrgm15, section 4.5)."""
        seeds, n = problem.seeds, problem.graph.n_nodes
        scores = np.empty((n, problem.n_classes))
        is_reached = reached(problem.graph.adjacency, np.flatnonzero(seeds))
        parts: list[Inference] = []
        for k in range(problem.n_classes):
            own = problem.one_against_all(k)
            if own.prior.max() == 1.0:  # all seeds agree about this class
                scores[:, k] = own.prior[1]
                continue
            model = copy(self)
            model.progress = part(self.progress, k / problem.n_classes, 1 / problem.n_classes)
            one = model.answer(own)
            scores[:, k] = _settled(own, one)[:, 1]
            is_reached = is_reached | one.reached
            parts.append(one)
        objective, change = _together(parts)
        return Inference(scores, is_reached, objective, change, separate=True)

    def _labels(self, P: Floats, is_reached: Bools, keep: Bools | None = None) -> Any:
        """Probabilities as labels in the user's terms; those to keep as they were given."""
        known = self.problem_.known
        if not known.multilabel:
            labels = self.classes_[P.argmax(axis=1)]
            if is_reached.all():
                return labels
            return np.where(is_reached, labels.astype(object), None)
        chosen = decide(P, self.threshold, self.top_k) & is_reached[:, None]
        if keep is not None:
            chosen[keep] = known.indicator[keep] > 0
        return chosen.astype(np.int64)

    def _is_own(self, X: Any) -> bool:
        graph = self.problem_.graph
        if isinstance(X, Graph):
            if X.n_nodes != graph.n_nodes:
                raise InputError(
                    f"a graph of {X.n_nodes} nodes for a classifier fitted to {graph.n_nodes}; fit it to "
                    "this graph, or give the weights from new nodes to the fitted ones"
                )
            return True
        matrix: Any = checked_sparse(X, "X") if sp.issparse(X) else as_floats(X, "X")
        if matrix.shape != graph.adjacency.shape:
            return False
        own: Any = sp.csr_array(matrix, dtype=np.float64)
        own.setdiag(0.0)
        return bool(abs(own - graph.adjacency).sum() == 0)

    def _answers(self, X: Any) -> tuple[Floats, Bools, Any]:
        """Probabilities, whether there is an answer, labels: of fitted nodes, or by votes for new ones."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "probabilities_")
        if X is None or self._is_own(X):
            return self.probabilities_, self.reached_, self.labels_
        W = _checked_weights(X, self.n_features_in_, type(self).__name__)
        total = np.asarray(W @ self.reached_.astype(np.float64)).ravel()
        votes = np.asarray(W @ (self.probabilities_ * self.reached_[:, None]))
        has_votes = total > 0
        P = np.where(
            has_votes[:, None], votes / np.where(has_votes, total, 1.0)[:, None], self.problem_.prior
        )
        return P, has_votes, self._labels(P, has_votes)


def _together(parts: Sequence[Inference]) -> tuple[list[float], list[float]]:
    """The sum of the objectives and the largest change of several problems; a finished one stands still."""
    measured = [part for part in parts if len(part.objective) and len(part.change)]
    rounds = range(max((len(part.change) for part in measured), default=0))
    objective = [
        float(sum(part.objective[min(t, len(part.objective) - 1)] for part in measured)) for t in rounds
    ]
    change = [max(part.change[t] if t < len(part.change) else 0.0 for part in measured) for t in rounds]
    return objective, change


def _far_weights(problem: Problem, found: Inference | None) -> str:
    """In words, which weights are far apart: those of the edges, or from those of added links."""
    if found is None or not found.rough or far_apart(problem.graph.adjacency):
        return widest_ratio(problem.graph)
    return f"edges that weigh {problem.graph.adjacency.data.min():g} beside added links that weigh 1"


def _evened(found: Inference) -> Inference:
    """Without what an iterative solve left over: numbers from 0 to 1, and rows that sum to one."""
    P = np.clip(found.P, 0.0, 1.0)
    if not found.separate:
        total = P.sum(axis=1, keepdims=True)
        P = np.where(total > 0, P / np.where(total > 0, total, 1.0), P)
    return replace(found, P=P)


def _probable(found: Inference, strict: bool) -> bool:
    """Whether the rows are finite; if `strict`, probabilities to within what an iterative solve leaves.

    Without smoothing some models give less than probabilities on any graph.
    """
    P = found.P
    if not np.isfinite(P).all() or not strict:
        return bool(np.isfinite(P).all())
    within = P.min() >= -ROUGH and P.max() <= 1 + ROUGH
    return bool(within and (found.separate or abs(P.sum(axis=1) - 1).max() <= ROUGH))


def _settled(problem: Problem, outcome: Inference) -> Floats:
    """The answer with every promise kept: seeds as given, the labels' shares where no label reached."""
    P = np.where(outcome.reached[:, None], outcome.P, problem.prior).astype(outcome.P.dtype)
    given = problem.known.indicator if outcome.separate else problem.rows
    P[problem.seeds] = given[problem.seeds]
    return P


def _as_array(classes: Sequence[Hashable]) -> Any:
    """Classes as an array that NumPy does not rearrange: tuples stay single values."""
    array: Any = np.array(classes) if not any(isinstance(c, tuple) for c in classes) else None
    if array is None or (array.dtype.kind in "US" and not all(isinstance(c, str | bytes) for c in classes)):
        array = np.empty(len(classes), dtype=object)
        array[:] = list(classes)
    return array


def _checked_weights(X: Any, n: int, who: str) -> Any:
    sparse = sp.issparse(X)
    W: Any = sp.csr_array(checked_sparse(X, "X"), dtype=np.float64) if sparse else as_floats(X, "X")
    if W.ndim != 2 or W.shape[1] != n:
        raise InputError(
            f"X has {W.shape[-1]} features, but {who} is expecting {n} features as input: the weights from "
            f"each new node to the {n} fitted ones. Reshape your data to (m, {n})"
        )
    values = W.data if sparse else W
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError("weights to the fitted nodes hold negative, NaN or inf values; give 0 or more")
    return W


def _warn_of_minus_one(problem: Problem) -> None:
    if -1 in problem.known.classes and problem.seeds.all():
        warnings.warn(
            "every node is labelled, some with the class -1; if -1 means unlabelled, pass missing=-1",
            UserWarning,
            stacklevel=3,
        )
