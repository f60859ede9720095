"""What of a learner goes to disk (`querist.saved`), and how it is rebuilt from there.

What a file says is compared with `TABLES` before a kernel sees it, and open questions, ids and numbers with
what the learner would have taken from its user.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import fields
from os import PathLike
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from querist import saved
from querist.errors import InputError, refuse
from querist.fields import ArrayField, as_record, checked, floats, truths, whole
from querist.matrices import checked_sparse
from querist.online import checks, learner as protocol
from querist.online.checks import Ids
from querist.online.cover_learner import CoverLearner
from querist.online.fastonl_learner import FastonlLearner, check_walk
from querist.online.pace import ring
from querist.online.paced_learner import PacedLearner, check_numbers
from querist.online.rules import RULES, Scheme, Target, Update

FORMAT = 2

KINDS: dict[str, type[protocol.Learner]] = {
    "state": protocol.Learner,
    "cover": CoverLearner,
    "paced": PacedLearner,
    "fastonl": FastonlLearner,
}
"""What a file may hold."""

Fields = dict[str, ArrayField]


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
    with saved.rebuilding(path):
        return _rebuilt(about, arrays)


def _rebuilt(about: Mapping[str, Any], arrays: Mapping[str, Any]) -> "protocol.Learner":
    kind, table = KINDS[about["kind"]], TABLES[about["kind"]]
    Rules, Place, State = kind._parts
    rules = as_record(Rules, about["rules"])
    # Files of 0.1.0 know no pace: what they lack has a default.
    arrays = {**State._field_defaults, **arrays}
    K, C = rules.n_classes, table.problems(rules)
    sizes = checked(arrays, {**_common(rules, arrays), **table.fields(rules, arrays)}, {"K": K, "C": C})
    refuse(table.faults(rules, arrays))
    scheme, n, names = Scheme(about["scheme"]), sizes["n"], about.get("nodes")  # 0.1.0 knows no ids either
    seed, budget, safe = about["seed"], about["budget"], about["safe"]
    refuse(
        {
            f"{about['n_classes']!r} classes and rules for {K}": about["n_classes"] != K,
            f"tie_order is {arrays['tie_order']}": set(arrays["tie_order"].tolist()) != set(range(K)),
            f"scheme {scheme.name} with other rules": rules.binary != (scheme is Scheme.ONE_VS_REST),
            f"seed {seed!r}, budget {budget!r}, safe {safe!r}": (
                type(seed) is not int or type(budget) not in (int, NoneType) or type(safe) is not bool
            ),
            f"rules for a budget of {rules.budget}": rules.budget not in (-1, budget),
            f"{n} rows and other ids": names is not None and not (len(names) == n and _are_ids(names)),
        }
    )
    learner = kind.__new__(kind)
    learner._begin(
        K,
        scheme,
        seed,
        budget,
        tuple(map(str, about["notes"])),
        None if names is None else Ids(tuple(_as_tuple(name) for name in names)),
    )
    learner._rules = rules
    learner._place = Place(**{name: arrays[name] for name in Place._fields})
    learner._state = State(**{name: arrays[name] for name in State._fields})
    learner._pending = {
        checks.checked_node(int(row), n): deque(_question(kept, C) for kept in queue)
        for row, queue in about["pending"].items()
    }
    learner._work = kind._maths.scratch(learner._rules, learner._state)
    learner._safe = safe
    return learner


def _question(kept: list[Any], problems: int) -> "protocol.OpenQuestion":
    t, certain, asks = kept
    if type(t) is not int or [type(flag) for flag in (certain, *asks)] != [bool] * (1 + problems):
        raise InputError(f"an open question {kept!r} of {problems} problems")
    return protocol.OpenQuestion(t, certain, tuple(asks))


# -- what the arrays of each kind must be --------------------------------------------------


class LearnerTable(NamedTuple):
    """What kernels of one kind take for granted.

    problems : by the rules
    fields : of the arrays, in terms of the sizes n, d, K, C (problems) and parts (components)
    faults : what no field can say, as messages and whether they are true
    """

    problems: Callable[[Any], int]
    fields: Callable[[Any, Mapping[str, Any]], Fields]
    faults: Callable[[Any, Mapping[str, Any]], dict[str, Any]]


def _common(rules: Any, arrays: Mapping[str, Any]) -> Fields:
    if not len(arrays["rows"]):
        raise InputError("there are no rows")
    return {
        "rows": floats("n d"),
        "tie": floats("n", least=0),
        "tie_order": whole("K", below="K"),
        "recent": floats(str(ring(rules).size), finite=False),
    }


_BY_PART = {"touched": truths("parts"), "component": whole("n", below="parts"), "counts": whole("3")}


def _online_fields(rules: Any, arrays: Mapping[str, Any]) -> Fields:
    return {
        **_BY_PART,
        "variances": floats("C", least=0),
        "P": floats("C d d" if rules.second_order else "C 0 0"),
        "W": floats("1 d" if rules.binary and rules.n_classes == 2 else "K d"),
    }


def _online_faults(rules: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    rule = RULES[rules.query]
    count = len(fields(rule))
    rule(*rules.numbers[:count].tolist())  # it checks its own numbers
    return {
        f"{rules.numbers.size} numbers for {rule.__name__}": rules.numbers.size != max(1, count),
        f"update {rules.update}": rules.update not in list(Update),
        f"target {rules.target}": rules.target not in list(Target),
    }


def _cover_fields(rules: Any, arrays: Mapping[str, Any]) -> Fields:
    measured = arrays["distance"].size > 0
    return {
        "rows": floats("n 0" if measured else "n d"),
        "distance": floats("n n" if measured else "0 0", finite=False),
        "prior": floats("n", finite=False),
        "least": floats("1", least=0),
        "known": whole("C n", below="n"),
        "sizes": whole("C"),
        "sign": floats("C n"),
        "w": floats("C n" if measured else "C d"),
        "met": whole("n", below="n"),
        "in_cover": truths("n"),
        "counts": whole("4"),
    }


def _cover_faults(rules: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """A node that is remembered twice, or not found again, would be written beyond the last."""
    known, sizes, distance = arrays["known"], arrays["sizes"], arrays["distance"]
    covers = [own[:size].tolist() for own, size in zip(known, sizes, strict=True)]
    met, members = arrays["met"][: arrays["counts"][3]].tolist(), np.flatnonzero(arrays["in_cover"]).tolist()
    return {
        "more nodes remembered than there are": max(*sizes, arrays["counts"][3]) > known.shape[1],
        "a node remembered twice": any(len(set(own)) != len(own) for own in covers),
        "covers of one problem that differ": not rules.binary and any(own != covers[0] for own in covers),
        "met is not what the covers hold": (
            sorted(met) != members or set(members) != {node for own in covers for node in own}
        ),
        "distances that are none": bool(
            np.isnan(distance).any() or np.isnan(arrays["prior"]).any() or np.diagonal(distance).any()
        ),
    }


def _paced_fields(rules: Any, arrays: Mapping[str, Any]) -> Fields:
    return {
        **_BY_PART,
        "indptr": whole(str(len(arrays["rows"]) + 1)),
        "indices": whole("entries", below="n"),
        "entries": floats("entries"),
        "own": floats("n"),
        "bearing": floats("n"),
        "P": floats("d d"),
        "W": floats("K d"),
        "b": floats("n K"),
        "left": floats("n"),
    }


def _paced_faults(rules: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    _check_neighbours(arrays)
    check_numbers(rules.gamma, rules.local, rules.sharpness)
    return {"binary rules": rules.binary}


def _fastonl_fields(rules: Any, arrays: Mapping[str, Any]) -> Fields:
    n, d = arrays["rows"].shape
    nodes = "0" if d else "n"
    return {
        **_BY_PART,
        "indptr": whole("0" if d else str(n + 1)),
        "indices": whole("0" if d else "entries", below="n"),
        "entries": floats("0" if d else "entries"),
        "roots": floats(nodes, least=0),
        "gradients": floats(f"{nodes} K"),
        "W": floats("K d"),
        "sums": floats("2"),
    }


def _fastonl_faults(rules: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    if arrays["indptr"].size:
        _check_neighbours(arrays)
    check_walk(rules.alpha, rules.eps)
    return {"binary rules": rules.binary}


def _check_neighbours(arrays: Mapping[str, Any]) -> None:
    n = len(arrays["rows"])
    parts = (arrays["entries"], arrays["indices"], arrays["indptr"])
    checked_sparse(sp.csr_array(parts, shape=(n, n)), "neighbours")


def _one_a_class(rules: Any) -> int:
    return 1 if rules.n_classes == 2 else int(rules.n_classes)


TABLES = {
    "state": LearnerTable(
        lambda rules: _one_a_class(rules) if rules.binary else 1, _online_fields, _online_faults
    ),
    "cover": LearnerTable(
        lambda rules: _one_a_class(rules) if rules.binary else rules.n_classes, _cover_fields, _cover_faults
    ),
    "paced": LearnerTable(lambda rules: 1, _paced_fields, _paced_faults),
    "fastonl": LearnerTable(lambda rules: 1, _fastonl_fields, _fastonl_faults),
}


# -- ids --------------------------------------------------------------------------------


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


def _are_ids(names: list[Any]) -> bool:
    """Whether JSON lists ids that could have been saved, each once."""
    ids = [_as_tuple(name) for name in names]
    return all(map(_is_plain, ids)) and len(set(ids)) == len(ids)


def _as_tuple(name: Any) -> Any:
    return tuple(map(_as_tuple, name)) if isinstance(name, list) else name
