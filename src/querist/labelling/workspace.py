"""What `label` works on, and what a model is: `Workspace`, `Seen`, `Model`, `Fitted`."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from querist.graph import Graph
from querist.labelling.rows import RowSettings, SingularRows, Source, features, smoothed_rows
from querist.operator.backend import HERE, Backend
from querist.operator.threads import available
from querist.progress import Progress, silent
from querist.types import Codes, Floats, Sparse

RANKS = (16, 35, 70, 150)
"""Columns at which smoothed rows are cut."""

SMALL = 200_000
"""Most nodes of a graph whose kinds of rows are computed side by side."""

A = TypeVar("A")
T = TypeVar("T")


def side_by_side(work: Callable[[A], T], items: Iterable[A], *, in_threads: bool = True) -> list[T]:
    """`work(item)` for every item, on all threads, or one after the other."""
    with ThreadPoolExecutor(available() if in_threads else 1) as pool:
        return list(pool.map(work, items))


@dataclass
class Workspace:
    """A graph, and what was computed of it without any label; shared by all models and folds.

    Rows are computed on the `device`. The models work on arrays of the `backend`, on which everything is
    placed once.
    """

    graph: Graph
    rank: int = max(RANKS)
    progress: Progress = silent
    device: str | None = None
    backend: Backend = HERE
    _made: dict[Hashable, Any] = field(default_factory=dict)
    _placed: dict[Hashable, Any] = field(default_factory=dict)

    @cached_property
    def has_attributes(self) -> bool:
        """Whether there are attributes to look at."""
        X = self.graph.attributes
        return X is not None and bool(X.count_nonzero() > 0)

    @cached_property
    def has_counts(self) -> bool:
        """Whether the attributes can be read as counts."""
        return self.has_attributes and bool(self.graph.attributes.data.min() >= 0)  # type: ignore[union-attr]

    @cached_property
    def counted(self) -> Graph:
        """Attributes as counts for a generative model: damped where whole, 0/1 where they are fractions."""
        assert self.graph.attributes is not None
        X = sp.csr_array(self.graph.attributes, copy=True)
        whole = bool((X.data == np.round(X.data)).all())
        X.data = np.log1p(X.data) if whole else (X.data > 0).astype(np.float64)
        return replace(self.graph, attributes=X)

    def compute_rows(self, kinds: Sequence[RowSettings]) -> None:
        """Several kinds of rows side by side, where their blocks are small enough to share the memory."""
        for source in {settings.source for settings in kinds}:
            self.features(source)
        if self.graph.n_nodes <= SMALL and available() > 1 and self.device is None:
            side_by_side(self.rows, kinds)

    def made(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` gives, made when first asked for; threads that ask at once may all make it."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def rows(self, settings: RowSettings) -> SingularRows:
        """Smoothed rows, computed when first asked for."""

        def make() -> SingularRows:
            X, show = self.features(settings.source), self.progress
            return smoothed_rows(self.graph, X, settings, self.rank, progress=show, device=self.device)

        return cast(SingularRows, self.made(settings, make))

    def features(self, source: Source) -> Sparse:
        """(n, m) features of the nodes, computed when first asked for."""
        return cast(Sparse, self.made(source, lambda: features(self.graph, source)))

    @cached_property
    def standardised(self) -> Floats:
        """(n, d) dense attributes: columns of mean zero and deviation one, by the root of their number."""
        assert self.graph.attributes is not None
        X = self.graph.attributes.toarray().astype(np.float64)
        largest = abs(X).max(axis=0)  # first, so that no square overflows or vanishes
        X /= np.where(largest > 0, largest, 1.0)
        deviation = X.std(axis=0)
        X -= X.mean(axis=0)
        X /= np.where(deviation > 0, deviation, 1.0) * np.sqrt(X.shape[1])
        return X

    @cached_property
    def shuffled(self) -> Codes:
        """(n,) the place of every node in a random order."""
        return np.random.default_rng(0).permutation(self.graph.n_nodes)

    # -- arrays of the backend ---------------------------------------------------------------------

    def placed(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once on this backend."""
        if key not in self._placed:
            self._placed[key] = make()
        return self._placed[key]

    def leave(self) -> None:
        """Work in this process from now on: the memory of a device is not kept."""
        self.backend, self._placed = HERE, {}

    def taken(self, block: Any, nodes: Codes | slice) -> Any:
        """Rows of a block of the backend."""
        return block[nodes if isinstance(nodes, slice) else self.backend.given(nodes)]

    def left(self, settings: RowSettings) -> Any:
        """(n, r) the orthonormal columns of smoothed rows, on a device in the precision they came in."""
        kind = np.float32 if self.backend.at_once else np.float64
        return self.placed(settings, lambda: self.backend.given(self.rows(settings).left, kind))

    def matrix(self, source: Source | str) -> Any:
        """(n, m) the features of a source, or the "counts", for products."""
        X = self.counted.attributes if source == "counts" else self.features(source)  # type: ignore[arg-type]
        assert X is not None
        return self.placed(source, lambda: self.backend.matrix(X))

    @property
    def walks(self) -> Any:
        """`I - D^-1/2 S D^-1/2`, weights taken by their size."""
        S = self.graph.adjacency
        return self.placed("walks", lambda: self.backend.laplacian(abs(S), normalised=True))

    def neighbours(self, B: Any, *, mean: bool = True) -> Any:
        """(n, k) `D^-1 S B`: the mean of B over a node's neighbours, 0 where it has none; without `mean`
        `S D^-1 B`, in which every node divides what it has among its neighbours."""
        root = np.sqrt(self.graph.degrees[:, None])
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
        both = self.placed("roots", lambda: [self.backend.given(each) for each in (root, inverse)])
        before, after = both if mean else both[::-1]
        scaled = before * B
        return after * (scaled - self.walks.matmat(scaled))


class Seen(NamedTuple):
    """Labels that a model learns from: rows `labelled` (m,) and their classes `Y` (m, K) 0/1."""

    labelled: Codes
    Y: Floats
    multilabel: bool = False


class Fitted(Protocol):
    """A model that saw its labels."""

    def logits(self, nodes: Codes | slice) -> Floats:
        """(m, K) for these rows."""

    @property
    def smoother(self) -> Callable[[Any], Floats] | None:
        """How much each labelled row weighed for nodes; None if the model cannot say."""


Refiner = Callable[[Any, Floats], Floats]
"""(m, K) log-probabilities of m nodes from their rows, and from the classes (m, K) that they seem to have."""


@dataclass(frozen=True)
class Model:
    """A way to label nodes, before it sees labels, and its place in `auto`.

    A new model inherits it, says what it needs (`suits`, `rows`) and costs (`work`, `memory`), and fits;
    an entry of `members.MEMBERS` makes it known. `what` is a phrase: "attributes averaged over neighbours".
    `prior_weight` is what it counts before any label is held out; if the attributes are measurements it is
    `on_measurements` times that.

    >>> from querist.labelling.members import MEMBERS
    >>> isinstance(MEMBERS["walks"], Model), MEMBERS["walks"].prior_weight
    (True, 1.0)
    """

    what: str
    prior_weight: float = field(default=1.0, kw_only=True)
    on_measurements: float = field(default=1.0, kw_only=True)

    is_regression: ClassVar[bool] = False
    """Whether it learns classes apart, so that the shares of the classes are worth matching."""

    @property
    def uses_attributes(self) -> bool:
        """Whether it looks at attributes, or at the links alone."""
        return False

    @property
    def rows(self) -> tuple[RowSettings, ...]:
        """The smoothed rows that it needs."""
        return ()

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Whether it can be used here."""
        return True

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """About how many multiplications so many fits take: a size, which `members.plan` limits."""
        return 0.0

    def memory(self, workspace: Workspace, labels: int) -> float:
        """Bytes that it holds beside its rows and its logits."""
        return 0.0

    def for_picked(self) -> Self:
        """The same for labels that were picked: how many there are of a class says nothing."""
        return self

    def fit(self, workspace: Workspace, seen: Seen) -> Fitted:
        """Learn from labels. A model has this or `fit_all`."""
        return self.fit_all(workspace, [seen])[0]

    def fit_all(self, workspace: Workspace, tasks: Sequence[Seen]) -> Sequence[Fitted]:
        """Learn from each of several sets of labels: on a device, all labels and those outside each fold."""
        return side_by_side(partial(self.fit, workspace), tasks)

    def refiners(self, workspace: Workspace) -> dict[str, Refiner]:
        """Steps of self-training that go with it, by name (refine.py)."""
        return {}
