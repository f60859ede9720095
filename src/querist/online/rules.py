"""When to ask, when to learn, towards what: the parts of a composition, by name and by code.

An online algorithm is a composition `embedding x state x query rule x update rule` (docs/architecture.md).
A query rule is a code and its numbers; `kernels.py` holds its maths under the same code, so that one compiled
loop serves every composition. The rules ask about

- ALWAYS: every node.
- RANDOM (p): with probability p, the control that every clever rule must beat.
- VARIANCE (kappa): iff `r/(1+r) > t^-kappa` (sslgc13, Alg. 2; BBQ).
- EPSILON (eps): iff `r/(1+r) >= eps` (BBQ-eps).
- CONFIDENCE (delta, base, history, log): iff `Delta^2 <= r (base + history * sum of r over earlier asks +
  log * ln(t/delta))` (DGS). The published constants 1, 4 and 36 are so large that every node of a real graph
  is asked about, as the table of msg16 shows; lower ones save questions.
- LOG_CONFIDENCE (alpha): iff `Delta^2 <= alpha r ln(t+1)`, DGS with one constant.
- MARGIN_UNCERTAINTY (h): with `Theta = Delta^2/2 + 2 Delta - K r/(1+r)`, for certain iff `Theta < 0`,
  otherwise iff `u < 2h/(2h + Theta)` (MSG; msg16, Definition 2; the text after it prints h for 2h).
- MARGIN (tau): iff `Delta <= tau`, the other control; it needs no variance and no draw.

Letters: `t` the round (from 1), `r` the variance of a node before the round, `Delta` the margin (best score
minus second best; |f| for a binary problem), `K` the number of classes, `u` a uniform draw.
"""

import math
from typing import Literal, TypeAlias, get_args

ALWAYS, RANDOM, VARIANCE, EPSILON, CONFIDENCE, LOG_CONFIDENCE, MARGIN_UNCERTAINTY, MARGIN = range(8)
SIZE, SHARE = (0.0, math.inf), (0.0, 1.0)
LIMITS = ((), (SHARE,), (SHARE,), (SIZE,), (SHARE, SIZE, SIZE, SIZE), (SIZE,), (SIZE,), (SIZE,))
"""Between what the numbers of a rule lie, by its code."""

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
