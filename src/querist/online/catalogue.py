"""The published algorithms, each a named composition.

Read it as the papers' summary: a function here takes an algorithm's own
parameters and says what it is composed of. `ALGORITHMS` holds the factories
made of them, which take `(embedding, n_classes, *, seed=0, budget=None,
pace=None, rounds=None, tie_order=None, **parameters)` and give a `Learner`.

`update` overrides which answers are learned: "mistake", "always", or "certain"
(all answers to certain questions, mistakes among the drawn ones). `scheme`
chooses between one problem over all classes and one binary problem a class,
where the algorithm has both forms. Binary problems predict with sign(f0)
(sslgc13), multi-class ones with the largest f (msg16), DGS with the largest f0.

POUNCE and its nearest-neighbour controls (cover_learner.py), the paced learner, which is ours
(paced_learner.py), and FastONL (fastonl_learner.py) are no compositions of this kind; their factories take
the same call.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import wraps
from typing import Any, Literal, TypeAlias

from querist.errors import InputError, check_name
from querist.online.cover_learner import nearest, pounce
from querist.online.fastonl_learner import fastonl
from querist.online.learner import Learner
from querist.online.paced_learner import paced
from querist.online.rules import (
    Always,
    Confidence,
    Epsilon,
    LogConfidence,
    MarginThreshold,
    MarginUncertainty,
    QueryRule,
    Random,
    Scheme,
    Target,
    Update,
    Variance,
)
from querist.registry import Registry

UpdateName: TypeAlias = Literal["mistake", "always", "certain"]
TargetName: TypeAlias = Literal["rival", "one-hot"]
SchemeName: TypeAlias = Literal["multiclass", "one-vs-rest"]
Factory: TypeAlias = Callable[..., Learner]
"""What makes a learner: an embedding or a graph, the number of classes, and parameters by name.

>>> factory: Factory = ALGORITHMS["msg"]
>>> factory([[1.0, 0.0], [0.0, 1.0]], 2, budget=1).budget
1
"""


@dataclass(frozen=True)
class Composition:
    """What an algorithm is made of.

    >>> import numpy as np
    >>> made = Composition(Variance(kappa=0.4), "mistake")
    >>> made.learner(np.eye(3), 2).questions
    0
    """

    query: QueryRule
    update: UpdateName
    scheme: SchemeName = "multiclass"
    target: TargetName = "rival"
    gamma: float = 1.0
    second_order: bool = True
    shrink: bool = True

    def learner(
        self,
        embedding: Any,
        n_classes: int,
        *,
        seed: int = 0,
        budget: int | None = None,
        pace: float | None = None,
        rounds: int | None = None,
        tie_order: Iterable[int] | None = None,
    ) -> Learner:
        """A fresh learner of this make."""
        scheme: Scheme = _pick("scheme", self.scheme, Scheme)
        return Learner(
            embedding,
            n_classes,
            query=self.query,
            update=_pick("update", self.update, Update),
            target=_pick("target", self.target, Target),
            gamma=self.gamma,
            second_order=self.second_order,
            shrink=self.shrink and self.second_order and scheme is Scheme.MULTICLASS,
            scheme=scheme,
            seed=seed,
            budget=budget,
            pace=pace,
            rounds=rounds,
            tie_order=tie_order,
        )


def _pick(what: str, name: str, kind: type[IntEnum]) -> Any:
    table = {each.name.lower().replace("_", "-"): each for each in kind}
    if name not in table:
        raise InputError(f"{what} = {name!r}; it must be one of {', '.join(table)}")
    return table[name]


# -- sslgc13 -------------------------------------------------------------------


def gpa(*, update: UpdateName = "mistake", scheme: SchemeName = "multiclass") -> Composition:
    """Graph perceptron: ask always; on a mistake add the row to the true class.

    The multi-class form also takes it from the predicted class; the binary one
    is `w += y m`.

    >>> gpa().second_order
    False
    """
    return Composition(Always(), update, scheme, second_order=False)


def ollgc(
    *, mu: float = 1.0, update: UpdateName = "mistake", scheme: SchemeName = "one-vs-rest"
) -> Composition:
    """Online learning with local and global consistency (sslgc13, Alg. 1).

    Ask always, learn on mistakes, `A_0 = mu I`. Its multi-class form is CMOG.

    >>> ollgc().scheme, ollgc(mu=2.0).gamma
    ('one-vs-rest', 2.0)
    """
    return Composition(Always(), update, scheme, gamma=mu)


def sslgc(
    *,
    mu: float = 1.0,
    kappa: float = 0.4,
    update: UpdateName = "mistake",
    scheme: SchemeName = "one-vs-rest",
) -> Composition:
    """Selective sampling with local and global consistency (sslgc13, Alg. 2).

    Ask iff `r/(1+r) > t^-kappa`, learn if asked and wrong.

    >>> sslgc(kappa=0.5).query
    Variance(kappa=0.5)
    """
    return Composition(Variance(kappa), update, scheme, gamma=mu)


# -- msg16 ---------------------------------------------------------------------


def cmog(*, gamma: float = 1.0, update: UpdateName = "mistake", target: TargetName = "rival") -> Composition:
    """Conservative multi-class online learning (msg16, Alg. 1): ask always, learn on mistakes.

    The paper's Table I is reached with `update="always"` instead.

    >>> cmog().query, cmog().update
    (Always(), 'mistake')
    """
    return Composition(Always(), update, target=target, gamma=gamma)


def cmog_selected(
    *, gamma: float = 1.0, h: float = 0.01, update: UpdateName = "mistake", target: TargetName = "rival"
) -> Composition:
    """CMOG on selected labels (msg16, Theorem 3): ask as MSG does, learn on mistakes.

    >>> cmog_selected(h=0.1).query
    MarginUncertainty(h=0.1)
    """
    return Composition(MarginUncertainty(h), update, target=target, gamma=gamma)


def msg(
    *, gamma: float = 1.0, h: float = 0.01, update: UpdateName = "certain", target: TargetName = "rival"
) -> Composition:
    """Multi-class selective sampling on graphs (msg16, Alg. 2): ask by margin and uncertainty.

    Learn every certain question, and mistakes among the drawn ones. The paper's
    "argmin" in III.A is argmax.

    >>> msg().query, msg().update
    (MarginUncertainty(h=0.01), 'certain')
    >>> ALGORITHMS["msg"]([[1.0, 0.0], [0.0, 1.0]], 2, h=0.1).decide(0).ask
    True
    """
    return Composition(MarginUncertainty(h), update, target=target, gamma=gamma)


# -- what they are compared with -------------------------------------------------


def bbq(
    *,
    gamma: float = 1.0,
    kappa: float = 0.4,
    update: UpdateName = "always",
    target: TargetName = "rival",
    scheme: SchemeName = "multiclass",
) -> Composition:
    """Bound on bias query: ask iff `r/(1+r) > t^-kappa`, learn every answer.

    >>> bbq(kappa=0.3).query
    Variance(kappa=0.3)
    """
    return Composition(Variance(kappa), update, scheme, target, gamma)


def bbq_eps(
    *,
    gamma: float = 1.0,
    eps: float = 1e-3,
    update: UpdateName = "always",
    target: TargetName = "rival",
    scheme: SchemeName = "multiclass",
) -> Composition:
    """BBQ with a fixed threshold: ask iff `r/(1+r) >= eps`, learn every answer.

    >>> bbq_eps(eps=0.01).query
    Epsilon(eps=0.01)
    """
    return Composition(Epsilon(eps), update, scheme, target, gamma)


def dgs(
    *,
    gamma: float = 1.0,
    delta: float = 0.1,
    base: float = 1.0,
    history: float = 4.0,
    log: float = 36.0,
    alpha: float | None = None,
    update: UpdateName = "always",
    target: TargetName = "rival",
    scheme: SchemeName = "multiclass",
) -> Composition:
    """Dekel, Gentile and Sridharan's rule: ask while the margin could be wrong.

    With the published constants it asks about everything. `alpha` replaces the
    bracket of the rule by `alpha ln(t+1)`: one constant, and questions are saved.

    >>> dgs(alpha=0.5).query
    LogConfidence(alpha=0.5)
    """
    query: QueryRule = Confidence(delta, base, history, log) if alpha is None else LogConfidence(alpha)
    return Composition(query, update, scheme, target, gamma, shrink=False)


def random_sampling(
    *,
    p: float = 0.5,
    gamma: float = 1.0,
    second_order: bool = True,
    update: UpdateName = "always",
    target: TargetName = "rival",
    scheme: SchemeName = "multiclass",
) -> Composition:
    """Ask with probability p: the control.

    `second_order=False, update="mistake"` is the random + GPA of sslgc13; the
    fair control is random + OLLGC, `update="mistake"` one-vs-rest.

    >>> random_sampling(p=0.1).query
    Random(p=0.1)
    """
    return Composition(Random(p), update, scheme, target, gamma, second_order)


def margin_threshold(
    *,
    tau: float = 0.1,
    gamma: float = 1.0,
    second_order: bool = True,
    update: UpdateName = "always",
    target: TargetName = "rival",
    scheme: SchemeName = "multiclass",
) -> Composition:
    """Ask iff the margin is at most tau: the control that is hard to beat; learn every answer.

    >>> margin_threshold(tau=0.2).query
    MarginThreshold(tau=0.2)
    """
    return Composition(MarginThreshold(tau), update, scheme, target, gamma, second_order)


# -- factories -------------------------------------------------------------------


def factory(compose: Callable[..., Composition]) -> Factory:
    """A composition as a factory of learners; its signature shows every parameter."""
    own = inspect.signature(compose).parameters
    common = inspect.signature(Composition.learner).parameters
    shared = [common[name] for name in common if name != "self"]

    @wraps(compose)
    def make(embedding: Any, n_classes: int, **parameters: Any) -> Learner:
        protocol = {name: parameters.pop(name) for name in list(parameters) if name in common}
        for name in parameters:
            check_name(f"parameter of {compose.__name__}", name, own)
        return compose(**parameters).learner(embedding, n_classes, **protocol)

    make.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*shared, *own.values()], return_annotation=Learner
    )
    return make


ALGORITHMS: Registry[Factory] = Registry(
    "algorithm",
    {
        compose.__name__: factory(compose)
        for compose in (
            gpa,
            ollgc,
            sslgc,
            cmog,
            cmog_selected,
            msg,
            bbq,
            bbq_eps,
            dgs,
            random_sampling,
            margin_threshold,
        )
    }
    | {"pounce": pounce, "nearest": nearest, "paced": paced, "fastonl": fastonl},
)
"""Factory of every algorithm by name.

>>> sorted(ALGORITHMS)[:3]
['bbq', 'bbq_eps', 'cmog']
"""
