"""Labels for all nodes of a graph on a cluster: ridge regressions on smoothed rows; and GMNR on counts.

`label` takes the members of `querist.label` that are made for size: regressions on rows smoothed over the
graph, of links, and of attributes where there are any (labelling/members.py). The labelled rows are few:
every rank has them all, fits the same regressions and answers for its own nodes. Regressions weigh by the
answers at labels that are left out, and so are probabilities scaled.

`classify` is GMNR (generative.py), and `measure` says how often it is right.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from querist.cluster.components import spread
from querist.cluster.generative import GenerativeShard, inferred
from querist.cluster.partition import draws
from querist.cluster.rows import link_features, smoothed_triples, word_features, word_weights
from querist.cluster.shard import Shard
from querist.cluster.store import WORK, load_matrix, load_rows, read_about, write_table
from querist.cluster.tables import graph_tables, work_on
from querist.cluster.transport import Group
from querist.collective.gmnr import GMNR
from querist.errors import InputError
from querist.labelling import combine
from querist.labelling.heads import accuracy, judgeable
from querist.labelling.members import CLUSTER_RANK, MEMBERS, FittedRidges, SmoothedRidge, regressions
from querist.labelling.rows import FEW_SWEEPS, LARGE, SWEEPS, SingularRows, decisive
from querist.operator.estimate import WorkerShare, worker_share
from querist.stats import wilson
from querist.tables.arrow import pa
from querist.types import Bools, Codes, Floats

LINKS, ATTRIBUTES = "links", "smoothed"
"""The members of `querist.label` that are taken."""

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
    accuracy : of answers at labels that were left out, and an interval of 95 %; nan where unknown
    reached : nodes that a label reaches
    seconds : reading and placing; solving
    columns : of the smoothed rows, where there are any

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
    columns: int = 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"worker": asdict(self.share) if self.share else None}

    @property
    def share(self) -> WorkerShare | None:
        """What each worker takes, by the model of docs/scale.md; None where no rows were smoothed."""
        if not self.columns:
            return None
        return worker_share(self.nodes, self.edges, self.workers, rank=self.columns, cut=self.cut)

    def report(self) -> str:
        """A few lines."""
        low, high = self.interval
        expected = (
            f"Expected accuracy {self.accuracy:.3f} ({low:.3f} to {high:.3f}), by labels that were left out\n"
            if np.isfinite(self.accuracy)
            else ""
        )
        share = f"; {self.share.in_words()}" if self.share else ""
        lost = f"; {self.lost:,} labels are of nodes without edges, and left out" if self.lost else ""
        return (
            f"{self.nodes:,} nodes and {self.edges:,} edges on {self.workers} workers, "
            f"{100 * self.cut:.0f} % of the entries between them{share}\n"
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
    **columns: str | None,
) -> LabelledParts:
    """A label for every node of a graph in folders of tables, on a Dask cluster.

    Parameters
    ----------
    edges, labels, attributes : folders of parquet or CSV files that all workers see: source, target (and
        weight); node, label; node, attribute, count
    out : folder of the results, new or empty
    cluster : address of the Dask scheduler
    columns : `source`, `target`, `weights`, `id`, `label`: names of columns, where they do not say it
    workers : how many to use; all by default. The labels do not depend on it

    >>> label("edges", "labels", "found", cluster="tcp://HOST:8786").report()  # doctest: +SKIP
    """
    return _run(edges, labels, attributes, out, cluster, workers, columns, label_rows, seed)


def classify(
    edges: str | Path,
    labels: str | Path,
    attributes: str | Path,
    out: str | Path,
    *,
    cluster: str,
    workers: int | None = None,
    columns: Mapping[str, Any] | None = None,
    **settings: Any,
) -> LabelledParts:
    """The same by GMNR on counts of words; `settings` are parameters of `querist.collective.GMNR`.

    >>> tables = "edges", "labels", "attributes"
    >>> classify(*tables, "found", cluster="tcp://HOST:8786", lam=5.0).report()  # doctest: +SKIP
    """
    model = _model(settings)
    return _run(edges, labels, attributes, out, cluster, workers, columns or {}, generative_rows, model)


@dataclass(frozen=True)
class MeasuredParts:
    """How often GMNR was right on a cluster: `runs` have accuracy, reached, labelled, seconds of a trial.

    >>> run = {"accuracy": 0.9, "reached": 1.0, "labelled": 50, "seconds": 0.1}
    >>> MeasuredParts(1000, 5000, ("a", "b"), 2, (run, run)).as_dict()["accuracy"]
    {'mean': 0.9, 'std': 0.0}
    """

    nodes: int
    edges: int
    classes: tuple[str, ...]
    workers: int
    runs: tuple[Mapping[str, float], ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        spread = {
            "mean": self._mean("accuracy"),
            "std": float(np.std([run["accuracy"] for run in self.runs])),
        }
        return asdict(self) | {"accuracy": spread}

    def _mean(self, name: str) -> float:
        return float(np.mean([run[name] for run in self.runs]))

    def report(self) -> str:
        """A few lines."""
        spread = self.as_dict()["accuracy"]
        return (
            f"{self.nodes:,} nodes and {self.edges:,} edges on {self.workers} workers, {len(self.classes)} "
            f"classes\naccuracy {spread['mean']:.4f} ± {spread['std']:.4f} in {len(self.runs)} trials, "
            f"{self.runs[0]['labelled']:,} nodes labelled; {100 * self._mean('reached'):.1f} % of the tested "
            f"nodes reached; {self._mean('seconds'):.2f} s a trial"
        )


def measure(
    edges: str | Path,
    labels: str | Path,
    attributes: str | Path,
    scratch: str | Path,
    *,
    cluster: str,
    labelled: float = 0.05,
    trials: int = 10,
    seed: int = 0,
    workers: int | None = None,
    columns: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> MeasuredParts:
    """How often GMNR is right when it sees a share of each class's labels; `scratch` is left as it was.

    >>> tables = "edges", "labels", "attributes"
    >>> measure(*tables, "scratch", cluster="tcp://HOST:8786").report()  # doctest: +SKIP
    """
    if not 0 < labelled < 1 or trials < 1:
        raise InputError(
            f"labelled {labelled:g}, trials {trials}; the first lies between 0 and 1, the second from 1"
        )
    model = _model(settings or {})
    tables = graph_tables(edges, labels, attributes, **(columns or {}))
    done = work_on(cluster, workers, scratch, tables, measured_rows, model, labelled, trials, seed)
    classes = tuple(done.about["classes"].tolist())
    return MeasuredParts(done.nodes, done.edges, classes, len(done.parts), tuple(done.parts[0]))


def _model(settings: Mapping[str, Any]) -> GMNR:
    model = GMNR(**settings)
    model.check()
    if model.features != "attributes" or model.clamp == "dirichlet" or model.solver in ("factor", "cg"):
        raise InputError(
            "GMNR on a cluster takes features='attributes', clamp 'reset' or 'none', and solver 'auto' or "
            "'jacobi'; leave the others to one machine"
        )
    return model


def _run(
    edges: Any, labels: Any, attributes: Any, out: Any, cluster: str, workers: int | None,
    columns: Mapping[str, Any], work: Any, setting: Any,
) -> LabelledParts:  # fmt: skip
    tables = graph_tables(edges, labels, attributes, **columns)
    done = work_on(cluster, workers, out, tables, work, setting)
    first = done.parts[0]
    return LabelledParts(
        out=str(done.place),
        workers=len(done.parts),
        cut=float(done.about["cut"]),
        nodes=done.nodes,
        edges=done.edges,
        classes=tuple(done.about["classes"].tolist()),
        lost=int(done.about["lost_labels"]),
        reached=sum(part["reached"] for part in done.parts),
        bytes=sum(part["bytes"] for part in done.parts),
        labels=first["labels"],
        method=first["method"],
        accuracy=first["accuracy"],
        interval=first["interval"],
        seconds=done.seconds,
        columns=first.get("columns", 0),
    )


# -- in every rank ------------------------------------------------------------------------------------


def label_rows(group: Group, place: Path, seed: int) -> dict[str, Any]:
    """Own labels by regressions on smoothed rows, written; what is known of all of it."""
    rows, beside = load_rows(group, place / WORK, "codes")
    shard, about = rows.shard(group), read_about(place / WORK)
    codes, classes = beside["codes"], about["classes"]
    Y = _indicators(shard, codes, classes.size)
    names = [LINKS, *([ATTRIBUTES] if "words" in about else [])]
    fitted: dict[str, FittedRidges] = {}
    for name in names:
        method = cast(SmoothedRidge, MEMBERS[name].method)
        if name == LINKS:
            features = link_features(shard)
        else:
            features = word_features(shard, word_weights(shard, load_matrix(shard, place / WORK)))
        sweeps = SWEEPS if shard.n <= LARGE else FEW_SWEEPS
        triples = smoothed_triples(shard, features, method.settings, CLUSTER_RANK, sweeps=sweeps, seed=seed)
        fitted[name] = _fitted(shard, decisive(triples, CLUSTER_RANK), codes, Y)
    P, left_out = _pooled(shard, fitted, codes, Y)
    judged = judgeable(Y)
    right = accuracy(left_out, Y, judged) if judged.any() else float("nan")
    interval = wilson(round(right * judged.sum()), int(judged.sum())) if judged.any() else (0.0, 1.0)
    is_reached = spread(shard, codes >= 0)
    method_text = " and ".join(f"{MEMBERS[name].method.what} ({name})" for name in names)
    found = _written(shard, place, P, is_reached, codes, classes)
    return found | {
        "labels": len(Y),
        "accuracy": right,
        "interval": (float(interval[0]), float(interval[1])),
        "columns": CLUSTER_RANK,
        "method": f"Ridge regressions on {method_text}, weighted by labels that were left out",
    }


def _indicators(shard: Shard, codes: Codes, count: int) -> Floats:
    """(m, K) the classes of all labelled rows, in the order of the rows of all ranks."""
    every = np.concatenate(shard.group.everyone(codes[codes >= 0]))
    if np.unique(every).size < 2:
        raise InputError("the labels of nodes with edges name one class; at least two are needed")
    return np.asarray(np.eye(count)[every])


def _fitted(shard: Shard, rows: SingularRows, codes: Codes, Y: Floats) -> FittedRidges:
    """Regressions on the labelled rows of all ranks, which answer for own rows."""
    labelled = codes >= 0
    every = np.concatenate(shard.group.everyone(rows.left[labelled]))
    found = regressions(SingularRows(every, rows.values), CLUSTER_RANK, Y, "softmax")
    return FittedRidges(rows, *found, np.flatnonzero(labelled))


def _pooled(
    shard: Shard, fitted: Mapping[str, FittedRidges], codes: Codes, Y: Floats
) -> tuple[Floats, Floats]:
    """(own, K) probabilities, and the pooled answers at all labels that were left out."""
    judged = judgeable(Y)
    tables = [_left_out(one) for one in fitted.values()]
    weights = np.full(len(tables), 1 / len(tables))
    if judged.any() and len(tables) > 1:
        weights = combine.stacked([table[judged] for table in tables], Y[judged], weights, "softmax")
    weights = shard.group.everyone(weights)[0]
    left_out = combine.pooled(tables, weights)
    scale = combine.scaled(left_out, Y, "softmax", judged if judged.any() else None)
    steepness = float(shard.group.everyone(np.array(scale.steepness))[0])
    P = np.empty((shard.own, Y.shape[1]))
    for rows in shard.parts(CHUNK):  # the same bits in any company
        L = combine.pooled([one.logits(rows) for one in fitted.values()], weights)
        P[rows] = combine.probabilities(steepness * L, "softmax")
    return P, left_out


def _left_out(fitted: FittedRidges) -> Floats:
    """(m, K) the pool of the regressions' answers at labels that were left out."""
    pool = zip(fitted.shares, fitted.fits, strict=True)
    return np.asarray(sum(share * scale.of(fit.left_out) for share, (_, _, fit, scale) in pool))


def generative_rows(group: Group, place: Path, model: GMNR) -> dict[str, Any]:
    """Own labels by GMNR, written; what is known of all of it."""
    rows, beside = load_rows(group, place / WORK, "codes")
    shard, about = rows.shard(group), read_about(place / WORK)
    codes, classes = beside["codes"], about["classes"]
    count = len(_indicators(shard, codes, classes.size))
    counts = load_matrix(shard, place / WORK)
    Y, _, is_reached = inferred(GenerativeShard(shard, counts, codes, classes.size), model)
    found = _written(shard, place, Y, is_reached, codes, classes)
    return found | {
        "labels": count,
        "accuracy": float("nan"),
        "interval": (0.0, 1.0),
        "method": f"GMNR, lam {model.lam:g}, {model.max_iter} iterations, {counts.shape[1]:,} words",
    }


def measured_rows(
    group: Group, place: Path, model: GMNR, share: float, trials: int, seed: int
) -> list[dict[str, float]]:
    """GMNR from a share of each class's labels, drawn anew in every trial: how often the others are right."""
    rows, beside = load_rows(group, place / WORK, "codes")
    shard, about = rows.shard(group), read_about(place / WORK)
    codes, K = beside["codes"], about["classes"].size
    counts, found = load_matrix(shard, place / WORK), []
    for trial in range(trials):
        seeds = _drawn(shard, codes, K, share, seed * trials + trial)
        given = np.where(seeds, codes, -1)
        began = time.perf_counter()
        Y, _, is_reached = inferred(GenerativeShard(shard, counts, given, K), model)
        prior = np.bincount(np.concatenate(group.everyone(codes[seeds])), minlength=K)
        said = np.where(is_reached, Y.argmax(axis=1), int(prior.argmax()))
        test = (codes >= 0) & ~seeds
        own = np.array([test.sum(), (said == codes)[test].sum(), is_reached[test].sum(), seeds.sum()])
        tested, right, reached, labelled = np.sum(group.everyone(own), axis=0).tolist()
        found.append(
            {
                "accuracy": right / max(1, tested),
                "reached": reached / max(1, tested),
                "labelled": labelled,
                "seconds": time.perf_counter() - began,
            }
        )
    return found


def _drawn(shard: Shard, codes: Codes, classes: int, share: float, turn: int) -> Bools:
    """(own,) a share of each class, rounded up: those of the smallest draws."""
    draw = draws((shard.first + np.arange(shard.own)).astype(np.uint64), turn)
    seeds = np.zeros(shard.own, dtype=bool)
    for k in range(classes):
        every = np.sort(np.concatenate(shard.group.everyone(draw[codes == k])))
        if every.size:
            seeds |= (codes == k) & (draw <= every[int(np.ceil(share * every.size)) - 1])
    return seeds


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
