"""The stream learner behind river's contract: feature dicts, classes and features as they come."""

from collections.abc import Hashable, Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from river import base

from querist.budgeted.learner import ConditionName, StrategyName, StreamLearner
from querist.budgeted.similarity import Gram
from querist.errors import InputError
from querist.labels import plain

OWN = (
    "strategy",
    "condition",
    "kernel",
    "width",
    "lambda1",
    "lambda2",
    "epsilon",
    "budget_labelled",
    "budget_unlabelled",
    "ridge",
    "limit",
)


class RiverBudgetedLeastSquares(base.Classifier):
    """Budgeted least squares (bls19) for river: `learn_one`, `predict_one`, `predict_proba_one`.

    An unlabelled item is `learn_one(x)` or `learn_one(x, None)`. A feature that an item does not
    have is 0; a new feature was 0 in all earlier items; a new class was none of theirs: both
    enter exactly, without another pass. The parameters are those of
    `querist.budgeted.learner.StreamLearner`.

    >>> model = RiverBudgetedLeastSquares()
    >>> for x, y in [({"a": 0.0}, "low"), ({"a": 9.0}, "high"), ({"a": 0.2}, None), ({"a": 8.7}, None)]:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 8.5}), model.predict_one({"a": 0.3})
    ('high', 'low')
    """

    def __init__(
        self,
        strategy: StrategyName = "remove",
        condition: ConditionName | None = None,
        kernel: str | Gram = "rbf",
        width: float | None = None,
        lambda1: float = 1.0,
        lambda2: float = 0.1,
        epsilon: float = 0.25,
        budget_labelled: int = 150,
        budget_unlabelled: int = 300,
        ridge: float = 1e-4,
        limit: int | None = None,
    ) -> None:
        self.strategy = strategy
        self.condition = condition
        self.kernel = kernel
        self.width = width
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.epsilon = epsilon
        self.budget_labelled = budget_labelled
        self.budget_unlabelled = budget_unlabelled
        self.ridge = ridge
        self.limit = limit
        self._classes: list[Hashable] = []
        self._features: dict[Hashable, int] = {}
        # The second class stands for any that has not been seen yet.
        self._learner = StreamLearner(2, **{name: getattr(self, name) for name in OWN})

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable = None) -> None:
        """Learn from an item; without y it is unlabelled."""
        values = _numbers(x)
        self._learner.run(self._row(values, grow=True), np.array([self._code(y)]))

    def predict_proba_one(self, x: Mapping[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """`(1 + f)/2`, within 0 and 1, for every class seen; they sum to 1. Empty before the first."""
        values = _numbers(x)
        if not self._classes:
            return {}
        if len(self._classes) == 1:
            return {self._classes[0]: 1.0}
        f = self._learner.scores(self._row(values, grow=False))[0]
        both = np.array([-f[0], f[0]]) if f.size == 1 else f
        p = np.clip((1 + both) / 2, 0.0, 1.0)
        p = p / p.sum() if p.sum() > 0 else np.full(p.size, 1 / p.size)
        return dict(zip(self._classes, p.tolist(), strict=True))

    # -- saved state -----------------------------------------------------------

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, without pickle; `load` goes on with the same bits."""
        from querist.budgeted.storage import save

        params = {name: getattr(self, name) for name in OWN if not callable(getattr(self, name))}
        save(
            self._learner,
            path,
            {"river": params, "classes": self._classes, "features": list(self._features)},
        )

    @classmethod
    def load(cls, path: str | PathLike[str], kernel: Gram | None = None) -> "RiverBudgetedLeastSquares":
        """The model that `save` wrote; a kernel that was a function must be given again."""
        from querist.budgeted.storage import load

        learner, extra = load(path, kernel)
        if "river" not in extra:
            raise InputError(f"{path}: was saved by another class; load it with that one")
        model = cls(**{**extra["river"], **({} if kernel is None else {"kernel": kernel})})
        model._learner, model._classes = learner, extra["classes"]
        model._features = {name: i for i, name in enumerate(extra["features"])}
        return model

    # -- names to numbers --------------------------------------------------------

    def _code(self, y: Hashable) -> int:
        if y is None:
            return -1
        label = plain(y)
        if label not in self._classes:
            if len(self._classes) == self._learner.n_classes:
                self._learner.add_class()
            self._classes.append(label)
        return self._classes.index(label)

    def _row(self, values: Mapping[Hashable, float], grow: bool) -> Any:
        """A sparse row; features that nobody knows are new, or, in a prediction, met by zeros everywhere."""
        known, room = self._features, self._learner.n_features or 0
        strange = sorted((name for name in values if name not in known), key=repr)
        if grow:
            for name in strange:
                known[name] = len(known)
        columns = {name: known.get(name, len(known) + i) for i, name in enumerate(_first(strange, values))}
        needed = max(1, len(known) + (0 if grow else len(strange)))
        if needed > room:
            room = max(needed, 2 * room) if grow and room else needed
            # A prediction changes nothing that can be seen: the new rows are zeros.
            self._learner.widen(room)
        pairs = sorted((columns[name], value) for name, value in values.items() if value != 0)
        indices, data = [i for i, _ in pairs], [v for _, v in pairs]
        return sp.csr_array((np.array(data, dtype=np.float64), indices, [0, len(data)]), shape=(1, room))


def _first(strange: Iterable[Hashable], values: Mapping[Hashable, float]) -> list[Hashable]:
    """Strange names first, so that their places follow the known ones."""
    ahead = list(strange)
    return [*ahead, *(name for name in values if name not in set(ahead))]


def _numbers(x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
    values: dict[Hashable, float] = {}
    for name, value in x.items():
        try:
            values[name] = float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"feature {name!r} is {value!r}; it must be a number. Encode it first, as with "
                "river's OneHotEncoder"
            ) from None
        if not np.isfinite(values[name]):
            raise InputError(f"feature {name!r} is {value!r}; leave it out, or replace it by a finite number")
    return values
