"""Which candidates a graph gets, how many columns and how many folds, by an estimate of the time."""

from querist.errors import InputError, UnknownNameError
from querist.labelling.combine import Link
from querist.labelling.ground import RANKS, Candidate, Ground
from querist.labelling.members import CANDIDATES
from querist.labelling.named import Named
from querist.types import Floats

SECONDS = 180.0
"""What a plan may take by its estimate."""

PACE = 1.5e9
"""Multiplications a second that plans count on."""

SPACE = 4e8
"""Most numbers in the blocks of one decomposition."""


def plan(
    ground: Ground, method: str, Y: Floats, link: Link
) -> tuple[dict[str, Candidate], int, tuple[str, ...]]:
    """Which candidates, how many folds, and what was left out for time. Sets the rank of the ground."""
    graph, (m, K) = ground.graph, Y.shape
    folds = max(2, min(m, 5))
    if method != "auto":
        candidate = _named(method)
        if not candidate.suits(ground, link):
            raise InputError(
                f'method "{method}" ({candidate.what}) has nothing to work on: '
                + ("the graph has no edges" if ground.has_attributes else "the nodes have no such attributes")
                + '; give them, or take method "auto"'
            )
        return {method: candidate}, folds, ()
    ranks = [r for r in RANKS if 5 * (r + 20) * graph.n_nodes <= SPACE] or [RANKS[0]]
    ground.rank = max(ranks)
    budget = SECONDS * PACE
    while len(ranks) > 1 and sum(_once(CANDIDATES[n], ground, K) for n in ("links", "smoothed")) > budget / 2:
        ranks.pop()
        ground.rank = max(ranks)
    if CANDIDATES["walks"].cost(ground, K)[1] * folds > budget / 4:
        folds = min(folds, 3)
    taken: dict[str, Candidate] = {}
    skipped: list[str] = []
    for name, candidate in CANDIDATES.items():
        if not candidate.suits(ground, link):
            continue
        if name == "near_links" and "links" in taken:
            continue  # stands in where the wider one is too slow
        once, fit = candidate.cost(ground, K)
        needed = once + fit * (folds + 1 if isinstance(candidate, Named) or name == "walks" else 2)
        if needed > budget and taken:
            skipped.append(name)
            continue
        budget -= needed
        taken[name] = candidate
    if not taken:
        taken["walks"] = CANDIDATES["walks"]
    return taken, folds, tuple(skipped)


def _once(candidate: Candidate, ground: Ground, classes: int) -> float:
    return candidate.cost(ground, classes)[0] if candidate.suits(ground, "softmax") else 0.0


def _named(method: str) -> Candidate:
    from querist.collective.catalogue import CLASSIFIERS, NEED_ATTRIBUTES

    if method in CANDIDATES:
        return CANDIDATES[method]
    if method not in CLASSIFIERS:
        raise UnknownNameError.of("method", method, ["auto", *CANDIDATES, *CLASSIFIERS])
    return Named(
        f"{method} of querist.CLASSIFIERS", method, passes=10.0 if method in NEED_ATTRIBUTES else 1.0
    )
