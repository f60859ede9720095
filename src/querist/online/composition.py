"""A learner that is a composition: embedding x state x query rule x update rule.

`kernels.py` has its maths and `rules.py` its parts; catalogue.py names the compositions that the papers have.
"""

from typing import Annotated, Any, NamedTuple, Self, Unpack

import numpy as np

from querist.errors import InputError
from querist.locks import one_at_a_time
from querist.online import checks, kernels, loop
from querist.online.learner import Learner, LearnerOptions
from querist.online.pace import ring, spending
from querist.online.rules import (
    LIMITS,
    MARGIN_UNCERTAINTY,
    TARGETS,
    UPDATES,
    SchemeName,
    TargetName,
    UpdateName,
)
from querist.parameters import Default, Range
from querist.types import Codes, Floats


class CompositionOptions(LearnerOptions, total=False):
    """What a composition takes besides its query rule; `Learner` says what each option does."""

    update: Annotated[UpdateName, Default("always")]
    target: Annotated[TargetName, Default("rival")]
    gamma: Annotated[float, Default(1.0), Range(gt=0)]
    scheme: Annotated[SchemeName, Default("multiclass")]


class OnlineParts(NamedTuple):
    """All that a learner computes with."""

    rules: kernels.OnlineRules
    place: kernels.NodeRows
    state: kernels.OnlineState

    def saved_sizes(self) -> dict[str, int]:
        """Numbers for the names in the shapes of a saved learner; C is the number of problems."""
        rules, d = self.rules, self.place.rows.shape[1]
        alone, K = rules.binary and rules.n_classes == 2, rules.n_classes
        return {
            "K": K,
            "C": K if rules.binary and not alone else 1,
            "heads": 1 if alone else K,
            "d": d,
            "p": d if rules.second_order else 0,
            "ring": ring(rules).size,
        }

    def saved_faults(self) -> dict[str, Any]:
        """What kernels take for granted beside shapes and ranges."""
        rules = self.rules
        known = 0 <= rules.query < len(LIMITS)
        limits = LIMITS[rules.query] if known else ()
        numbers = rules.numbers[: len(limits)].tolist()
        return {
            f"query rule {rules.query}": not known,
            f"{rules.numbers.size} numbers for it": known and rules.numbers.size != max(1, len(limits)),
            f"numbers {numbers} for it": any(
                not low <= number <= high for number, (low, high) in zip(numbers, limits, strict=False)
            ),
            f"update {rules.update}": not 0 <= rules.update < len(UPDATES),
            f"gamma = {rules.gamma}": not rules.gamma > 0,
            f"target {rules.target}": not 0 <= rules.target < len(TARGETS),
        }

    def work(self) -> kernels.Scratch:
        """Working room of a round."""
        return kernels.scratch(self.rules.n_classes, self.state.variances.size, *self.state.W.shape)


class Composition(Learner):
    """An online learner on a graph: embedding x state x query rule x update rule.

    Parameters
    ----------
    query : the code of a query rule and its numbers (see `rules.py`)
    second_order : False keeps `A` at the identity: a perceptron
    shrink : score under the A that contains the node (msg16) or not (DGS); one-vs-rest never does (sslgc13)

    and those of `Learner`.
    """

    _steps = loop.Steps.of(kernels)
    _parts = OnlineParts

    def __init__(
        self,
        embedding: Any,
        n_classes: int,
        *,
        query: tuple[float, ...],
        second_order: bool = True,
        shrink: bool = True,
        **given: Unpack[CompositionOptions],
    ) -> None:
        scheme = given.get("scheme", "multiclass")
        options, tie_order = self._begin(embedding, n_classes, given, CompositionOptions, scheme)
        binary = scheme == "one-vs-rest"
        if binary and query[0] == MARGIN_UNCERTAINTY:
            raise InputError("MSG's margin compares classes: it has no one-vs-rest form; use multiclass")
        gamma = float(options["gamma"]) if second_order else 1.0
        place, safe = placed(embedding, gamma, tie_order)
        rules = kernels.OnlineRules(
            query=int(query[0]),
            numbers=np.array(query[1:] or [0.0], dtype=np.float64),
            update=UPDATES.index(options["update"]),
            target=TARGETS.index(options["target"]),
            second_order=second_order,
            shrink=shrink and second_order and not binary,
            binary=binary,
            n_classes=self.n_classes,
            gamma=gamma,
            **spending(options, len(place.rows)),
        )
        self._hold(OnlineParts(rules, place, fresh(rules, place)), safe)
        self._learned = []

    def _scores(self, rows: Codes | slice) -> Floats:
        """`f0 = W m`."""
        return np.asarray(self._place.rows[rows] @ self._state.W.T)

    def _play(self, nodes: Codes, codes: Codes, u: Floats, budget: int, record: loop.RunRecord) -> None:
        parts, screen = (self._rules, self._state, self._place), loop.screen(self._state, self._safe)
        loop.run_rounds(*parts, nodes, codes, u, budget, self._work, screen, record)

    @one_at_a_time
    def follow(self, embedding: Any) -> Self:
        """Go on in a graph that has grown, as `Learner.follow` says."""
        learned = self._answers()
        assert learned is not None
        ids = checks.grown_ids(self.ids, embedding)
        place, safe = placed(embedding, self._rules.gamma, self._place.tie_order)
        if len(place.rows) < self.n_nodes:
            raise InputError(
                f"{len(place.rows):,} rows for a learner that knows {self.n_nodes:,} nodes; nodes may be "
                "added at the end, not taken away"
            )
        old, before, state = self._state, self._place, fresh(self._rules, place)
        still = np.array_equal(place.rows[learned.nodes], before.rows[learned.nodes])
        parts = OnlineParts(self._rules, place, state)
        if still:
            state.touched[place.component[learned.nodes]] = True
            state = state._replace(P=old.P, W=old.W)
        else:
            rules = self._rules._replace(update=UPDATES.index("always"))
            loop.learn_again(rules, state, place, *learned, parts.work())
        state = state._replace(variances=old.variances, counts=old.counts, recent=old.recent)
        self._hold(parts._replace(state=state), safe)
        self.ids = ids
        return self


def placed(embedding: Any, gamma: float, tie_order: Codes) -> tuple[kernels.NodeRows, bool]:
    """Where the nodes of an embedding are, and whether blocks of rounds may be screened there."""
    rows = checks.checked_rows(embedding)
    prior = checks.prior_variances(rows, gamma)
    place = kernels.NodeRows(
        rows=rows,
        component=checks.checked_components(embedding, len(rows)),
        tie=1e-12 * np.minimum(1.0, prior),
        tie_order=tie_order,
    )
    return place, bool(prior.max() <= loop.SAFE)


def fresh(rules: kernels.OnlineRules, place: kernels.NodeRows) -> kernels.OnlineState:
    """The state of a learner that has learned nothing."""
    alone, d = rules.binary and rules.n_classes == 2, place.rows.shape[1]
    problems = rules.n_classes if rules.binary and not alone else 1
    prior = np.eye(d) / rules.gamma
    return kernels.OnlineState(
        P=np.repeat(prior[None], problems, axis=0) if rules.second_order else np.empty((problems, 0, 0)),
        W=np.zeros((1 if alone else rules.n_classes, d)),
        variances=np.zeros(problems),
        touched=np.zeros(int(place.component.max()) + 1, dtype=np.bool_),
        counts=np.zeros(3, dtype=np.int64),
        recent=ring(rules),
    )
