"""What to expect of each class, and of the likeliest nodes of one, in numbers and in sentences."""

from collections.abc import Hashable
from typing import Any

import numpy as np

from querist.labelling.decisions.estimate import LEAST, WANTED, Share
from querist.tables.formats import some
from querist.types import Codes, Floats

MARKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)
"""Nodes to check, of which is said how many are of a class."""


def class_numbers(labelling: Any) -> dict[str, Any]:
    """The measures beside accuracy, and those of each class by name; NaN is None."""
    estimate = labelling.estimate
    return {
        "majority": _known(estimate.majority),
        "balanced_accuracy": _known(estimate.balanced_accuracy),
        "macro_f1": _known(estimate.macro_f1),
        "by_class": {
            str(name): {
                "labels": own.labels,
                "precision": _numbers(own.precision),
                "recall": _numbers(own.recall),
                "f1": _known(own.f1),
                "average_precision": _numbers(own.average_precision),
                "calibration_error": _known(own.calibration_error),
                "threshold": labelling.decision.threshold(k),
                "labels_needed": own.needed,
            }
            for k, (name, own) in enumerate(zip(labelling.classes, estimate.classes, strict=False))
        },
    }


def class_sizes(labelling: Any) -> Codes:
    """(K,) how many nodes have each class as a label."""
    return np.asarray(labelling.said.sum(axis=0))


def class_words(labelling: Any, k: int) -> list[str]:
    """Precision, recall and average precision of a class; what is not known is empty."""
    if k >= len(labelling.estimate.classes):
        return ["", "", ""]
    own = labelling.estimate.classes[k]
    return [str(part) if part.is_known else "" for part in (own.precision, own.recall, own.average_precision)]


def rank_numbers(labelling: Any, name: Hashable) -> dict[str, Any]:
    """How many nodes of a class to expect in all, and among its 10, 20, 50, ... likeliest unlabelled ones."""
    p = falling(labelling, name)
    counts = [count for count in MARKS if count <= min(p.size, max(20, 2.5 * p.sum()))]
    return {
        "class": str(name),
        "expected": round(float(p.sum()), 1),
        "likeliest": [{"nodes": count, **_found(labelling, name, p, count)} for count in counts],
    }


def falling(labelling: Any, name: Hashable) -> Floats:
    """The probabilities of a class at the unlabelled nodes that are reached, the largest first."""
    free = labelling.reached & ~labelling.is_labelled
    return np.asarray(np.sort(labelling.probabilities[free, labelling.code_of(name)])[::-1])


def rarest(labelling: Any) -> Hashable:
    """The class that fewest nodes are expected to be of, if that is below half an even share; or None.

    Only classes with enough labels to be judged count.
    """
    free = labelling.reached & ~labelling.is_labelled
    judged = [k for k, own in enumerate(labelling.estimate.classes) if own.recall.is_known]
    if not judged or not free.any():
        return None
    shares = labelling.probabilities[free].mean(axis=0)
    k = min(judged, key=lambda k: float(shares[k]))
    return labelling.classes[k] if shares[k] < 0.5 / len(labelling.classes) else None


def sentences(labelling: Any, rank: Hashable = None) -> list[str]:
    """What stands beside the accuracy: the majority, the classes, the goal, the likeliest of a class."""
    estimate, said = labelling.estimate, []
    if estimate.is_known and np.isfinite(estimate.majority):
        mean = ""
        if np.isfinite(estimate.macro_f1):
            mean = f" Balanced accuracy {estimate.balanced_accuracy:.3f}, macro-F1 {estimate.macro_f1:.3f}"
            judged = sum(own.recall.is_known for own in estimate.classes)
            whole = judged == len(estimate.classes)
            mean += "." if whole else f", over the {judged} classes with {LEAST} labels or more."
        said.append(f"The class with most labels has {estimate.majority:.3f} of them.{mean}")
    goal = labelling.decision.goal
    if goal != "accuracy":
        said.append(
            f"Labels are chosen for {'the least costs' if goal == 'costs' else goal}{_from(labelling)}."
        )
    said += too_few(labelling)
    name = rarest(labelling) if rank is None else rank
    if name is not None:
        said.append(to_check(labelling, name))
    return said


def _from(labelling: Any) -> str:
    """From which probability on a node has each class, where that can be said and there are few."""
    at = {name: labelling.decision.threshold(k) for k, name in enumerate(labelling.classes)}
    if len(at) == 2 and not labelling.multilabel:
        rare = labelling.classes[int(np.argmin(labelling.probabilities[labelling.reached].mean(axis=0)))]
        at = {rare: at[rare]}
    if len(at) > 6 or any(level is None for level in at.values()):
        return ""
    return ": " + ", ".join(f"{name} from a probability of {level:.2f} on" for name, level in at.items())


def too_few(labelling: Any, most: int = 3) -> list[str]:
    """For the classes with too few labels to say anything of, how many would do."""
    known = zip(labelling.classes, labelling.estimate.classes, strict=False)
    few = [(name, own) for name, own in known if own.labels < LEAST]
    few.sort(key=lambda pair: pair[1].needed)
    said = [
        f"{name}: {some(own.labels, 'label')} cannot say how well it is found"
        + (f"; about {own.needed:,} drawn at random would hold {WANTED} of it." if own.needed else ".")
        for name, own in few[:most]
    ]
    rest = len(few) - most
    return said + ([f"Too few labels for {some(rest, 'other class', 'es')} as well."] if rest > 0 else [])


def to_check(labelling: Any, name: Hashable) -> str:
    """How many of the likeliest nodes of a class are of it: as many as there are of it, to a round number."""
    p = falling(labelling, name)
    if not p.size:
        return f"No unlabelled node is left that may be {name}."
    below = [mark for mark in MARKS if mark <= min(p.size, max(10.0, 1.05 * p.sum()))]
    count = below[-1] if below else p.size
    found = _found(labelling, name, p, count)
    between = f" ({found['low']:,} to {found['high']:,})" if found["low"] is not None else ""
    said = (
        f"Check the {count:,} likeliest: about {found['of_class']:,}{between} are {name}, "
        f"of about {p.sum():,.0f} in all."
    )
    own = next(iter(labelling.estimate.classes[labelling.code_of(name) :]), None)
    if own is None or own.labels < LEAST or not own.needed:
        return said
    return (
        f"{said} Intervals are wide, for there are {own.labels} labels of {name}: "
        f"about {own.needed:,} drawn at random would hold {WANTED}."
    )


def _found(labelling: Any, name: Hashable, p: Floats, count: int) -> dict[str, int | None]:
    """How many of the first `count` of falling probabilities are of the class, with bounds where known."""
    share = labelling.among_likeliest(name, count)
    bounds = (round(share.low * count), round(share.high * count)) if share.is_known else (None, None)
    middle = share.value if share.is_known else float(p[:count].mean())
    return {"of_class": round(middle * count), "low": bounds[0], "high": bounds[1]}


def _numbers(share: Share) -> dict[str, float | None]:
    shown = share._replace(value=share.value if share.is_narrow else float("nan"))
    return {name: _known(value) if share.is_known else None for name, value in shown._asdict().items()}


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
