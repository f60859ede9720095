"""What of a learner goes to disk (`querist.saved`), and how it is rebuilt from there."""

from collections import deque
from os import PathLike
from typing import Any

import numpy as np

from querist import saved
from querist.errors import InputError
from querist.online import learner as protocol
from querist.online.checks import Ids
from querist.online.cover_learner import CoverLearner
from querist.online.fastonl_learner import FastonlLearner
from querist.online.paced_learner import PacedLearner
from querist.online.rules import Scheme

FORMAT = 2

KINDS: dict[str, type[protocol.Learner]] = {
    "state": protocol.Learner,
    "cover": CoverLearner,
    "paced": PacedLearner,
    "fastonl": FastonlLearner,
}
"""What a file may hold."""


def save(learner: "protocol.Learner", path: str | PathLike[str]) -> None:
    """Write the learner to `path`, replacing it in one step."""
    rules = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in learner._rules._asdict().items()
    }
    about = {
        "format": FORMAT,
        "kind": next(name for name, kind in KINDS.items() if kind is type(learner)),
        "n_classes": learner.n_classes,
        "budget": learner.budget,
        "seed": learner.seed,
        "scheme": int(learner.scheme),
        "notes": list(learner.notes),
        "nodes": None if learner.ids is None else _plain_ids(learner.ids),
        "safe": learner._safe,
        "rules": rules,
        "pending": {
            node: [[q.round, q.certain, list(q.asks)] for q in queue]
            for node, queue in learner._pending.items()
        },
    }
    saved.write(path, about, {**learner._place._asdict(), **learner._state._asdict()})


def load(path: str | PathLike[str]) -> "protocol.Learner":
    """Read a learner back; decisions, draws and state go on bit for bit."""
    about, arrays = saved.read(path, FORMAT)
    kind = KINDS[about["kind"]]
    Rules, Place, State = kind._parts
    learner = kind.__new__(kind)
    # Files of 0.1.0 have no ids.
    names = about.get("nodes")
    learner._begin(
        about["n_classes"],
        Scheme(about["scheme"]),
        about["seed"],
        about["budget"],
        tuple(about["notes"]),
        None if names is None else Ids(tuple(_as_tuple(name) for name in names)),
    )
    rules = {
        name: np.array(value, dtype=np.float64) if isinstance(value, list) else value
        for name, value in about["rules"].items()
    }
    learner._rules = Rules(**rules)
    learner._place = Place(**{name: arrays[name] for name in Place._fields})
    # Those of 0.1.0 know no pace either: what they lack has a default.
    lacking = State._field_defaults.keys() - arrays.keys()
    learner._state = State(**{name: arrays[name] for name in State._fields if name not in lacking})
    learner._pending = {
        int(node): deque(protocol.OpenQuestion(t, certain, tuple(asks)) for t, certain, asks in queue)
        for node, queue in about["pending"].items()
    }
    learner._work = kind._maths.scratch(learner._rules, learner._state)
    learner._safe = about["safe"]
    return learner


def _plain_ids(ids: Ids) -> list[Any]:
    """Ids that JSON gives back as they were: text, numbers, and tuples of them."""
    strange = next((name for name in ids.names if not _is_plain(name)), None)
    if strange is not None:
        raise InputError(
            f"node id {strange!r} is neither text nor a number, and cannot be saved; save learner.by_row(), "
            "which goes by row numbers"
        )
    return list(ids.names)


def _is_plain(name: Any) -> bool:
    return isinstance(name, str | int | float) or (isinstance(name, tuple) and all(map(_is_plain, name)))


def _as_tuple(name: Any) -> Any:
    return tuple(map(_as_tuple, name)) if isinstance(name, list) else name
