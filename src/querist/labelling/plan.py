"""Which members of `auto` a graph gets, how many columns and how many folds, by an estimate of the time."""

from querist.errors import InputError, UnknownNameError
from querist.labelling.combine import Link
from querist.labelling.members import MEMBERS, ClassifierMethod, SmoothedRidge
from querist.labelling.workspace import RANKS, Member, Workspace
from querist.types import Floats

SECONDS = 180.0
"""What a plan may take by its estimate."""

PACE = 1.5e9
"""Multiplications a second that plans count on."""

SPACE = 4e8
"""Most numbers in the blocks of one decomposition."""


def plan(
    workspace: Workspace, method: str, Y: Floats, link: Link
) -> tuple[dict[str, Member], int, tuple[str, ...]]:
    """Which members, how many folds, and what was left out for time. Sets the rank of the workspace."""
    graph, (m, K) = workspace.graph, Y.shape
    folds = max(2, min(m, 5))
    if method != "auto":
        member = _member(method)
        if not member.method.suits(workspace, link):
            raise InputError(
                f'method "{method}" ({member.method.what}) has nothing to work on: '
                + (
                    "the graph has no edges"
                    if workspace.has_attributes
                    else "the nodes have no such attributes"
                )
                + '; give them, or take method "auto"'
            )
        return {method: member}, folds, ()
    ranks = [r for r in RANKS if 5 * (r + 20) * graph.n_nodes <= SPACE] or [RANKS[0]]
    workspace.rank = max(ranks)
    budget = SECONDS * PACE
    while len(ranks) > 1 and sum(_once(MEMBERS[n], workspace, K) for n in ("links", "smoothed")) > budget / 2:
        ranks.pop()
        workspace.rank = max(ranks)
    if MEMBERS["walks"].method.cost(workspace, K)[1] * folds > budget / 4:
        folds = min(folds, 3)
    taken: dict[str, Member] = {}
    skipped: list[str] = []
    for name, member in MEMBERS.items():
        if not member.method.suits(workspace, link):
            continue
        if member.instead_of in taken:
            continue
        once, fit = member.method.cost(workspace, K)
        # Ridge regressions on rows that are there take no time to speak of, however many folds there are.
        needed = once + fit * (2 if isinstance(member.method, SmoothedRidge) else folds + 1)
        if needed > budget and taken:
            skipped.append(name)
            continue
        budget -= needed
        taken[name] = member
    if not taken:
        taken["walks"] = MEMBERS["walks"]
    return taken, folds, tuple(skipped)


def _once(member: Member, workspace: Workspace, classes: int) -> float:
    return member.method.cost(workspace, classes)[0] if member.method.suits(workspace, "softmax") else 0.0


def _member(method: str) -> Member:
    from querist.collective.catalogue import CLASSIFIERS, NEED_ATTRIBUTES

    if method in MEMBERS:
        return MEMBERS[method]
    if method not in CLASSIFIERS:
        raise UnknownNameError.of("method", method, ["auto", *MEMBERS, *CLASSIFIERS])
    passes = 10.0 if method in NEED_ATTRIBUTES else 1.0
    return Member(ClassifierMethod(f"{method} of querist.CLASSIFIERS", method, passes=passes))
