"""The methods that `label` chooses among and combines: MEMBERS by name.

A method looks at a `Workspace` (the graph: what is computed once, without labels) and at labelled rows, and
gives logits for the nodes it is asked about. Four kinds:

- `SmoothedRidge`: ridge regression on rows of `querist.labelling.rows`, for several ranks and powers of the
  singular values, pooled by how each does on labels that are left out (closed form);
- `KernelRidge` (kernel_ridge.py): ridge regression on all directions of the features, or on measurements;
- `RandomWalk`: personalised PageRank from each class's labelled nodes, scaled to the classes' shares;
- `ClassifierMethod`: a classifier of `querist.collective`, as GMNR on counts; for several labels a node MRGM.

A new member is one more entry of MEMBERS; planning, pooling, the reasons and `method=` find it there.

`plan` says which members a graph gets, how many columns and how many folds, by an estimate of the time.

Which rows, ranks and powers there are was fixed on data sets and draws other than those of
`benchmarks/label_efficiency.py` (docs/assist.md names them).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from querist.errors import InputError, UnknownNameError
from querist.graph import Graph
from querist.labelling import combine
from querist.labelling.combine import Link
from querist.labelling.heads import RidgeFit, judgeable, ridge
from querist.labelling.kernel_ridge import Channels, Gaussians, KernelRidge
from querist.labelling.rows import RowSettings, SingularRows, rows_bytes, sweeps_for
from querist.labelling.workspace import RANKS, Member, Workspace
from querist.labels import KnownLabels
from querist.operator import memory
from querist.operator.device import choice
from querist.operator.estimate import machines_for
from querist.operator.place import CountedWork, Effort, Place, check_fits
from querist.operator.threads import available
from querist.registry import Registry
from querist.types import Codes, Floats

POWERS = (1.0, 0.5)
ETA = 0.1
"""How fast the weights of a method's regressions fall with their left-out loss."""


@dataclass(frozen=True)
class SmoothedRidge:
    """Ridge regression on smoothed, reduced features."""

    what: str
    settings: RowSettings

    @property
    def uses_attributes(self) -> bool:
        """Links have rows too."""
        return self.settings.source == "attributes"

    def suits(self, workspace: Workspace, link: Link) -> bool:
        """Needs its features, and room for the decomposition."""
        if self.uses_attributes and not workspace.has_attributes:
            return False
        return workspace.graph.n_edges > 0 or self.settings.steps == 0

    def cost(self, workspace: Workspace, labels: int, classes: int) -> tuple[float, float]:
        """The smoothed products of the decomposition, `rank + 20` columns wide; a product a regression."""
        graph, width = workspace.graph, workspace.rank + 20
        own = graph.attributes.nnz if self.uses_attributes else graph.adjacency.nnz  # type: ignore[union-attr]
        step = (graph.adjacency.nnz + 2 * graph.n_nodes) * self.settings.steps + own
        factor = 6.0 * graph.n_nodes * width**2 / 8  # dense products run faster than sparse ones
        return 2 * sweeps_for(graph) * step * width + factor, graph.n_nodes * 270.0 * classes / 8

    def fit(self, workspace: Workspace, labelled: Codes, Y: Floats, link: Link) -> "FittedRidges":
        """A regression a rank and power; they weigh by their left-out loss."""
        rows = workspace.rows(self.settings)
        own = SingularRows(rows.left[labelled], rows.values)
        return FittedRidges(rows, *regressions(own, workspace.rank, Y, link), labelled)


Regression = tuple[int, float, RidgeFit, combine.Scale]
"""A rank, a power, and what was fitted on rows cut at them."""


def regressions(own: SingularRows, most: int, Y: Floats, link: Link) -> tuple[tuple[Regression, ...], Floats]:
    """Ridge regressions on labelled rows, up to a rank, and their shares by the loss at left-out labels."""
    judged, fits, losses = judgeable(Y), list[Regression](), list[float]()
    for rank in sorted({min(rank, own.values.size, most) for rank in RANKS}):
        for power in POWERS:
            found = ridge(own.take(rank, power), Y)
            scale = combine.scaled_ridge(found.left_out, found.mean, Y, link, judged)
            fits.append((rank, power, found, scale))
            scored = scale.of(found.left_out)[judged]
            losses.append(combine.loss(scored, Y[judged], link) if judged.any() else 0.0)
    return tuple(fits), combine.weights(losses, int(judged.sum()), ETA)


@dataclass(frozen=True)
class FittedRidges:
    """Ridge regressions on the same rows cut at several ranks, pooled."""

    rows: SingularRows
    fits: tuple[Regression, ...]
    shares: Floats
    labelled: Codes

    def logits(self, nodes: Codes | slice) -> Floats:
        """The pool of the regressions."""
        part = SingularRows(self.rows.left[nodes], self.rows.values)
        pool = zip(self.shares, self.fits, strict=True)
        heavy = ((share, fit) for share, fit in pool if share > 1e-4)
        return np.asarray(
            sum(w * scale.of(ridge.answer(part.take(rank, p))) for w, (rank, p, ridge, scale) in heavy)
        )

    def smoother(self, nodes: Any) -> Floats:
        """Of the heaviest regression: its answers are `mean + weights @ (labels - mean)`."""
        rank, power, fitted, _ = self.fits[int(self.shares.argmax())]
        part = SingularRows(self.rows.left[np.atleast_1d(nodes)], self.rows.values)
        found = part.take(rank, power) @ fitted.smoother
        return np.asarray(found if np.ndim(nodes) else found[0])


@dataclass(frozen=True)
class FixedLogits:
    """Logits of all nodes, and nothing else."""

    L: Floats

    def logits(self, nodes: Codes | slice) -> Floats:
        """Rows of the table."""
        return np.asarray(self.L[nodes])

    def smoother(self, nodes: Any) -> None:
        """Not known."""


@dataclass(frozen=True)
class RandomWalk:
    """Random walks that restart at the labelled nodes of a class; a class counts by its share of the labels.

    `F <- a P'F + (1 - a) F_0` with `P = D^-1 S`, columns of `F_0` summing to the classes' shares; computed as
    `G = D^-1/2 F`, whose matrix is symmetric. Where labels were picked their shares say nothing, and all
    classes count alike (`by_share=False`).
    """

    what: str = "random walks from the labelled nodes"
    damping: float = 0.9
    steps: int = 20
    by_share: bool = True
    uses_attributes: bool = False

    def suits(self, workspace: Workspace, link: Link) -> bool:
        """Needs edges."""
        return workspace.graph.n_edges > 0

    def cost(self, workspace: Workspace, labels: int, classes: int) -> tuple[float, float]:
        """A product with the adjacency a step."""
        return 0.0, float(self.steps * (workspace.graph.adjacency.nnz + workspace.graph.n_nodes) * classes)

    def fit(self, workspace: Workspace, labelled: Codes, Y: Floats, link: Link) -> FixedLogits:
        """Logits of the walks' shares; nodes that no walk visits lean to no class but the larger ones."""
        return self.fit_each(workspace, [(labelled, Y)], link)[0]

    def fit_each(
        self, workspace: Workspace, parts: Sequence[tuple[Codes, Floats]], link: Link
    ) -> list[FixedLogits]:
        """`fit` to several sets of labels at once, with the same bits: their walks go side by side, and an
        edge that is brought in serves them all."""
        degrees = workspace.graph.degrees
        root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
        K = parts[0][1].shape[1]
        start = np.zeros((workspace.graph.n_nodes, K * len(parts)))
        for k, (labelled, Y) in enumerate(parts):
            shares = Y.sum() if self.by_share else Y.sum(axis=0) * np.count_nonzero(Y.any(axis=0))
            start[labelled, k * K : (k + 1) * K] = root[labelled] * Y / np.maximum(shares, 1.0)
        G = self._walked(workspace, start)
        return [self._logits(root * G[:, k * K : (k + 1) * K], Y, link) for k, (_, Y) in enumerate(parts)]

    def _walked(self, workspace: Workspace, start: Floats) -> Floats:
        G, other = start, np.empty_like(start)
        for step in range(self.steps):
            np.copyto(other, start)
            workspace.walks.combine(
                G, other, scale=-self.damping, shift=self.damping, previous=1 - self.damping
            )
            G, other = other, np.empty_like(start) if step == 0 else G
        return G

    def _logits(self, F: Floats, Y: Floats, link: Link) -> FixedLogits:
        """Of the visits over the root of the degree twice, a symmetric similarity: hubs are not favoured."""
        typical = float(F[F > 0].mean()) if (F > 0).any() else 1.0
        F = F + 1e-2 * typical * (Y.mean(axis=0) if self.by_share else Y.any(axis=0) * Y.mean())
        if link == "softmax":
            return FixedLogits(np.log(np.maximum(F, 1e-300)))
        # Of several classes each is asked for by itself: its walks against all walks.
        all_walks = F.sum(axis=1, keepdims=True) / max(1.0, float(Y.sum(axis=1).mean()))
        return FixedLogits(combine.logits(F / np.maximum(all_walks, 1e-300), link, 1e-4))


@dataclass(frozen=True)
class ClassifierMethod:
    """A classifier of `querist.CLASSIFIERS`, perhaps for several values of its parameters."""

    what: str
    name: str
    settings: tuple[Mapping[str, Any], ...] = (MappingProxyType({}),)
    counts: bool = False
    passes: float = 10.0

    @property
    def uses_attributes(self) -> bool:
        """A classifier that a user names may, and is not said to."""
        return self.counts

    def suits(self, workspace: Workspace, link: Link) -> bool:
        """Counts where it needs them."""
        return workspace.has_counts if self.counts else True

    def cost(self, workspace: Workspace, labels: int, classes: int) -> tuple[float, float]:
        """A pass over the counts and up to thirty over the edges an iteration."""
        graph = workspace.graph
        words = graph.attributes.nnz if self.counts and graph.attributes is not None else 0
        return 0.0, self.passes * len(self.settings) * classes * (4.0 * words + 30.0 * graph.adjacency.nnz)

    def fit(self, workspace: Workspace, labelled: Codes, Y: Floats, link: Link) -> FixedLogits:
        """The mean logits of the settings."""
        from querist.collective.catalogue import CLASSIFIERS

        graph = workspace.counted if self.counts else workspace.graph
        kind = CLASSIFIERS["mrgm" if self.name == "gmnr" and link == "sigmoid" else self.name]
        indicator = np.zeros((graph.n_nodes, Y.shape[1]))
        indicator[labelled] = Y
        present = np.flatnonzero(Y.any(axis=0))
        known = KnownLabels(
            indicator[:, present], tuple(present.tolist()), "value" if link == "softmax" else "matrix"
        )
        total = np.zeros((graph.n_nodes, Y.shape[1]))
        on_device = workspace.device is not None and hasattr(kind, "device")
        where: dict[str, Any] = {"device": workspace.device} if on_device else {}
        for setting in self.settings:
            P = np.full(total.shape, 1e-6)
            P[:, present] = _answers(kind(**setting, **where), graph, known)
            total += combine.logits(P, link)
        return FixedLogits(total / len(self.settings))


def _answers(classifier: Any, graph: Graph, known: KnownLabels) -> Floats:
    """Probabilities, the labelled rows not put back: only others are judged."""
    from querist.collective.problem import Problem

    problem = Problem(graph, known)
    if problem.multilabel and not classifier.knows_several():
        labels: Any = known.indicator
        if labels.shape[1] == 1:  # a matrix of one column is taken for values
            labels = [{known.classes[0]} if has else None for has in labels[:, 0].tolist()]
        return np.asarray(classifier.fit(graph, labels).probabilities_)
    return np.asarray(classifier.answer(problem).P, dtype=np.float64)


_GMNR: tuple[Mapping[str, Any], ...] = tuple({"lam": lam, "objective": False} for lam in (1.0, 5.0))

SMOOTHED, TWO_STEPS = RowSettings("attributes", 10, 0.9), RowSettings("attributes", 2, 1.0)

MEMBERS: Registry[Member] = Registry(
    "method",
    {
        "smoothed": Member(SmoothedRidge("attributes smoothed over the graph", SMOOTHED)),
        # Where nodes are points, edges join those that are near: with few labels they say more than places.
        "links": Member(
            SmoothedRidge("who is linked with whom", RowSettings("links", 10, 0.9)), on_measurements=4.0
        ),
        "walks": Member(RandomWalk(), on_measurements=8.0),
        "own": Member(SmoothedRidge("the node's own attributes", RowSettings("attributes", 0, 0.0))),
        "two_steps": Member(SmoothedRidge("attributes averaged over two steps", TWO_STEPS)),
        "two_steps_gaussian": Member(
            KernelRidge("how near the attributes averaged over two steps are", Gaussians(TWO_STEPS))
        ),
        "channels": Member(
            KernelRidge("a node's attributes and its neighbours', kept apart", Channels("attributes", 2))
        ),
        "nearby": Member(
            SmoothedRidge("attributes smoothed over near neighbours", RowSettings("attributes", 10, 0.7))
        ),
        "smoothed_gaussian": Member(
            KernelRidge("how near the attributes smoothed over the graph are", Gaussians(SMOOTHED))
        ),
        "own_gaussian": Member(KernelRidge("how near the node's own attributes are", Gaussians())),
        # The one generative model counts as much as the kindred rows of the attributes together.
        "counts": Member(
            ClassifierMethod("a generative model of the counts (GMNR)", "gmnr", _GMNR, counts=True),
            prior_weight=4.0,
        ),
        "means": Member(
            SmoothedRidge(
                "attributes as means of the neighbourhood",
                RowSettings("attributes", 10, 0.9, by_row=True),
            )
        ),
        "link_channels": Member(
            KernelRidge("a node's links and its neighbours', kept apart", Channels("links", 1))
        ),
        "near_links": Member(
            SmoothedRidge("links within two steps", RowSettings("links", 2, 1.0)), instead_of="links"
        ),
    },
)
"""In the order in which they are worth their time.

>>> sorted(MEMBERS)[:5]
['channels', 'counts', 'link_channels', 'links', 'means']
"""


# -- which of them a graph gets -----------------------------------------------------------------------------

SECONDS, A_MILLION = 45.0, 225.0
"""What a plan may take by its estimate, and how much more for a million nodes."""

PACE = 1e9
"""Multiplications a second that plans count on."""

SPACE = 4e8
"""Most numbers in the blocks of one decomposition."""

CLUSTER_RANK = 70
"""Columns of smoothed rows on a cluster: three of the four cuts, in half of the memory."""

MANY = 4000
"""Labels of which a third can be left out as well as a fifth: what is learned hardly differs."""


def for_picked(member: Member) -> Member:
    """The member for labels that were picked: how many there are of a class says nothing."""
    walk = member.method
    return replace(member, method=replace(walk, by_share=False)) if isinstance(walk, RandomWalk) else member


def _lacking(workspace: Workspace) -> str:
    """What a method that does not suit may lack, and what to do about it."""
    if not workspace.has_attributes:
        return "the nodes have no such attributes; give them"
    if workspace.graph.n_edges == 0:
        return "the graph has no edges; give them"
    return "it is for attributes of another kind; give such"


def plan(
    workspace: Workspace, method: str, Y: Floats, link: Link
) -> tuple[dict[str, Member], int, tuple[str, ...]]:
    """Which members, how many folds, and what was left out for time. Sets the rank of the workspace."""
    graph, (m, K) = workspace.graph, Y.shape
    folds = max(2, min(m, 5 if m <= MANY else 3))
    if method != "auto":
        member = _member(method)
        if not member.method.suits(workspace, link):
            raise InputError(
                f'method "{method}" ({member.method.what}) has nothing to work on: {_lacking(workspace)}, or '
                'take method "auto"'
            )
        return {method: member}, folds, ()
    ranks = [r for r in RANKS if 5 * (r + 20) * graph.n_nodes <= SPACE] or [RANKS[0]]
    workspace.rank = max(ranks)
    whole = budget = (SECONDS + A_MILLION * min(1.0, graph.n_nodes / 1e6)) * PACE
    while (
        len(ranks) > 1 and sum(_once(MEMBERS[n], workspace, m, K) for n in ("links", "smoothed")) > budget / 2
    ):
        ranks.pop()
        workspace.rank = max(ranks)
    if MEMBERS["walks"].method.cost(workspace, m, K)[1] * folds > budget / 4:
        folds = min(folds, 3)
    taken: dict[str, Member] = {}
    skipped: list[str] = []
    for name, member in MEMBERS.items():
        if not member.method.suits(workspace, link) or member.instead_of in taken:
            continue
        once, fit = member.method.cost(workspace, m, K)
        # Ridge regressions on rows that are there take no time to speak of, however many folds there are.
        needed = once + fit * (2 if isinstance(member.method, SmoothedRidge) else folds + 1)
        if taken and needed > (budget if len(taken) == 1 else min(budget, whole / 2)):
            skipped.append(name)
            continue
        budget -= needed
        taken[name] = member
    if not taken:
        taken["walks"] = MEMBERS["walks"]
    return taken, folds, tuple(skipped)


SINGLE, DOUBLE = 4, 8
"""Bytes that a multiplication gathers, by the precision in which a method works."""

BESIDE = 1.0
"""What scaling, pooling, refining and the estimate take beside the members, as a share of these; held against
runs by `python benchmarks/label_files.py`."""


def counted(
    workspace: Workspace, members: Mapping[str, Member], folds: int, labels: int, classes: int
) -> CountedWork:
    """What the members take, by their costs and the rows they need."""
    moving, staying = Effort(), Effort()
    for member in members.values():
        once, fit = member.method.cost(workspace, labels, classes)
        again = DOUBLE * fit * (folds + 1)
        if isinstance(member.method, SmoothedRidge):
            moving, staying = moving + Effort(SINGLE * once), staying + Effort(again)
        elif isinstance(member.method, ClassifierMethod) and member.method.counts:
            moving += Effort(DOUBLE * once + again)
        else:
            staying += Effort(DOUBLE * once + again)
    both = moving + staying
    staying += Effort(BESIDE * both.gathered, BESIDE * both.multiplied)
    graph = workspace.graph
    rows = rows_bytes(graph, row_kinds(members), workspace.rank, available() if workspace.small else 1)
    tables = 8.0 * graph.n_nodes * classes * (len(members) + 4)  # of each member, and while they are pooled
    held = rows.held + tables
    return CountedWork(moving, held + rows.blocks, staying, rows.on_device, held)


def row_kinds(members: Mapping[str, Member]) -> set[RowSettings]:
    """The smoothed rows that members need."""
    kinds: set[RowSettings] = set()
    for member in members.values():
        method = member.method
        if isinstance(method, SmoothedRidge):
            kinds.add(method.settings)
        elif isinstance(method, KernelRidge) and isinstance(method.kernels, Gaussians):
            kinds |= {method.kernels.rows} if method.kernels.rows is not None else set()
    return kinds


def settle(workspace: Workspace, members: Mapping[str, Member], folds: int, Y: Floats) -> Place:
    """Where the members work: sets the device of the workspace. What does not fit there is refused."""
    graph, (labels, classes) = workspace.graph, Y.shape
    work = counted(workspace, members, folds, labels, classes)
    place = choice.place_for(work, workspace.device)
    workspace.device = place.device
    what = f"labelling {graph.n_nodes:,} nodes and {graph.n_edges:,} edges by {', '.join(members)}"
    if place.device is not None:
        room = choice.free_on(choice.chosen_device(place.device))
        check_fits(what, place.memory, room, {}, "leave the device out", where=f" on {place.device}")
        check_fits(
            what,
            work.beside_device,
            memory.free(),
            {},
            'take method="walks"',
            where=f" beside {place.device}",
        )
        return place
    room = memory.free()
    if work.memory > room:
        there = choice.resources("auto")
        least = counted(workspace, {"walks": MEMBERS["walks"]}, folds, labels, classes).memory
        machines = machines_for(graph.n_nodes, max(1, graph.n_edges), room, rank=CLUSTER_RANK)
        ways = {
            'method="walks" fits': least <= room and bool(row_kinds(members)),
            f'device="{there.device}" has the room': there.holds(work),
            f"{machines} machines like this one share it (--cluster, docs/scale.md)": machines > 1,
        }
        check_fits(what, work.memory, room, ways, "label a part of the graph, or use a larger machine")
    return place


def _once(member: Member, workspace: Workspace, labels: int, classes: int) -> float:
    return (
        member.method.cost(workspace, labels, classes)[0]
        if member.method.suits(workspace, "softmax")
        else 0.0
    )


def _member(method: str) -> Member:
    from querist.collective.catalogue import CLASSIFIERS, NEED_ATTRIBUTES

    if method in MEMBERS:
        return MEMBERS[method]
    if method not in CLASSIFIERS:
        raise UnknownNameError.of("method", method, ["auto", *MEMBERS, *CLASSIFIERS])
    passes = 10.0 if method in NEED_ATTRIBUTES else 1.0
    return Member(ClassifierMethod(f"{method} of querist.CLASSIFIERS", method, passes=passes))
