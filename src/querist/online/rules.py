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
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

from querist.parameters import Range, check_values, parameters_of

UpdateName: TypeAlias = Literal["mistake", "always", "certain"]
"""Which answers are learned: those to wrong predictions (conservative: GPA, OLLGC, SSLGC, CMOG); all (BBQ,
BBQ-eps, DGS); or all answers to certain questions and mistakes among the drawn ones (aggressive: MSG)."""
TargetName: TypeAlias = Literal["rival", "one-hot"]
"""What a learned answer pulls the scores towards: 1 for the true class, and -1 for the best other one
(msg16, Definition 1) or 0 elsewhere."""
SchemeName: TypeAlias = Literal["multiclass", "one-vs-rest"]
"""One problem over all classes, or one binary problem per class."""

UPDATES: tuple[UpdateName, ...] = get_args(UpdateName)
TARGETS: tuple[TargetName, ...] = get_args(TargetName)


@dataclass(frozen=True)
class QueryRule:
    """Numbers, and the code under which the kernels know their maths.

    >>> rule: QueryRule = Variance(kappa=0.4)
    >>> rule.code
    2
    """

    code: ClassVar[int]

    def __post_init__(self) -> None:
        check_values(parameters_of(type(self)), vars(self))


@dataclass(frozen=True)
class Always(QueryRule):
    """Ask about every node.

    >>> Always() == Always()
    True
    """

    code = 0


@dataclass(frozen=True)
class Random(QueryRule):
    """Ask with probability p: the control that every clever rule must beat.

    >>> Random(p=0.1).p
    0.1
    """

    p: Annotated[float, Range(0, 1)] = 0.5
    code = 1


@dataclass(frozen=True)
class Variance(QueryRule):
    """Ask iff `r/(1+r) > t^-kappa` (sslgc13, Alg. 2; BBQ).

    >>> Variance().kappa
    0.4
    """

    kappa: Annotated[float, Range(0, 1)] = 0.4
    code = 2


@dataclass(frozen=True)
class Epsilon(QueryRule):
    """Ask iff `r/(1+r) >= eps` (BBQ-eps).

    >>> Epsilon(eps=0.01).eps
    0.01
    """

    eps: Annotated[float, Range(0)] = 1e-3
    code = 3


@dataclass(frozen=True)
class Confidence(QueryRule):
    """DGS: ask iff `Delta^2 <= r (base + history * sum of r over earlier asks + log * ln(t/delta))`.

    The published constants are 1, 4 and 36. They are so large that every node of
    a real graph is asked about, as the table of msg16 shows; lower them to save
    questions.

    >>> Confidence(log=1.0).history
    4.0
    """

    delta: Annotated[float, Range(gt=0, le=1)] = 0.1
    base: Annotated[float, Range(0)] = 1.0
    history: Annotated[float, Range(0)] = 4.0
    log: Annotated[float, Range(0)] = 36.0
    code = 4


@dataclass(frozen=True)
class LogConfidence(QueryRule):
    """DGS with one constant: ask iff `Delta^2 <= alpha r ln(t+1)`.

    >>> LogConfidence(alpha=0.5).alpha
    0.5
    """

    alpha: Annotated[float, Range(0)] = 1.0
    code = 5


@dataclass(frozen=True)
class Margin(QueryRule):
    """Ask iff `Delta <= tau`: the other control. It needs no variance and no draw.

    >>> Margin(tau=0.2).tau
    0.2
    """

    tau: Annotated[float, Range(0)] = 0.1
    code = 7


@dataclass(frozen=True)
class MarginUncertainty(QueryRule):
    """MSG: with `Theta = Delta^2/2 + 2 Delta - K r/(1+r)`, ask for certain iff
    `Theta < 0`, otherwise iff `u < 2h/(2h + Theta)` (msg16, Definition 2).

    The text after Definition 2 prints h for 2h; the definition holds.

    >>> MarginUncertainty().h
    0.01
    """

    h: Annotated[float, Range(gt=0)] = 0.01
    code = 6


RULES = {rule.code: rule for rule in QueryRule.__subclasses__()}
"""Rules by their code."""
