"""Labels for all nodes of a graph on a cluster, by ridge regressions on smoothed rows.

`label` takes the members of `querist.label` that are made for size: regressions on rows smoothed over the
graph, of links, and of attributes where there are any (labelling/members.py). The labelled rows are few:
every rank has them all, fits the same regressions and answers for its own nodes. Regressions weigh by the
answers at labels that are left out, and so are probabilities scaled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from querist.cluster.components import spread
from querist.cluster.rows import link_features, smoothed_triples, word_features, word_weights
from querist.cluster.shard import Shard
from querist.cluster.store import WORK, load_matrix, load_rows, read_about, write_table
from querist.cluster.tables import graph_tables, work_on
from querist.cluster.transport import Group
from querist.errors import InputError
from querist.graph_options import FileKeywords
from querist.labelling import combine
from querist.labelling.decisions.estimate import Estimate, point_estimate
from querist.labelling.heads import is_right, judgeable
from querist.labelling.members import CLUSTER_RANK, DESCRIBED, LINKED, Regressions
from querist.labelling.rows import FEW_SWEEPS, LARGE, SWEEPS, SingularRows, decisive
from querist.stats import wilson
from querist.tables.arrow import pa
from querist.types import Bools, Codes, Floats

CHUNK = 4096
"""Nodes that are answered at a time."""


@dataclass(frozen=True)
class LabelledParts:
    """What became of labels on a cluster.

    Parameters
    ----------
    out : folder of parquet files: node, label, probability, reached
    method : what was done
    workers, cut : how many worked; the share of the entries between them
    nodes, edges, classes, labels : of the graph and of what was given
    lost : labels of nodes without edges, which are not used
    accuracy : of answers at labels that were left out, NaN for fewer than 50, and their 95 % interval
    reached : nodes that a label reaches
    seconds : reading and placing; solving

    >>> found = LabelledParts(
    ...     "found", "GMNR", 2, 0.3, 1000, 5000, ("a", "b"), 50, 0, 0.9, (0.8, 0.95), 1000, 10**5,
    ...     {"reading": 2.0, "solving": 1.0},
    ... )
    >>> found.report().splitlines()[3]
    'Expected accuracy 0.900 (0.800 to 0.950), by labels that were left out'
    """

    out: str
    method: str
    workers: int
    cut: float
    nodes: int
    edges: int
    classes: tuple[str, ...]
    labels: int
    lost: int
    accuracy: float
    interval: tuple[float, float]
    reached: int
    bytes: int
    seconds: Mapping[str, float]

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
    done = work_on(cluster, workers, out, tables, label_rows, seed)
    first = done.parts[0]
    return LabelledParts(
        classes=tuple(done.about["classes"]),
        lost=int(done.about["lost_labels"]),
        reached=sum(part["reached"] for part in done.parts),
        labels=first["labels"],
        method=first["method"],
        accuracy=first["accuracy"],
        interval=first["interval"],
        **done.numbers,
    )


# -- in every rank ------------------------------------------------------------------------------------


def label_rows(group: Group, place: Path, seed: int) -> dict[str, Any]:
    """Own labels by regressions on smoothed rows, written; what is known of all of it."""
    loaded, beside = load_rows(group, place / WORK, "codes")
    shard, about = loaded.shard(group), read_about(place / WORK)
    codes, classes = beside["codes"], np.array(about["classes"], dtype=object)
    Y = _indicators(shard, codes, classes.size)
    models = {"links": LINKED, **({"smoothed": DESCRIBED} if "words" in about else {})}
    fitted = list[tuple[SingularRows, Regressions]]()
    for model in models.values():
        if model.settings.source == "links":
            features = link_features(shard)
        else:
            features = word_features(shard, word_weights(shard, load_matrix(shard, place / WORK)))
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
