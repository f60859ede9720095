"""Labels for all nodes of a graph on a cluster, by ridge regressions on smoothed rows.

`label` takes the members of `querist.label` that are made for size: regressions on rows smoothed over the
graph, of links, and of attributes where there are any (labelling/members.py). The labelled rows are few:
every rank has them all, fits the same regressions and answers for its own nodes. Regressions weigh by the
answers at labels that are left out, and so are probabilities scaled.

Of the decomposition of the smoothed features (labelling/rows.py) the nodes' side lies on the ranks. The
features' side does too where features are links, for then they are nodes; words are few, and every rank has
them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from querist.cluster.shard import Shard, spread
from querist.cluster.space import ShardOperator, ShardSpace
from querist.cluster.store import WORK, load_rows, read_about, write_table
from querist.cluster.tables import Written, graph_tables, work_on
from querist.cluster.transport import Group
from querist.embedding.kinds.diffusion import (
    Products,
    Triples,
    own_weights,
    rarity,
    singular_triples,
    smoothed,
    weighted,
)
from querist.errors import InputError
from querist.graph_options import FileKeywords
from querist.labelling import combine
from querist.labelling.decisions.estimate import Estimate, point_estimate
from querist.labelling.heads import is_right, judgeable
from querist.labelling.members import CLUSTER_RANK, DESCRIBED, LINKED, Regressions
from querist.labelling.rows import FEW_SWEEPS, LARGE, SWEEPS, RowSettings, SingularRows, decisive
from querist.operator.kernels import scale_entries
from querist.operator.local import LocalSpace
from querist.operator.threads import one_blas_thread, over_rows
from querist.progress import silent
from querist.stats import wilson
from querist.tables.arrow import pa
from querist.types import Bools, Codes, Floats, Sparse

CHUNK = 4096
"""Nodes that are answered at a time."""

Block = Any


@dataclass(frozen=True, kw_only=True)
class LabelledParts(Written):
    """What became of labels on a cluster; `out` holds the columns node, label, probability and reached.

    Parameters
    ----------
    method : what was done
    classes, labels : of what was given
    lost : labels of nodes without edges, which are not used
    accuracy : of answers at labels that were left out, NaN for fewer than 50, and their 95 % interval
    reached : nodes that a label reaches

    The others are those of `Written`.

    >>> found = LabelledParts(
    ...     out="found", workers=2, cut=0.3, nodes=1000, edges=5000, bytes=10**5,
    ...     seconds={"reading": 2.0, "solving": 1.0}, method="GMNR", classes=("a", "b"), labels=50, lost=0,
    ...     accuracy=0.9, interval=(0.8, 0.95), reached=1000,
    ... )
    >>> found.report().splitlines()[3]
    'Expected accuracy 0.900 (0.800 to 0.950), by labels that were left out'
    """

    method: str
    classes: tuple[str, ...]
    labels: int
    lost: int
    accuracy: float
    interval: tuple[float, float]
    reached: int

    def report(self) -> str:
        """A few lines."""
        estimate = Estimate(self.accuracy, *self.interval, how="by labels that were left out")
        expected = f"Expected accuracy {estimate}, {estimate.how}\n" if estimate.is_known else ""
        lost = f"; {self.lost:,} labels are of nodes without edges, and left out" if self.lost else ""
        return (
            f"{self.nodes:,} nodes and {self.edges:,} edges on {self.workers} workers, "
            f"{100 * self.cut:.0f} % of the entries between them\n"
            f"{self.labels:,} labels of {len(self.classes):,} classes{lost}\n{self.method}\n{expected}"
            f"{self.reached:,} nodes reached; read and placed in {self.seconds['reading']:.1f} s, labelled "
            f"in {self.seconds['solving']:.1f} s"
        )


def label(
    edges: str | Path,
    labels: str | Path,
    out: str | Path,
    *,
    cluster: str,
    attributes: str | Path | None = None,
    seed: int = 0,
    workers: int | None = None,
    **columns: Unpack[FileKeywords],
) -> LabelledParts:
    """A label for every node of a graph in folders of tables, on a Dask cluster.

    Parameters
    ----------
    edges, labels, attributes : folders of parquet or CSV files that all workers see: source, target (and
        weight); node, label; node, attribute, count
    out : folder of the results, new or empty
    cluster : address of the Dask scheduler
    workers : how many to use; all by default. The labels do not depend on it
    columns : source, target, weight, id and label_column of `FileOptions`

    >>> label("edges", "labels", "found", cluster="tcp://HOST:8786").report()  # doctest: +SKIP
    """
    tables = graph_tables(edges, labels, attributes, **columns)
    parts, about, numbers = work_on(cluster, workers, out, tables, label_rows, seed)
    first = parts[0]
    return LabelledParts(
        classes=tuple(about["classes"]),
        lost=int(about["lost_labels"]),
        reached=sum(part["reached"] for part in parts),
        labels=first["labels"],
        method=first["method"],
        accuracy=first["accuracy"],
        interval=first["interval"],
        **numbers,
    )


# -- in every rank ------------------------------------------------------------------------------------


def label_rows(group: Group, place: Path, seed: int) -> dict[str, Any]:
    """Own labels by regressions on smoothed rows, written; what is known of all of it."""
    loaded, beside, counts = load_rows(group, place / WORK)
    shard, about = loaded.shard(group), read_about(place / WORK)
    codes, classes = beside["codes"], np.array(about["classes"], dtype=object)
    Y = _indicators(shard, codes, classes.size)
    models = {"links": LINKED, **({"smoothed": DESCRIBED} if "words" in about else {})}
    fitted = list[tuple[SingularRows, Regressions]]()
    for model in models.values():
        if model.settings.source == "links":
            features = link_features(shard)
        else:
            features = word_features(shard, word_weights(shard, counts))
        sweeps = SWEEPS if shard.n <= LARGE else FEW_SWEEPS
        triples = smoothed_triples(shard, features, model.settings, CLUSTER_RANK, sweeps=sweeps, seed=seed)
        rows = decisive(triples, CLUSTER_RANK)
        every = np.concatenate(shard.group.everyone(rows.left[codes >= 0]))
        found = Regressions.of(SingularRows(every, rows.values), CLUSTER_RANK, Y, multilabel=False)
        fitted.append((rows, found))
    P, left_out = _pooled(shard, fitted, Y)
    judged = judgeable(Y)
    right = is_right(left_out, Y)[judged]
    interval = wilson(right.sum(), right.size) if right.size else (0.0, 1.0)
    is_reached = spread(shard, codes >= 0)
    method_text = " and ".join(f"{model.what} ({name})" for name, model in models.items())
    written = _written(shard, place, P, is_reached, codes, classes)
    return written | {
        "labels": len(Y),
        "accuracy": point_estimate(right),
        "interval": (float(interval[0]), float(interval[1])),
        "method": f"Ridge regressions on {method_text}, weighted by labels that were left out",
    }


def _indicators(shard: Shard, codes: Codes, count: int) -> Floats:
    """(m, K) the classes of all labelled rows, in the order of the rows of all ranks."""
    every = np.concatenate(shard.group.everyone(codes[codes >= 0]))
    if np.unique(every).size < 2:
        raise InputError("the labels of nodes with edges name one class; at least two are needed")
    return np.asarray(np.eye(count)[every])


def _pooled(
    shard: Shard, fitted: Sequence[tuple[SingularRows, Regressions]], Y: Floats
) -> tuple[Floats, Floats]:
    """(own, K) probabilities from own rows and regressions, and the pooled answers at all labels that were
    left out."""
    judged = judgeable(Y)
    tables = [found.left_out() for _, found in fitted]
    weights = np.full(len(tables), 1 / len(tables))
    if judged.any() and len(tables) > 1:
        weights = combine.stacked([table[judged] for table in tables], Y[judged], weights, multilabel=False)
    weights = shard.group.everyone(weights)[0]
    left_out = combine.pooled(tables, weights)
    scale = combine.scaled(left_out, Y, False, judged if judged.any() else None)
    steepness = float(shard.group.everyone(np.array(scale.steepness))[0])
    P = np.empty((shard.own, Y.shape[1]))
    for rows in shard.parts(CHUNK):  # the same bits in any company
        own = [found.logits(part.left[rows], part.values) for part, found in fitted]
        L = combine.pooled(own, weights)
        P[rows] = combine.probabilities(steepness * L, multilabel=False)
    return P, left_out


def _written(
    shard: Shard, place: Path, P: Floats, is_reached: Bools, codes: Codes, classes: Any
) -> dict[str, Any]:
    """A table of own nodes: the label that was given, or the likeliest, or none where none reaches."""
    best = np.where(codes >= 0, codes, P.argmax(axis=1))
    sure = np.where(codes >= 0, 1.0, P.max(axis=1, initial=0.0))
    names = pa.array(classes[best].tolist(), pa.string(), mask=~is_reached)
    size = write_table(
        shard,
        place / WORK,
        place,
        {"label": names, "probability": np.where(is_reached, sure, 0.0), "reached": is_reached},
    )
    return {"bytes": size, "reached": int(is_reached.sum())}


# -- smoothed features --------------------------------------------------------------------------------


def smoothing(shard: Shard, *, dtype: DTypeLike = np.float64) -> ShardOperator:
    """`T = D^-1/2 (S + C) D^-1/2`, every node its own, average, neighbour (embedding/kinds/diffusion.py)."""
    kind, degrees = np.dtype(dtype), shard.degrees()
    own = own_weights(degrees, shard.indptr)
    r = shard.with_halo(1 / np.sqrt(degrees + own))
    values = np.empty(shard.nnz, dtype=kind)
    over_rows(scale_entries, (shard.indptr, shard.indices, shard.weights, r, values), shard.cuts, shard.nnz)
    return ShardOperator(shard, values, (own * r[: shard.own] ** 2).astype(kind), sign=1)


def link_features(shard: Shard) -> Products:
    """tf-idf rows of length one over links: a node's words are its neighbours and itself.

    `X = N^-1 A I` with A the pattern and the diagonal, I the weights of words and N the lengths of rows.
    """
    kind = np.dtype(np.float32)
    A = ShardOperator(shard, np.ones(shard.nnz, dtype=kind), np.ones(shard.own, dtype=kind), sign=1)
    exact = ShardOperator(shard, np.ones(shard.nnz), np.ones(shard.own), sign=1)
    weight = rarity(shard.n, np.diff(shard.indptr) + 1)[:, None]
    length = np.sqrt(exact.matmat(weight**2))
    weight, length = weight.astype(kind), length.astype(kind)

    def forward(B: Block) -> Block:
        return A.matmat(A.space.given(weight * B)) / length

    def backward(B: Block) -> Block:
        return weight * A.matmat(A.space.given(B / length))

    return Products(forward, backward, A.space, A.space)


def word_features(shard: Shard, X: Sparse, dtype: DTypeLike = np.float32) -> Products:
    """Rows (own, words) that every rank has in full; sums over nodes go over segments in their order."""
    kind = np.dtype(dtype)
    own: Any = X.astype(kind)
    turned = [sp.csr_array(own[rows].T) for _, rows in shard.own_segments]

    def backward(B: Block) -> Block:
        parts = [part @ B[rows] for part, (_, rows) in zip(turned, shard.own_segments, strict=True)]
        return shard.in_turn(parts, np.zeros((X.shape[1], B.shape[1]), dtype=kind))

    words = LocalSpace(X.shape[1], kind)
    return Products(lambda B: np.asarray(own @ B), backward, ShardSpace.of(shard, kind), words)


def word_weights(shard: Shard, counts: Sparse) -> Sparse:
    """Rows of length one of own nodes: `log(1 + count)` by how rare a word is."""
    X = sp.csr_array((np.log1p(counts.data), counts.indices, counts.indptr), shape=counts.shape)
    X.eliminate_zeros()
    often = shard.group.everyone(np.bincount(X.indices, minlength=X.shape[1]))
    return weighted(X, "tfidf", rarity(shard.n, np.sum(often, axis=0)))


def smoothed_triples(
    shard: Shard,
    features: Products,
    settings: RowSettings,
    rank: int,
    *,
    sweeps: int,
    tol: float | None = None,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
) -> Triples:
    """The leading directions of the smoothed features, `left` own rows: see `singular_triples`."""
    T = smoothing(shard, dtype=dtype)

    def smooth(block: Block) -> Block:
        return smoothed(T, block, settings.steps, settings.damping)

    Z = features._replace(
        forward=lambda B: smooth(features.forward(B)), backward=lambda B: features.backward(smooth(B))
    )
    with one_blas_thread():
        return singular_triples(Z, rank, tol=tol, sweeps=sweeps, seed=seed, progress=silent)
