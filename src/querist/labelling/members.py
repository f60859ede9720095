"""The models that `label` chooses among and combines: MEMBERS by name.

A model looks at a `Workspace` (the graph: what is computed once, without labels) and at labelled rows, and
gives logits for the nodes it is asked about. It is written once, for NumPy and for a device
(`operator/backend.py`): what is large lives on the backend, what is small (labelled rows) is NumPy's. Kinds:

- `SmoothedRidge`: ridge regression on rows of `querist.labelling.rows`, for several ranks, pooled by how each
  does on labels that are left out (closed form);
- `ChannelRidge`, `GaussianRidge` (kernel_ridge.py): ridge regression on all directions of the features, or on
  measurements;
- `RandomWalk`: personalised PageRank from each class's labelled nodes, scaled to the classes' shares;
- `ClassifierModel`: a classifier of `querist.collective`, as GMNR on counts; for several labels a node MRGM.

A new model is a class that inherits `Model` and an entry of MEMBERS; planning, memory, pooling, the reasons
and `method=` find it there.

`plan` says which members a graph gets, how many columns and how many folds, by the size of the graph.

Which rows and ranks there are was fixed on data sets and draws other than those of
`benchmarks/label_efficiency.py` (docs/appendix/label_accuracy.md names them).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from querist import memory
from querist.collective.problem import Problem
from querist.embedding.kinds.diffusion import OVERSAMPLING
from querist.errors import InputError, UnknownNameError
from querist.labelling import combine
from querist.labelling.folds import SAMPLE
from querist.labelling.heads import RidgeFit, judgeable, ridge
from querist.labelling.kernel_ridge import ChannelRidge, GaussianRidge
from querist.labelling.refine import by_counts, by_rows
from querist.labelling.rows import RowBytes, RowSettings, SingularRows, rows_bytes, sweeps_for
from querist.labelling.workspace import RANKS, SMALL, Fitted, Model, Refiner, Seen, Workspace
from querist.labels import Labels
from querist.operator.backend import HERE, Backend, backend_of
from querist.operator.device.choice import ChosenDevice, chosen_device, device_for, free_on
from querist.operator.threads import available
from querist.registry import Registry
from querist.types import Codes, Floats

ETA = 0.1
"""How fast the weights of a model's regressions fall with their left-out loss."""


@dataclass(frozen=True)
class SmoothedRidge(Model):
    """Ridge regression on smoothed, reduced features."""

    settings: RowSettings
    is_regression: ClassVar[bool] = True

    @property
    def uses_attributes(self) -> bool:
        """Links have rows too."""
        return self.settings.source == "attributes"

    @property
    def rows(self) -> tuple[RowSettings, ...]:
        """Its own."""
        return (self.settings,)

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

    def fit(self, workspace: Workspace, seen: Seen) -> "FittedRidges":
        """A regression for each rank; they weigh by their left-out loss."""
        rows = workspace.rows(self.settings)
        own = SingularRows(rows.left[seen.labelled], rows.values)
        found = Regressions.of(own, workspace.rank, seen.Y, seen.multilabel)
        return FittedRidges(workspace, self.settings, found)

    def refiners(self, workspace: Workspace) -> dict[str, Refiner]:
        """A discriminant of the rows."""
        return {"rows": partial(by_rows, workspace, self.settings)}


@dataclass(frozen=True)
class Regressions:
    """Ridge regressions on the same labelled rows cut at several ranks, and their `shares` in the pool.

    A fit is the rank, what was found on rows cut there, and its scale.
    """

    fits: tuple[tuple[int, RidgeFit, combine.Scale], ...]
    shares: Floats

    @staticmethod
    def of(own: SingularRows, most: int, Y: Floats, multilabel: bool) -> "Regressions":
        """Up to the rank `most`; they share by the loss at left-out labels."""
        judged, fits, losses = judgeable(Y), [], []
        for rank in sorted({min(rank, own.values.size, most) for rank in RANKS}):
            found = ridge(own.take(rank), Y)
            scale = combine.scaled_ridge(found.left_out, found.mean, Y, multilabel, judged)
            fits.append((rank, found, scale))
            scored = scale.of(found.left_out)[judged]
            losses.append(combine.loss(scored, Y[judged], multilabel) if judged.any() else 0.0)
        return Regressions(tuple(fits), combine.weights(losses, int(judged.sum()), ETA))

    def left_out(self) -> Floats:
        """(m, K) their pool at labels that are left out."""
        pool = zip(self.shares, self.fits, strict=True)
        return np.asarray(sum(share * scale.of(fit.left_out) for share, (_, fit, scale) in pool))

    def logits(self, left: Any, values: Floats, backend: Backend = HERE) -> Floats:
        """(n, K) their pool at rows `left` (n, r) of the backend: one product for all ranks."""
        pool = [(w, *fit) for w, fit in zip(self.shares, self.fits, strict=True) if w > 1e-4]
        ranks = np.array([rank for _, rank, _, _ in pool])
        values = values[: ranks.max()]
        cut = np.where(np.arange(values.size) < ranks[:, None], values, 0.0)  # (B, r)
        C = np.zeros((values.size, len(pool), len(pool[0][2].mean)))
        for b, (w, rank, fit, scale) in enumerate(pool):
            C[:rank, b] = w * scale.steepness * values[:rank, None] * fit.coefficients
        turned, squares = backend.given(C.reshape(values.size, -1)), backend.given((cut**2).T)
        found = []
        for first in range(0, len(left), backend.chunk):
            part = backend.given(left[first : first + backend.chunk, : values.size], np.float64)
            length = (part * part @ squares) ** 0.5
            answers = (part @ turned).reshape(len(part), *C.shape[1:]) / (length + (length == 0))[:, :, None]
            found.append(backend.array(answers.sum(axis=1)))
        level = sum(w * scale.of(fit.mean) for w, _, fit, scale in pool)
        return np.asarray(np.concatenate(found or [np.empty((0, C.shape[2]))]) + level)


@dataclass(frozen=True)
class FittedRidges:
    """`Regressions` on the rows of a workspace."""

    workspace: Workspace
    settings: RowSettings
    found: Regressions

    def logits(self, nodes: Codes | slice) -> Floats:
        """The pool of the regressions."""
        left = self.workspace.taken(self.workspace.left(self.settings), nodes)
        return self.found.logits(left, self.workspace.rows(self.settings).values, self.workspace.backend)

    def smoother(self, nodes: Any) -> Floats:
        """Of the heaviest regression: its answers are `mean + weights @ (labels - mean)`."""
        rank, fitted, _ = self.found.fits[int(self.found.shares.argmax())]
        rows = self.workspace.rows(self.settings)
        found = SingularRows(rows.left[np.atleast_1d(nodes)], rows.values).take(rank) @ fitted.smoother
        return np.asarray(found if np.ndim(nodes) else found[0])


@dataclass(frozen=True)
class FoundLogits:
    """Logits of nodes by a function of them, and nothing else."""

    of: Callable[[Codes | slice], Floats]
    smoother: ClassVar[None] = None

    def logits(self, nodes: Codes | slice) -> Floats:
        """What the function gives."""
        return self.of(nodes)


@dataclass(frozen=True)
class RandomWalk(Model):
    """Random walks that restart at the labelled nodes of a class; a class counts by its share of the labels.

    `F <- a P'F + (1 - a) F_0` with `P = D^-1 S`, columns of `F_0` summing to the classes' shares; computed as
    `G = D^-1/2 F`, whose matrix is symmetric. Where labels were picked their shares say nothing, and all
    classes count alike (`by_share=False`).
    """

    what: str = "random walks from the labelled nodes"
    damping: float = 0.9
    steps: int = 20
    by_share: bool = True

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Needs edges."""
        return workspace.graph.n_edges > 0

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """A product with the adjacency per step."""
        entries = workspace.graph.adjacency.nnz + workspace.graph.n_nodes
        return float(fits * self.steps * entries * classes)

    def for_picked(self) -> Self:
        """All classes count alike."""
        return replace(self, by_share=False)

    def fit_all(self, workspace: Workspace, tasks: Sequence[Seen]) -> list[Fitted]:
        """Logits of the walks' shares; nodes that no walk visits lean to no class but the larger ones."""
        backend, degrees = workspace.backend, workspace.graph.degrees
        root = 1 / np.sqrt(np.where(degrees > 0, degrees, 1.0))[:, None]
        starts = []
        for labelled, Y, _ in tasks:
            shares = Y.sum() if self.by_share else Y.sum(axis=0) * np.count_nonzero(Y.any(axis=0))
            own = root[labelled] * Y / np.maximum(shares, 1.0)
            starts.append(backend.spread(labelled, own, len(root)))
        start, a = backend.beside(starts), self.damping
        G = start
        for _ in range(self.steps):
            G = workspace.walks.combine(G, start + 0, scale=-a, shift=a, previous=1 - a)
        F, K, found = backend.given(root) * G, starts[0].shape[1], list[Fitted]()
        for which, seen in enumerate(tasks):
            own = F[:, which * K : (which + 1) * K]
            typical = float(own.clip(0).sum()) / max(1, int((own > 0).sum())) or 1.0
            found.append(FoundLogits(partial(self._logits, workspace, own, typical, seen)))
        return found

    def _logits(
        self, workspace: Workspace, block: Any, typical: float, seen: Seen, nodes: Codes | slice
    ) -> Floats:
        """Of the visits over the root of the degree twice, a symmetric similarity: hubs are not favoured."""
        F, Y = workspace.backend.array(workspace.taken(block, nodes)), seen.Y
        F = F + 1e-2 * typical * (Y.mean(axis=0) if self.by_share else Y.any(axis=0) * Y.mean())
        if not seen.multilabel:
            return np.asarray(np.log(np.maximum(F, 1e-300)))
        # Of several classes each is asked for by itself: its walks against all walks.
        all_walks = F.sum(axis=1, keepdims=True) / max(1.0, float(Y.sum(axis=1).mean()))
        return combine.logits(F / np.maximum(all_walks, 1e-300), True, 1e-4)


@dataclass(frozen=True)
class ClassifierModel(Model):
    """A classifier of `querist.CLASSIFIERS`, perhaps with parameters."""

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

    def fit_all(self, workspace: Workspace, tasks: Sequence[Seen]) -> list[Fitted]:
        """The logits of its answers."""
        from querist.collective.catalogue import CLASSIFIERS

        graph = workspace.counted if self.counts else workspace.graph
        multilabel, K = tasks[0].multilabel, tasks[0].Y.shape[1]
        where: dict[str, Any] = {"device": workspace.device} if uses_device(self.name) else {}
        kind = CLASSIFIERS["mrgm" if self.name == "gmnr" and multilabel else self.name]
        classifier = kind(**self.parameters, **where)
        problems, columns = [], [np.flatnonzero(seen.Y.any(axis=0)) for seen in tasks]
        for (labelled, Y, _), present in zip(tasks, columns, strict=True):
            at, codes = np.nonzero(Y[:, present])
            known = Labels.at(labelled[at], codes, graph.n_nodes, present.tolist(), multilabel)
            problems.append(Problem(graph, known))
        if multilabel and not classifier.knows_multilabel:
            answers = [classifier.fit(graph, problem.known).probabilities_ for problem in problems]
        else:  # the labelled rows are not put back: only others are judged
            answers = [found.P for found in classifier.answers(problems)]

        def logits(P: Floats, present: Codes, nodes: Codes | slice) -> Floats:
            whole = np.full((len(P[nodes]), K), 1e-6)
            whole[:, present] = P[nodes]
            return combine.logits(whole, multilabel)

        return [FoundLogits(partial(logits, *own)) for own in zip(answers, columns, strict=True)]

    def refiners(self, workspace: Workspace) -> dict[str, Refiner]:
        """A multinomial of the counts."""
        return {"counts": partial(by_counts, workspace)} if self.counts else {}


LINKED = SmoothedRidge(
    # Where nodes are points, edges join those that are near: with few labels they say more than places.
    "who is linked with whom",
    RowSettings("links", 10, 0.9),
    on_measurements=4.0,
)
DESCRIBED = SmoothedRidge("attributes smoothed over the graph", RowSettings("attributes", 10, 0.9))

MEMBERS: Registry[Model] = Registry(
    "method",
    {
        "smoothed": DESCRIBED,
        "links": LINKED,
        "walks": RandomWalk(on_measurements=8.0),
        "own": SmoothedRidge("the node's own attributes", RowSettings("attributes", 0, 0.0)),
        "two_steps": SmoothedRidge("attributes averaged over two steps", RowSettings("attributes", 2, 1.0)),
        "channels": ChannelRidge("a node's attributes and its neighbours', kept apart", "attributes", 2),
        "own_gaussian": GaussianRidge("how near the node's own attributes are"),
        # The one generative model counts as much as all that is learned by regressions on the attributes.
        "counts": ClassifierModel(
            "a generative model of the counts (GMNR)",
            "gmnr",
            {"lam": 2.5, "objective": False},
            counts=True,
            prior_weight=4.0,
        ),
        "link_channels": ChannelRidge("a node's links and its neighbours', kept apart", "links", 1),
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

A_NUMBER, AN_ENTRY, AT_A_TIME = 48.0, 100.0, 3e9
"""Bytes on a device for a number in the blocks of the models, for an entry of a matrix, and beside them."""

MANY = 4000
"""Labels of which a third can be left out as well as a fifth: what is learned hardly differs."""


def _lacking(workspace: Workspace) -> str:
    """What a method that does not suit may lack, and what to do about it."""
    if not workspace.has_attributes:
        return "the nodes have no such attributes; give them"
    if workspace.graph.n_edges == 0:
        return "the graph has no edges; give them"
    return "it is for attributes of another kind; give such"


def plan(
    workspace: Workspace, method: str, Y: Floats, multilabel: bool
) -> tuple[dict[str, Model], int, tuple[str, ...]]:
    """Which models, how many folds, and which models a graph of this size does without.

    Models are taken in the order of `MEMBERS` as long as there is work left for them. Sets the rank of the
    workspace.
    """
    graph, (m, K) = workspace.graph, Y.shape
    folds = max(2, min(m, 5 if m <= MANY else 3))
    if method != "auto":
        member = member_of(method)
        if not member.suits(workspace, multilabel):
            raise InputError(
                f'method "{method}" ({member.what}) has nothing to work on: {_lacking(workspace)}, or '
                'take method "auto"'
            )
        return {method: member}, folds, ()
    ranks = [r for r in RANKS if 5 * (r + 20) * graph.n_nodes <= SPACE] or [RANKS[0]]
    workspace.rank = max(ranks)
    whole = budget = WORK + WORK_PER_NODE * min(1e6, graph.n_nodes)
    while len(ranks) > 1 and sum(own.decomposition(workspace) for own in (LINKED, DESCRIBED)) > budget / 2:
        ranks.pop()
        workspace.rank = max(ranks)
    if MEMBERS["walks"].work(workspace, m, K, folds) > budget / 4:
        folds = min(folds, 3)
    taken: dict[str, Model] = {}
    skipped: list[str] = []
    for name, member in MEMBERS.items():
        if not member.suits(workspace, multilabel):
            continue
        needed = member.work(workspace, m, K, folds + 1)
        if taken and needed > (budget if len(taken) == 1 else min(budget, whole / 2)):
            skipped.append(name)
            continue
        budget -= needed
        taken[name] = member
    if not taken:
        taken["walks"] = MEMBERS["walks"]
    return taken, folds, tuple(skipped)


def memory_of(
    workspace: Workspace, members: Mapping[str, Model], folds: int, labels: int, classes: int
) -> RowBytes:
    """What the models take: their smoothed rows, tables of nodes times classes beside them, and their own."""
    graph, kinds = workspace.graph, row_kinds(members)
    rows = rows_bytes(graph, kinds, workspace.rank, available() if graph.n_nodes <= SMALL else 1)
    # Tables of each member, and while they are pooled; and of each fold, at the nodes that stand for all.
    sample = min(graph.n_nodes, labels + SAMPLE) * folds * len(members)
    tables = 8.0 * classes * (graph.n_nodes * (len(members) + 4) + sample)
    own = sum(member.memory(workspace, labels) for member in members.values())
    return rows._replace(held=rows.held + tables + own)


def row_kinds(members: Mapping[str, Model]) -> list[RowSettings]:
    """The smoothed rows that models need."""
    return [kind for member in members.values() for kind in member.rows]


def settle(workspace: Workspace, members: Mapping[str, Model], folds: int, Y: Floats) -> ChosenDevice:
    """Where the models work: sets the device and the backend of the workspace. What does not fit there is
    refused; if the rows fit and no more, the models work in this process."""
    graph, (labels, classes) = workspace.graph, Y.shape
    what = f"labelling {graph.n_nodes:,} nodes and {graph.n_edges:,} edges by {', '.join(members)}"
    need = memory_of(workspace, members, folds, labels, classes)
    place = device_for(workspace.device, what, graph.n_nodes + graph.n_edges, need.on_device)
    workspace.device = place.name
    part = "label a part of the graph, or use a larger machine"
    advice = 'method="walks" needs less' if need.blocks else part
    memory.check(need.held + (need.blocks if place.name is None else 0.0), what, advice)
    if place.name is not None:
        words = (0, 0) if graph.attributes is None else (graph.attributes.nnz, graph.attributes.shape[1])
        numbers = graph.n_nodes * (workspace.rank + OVERSAMPLING) * len(row_kinds(members))
        numbers += (graph.n_nodes + words[1]) * classes * (folds + 1)
        models = A_NUMBER * numbers + AN_ENTRY * (words[0] + 2 * graph.adjacency.nnz) + AT_A_TIME
        if models <= free_on(chosen_device(place.name)):
            workspace.backend = backend_of(place.name)
    return place


def uses_device(method: str) -> bool:
    """Whether a method works on a device of torch if it is given one; most classifiers do not.

    >>> uses_device("auto"), uses_device("gmnr"), uses_device("wvrn")
    (True, True, False)
    """
    from querist.collective.catalogue import CLASSIFIERS

    return method not in CLASSIFIERS or hasattr(CLASSIFIERS[method], "device")


def member_of(method: str) -> Model:
    """A model, or a classifier as a model.

    >>> member_of("wvrn").uses_attributes
    False
    """
    from querist.collective.catalogue import CLASSIFIERS, reads_attributes

    if method in MEMBERS:
        return MEMBERS[method]
    if method not in CLASSIFIERS:
        raise UnknownNameError.of("method", method, ["auto", *MEMBERS, *CLASSIFIERS])
    passes = 10.0 if reads_attributes(method) else 1.0
    return ClassifierModel(f"{method} of querist.CLASSIFIERS", method, passes=passes)
