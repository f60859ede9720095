"""What of a stream learner goes to disk (`querist.saved`), and how it is rebuilt from there."""

from os import PathLike
from typing import Any

from querist import saved
from querist.budgeted import learner as protocol
from querist.budgeted.budget import housed
from querist.budgeted.similarity import Gram
from querist.budgeted.step import BudgetRules, BudgetState
from querist.errors import InputError

FORMAT = 2


def save(
    learner: "protocol.StreamLearner", path: str | PathLike[str], extra: dict[str, Any] | None = None
) -> None:
    """Write the learner, and something of the caller's own, to `path`, replacing it in one step."""
    about = {
        "format": FORMAT,
        "n_classes": learner.n_classes,
        "kernel": None if callable(learner.kernel) else learner.kernel,
        "kernel_params": learner.kernel_params,
        "rules": learner.rules._asdict(),
        "warm": learner.warm,
        "floor": learner.floor,
        "extra": extra or {},
    }
    arrays = {} if learner.state is None else learner.state._asdict()
    try:
        saved.write(path, about, {"first": learner.first, **arrays})
    except TypeError as problem:
        raise InputError(
            f"{problem}; a learner can be saved when its classes, feature names and kernel_params are "
            "strings, numbers or booleans"
        ) from None


def load(
    path: str | PathLike[str], kernel: Gram | None = None
) -> tuple["protocol.StreamLearner", dict[str, Any]]:
    """The learner, bit for bit, and the caller's own; a kernel that was a function is given again."""
    about, arrays = saved.read(path, FORMAT)
    rules = BudgetRules(**about["rules"])
    state = (
        housed(BudgetState(**{name: arrays[name] for name in BudgetState._fields})) if "H" in arrays else None
    )
    first = arrays["first"]
    named: str | Gram | None = about["kernel"] or kernel
    if named is None:
        raise InputError(f"{path}: its kernel was a function, which a file cannot hold; give it as kernel=")
    learner = protocol.StreamLearner(
        about["n_classes"], kernel=named, width=rules.width, kernel_params=about["kernel_params"]
    )
    learner.rules, learner.state, learner.first = rules, state, first
    learner.warm, learner.floor = about["warm"], about["floor"]
    return learner, about["extra"]
