"""A labelling that keeps up with its graph: new nodes from their neighbours, all of it anew when much is new.

Probabilities are rows that vary smoothly over the graph, as diffused attributes are, so `Embedding.extend`
places a new node: at the weighted mean of its neighbours' probabilities. Old nodes stay as they were. That
is right while little has changed; when the new edges carry more than a limit of all weight, labels are found
from scratch on the graph as it is.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from querist.embedding import Embedding
from querist.embedding.extend import edges_of
from querist.labelling.growth import join
from querist.labelling.labelling import Labelling, label
from querist.tables.formats import some
from querist.types import Floats

LIMIT = 0.05
"""Share of the weight that may be new before labels are found from scratch."""


def extend(
    labelling: Labelling,
    edges: Any,
    nodes: Mapping[Hashable, Any] | Iterable[Hashable] | None = None,
    *,
    limit: float = LIMIT,
    **options: Any,
) -> Labelling:
    """The labelling of the graph with these edges too; `growth.join` describes `edges` and `nodes`.

    `options` go to `label` where the labels must be found anew.

    >>> from querist.datasets import load
    >>> karate = load("karate")
    >>> known = label(karate, {node: karate.labels[node] for node in (0, 1, 2, 31, 32, 33)})
    >>> extend(known, [(33, "new"), (32, "new"), ("new", "newer")]).labels[-2:]
    ['Officer', 'Officer']
    """
    graph = join(labelling.graph, edges, nodes)
    before = float(labelling.graph.degrees.sum())
    share = 1 - before / max(float(graph.degrees.sum()), np.finfo(float).tiny)
    if share > limit:
        return label(graph, _given(labelling), multi_label=labelling.multi_label, **options)
    n, count = labelling.graph.n_nodes, graph.n_nodes - labelling.graph.n_nodes
    P = labelling.probabilities
    grown = Embedding(
        P,
        np.where(labelling.reached, 0, 1 + np.arange(n)),
        kind="diffusion",
        rank=P.shape[1],
        layout=(0, 0, P.shape[1]),
        degrees=labelling.graph.degrees,
    ).extend(edges_of(graph, n))
    rows = np.vstack([P, _proper(grown.rows[n:], labelling.multi_label)])
    reached = np.concatenate([labelling.reached, grown.rows[n:].any(axis=1)])
    said = (
        f"{some(count, 'new node')} stand at the mean of their neighbours; {share:.1%} of the weight is new."
    )
    return replace(
        labelling,
        graph=graph,
        probabilities=rows,
        seeds=np.concatenate(
            [labelling.seeds, np.full((count, *labelling.seeds.shape[1:]), _none(labelling))]
        ),
        reached=reached,
        choice=replace(labelling.choice, why=(*labelling.choice.why, said)),
        model=None,
    )


def _none(labelling: Labelling) -> int:
    """What an unlabelled node has among the seeds."""
    return 0 if labelling.multi_label else -1


def _proper(rows: Floats, several: bool) -> Floats:
    """Rows that add up to one, where they have to; a neighbour that is not reached said nothing."""
    if several:
        return rows
    total = rows.sum(axis=1, keepdims=True)
    return np.asarray(rows / np.where(total > 0, total, 1.0))


def _given(labelling: Labelling) -> dict[Hashable, Any]:
    """The labels that were given, by node."""
    names, classes = labelling.graph.nodes or (), labelling.classes
    rows = np.flatnonzero(labelling.labelled).tolist()
    if labelling.multi_label:
        return {names[i]: {classes[k] for k in np.flatnonzero(labelling.seeds[i])} for i in rows}
    return {names[i]: classes[labelling.seeds[i]] for i in rows}
