"""When to ask, when to learn, towards what: small frozen values.

An online algorithm is a composition `embedding x state x query rule x update
rule` (docs/architecture.md). The values here name the parts and check their
parameters; `kernels.py` holds their maths under the same integer codes, so that
one compiled loop serves every composition.

Letters: `t` the round (from 1), `r` the variance of a node before the round,
`Delta` the margin (best score minus second best; |f| for a binary problem),
`K` the number of classes, `u` a uniform draw.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, Protocol

from querist.errors import InputError
from querist.parameters import is_finite


class QueryRule(Protocol):
    """A dataclass of numbers, and the code under which the kernels know its maths.

    >>> rule: QueryRule = Variance(kappa=0.4)
    >>> rule.code
    2
    """

    code: ClassVar[int]
    __dataclass_fields__: ClassVar[dict[str, Any]]


class Update(IntEnum):
    """Which answers are learned.

    >>> [update.name for update in Update]
    ['MISTAKE', 'ALWAYS', 'CERTAIN']
    """

    MISTAKE = 0
    """Only where the prediction was wrong: conservative (GPA, OLLGC, SSLGC, CMOG)."""
    ALWAYS = 1
    """Every answer (BBQ, BBQ-eps, DGS)."""
    CERTAIN = 2
    """Every answer to a certain question, mistakes among the drawn ones: aggressive (MSG)."""


class Target(IntEnum):
    """The vector a learned answer pulls the scores towards.

    >>> [target.name for target in Target]
    ['RIVAL', 'ONE_HOT']
    """

    RIVAL = 0
    """+1 for the true class, -1 for the best other one (msg16, Definition 1)."""
    ONE_HOT = 1
    """1 for the true class, 0 elsewhere."""


class Scheme(IntEnum):
    """One problem over all classes, or one binary problem a class.

    >>> [scheme.name for scheme in Scheme]
    ['MULTICLASS', 'ONE_VS_REST']
    """

    MULTICLASS = 0
    ONE_VS_REST = 1


def _require(good: bool, name: str, value: float, need: str) -> None:
    if not (good and is_finite(value)):
        raise InputError(f"{name} = {value!r}; it must be {need}")


@dataclass(frozen=True, slots=True)
class Always:
    """Ask about every node.

    >>> Always() == Always()
    True
    """

    code: ClassVar[int] = 0


@dataclass(frozen=True, slots=True)
class Random:
    """Ask with probability p: the control that every clever rule must beat.

    >>> Random(p=0.1).p
    0.1
    """

    p: float = 0.5
    code: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _require(0 <= self.p <= 1, "p", self.p, "a probability between 0 and 1")


@dataclass(frozen=True, slots=True)
class Variance:
    """Ask iff `r/(1+r) > t^-kappa` (sslgc13, Alg. 2; BBQ).

    >>> Variance().kappa
    0.4
    """

    kappa: float = 0.4
    code: ClassVar[int] = 2

    def __post_init__(self) -> None:
        _require(0 <= self.kappa <= 1, "kappa", self.kappa, "between 0 and 1")


@dataclass(frozen=True, slots=True)
class Epsilon:
    """Ask iff `r/(1+r) >= eps` (BBQ-eps).

    >>> Epsilon(eps=0.01).eps
    0.01
    """

    eps: float = 1e-3
    code: ClassVar[int] = 3

    def __post_init__(self) -> None:
        _require(self.eps >= 0, "eps", self.eps, "0 or more")


@dataclass(frozen=True, slots=True)
class Confidence:
    """DGS: ask iff `Delta^2 <= r (base + history * sum of r over earlier asks + log * ln(t/delta))`.

    The published constants are 1, 4 and 36. They are so large that every node of
    a real graph is asked about, as the table of msg16 shows; lower them to save
    questions.

    >>> Confidence(log=1.0).history
    4.0
    """

    delta: float = 0.1
    base: float = 1.0
    history: float = 4.0
    log: float = 36.0
    code: ClassVar[int] = 4

    def __post_init__(self) -> None:
        _require(0 < self.delta <= 1, "delta", self.delta, "above 0 and at most 1")
        for name in ("base", "history", "log"):
            _require(getattr(self, name) >= 0, name, getattr(self, name), "0 or more")


@dataclass(frozen=True, slots=True)
class LogConfidence:
    """DGS with one constant: ask iff `Delta^2 <= alpha r ln(t+1)`.

    >>> LogConfidence(alpha=0.5).alpha
    0.5
    """

    alpha: float = 1.0
    code: ClassVar[int] = 5

    def __post_init__(self) -> None:
        _require(self.alpha >= 0, "alpha", self.alpha, "0 or more")


@dataclass(frozen=True, slots=True)
class MarginThreshold:
    """Ask iff `Delta <= tau`: the other control. It needs no variance and no draw.

    >>> MarginThreshold(tau=0.2).tau
    0.2
    """

    tau: float = 0.1
    code: ClassVar[int] = 7

    def __post_init__(self) -> None:
        _require(self.tau >= 0, "tau", self.tau, "0 or more")


@dataclass(frozen=True, slots=True)
class MarginUncertainty:
    """MSG: with `Theta = Delta^2/2 + 2 Delta - K r/(1+r)`, ask for certain iff
    `Theta < 0`, otherwise iff `u < 2h/(2h + Theta)` (msg16, Definition 2).

    The text after Definition 2 prints h for 2h; the definition holds.

    >>> MarginUncertainty().h
    0.01
    """

    h: float = 0.01
    code: ClassVar[int] = 6

    def __post_init__(self) -> None:
        _require(self.h > 0, "h", self.h, "above 0")


RULES: dict[int, type[Any]] = {
    rule.code: rule
    for rule in (
        *(Always, Random, Variance, Epsilon),
        *(Confidence, LogConfidence, MarginUncertainty, MarginThreshold),
    )
}
"""Rules by their code."""
