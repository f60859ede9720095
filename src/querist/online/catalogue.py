"""The published algorithms, each a composition of a query rule, an update rule and a state.

Read it as the papers' summary: a class here has an algorithm's own parameters and says what it is composed
of. Every algorithm takes `LearnerOptions` besides; those that the papers' are compared with take all
`CompositionOptions`.

`update` overrides which answers are learned: "mistake", "always", or "certain" (all answers to certain
questions, mistakes among the drawn ones). `scheme` chooses between one problem over all classes and one
binary problem per class, if the algorithm has both forms. Binary problems predict with sign(f0) (sslgc13),
multi-class ones with the largest f (msg16), DGS with the largest f0.

POUNCE and its nearest-neighbour controls (cover_learner.py) and the paced learner, which is ours
(paced_learner.py), are no compositions of this kind; they are made by the same call.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, Unpack

from querist.online import rules
from querist.online.composition import Composition, CompositionOptions
from querist.online.cover_learner import POUNCE, Nearest
from querist.online.learner import Learner, LearnerOptions
from querist.online.paced_learner import Paced
from querist.online.rules import SchemeName, TargetName, UpdateName
from querist.parameters import Range
from querist.registry import Registry

Factory: TypeAlias = Callable[..., Learner]
"""What makes a learner: an embedding or a graph, the number of classes, and parameters by name.

>>> factory: Factory = ALGORITHMS["msg"]
>>> factory([[1.0, 0.0], [0.0, 1.0]], 2, budget=1).budget
1
"""


# -- sslgc13 -------------------------------------------------------------------


class GPA(Composition):
    """Graph perceptron: ask always; on a mistake add the row to the true class.

    The multi-class form also takes it from the predicted class; the binary one
    is `w += y m`.

    >>> GPA([[1.0, 0.0], [0.0, 1.0]], 2).run([0, 1, 0, 1], [0, 1]).updates
    1.0
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        update: UpdateName = "mistake",
        scheme: SchemeName = "multiclass",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(
            embedding,
            n_classes,
            query=(rules.ALWAYS,),
            update=update,
            scheme=scheme,
            second_order=False,
            **protocol,
        )


class OLLGC(Composition):
    """Online learning with local and global consistency (sslgc13, Alg. 1).

    Ask always, learn on mistakes, `A_0 = mu I`. Its multi-class form is CMOG.

    >>> OLLGC([[1.0, 0.0], [0.0, 1.0]], 2, mu=2.0).run([0, 1, 0, 1], [0, 1]).updates
    2.0
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        mu: float = 1.0,
        update: UpdateName = "mistake",
        scheme: SchemeName = "one-vs-rest",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(
            embedding, n_classes, query=(rules.ALWAYS,), update=update, gamma=mu, scheme=scheme, **protocol
        )


class SSLGC(Composition):
    """Selective sampling with local and global consistency (sslgc13, Alg. 2).

    Ask iff `r/(1+r) > t^-kappa`, learn if asked and wrong.

    >>> SSLGC([[1.0, 0.0], [0.0, 1.0]], 2, kappa=0.5).run([0, 1] * 3, [0, 1]).questions
    2
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        mu: float = 1.0,
        kappa: Annotated[float, Range(0, 1)] = 0.4,
        update: UpdateName = "mistake",
        scheme: SchemeName = "one-vs-rest",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(
            embedding,
            n_classes,
            query=(rules.VARIANCE, kappa),
            update=update,
            gamma=mu,
            scheme=scheme,
            **protocol,
        )


# -- msg16 ---------------------------------------------------------------------


class CMOG(Composition):
    """Conservative multi-class online learning (msg16, Alg. 1): ask always, learn on mistakes.

    The paper's Table I is reached with `update="always"` instead.

    >>> CMOG([[1.0, 0.0], [0.0, 1.0]], 2).run([0, 1, 0, 1], [0, 1]).questions
    4
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        gamma: float = 1.0,
        update: UpdateName = "mistake",
        target: TargetName = "rival",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        super().__init__(
            embedding, n_classes, query=(rules.ALWAYS,), update=update, target=target, gamma=gamma, **protocol
        )


class CMOGSelected(Composition):
    """CMOG on selected labels (msg16, Theorem 3): ask as MSG does, learn on mistakes.

    >>> CMOGSelected([[1.0, 0.0], [0.0, 1.0]], 2, h=0.1).decide(0).ask
    True
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        gamma: float = 1.0,
        h: Annotated[float, Range(gt=0)] = 0.01,
        update: UpdateName = "mistake",
        target: TargetName = "rival",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        query = (rules.MARGIN_UNCERTAINTY, h)
        super().__init__(
            embedding, n_classes, query=query, update=update, target=target, gamma=gamma, **protocol
        )


class MSG(Composition):
    """Multi-class selective sampling on graphs (msg16, Alg. 2): ask by margin and uncertainty.

    Learn every certain question, and mistakes among the drawn ones. The paper's
    "argmin" in III.A is argmax.

    >>> MSG([[1.0, 0.0], [0.0, 1.0]], 2, h=0.1).decide(0).ask
    True
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        gamma: float = 1.0,
        h: Annotated[float, Range(gt=0)] = 0.01,
        update: UpdateName = "certain",
        target: TargetName = "rival",
        **protocol: Unpack[LearnerOptions],
    ) -> None:
        query = (rules.MARGIN_UNCERTAINTY, h)
        super().__init__(
            embedding, n_classes, query=query, update=update, target=target, gamma=gamma, **protocol
        )


# -- what they are compared with -------------------------------------------------


class BBQ(Composition):
    """Bound on bias query: ask iff `r/(1+r) > t^-kappa`, learn every answer.

    >>> BBQ([[1.0, 0.0], [0.0, 1.0]], 2, kappa=0.3).decide(0).ask
    False
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        kappa: Annotated[float, Range(0, 1)] = 0.4,
        **options: Unpack[CompositionOptions],
    ) -> None:
        super().__init__(embedding, n_classes, query=(rules.VARIANCE, kappa), **options)


class BBQEps(Composition):
    """BBQ with a fixed threshold: ask iff `r/(1+r) >= eps`, learn every answer.

    >>> BBQEps([[1.0, 0.0], [0.0, 1.0]], 2, eps=0.01).decide(0).ask
    True
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        eps: Annotated[float, Range(0)] = 1e-3,
        **options: Unpack[CompositionOptions],
    ) -> None:
        super().__init__(embedding, n_classes, query=(rules.EPSILON, eps), **options)


class DGS(Composition):
    """Dekel, Gentile and Sridharan's rule: ask while the margin could be wrong.

    With the published constants it asks about everything. `alpha` replaces the
    bracket of the rule by `alpha ln(t+1)`: one constant, and questions are saved.

    >>> DGS([[1.0, 0.0], [0.0, 1.0]], 2, alpha=0.5).decide(0).ask
    True
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        delta: Annotated[float, Range(gt=0, le=1)] = 0.1,
        base: Annotated[float, Range(0)] = 1.0,
        history: Annotated[float, Range(0)] = 4.0,
        log: Annotated[float, Range(0)] = 36.0,
        alpha: Annotated[float | None, Range(0)] = None,
        **options: Unpack[CompositionOptions],
    ) -> None:
        query = (
            (rules.CONFIDENCE, delta, base, history, log) if alpha is None else (rules.LOG_CONFIDENCE, alpha)
        )
        super().__init__(embedding, n_classes, query=query, shrink=False, **options)


class RandomSampling(Composition):
    """Ask with probability p: the control.

    `second_order=False, update="mistake"` is the random + GPA of sslgc13; the
    fair control is random + OLLGC, `update="mistake"` one-vs-rest.

    >>> RandomSampling([[1.0, 0.0], [0.0, 1.0]], 2, p=0.1).decide(0).probability
    0.1
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        p: Annotated[float, Range(0, 1)] = 0.5,
        second_order: bool = True,
        **options: Unpack[CompositionOptions],
    ) -> None:
        super().__init__(embedding, n_classes, query=(rules.RANDOM, p), second_order=second_order, **options)


class MarginThreshold(Composition):
    """Ask iff the margin is at most tau: the control that is hard to beat; learn every answer.

    >>> MarginThreshold([[1.0, 0.0], [0.0, 1.0]], 2, tau=0.2).decide(0).ask
    True
    """

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        tau: Annotated[float, Range(0)] = 0.1,
        second_order: bool = True,
        **options: Unpack[CompositionOptions],
    ) -> None:
        super().__init__(
            embedding, n_classes, query=(rules.MARGIN, tau), second_order=second_order, **options
        )


ALGORITHMS: Registry[Factory] = Registry(
    "algorithm",
    {
        "gpa": GPA,
        "ollgc": OLLGC,
        "sslgc": SSLGC,
        "cmog": CMOG,
        "cmog_selected": CMOGSelected,
        "msg": MSG,
        "bbq": BBQ,
        "bbq_eps": BBQEps,
        "dgs": DGS,
        "random_sampling": RandomSampling,
        "margin_threshold": MarginThreshold,
        "pounce": POUNCE,
        "nearest": Nearest,
        "paced": Paced,
    },
    "algorithm",
)
"""Every algorithm by name.

>>> sorted(ALGORITHMS)[:3]
['bbq', 'bbq_eps', 'cmog']
"""
