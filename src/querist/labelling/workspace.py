"""What `label` works on, and what its methods share: `Workspace`, `LabellingMethod`, `Member`, `Fitted`."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from querist.graph import Graph
from querist.labelling.rows import RowSettings, SingularRows, Source, features, smoothed_rows
from querist.operator.threads import available
from querist.operator.value import Operator
from querist.progress import Progress, silent
from querist.types import Codes, Floats, Sparse

RANKS = (16, 35, 70, 150)
"""Columns at which smoothed rows are cut."""

SMALL = 200_000
"""Most nodes of a graph whose kinds of rows are computed side by side."""


@dataclass
class Workspace:
    """A graph, and what was computed of it without any label; shared by all methods and folds.

    `place` is what lies on the device while members are fitted there (`device/`).
    """

    graph: Graph
    rank: int = max(RANKS)
    progress: Progress = silent
    device: str | None = None
    place: Any = None
    _rows: dict[RowSettings, SingularRows] = field(default_factory=dict)
    _features: dict[str, Sparse] = field(default_factory=dict)
    _kernels: dict[Any, Any] = field(default_factory=dict)

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
    def walks(self) -> Operator:
        """`I - D^-1/2 S D^-1/2`, weights taken by their size."""
        return Operator.laplacian(abs(self.graph.adjacency), normalised=True)

    def neighbours(self, B: Floats, *, mean: bool = True) -> Floats:
        """(n, k) `D^-1 S B`: the mean of B over a node's neighbours, 0 where it has none; without `mean`
        `S D^-1 B`, in which every node divides what it has among its neighbours."""
        degrees = self.graph.degrees[:, None]
        root = np.sqrt(degrees)
        inverse = np.divide(1.0, root, out=np.zeros_like(root), where=degrees > 0)
        before, after = (root, inverse) if mean else (inverse, root)
        scaled = before * B
        return np.asarray(after * (scaled - self.walks.matmat(scaled)))

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
        if self.graph.n_nodes <= SMALL and available() > 1:
            with ThreadPoolExecutor(available()) as pool:
                list(pool.map(self.rows, kinds))

    def rows(self, settings: RowSettings) -> SingularRows:
        """Smoothed rows, computed when first asked for."""
        if settings not in self._rows:
            X = self.features(settings.source)
            self._rows[settings] = smoothed_rows(
                self.graph, X, settings, self.rank, progress=self.progress, device=self.device
            )
        return self._rows[settings]

    def features(self, source: Source) -> Sparse:
        """(n, m) features of the nodes, computed when first asked for."""
        if source not in self._features:
            self._features[source] = features(self.graph, source)
        return self._features[source]

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

    def kernel(self, family: Any) -> Any:
        """The kernel of a family (`kernel_ridge.py`), made when first asked for."""
        if family not in self._kernels:
            self._kernels[family] = family.of(self)
        return self._kernels[family]


class Fitted(Protocol):
    """A method that saw its labels."""

    def logits(self, nodes: Codes | slice) -> Floats:
        """(m, K) for these rows."""

    def smoother(self, nodes: Any) -> Floats | None:
        """How much each labelled row weighed for these nodes, or None where the method cannot say."""


class LabellingMethod(Protocol):
    """A way to label nodes, before it sees labels."""

    @property
    def what(self) -> str:
        """A phrase: "attributes averaged over neighbours"."""

    @property
    def uses_attributes(self) -> bool:
        """Whether it looks at attributes, or at the links alone."""

    def suits(self, workspace: Workspace, multilabel: bool) -> bool:
        """Whether it can be used here."""

    def work(self, workspace: Workspace, labels: int, classes: int, fits: int) -> float:
        """About how many multiplications so many fits take: a size, which `members.plan` limits."""

    def fit(self, workspace: Workspace, labelled: Codes, Y: Floats, multilabel: bool) -> Fitted:
        """Learn from the rows `labelled` (m,) and their classes `Y` (m, K) 0/1."""


@dataclass(frozen=True)
class Member:
    """A method and its place in `auto`.

    `prior_weight` is what it counts before any label is held out; if the attributes are measurements it is
    `on_measurements` times that.

    >>> from querist.labelling.members import MEMBERS
    >>> isinstance(MEMBERS["walks"], Member), MEMBERS["walks"].prior_weight
    (True, 1.0)
    """

    method: LabellingMethod
    prior_weight: float = 1.0
    on_measurements: float = 1.0
