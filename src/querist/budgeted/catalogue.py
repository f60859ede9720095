"""Stream learners by name: factories `(n_classes, *, seed=0, **parameters)` of what runs over a stream.

Each gives an object with `run(X, labels, labelled) -> Stream`, which predicts every row and
then learns it; labels are class codes, and are seen only where `labelled`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from querist.budgeted.clustered import SPASC, WeightName
from querist.budgeted.learner import ConditionName, StrategyName, StreamLearner
from querist.budgeted.passive import PassiveAggressive
from querist.budgeted.peers import RiverStream, ScikitStream, several
from querist.budgeted.reliable import ReSSL
from querist.lazy import needing
from querist.registry import Registry

Factory: TypeAlias = Callable[..., Any]


def bls(
    n_classes: int,
    *,
    seed: int = 0,
    strategy: StrategyName = "remove",
    condition: ConditionName | None = None,
    kernel: str = "rbf",
    width: float | None = None,
    lambda1: float = 1.0,
    lambda2: float = 0.1,
    epsilon: float = 0.25,
    budget_labelled: int = 150,
    budget_unlabelled: int = 300,
    ridge: float = 1e-4,
    limit: int | None = None,
) -> StreamLearner:
    """Budgeted least squares (bls19): two budgets, labelled and unlabelled; no randomness.

    >>> bls(2, budget_labelled=20).n_classes
    2
    """
    return StreamLearner(
        n_classes,
        strategy=strategy,
        condition=condition,
        kernel=kernel,
        width=width,
        lambda1=lambda1,
        lambda2=lambda2,
        epsilon=epsilon,
        budget_labelled=budget_labelled,
        budget_unlabelled=budget_unlabelled,
        ridge=ridge,
        limit=limit,
    )


def pa(n_classes: int, *, seed: int = 0) -> PassiveAggressive:
    """Passive-aggressive: move just far enough for a margin of 1.

    >>> pa(2).n_classes
    2
    """
    return PassiveAggressive(n_classes, "pa")


def pa1(n_classes: int, *, seed: int = 0, C: float = 1.0) -> PassiveAggressive:
    """Passive-aggressive I: the same, by at most C.

    >>> pa1(2, C=0.5).C
    0.5
    """
    return PassiveAggressive(n_classes, "pa1", C)


def pa2(n_classes: int, *, seed: int = 0, C: float = 1.0) -> PassiveAggressive:
    """Passive-aggressive II: the same, damped by C.

    >>> pa2(2, C=0.5).C
    0.5
    """
    return PassiveAggressive(n_classes, "pa2", C)


def spasc(
    n_classes: int,
    *,
    seed: int = 0,
    weights: WeightName = "heuristic",
    chunk: int = 100,
    clusters: int = 10,
    pool: int = 10,
    restart: float = 0.01,
) -> SPASC:
    """SPASC: a pool of clusterings of batches, weighted by their labelled items.

    >>> spasc(3, pool=5).n_classes
    3
    """
    return SPASC(
        n_classes, weights=weights, chunk=chunk, clusters=clusters, pool=pool, restart=restart, seed=seed
    )


def ressl(
    n_classes: int,
    *,
    seed: int = 0,
    first: int = 200,
    clusters: int = 50,
    most: int = 1000,
    neighbours: int = 5,
    fading: float = 2e-6,
) -> ReSSL:
    """ReSSL: micro-clusters that vote by their reliability; no randomness.

    >>> ressl(2, clusters=10).n_classes
    2
    """
    return ReSSL(n_classes, first=first, clusters=clusters, most=most, neighbours=neighbours, fading=fading)


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
    with needing("peers", "river_logistic"):
        from river import linear_model, multiclass

    return RiverStream(
        n_classes,
        several(linear_model.LogisticRegression(l2=l2), n_classes, multiclass.OneVsRestClassifier),
    )


def river_hoeffding(n_classes: int, *, seed: int = 0, grace_period: int = 200) -> RiverStream:
    """river's Hoeffding tree."""
    with needing("peers", "river_hoeffding"):
        from river import tree

    return RiverStream(n_classes, tree.HoeffdingTreeClassifier(grace_period=grace_period))


STREAMS: Registry[Factory] = Registry(
    "stream learner",
    {
        make.__name__: make
        for make in (
            bls,
            pa,
            pa1,
            pa2,
            spasc,
            ressl,
            sklearn_sgd,
            sklearn_naive_bayes,
            river_logistic,
            river_hoeffding,
        )
    },
)
"""Factory of every stream learner by name.

>>> sorted(STREAMS)[:3]
['bls', 'pa', 'pa1']
"""
