"""What `auto` took and why: scores, weights, and the reasons in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from querist.labelling.workspace import Member


@dataclass(frozen=True)
class Score:
    """How a member did on held-out labels, and its weight in what was taken."""

    name: str
    what: str
    accuracy: float
    log_loss: float
    weight: float


@dataclass(frozen=True)
class Choice:
    """What was taken and why; `scores` holds every member that was tried, the heaviest first."""

    method: str
    representation: str
    why: tuple[str, ...]
    scores: tuple[Score, ...]


def explained(
    members: Mapping[str, Member],
    scores: Sequence[Score],
    skipped: Sequence[str],
    *,
    asked: bool,
    folds: int,
    labels: int,
    matched: bool,
    self_training: Mapping[str, float],
) -> Choice:
    """The choice in words. `asked`: the user named the method; `self_training`: the weights of its models."""
    words = any(member.method.uses_attributes for member in members.values())
    representation = "attributes and links" if words else "links"
    alone = len(members) == 1
    if asked:
        why = [f"{scores[0].name}, as asked for."]
    elif alone:
        why = [f"{scores[0].what} ({scores[0].name}) is the one method that fits this graph and the time."]
    else:
        sources = "attributes and links" if words else "links alone"
        why = [f"{len(scores)} methods were tried on {sources}.", *_weighed(scores, folds, labels)]
    if matched:
        why.append("The classes' shares were matched to those of the labels.")
    if self_training:
        weights = " and ".join(f"that of the {name} {w:.2f}" for name, w in self_training.items())
        why.append(
            "One step of self-training on all nodes followed. Its models weigh by held-out labels: "
            f"{weights} (from 0 to 2; 1 where the labels cannot tell)."
        )
    if skipped:
        why.append(f"Left out, since they would take too long on this graph: {', '.join(skipped)}.")
    method = scores[0].name if alone else "combination of " + ", ".join(s.name for s in heavy(scores))
    return Choice(method, representation, tuple(why), tuple(scores))


def heavy(scores: Sequence[Score]) -> list[Score]:
    """Those that carry the answer: at least half of an even share."""
    return [score for score in scores if score.weight >= 0.5 / len(scores)]


def _weighed(scores: Sequence[Score], folds: int, labels: int) -> list[str]:
    if not folds:
        return ["No label could be held out, so the methods have the weights that they start with."]
    best = min(scores, key=lambda score: score.log_loss)
    carried = ", ".join(f"{score.name} {score.weight:.2f}" for score in heavy(scores))
    return [
        f"Best on held-out labels: {best.what} ({best.name}), accuracy {best.accuracy:.3f}, "
        f"log-loss {best.log_loss:.3f} ({folds}-fold cross-validation, {labels} labels).",
        f"{len(heavy(scores))} of them carry the answer, as a product weighted by held-out log-loss: "
        f"{carried}.",
    ]
