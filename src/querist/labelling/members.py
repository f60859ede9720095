"""The methods that `label` chooses among and combines: MEMBERS by name.

A method looks at a `Workspace` (the graph: what is computed once, without labels) and at labelled rows, and
gives logits for the nodes it is asked about. Four kinds:

- `SmoothedRidge`: ridge regression on rows of `querist.labelling.rows`, for several ranks, pooled by how each
  does on labels that are left out (closed form);
- `KernelRidge` (kernel_ridge.py): ridge regression on all directions of the features, or on measurements;
- `RandomWalk`: personalised PageRank from each class's labelled nodes, scaled to the classes' shares;
- `ClassifierMethod`: a classifier of `querist.collective`, as GMNR on counts; for several labels a node MRGM.

A new member is one more entry of MEMBERS; planning, pooling, the reasons and `method=` find it there.

`plan` says which members a graph gets, how many columns and how many folds, by the size of the graph.

Which rows and ranks there are was fixed on data sets and draws other than those of
`benchmarks/label_efficiency.py` (docs/assist.md names them).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from querist import memory
from querist.errors import InputError, UnknownNameError
from querist.graph import Graph
from querist.labelling import combine
from querist.labelling.folds import SAMPLE
from querist.labelling.heads import RidgeFit, judgeable, ridge
from querist.labelling.kernel_ridge import Channels, Gaussians, KernelRidge
from querist.labelling.rows import RowBytes, RowSettings, SingularRows, rows_bytes, sweeps_for
from querist.labelling.workspace import RANKS, SMALL, LabellingMethod, Member, Workspace
from querist.labels import Labels
from querist.operator.device.choice import ChosenDevice, device_for
from querist.operator.threads import available
from querist.registry import Registry
from querist.types import Codes, Floats

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

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Needs its features, and room for the decomposition."""
        if self.uses_attributes and not workspace.has_attributes:
            return False
        return workspace.graph.n_edges > 0 or self.settings.steps == 0

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """The decomposition, and two fits: on rows that are there, further folds take next to nothing."""
        return self.decomposition(workspace) + 2 * workspace.graph.n_nodes * 270.0 * classes / 8

    def decomposition(self, workspace: Workspace) -> float:
        """Its smoothed products, `rank + 20` columns wide; nothing if it does not suit."""
        if not self.suits(workspace, multilabel=False):
            return 0.0
        graph, width = workspace.graph, workspace.rank + 20
        own = graph.attributes.nnz if self.uses_attributes else graph.adjacency.nnz  # type: ignore[union-attr]
        step = (graph.adjacency.nnz + 2 * graph.n_nodes) * self.settings.steps + own
        factor = 6.0 * graph.n_nodes * width**2 / 8  # dense products run faster than sparse ones
        return 2 * sweeps_for(graph) * step * width + factor

    def fit(self, workspace: Workspace, labelled: Codes, Y: Floats, multilabel: bool) -> "FittedRidges":
        """A regression for each rank; they weigh by their left-out loss."""
        rows = workspace.rows(self.settings)
        own = SingularRows(rows.left[labelled], rows.values)
        return FittedRidges(rows, *regressions(own, workspace.rank, Y, multilabel), labelled)


Regression = tuple[int, RidgeFit, combine.Scale]
"""A rank, and what was fitted on rows cut there."""


def regressions(
    own: SingularRows, most: int, Y: Floats, multilabel: bool
) -> tuple[tuple[Regression, ...], Floats]:
    """Ridge regressions on labelled rows, up to a rank, and their shares by the loss at left-out labels."""
    judged, fits, losses = judgeable(Y), list[Regression](), list[float]()
    for rank in sorted({min(rank, own.values.size, most) for rank in RANKS}):
        found = ridge(own.take(rank), Y)
        scale = combine.scaled_ridge(found.left_out, found.mean, Y, multilabel, judged)
        fits.append((rank, found, scale))
        scored = scale.of(found.left_out)[judged]
        losses.append(combine.loss(scored, Y[judged], multilabel) if judged.any() else 0.0)
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
            sum(w * scale.of(ridge.answer(part.take(rank))) for w, (rank, ridge, scale) in heavy)
        )

    def smoother(self, nodes: Any) -> Floats:
        """Of the heaviest regression: its answers are `mean + weights @ (labels - mean)`."""
        rank, fitted, _ = self.fits[int(self.shares.argmax())]
        part = SingularRows(self.rows.left[np.atleast_1d(nodes)], self.rows.values)
        found = part.take(rank) @ fitted.smoother
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

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Needs edges."""
        return workspace.graph.n_edges > 0

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """A product with the adjacency per step."""
        entries = workspace.graph.adjacency.nnz + workspace.graph.n_nodes
        return float(fits * self.steps * entries * classes)

    def fit(self, workspace: Workspace, labelled: Codes, Y: Floats, multilabel: bool) -> FixedLogits:
        """Logits of the walks' shares; nodes that no walk visits lean to no class but the larger ones."""
        degrees = workspace.graph.degrees
        root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
        start = np.zeros((len(root), Y.shape[1]))
        shares = Y.sum() if self.by_share else Y.sum(axis=0) * np.count_nonzero(Y.any(axis=0))
        start[labelled] = root[labelled] * Y / np.maximum(shares, 1.0)
        G, a = start, self.damping
        for _ in range(self.steps):
            out = start.copy()
            workspace.walks.combine(G, out, scale=-a, shift=a, previous=1 - a)
            G = out
        return self._logits(root * G, Y, multilabel)

    def _logits(self, F: Floats, Y: Floats, multilabel: bool) -> FixedLogits:
        """Of the visits over the root of the degree twice, a symmetric similarity: hubs are not favoured."""
        typical = float(F[F > 0].mean()) if (F > 0).any() else 1.0
        F = F + 1e-2 * typical * (Y.mean(axis=0) if self.by_share else Y.any(axis=0) * Y.mean())
        if not multilabel:
            return FixedLogits(np.log(np.maximum(F, 1e-300)))
        # Of several classes each is asked for by itself: its walks against all walks.
        all_walks = F.sum(axis=1, keepdims=True) / max(1.0, float(Y.sum(axis=1).mean()))
        return FixedLogits(combine.logits(F / np.maximum(all_walks, 1e-300), multilabel, 1e-4))


@dataclass(frozen=True)
class ClassifierMethod:
    """A classifier of `querist.CLASSIFIERS`, perhaps with parameters."""

    what: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    counts: bool = False
    passes: float = 10.0

    @property
    def uses_attributes(self) -> bool:
        """Whether the classifier reads them."""
        from querist.collective.catalogue import reads_attributes

        return self.counts or reads_attributes(self.name)

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Counts where it needs them."""
        return workspace.has_counts if self.counts else True

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """A pass over the counts and up to thirty over the edges per iteration."""
        graph = workspace.graph
        words = graph.attributes.nnz if self.counts and graph.attributes is not None else 0
        return fits * self.passes * classes * (4.0 * words + 30.0 * graph.adjacency.nnz)

    def fit(self, workspace: Workspace, labelled: Codes, Y: Floats, multilabel: bool) -> FixedLogits:
        """The logits of its answers."""
        from querist.collective.catalogue import CLASSIFIERS

        graph = workspace.counted if self.counts else workspace.graph
        kind = CLASSIFIERS["mrgm" if self.name == "gmnr" and multilabel else self.name]
        present = np.flatnonzero(Y.any(axis=0))
        at, codes = np.nonzero(Y[:, present])
        known = Labels.at(labelled[at], codes, graph.n_nodes, present.tolist(), multilabel)
        where: dict[str, Any] = {"device": workspace.device} if uses_device(self.name) else {}
        P = np.full((graph.n_nodes, Y.shape[1]), 1e-6)
        P[:, present] = _answers(kind(**self.parameters, **where), graph, known)
        return FixedLogits(combine.logits(P, multilabel))


def _answers(classifier: Any, graph: Graph, known: Labels) -> Floats:
    """Probabilities, the labelled rows not put back: only others are judged."""
    from querist.collective.problem import Problem

    problem = Problem(graph, known)
    if problem.multilabel and not classifier.knows_multilabel:
        return np.asarray(classifier.fit(graph, known).probabilities_)
    return np.asarray(classifier.answer(problem).P, dtype=np.float64)


GMNR = {"lam": 2.5, "objective": False}

LINKED = SmoothedRidge("who is linked with whom", RowSettings("links", 10, 0.9))
DESCRIBED = SmoothedRidge("attributes smoothed over the graph", RowSettings("attributes", 10, 0.9))

MEMBERS: Registry[Member] = Registry(
    "method",
    {
        "smoothed": Member(DESCRIBED),
        # Where nodes are points, edges join those that are near: with few labels they say more than places.
        "links": Member(LINKED, on_measurements=4.0),
        "walks": Member(RandomWalk(), on_measurements=8.0),
        "own": Member(SmoothedRidge("the node's own attributes", RowSettings("attributes", 0, 0.0))),
        "two_steps": Member(
            SmoothedRidge("attributes averaged over two steps", RowSettings("attributes", 2, 1.0))
        ),
        "channels": Member(
            KernelRidge("a node's attributes and its neighbours', kept apart", Channels("attributes", 2))
        ),
        "own_gaussian": Member(KernelRidge("how near the node's own attributes are", Gaussians())),
        # The one generative model counts as much as all that is learned by regressions on the attributes.
        "counts": Member(
            ClassifierMethod(
                "a generative model of the counts (GMNR)",
                "gmnr",
                {"lam": 2.5, "objective": False},
                counts=True,
            ),
            prior_weight=4.0,
        ),
        "link_channels": Member(
            KernelRidge("a node's links and its neighbours', kept apart", Channels("links", 1))
        ),
    },
)
"""In the order in which they are worth their time.

>>> sorted(MEMBERS)[:5]
['channels', 'counts', 'link_channels', 'links', 'own']
"""


# -- which of them a graph gets -----------------------------------------------------------------------------

WORK, WORK_PER_NODE = 45e9, 225e3
"""Most multiplications of all models together, and how many more for each of the first million nodes."""

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
    workspace: Workspace, method: str, Y: Floats, multilabel: bool
) -> tuple[dict[str, Member], int, tuple[str, ...]]:
    """Which models, how many folds, and which models a graph of this size does without.

    Models are taken in the order of `MEMBERS` as long as there is work left for them. Sets the rank of the
    workspace.
    """
    graph, (m, K) = workspace.graph, Y.shape
    folds = max(2, min(m, 5 if m <= MANY else 3))
    if method != "auto":
        member = member_of(method)
        if not member.method.suits(workspace, multilabel):
            raise InputError(
                f'method "{method}" ({member.method.what}) has nothing to work on: {_lacking(workspace)}, or '
                'take method "auto"'
            )
        return {method: member}, folds, ()
    ranks = [r for r in RANKS if 5 * (r + 20) * graph.n_nodes <= SPACE] or [RANKS[0]]
    workspace.rank = max(ranks)
    whole = budget = WORK + WORK_PER_NODE * min(1e6, graph.n_nodes)
    while len(ranks) > 1 and sum(own.decomposition(workspace) for own in (LINKED, DESCRIBED)) > budget / 2:
        ranks.pop()
        workspace.rank = max(ranks)
    if MEMBERS["walks"].method.work(workspace, m, K, folds) > budget / 4:
        folds = min(folds, 3)
    taken: dict[str, Member] = {}
    skipped: list[str] = []
    for name, member in MEMBERS.items():
        if not member.method.suits(workspace, multilabel):
            continue
        needed = member.method.work(workspace, m, K, folds + 1)
        if taken and needed > (budget if len(taken) == 1 else min(budget, whole / 2)):
            skipped.append(name)
            continue
        budget -= needed
        taken[name] = member
    if not taken:
        taken["walks"] = MEMBERS["walks"]
    return taken, folds, tuple(skipped)


def memory_of(
    workspace: Workspace, members: Mapping[str, Member], folds: int, labels: int, classes: int
) -> RowBytes:
    """What the models take: their smoothed rows, and tables of nodes times classes beside them."""
    graph = workspace.graph
    kinds = row_kinds([member.method for member in members.values()])
    rows = rows_bytes(graph, kinds, workspace.rank, available() if graph.n_nodes <= SMALL else 1)
    # Tables of each member, and while they are pooled; and of each fold, at the nodes that stand for all.
    sample = min(graph.n_nodes, labels + SAMPLE) * folds * len(members)
    tables = 8.0 * classes * (graph.n_nodes * (len(members) + 4) + sample)
    return rows._replace(held=rows.held + tables)


def row_kinds(methods: Sequence[LabellingMethod]) -> list[RowSettings]:
    """The smoothed rows that methods need."""
    return [method.settings for method in methods if isinstance(method, SmoothedRidge)]


def settle(workspace: Workspace, members: Mapping[str, Member], folds: int, Y: Floats) -> ChosenDevice:
    """Where the models work: sets the device of the workspace. What does not fit there is refused."""
    graph, (labels, classes) = workspace.graph, Y.shape
    what = f"labelling {graph.n_nodes:,} nodes and {graph.n_edges:,} edges by {', '.join(members)}"
    need = memory_of(workspace, members, folds, labels, classes)
    place = device_for(workspace.device, what, graph.n_nodes + graph.n_edges, need.on_device)
    workspace.device = place.name
    part = "label a part of the graph, or use a larger machine"
    advice = 'method="walks" needs less' if need.blocks else part
    memory.check(need.held + (need.blocks if place.name is None else 0.0), what, advice)
    return place


def uses_device(method: str) -> bool:
    """Whether a method works on a device of torch if it is given one; most classifiers do not.

    >>> uses_device("auto"), uses_device("gmnr"), uses_device("wvrn")
    (True, True, False)
    """
    from querist.collective.catalogue import CLASSIFIERS

    return method not in CLASSIFIERS or hasattr(CLASSIFIERS[method], "device")


def member_of(method: str) -> Member:
    """A model, or a classifier as a model.

    >>> member_of("wvrn").method.uses_attributes
    False
    """
    from querist.collective.catalogue import CLASSIFIERS, reads_attributes

    if method in MEMBERS:
        return MEMBERS[method]
    if method not in CLASSIFIERS:
        raise UnknownNameError.of("method", method, ["auto", *MEMBERS, *CLASSIFIERS])
    passes = 10.0 if reads_attributes(method) else 1.0
    return Member(ClassifierMethod(f"{method} of querist.CLASSIFIERS", method, passes=passes))
