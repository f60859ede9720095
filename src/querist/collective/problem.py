"""What a classifier gets and what it returns: two frozen values between the checked input and the maths."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from querist.collective.mixture import CountMatrix
from querist.errors import InputError
from querist.graph import Graph, as_graph
from querist.graph.scaling import ORDINARY, scaled, widest_ratio
from querist.labels import Labels, checked_names, encode, implied_missing, is_missing, tabulate
from querist.types import Bools, Floats, Sparse

Features: TypeAlias = Literal["attributes", "links"]
LARGEST = 1e15
"""Value of an attribute, and of the weight of a penalty, that is still taken."""


@dataclass(frozen=True)
class Problem:
    """A graph, and the classes of a few of its nodes (the seeds).

    >>> problem = pose([("a", "b"), ("b", "c")], {"a": "left", "c": "right"})
    >>> problem.n_classes, problem.seeds, problem.prior
    (2, array([ True, False,  True]), array([0.5, 0.5]))
    """

    graph: Graph
    known: Labels

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.known.classes)

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several classes."""
        return self.known.multilabel

    @cached_property
    def seeds(self) -> Bools:
        """(n,) whether a node is labelled."""
        return self.known.known

    @cached_property
    def prior(self) -> Floats:
        """(K,) the share of each class among the labels."""
        total = self.known.indicator.sum(axis=0)
        return np.asarray(total / total.sum())

    @cached_property
    def rows(self) -> Floats:
        """(n, K) eq. 3: a labelled node divides itself evenly among its classes; others have the prior."""
        Y = np.tile(self.prior, (self.graph.n_nodes, 1))
        own = self.known.indicator[self.seeds]
        Y[self.seeds] = own / own.sum(axis=1, keepdims=True)
        return Y

    def features(self, wanted: Features) -> Sparse:
        """(n, M) the attributes of the nodes; or their links, where a node's words are its neighbours."""
        if wanted == "links":
            return self.graph.adjacency
        if self.graph.attributes is None:
            raise InputError(
                f"{self.graph.name} has no attributes, which this method needs: give attributes "
                "(--nodes, attributes=), learn from links (--set features=links, features='links'), or take "
                "a method that needs none, such as wvrn"
            )
        return self.graph.attributes

    def counts(self, wanted: Features) -> CountMatrix:
        """The features as counts of words."""
        X = self.moderate(wanted)
        if X.nnz and X.data.min() < 0:
            raise InputError(
                f"attributes hold negative values (down to {X.data.min():.3g}); a generative model needs "
                "counts, 0 or more"
            )
        totals = np.asarray(X.sum(axis=1)).ravel()
        least = float(totals[totals > 0].min(initial=1.0))
        if wanted == "attributes" and least < 1 / LARGEST:
            raise InputError(
                f"the attributes of a node add up to {least:.3g}, below {1 / LARGEST:.0e}: as counts they "
                "are lost beside everything else; scale them up"
            )
        return CountMatrix(X)

    def moderate(self, wanted: Features) -> Sparse:
        """The features, refused where a model of them would overflow or never end."""
        X = self.features(wanted)
        largest = float(np.abs(X.data).max(initial=0.0))
        if largest > LARGEST:
            raise InputError(
                f"attributes hold values up to {largest:.3g}, above {LARGEST:.0e}: "
                "their squares would overflow; scale them down"
            )
        return X

    def one_against_all(self, k: int) -> "Problem":
        """The two-class problem: class k (code 1) or not (code 0)."""
        has = self.known.indicator[:, k].astype(np.int64)
        return replace(self, known=Labels(np.where(self.seeds, has, -1), (False, True)))


@dataclass(frozen=True)
class Inference:
    """(n, K) probabilities, what was reached, how it went iteration by iteration.

    `separate` says that the columns are independent yes/no probabilities, not shares of one, `rough` that
    links far heavier or lighter than the edges were added before they were solved for.
    `details` holds what one method alone has to tell; it becomes attributes with an underscore.

    >>> import numpy as np
    >>> found = Inference(P=np.array([[1.0, 0.0], [0.5, 0.5]]), reached=np.array([True, False]))
    >>> found.separate, found.details
    (False, {})
    """

    P: Floats
    reached: Bools
    objective: Sequence[float] = ()
    change: Sequence[float] = ()
    separate: bool = False
    rough: bool = False
    details: dict[str, Any] = field(default_factory=dict)


def pose(
    source: Any,
    labels: Any,
    attributes: Any = None,
    classes: Sequence[Hashable] | None = None,
    missing: Hashable = None,
    nodes: Any = None,
    *,
    ignore_unknown: bool | None = None,
    multilabel: bool | None = None,
) -> Problem:
    """The problem in a graph of any form and labels of any form; without labels, those of the graph.

    A text is the name of the column of `nodes`, a table of them, or of the node attribute that has labels.

    >>> pose([("a", "b"), ("b", "c")], {"a": "left", "c": "right"}).known.classes
    ('left', 'right')
    """
    column = labels if isinstance(labels, str) else None
    if column is not None and isinstance(source, Graph) and nodes is None:
        raise InputError(
            f"labels={column!r} names a column, and a Graph holds no table of its nodes; pass it as nodes="
        )
    graph = as_graph(
        _rows_of_numbers(source),
        attributes=attributes,
        nodes=nodes,
        labels=column,
        missing=None if column is None else missing,
    )
    labels = labels if column is None else None
    if graph.signed:
        raise InputError(
            "Negative values in data: the graph has negative weights, and collective classifiers need "
            "weights above 0; leave such edges out, or take an online learner"
        )
    if own := labels is None:
        labels = _own_labels(graph, missing)
    if classes is not None and isinstance(labels, Labels) and checked_names(classes) != labels.classes:
        raise InputError(
            f"classes = {list(classes)!r}; the labels of a graph have an order already, "
            f"{list(labels.classes)!r}: leave classes out, or give the labels as a dict by node"
        )
    known = tabulate(
        labels, graph.nodes, classes, missing, ignore_unknown=ignore_unknown, multilabel=multilabel
    )
    if not known.known.any():
        raise InputError("no node is labelled; label at least one node of every class")
    if any(isinstance(c, float) and not c.is_integer() for c in known.classes):
        raise InputError("Unknown label type: continuous numbers; if they are classes, make them strings")
    return Problem(graph.without_labels(taken=own), known)


def _rows_of_numbers(source: Any) -> Any:
    """Nested lists that can only be an adjacency (an edge has two or three entries) as an array."""
    n = len(source) if isinstance(source, list) else 0
    if n > 3 and all(isinstance(row, list) and len(row) == n for row in source):
        return np.array(source)
    return source


def _own_labels(graph: Graph, missing: Hashable) -> Labels:
    if graph.known is None:
        raise InputError(
            f"{graph.name} has no labels of its own: fit requires y to be passed, but the target y is None"
        )
    unlabelled = implied_missing(graph.classes, None, missing)
    names = [name for name in graph.classes if not is_missing(name, unlabelled)]
    if graph.known.multilabel or len(names) == len(graph.classes):
        return graph.known
    return encode(graph.known.names(), names, unlabelled)


def in_range(problem: Problem) -> Problem:
    """The problem on the graph with weights near 1 (`querist.graph.scaling`); itself where they are."""
    near = scaled(problem.graph)
    return problem if near is problem.graph else replace(problem, graph=near)


def check_range(graph: Graph, who: str) -> None:
    """Refuse weights far from 1 for a method that takes them as they are."""
    size = np.abs(graph.adjacency.data)
    far = (size > ORDINARY) | (size < 1 / ORDINARY)
    if far.any():
        worst = float(graph.adjacency.data[np.argmax(far)])
        raise InputError(
            f"weights such as {worst:g} are outside {1 / ORDINARY:.0e} to {ORDINARY:.0e}, and {who} weighs "
            f"them against counts; scale them: {widest_ratio(graph)}"
        )


def reach(X: Sparse, seeds: Bools, components: Any = None, chains: bool = True) -> Bools:
    """(n,) whether a label comes to a node through a shared feature or, where components are given, an edge.

    With `chains` a feature passes on what reached an unlabelled node, as in a generative model; without, only
    features of labelled nodes count, as for a classifier that is trained on them.
    """
    pattern: Any = sp.csr_array((X.data != 0, X.indices, X.indptr), shape=X.shape)
    reached = seeds
    while True:
        before, reached = reached, reached | (pattern @ (pattern.T @ reached))
        if components is not None:
            reached = np.isin(components, components[reached])
        if not chains or reached.all() or np.array_equal(reached, before):
            return np.asarray(reached)


def smoothness(graph: Graph, P: Floats) -> float:
    """`-tr P'LP`: minus the weighted squared differences along the edges.

    The objective that is reported for methods which have none of their own.
    """
    degrees = sp.diags_array(graph.degrees)
    return -float(np.einsum("ij,ij->", P, degrees @ P - graph.adjacency @ P))
