"""`label`: from a graph and a few labels to a label, and a calibrated probability, for every node.

result = querist.label(graph, {"ann": "cat", "bob": "dog"})
result.labels, result.probability, result.runner_up, result.reached
result.choice.why          # what was taken, and why, in sentences
result.estimate            # the accuracy to expect, precision and recall of each class, with intervals
result.ranked("cat")       # rows of the nodes, the likeliest cats first
result["ann"], result.to_frame(), result.plot("reliability")
result.write("labels.csv"), result.report("labels.html")
result.save("labels.npz")  # and Labelling.load("labels.npz")
result.label_new([("cy", "ann")])  # nodes that come later
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from querist import codec
from querist.display import as_html
from querist.errors import InputError, UnknownNameError, refuse
from querist.graph import Graph
from querist.labelling.choose import Choice, choose
from querist.labelling.decisions.estimate import Estimate, Share
from querist.labelling.decisions.goals import GoalDecision
from querist.labelling.members import member_of, uses_device
from querist.labelling.new_nodes import NewNodeModel
from querist.labelling.options import LabelKeywords, LabelOptions
from querist.labelling.workspace import Workspace
from querist.labels import UNLABELLED, Labels, class_codes
from querist.operator.device.choice import check_device
from querist.operator.threads import one_blas_thread
from querist.options import lists_options
from querist.progress import Progress, part, shown
from querist.tables.formats import some
from querist.tables.labels import in_words
from querist.types import Bools, Codes, Floats

Label = Hashable | tuple[Hashable, ...] | None
"""What a node is called: a class; with several labels a node a tuple of classes; None where not reached."""

NEW_WEIGHT = 0.2
"""Share of the weight that may be new before labels are found from scratch: about what a tenth of the nodes
brings, up to which new labels were measured against those (benchmarks/label_new.py)."""

KEPT = ("method", "picked", "goal", "costs", "seed")
"""Options that a labelling keeps, for labels that come later."""
ROWS_SHOWN = 10
"""Rows of a labelling that a notebook shows; the rest is counted."""


@dataclass(frozen=True)
class NodeLabel:
    """What was found of one node; `given` says that its label was known, `probabilities` are by class.

    As text it is what the report and a notebook show of the node.

    >>> import querist
    >>> result = querist.label(querist.load_graph("karate"), {0: "Mr. Hi", 33: "Officer"}, method="walks")
    >>> result[1].label, result[1].given, result[0].given
    ('Mr. Hi', False, True)
    >>> str(result[1]), str(result[0])
    ('1: Mr. Hi, 68%', '0: Mr. Hi, known')
    """

    node: Hashable
    label: Label
    probability: float
    runner_up: Label
    reached: bool
    given: bool
    probabilities: Mapping[Hashable, float]

    def __str__(self) -> str:
        if not self.reached:
            return f"{self.node}: unreachable"
        return f"{self.node}: {in_words(self.label)}, {'known' if self.given else f'{self.probability:.0%}'}"

    def _repr_html_(self) -> str:
        likeliest = sorted(self.probabilities.items(), key=lambda item: -item[1])[:ROWS_SHOWN]
        return as_html(str(self), (), ["class", "probability"], likeliest)


@dataclass(frozen=True, eq=False, repr=False)
class Labelling:
    """A label for every node, and how it came about.

    Parameters
    ----------
    graph : that was labelled
    known : the labels that were given; `known.classes` (K,) is the order of the columns
    probabilities : (n, K) calibrated; rows of nodes that no label reaches are zero. With one label a node
        rows sum to one and a labelled node has its own class for sure; with several, columns are separate
    reached : (n,) whether a label could reach the node
    choice : the method, and what else was tried
    decision : what a node is called, given its probabilities: what the goal makes of them
    estimate : the accuracy to expect, and precision and recall of each class
    model : what was fitted; `model.weights(nodes)` says how much each labelled node weighed, or None
    options : the method, goal, seed and so on that `label` was called with
    new_nodes : labels the nodes that come later
    n_old : how many nodes there were before the last `label_new`; all of them after `label`

    >>> import querist
    >>> result = querist.label(querist.load_graph("karate"), {0: "Mr. Hi", 33: "Officer"}, method="walks")
    >>> result.labels[:3], int(result.is_labelled.sum()), result.probabilities.shape
    (['Mr. Hi', 'Mr. Hi', 'Mr. Hi'], 2, (34, 2))
    """

    graph: Graph
    known: Labels
    probabilities: Floats
    reached: Bools
    choice: Choice
    decision: GoalDecision
    estimate: Estimate
    model: Any
    options: Mapping[str, Any]
    new_nodes: NewNodeModel
    n_old: int

    @property
    def new(self) -> range:
        """The rows of the nodes that the last `label_new` brought."""
        return range(self.n_old, self.graph.n_nodes)

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """(K,) the user's own labels, in the order of the columns."""
        return self.known.classes

    @property
    def multilabel(self) -> bool:
        """Whether a node may have several labels."""
        return self.known.multilabel

    @property
    def is_labelled(self) -> Bools:
        """(n,) whether a node's label was given."""
        return self.known.known

    @cached_property
    def codes(self) -> Codes:
        """(n,) code of every node's class, -1 if it is unreachable; known labels stay as they are.

        With several labels per node (n, K), 1 if the node has the class and 0 if not; rows of -1 if it is
        unreachable.
        """
        codes = self.said.astype(np.int64) if self.multilabel else self.said.argmax(axis=1)
        codes[~self.reached] = UNLABELLED
        return np.asarray(codes)

    @cached_property
    def labels(self) -> list[Label]:
        """The label of every node, None if it is unreachable; known labels stay as they are."""
        if not self.multilabel:
            return self._named(self.codes)
        sets = (tuple(name for name, has in zip(self.classes, row, strict=True) if has) for row in self.said)
        return [own if there else None for own, there in zip(sets, self.reached, strict=True)]

    @cached_property
    def said(self) -> Bools:
        """(n, K) the class, or the classes, of every node: those given, or what the decision says."""
        found = self.decision.said(self.probabilities)
        given = self.is_labelled
        found[given] = self.known.indicator[given] > 0
        there = self.reached
        if self.multilabel:  # a node that is known to have none of the classes has no chance of any
            there = there & self.probabilities.any(axis=1)
        return np.asarray(found & there[:, None])

    @cached_property
    def probability(self) -> Floats:
        """(n,) of the label; with several, of its least likely class. 0 where not reached."""
        least = np.where(self.said, self.probabilities, np.inf).min(axis=1, initial=1.0)
        return np.asarray(least * self.reached)

    @cached_property
    def runner_up(self) -> list[Label]:
        """The likeliest class that the node does not get; None where there is none or it has no chance."""
        rest = np.where(self.said, -1.0, self.probabilities)
        return self._named(np.where(rest.max(axis=1) > 0, rest.argmax(axis=1), -1))

    def with_no_class(self, rows: Sequence[int]) -> "Labelling":
        """The same with nodes of several labels that are known to have none of the classes."""
        P, reached = self.probabilities.copy(), self.reached.copy()
        P[rows], reached[rows] = 0.0, True
        return replace(self, probabilities=P, reached=reached)

    def code_of(self, name: Hashable) -> int:
        """The column of a class; text from a command line may name a number."""
        codes = class_codes(self.classes)
        if name not in codes:
            raise InputError(f"no class {name!r}; the labels have {', '.join(map(str, self.classes))}")
        return codes[name]

    def ranked(self, name: Hashable, *, new_only: bool = False) -> Codes:
        """Rows of all nodes, or the new, from the likeliest of a class to the least likely.

        Nodes whose label was given come last, for there is nothing to find out; nodes that are not reached
        before them.
        """
        P = self.probabilities[:, self.code_of(name)]
        rows = np.lexsort((-P, ~self.reached, self.is_labelled))
        return np.asarray(rows[rows >= self.n_old] if new_only else rows)

    def among_likeliest(self, name: Hashable, count: int) -> Share:
        """The share of a class to expect among its `count` likeliest unlabelled nodes, with an interval.

        >>> from querist.datasets import load_graph
        >>> karate = load_graph("karate")
        >>> found = label(karate, {node: karate.labels[node] for node in range(0, 34, 2)})
        >>> found.among_likeliest("Officer", 5).value > 0.8
        True
        """
        if count < 1:
            raise InputError(f"the {count} likeliest; ask for 1 or more")
        k = self.code_of(name)
        free = self.reached & ~self.is_labelled
        first = np.sort(self.probabilities[free, k])[::-1][:count]
        if not first.size:
            raise InputError("no unlabelled node is reached, so there is nothing to rank")
        return self.estimate.precision_from(k, float(first[-1]), float(first.mean()))

    def table(self, *, new_only: bool = False) -> dict[str, Any]:
        """Columns of equal length: node, label, probability, runner_up, reached; of all nodes or the new."""
        columns: dict[str, Any] = {
            "node": list(self.graph.nodes),
            "label": self.labels,
            "probability": self.probability,
            "runner_up": self.runner_up,
            "reached": self.reached,
        }
        return {name: values[self.n_old if new_only else 0 :] for name, values in columns.items()}

    def to_frame(self, *, new_only: bool = False, probabilities: bool = False) -> Any:
        """The table as a pandas data frame whose index holds the nodes; `probabilities` adds a column a
        class."""
        from querist.tables.frames import pandas

        columns = self.table(new_only=new_only)
        frame = pandas().DataFrame(columns).set_index("node")
        if not probabilities:
            return frame
        first = self.n_old if new_only else 0
        shares = pandas().DataFrame(self.probabilities[first:], index=frame.index, columns=list(self.classes))
        return frame.join(shares, rsuffix=" (class)")

    def __len__(self) -> int:
        return self.graph.n_nodes

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.graph.nodes)

    def __contains__(self, node: object) -> bool:
        return node in self.graph.row_of

    def __getitem__(self, node: Hashable) -> NodeLabel:
        """What was found of a node, by its id."""
        row = self.graph.row_of.get(node)
        if row is None:
            raise UnknownNameError(
                f"node {node!r} is not in the graph (its nodes are like {self.graph.nodes[0]!r}); mend the id"
            )
        return self.at(row)

    def at(self, row: int) -> NodeLabel:
        """What was found of the node in a row."""
        return NodeLabel(
            self.graph.nodes[row],
            self.labels[row],
            float(self.probability[row]),
            self.runner_up[row],
            bool(self.reached[row]),
            bool(self.is_labelled[row]),
            dict(zip(self.classes, self.probabilities[row].tolist(), strict=True)),
        )

    def plot(self, kind: str = "graph", ax: Any = None) -> Any:
        """The matplotlib axes on which it is drawn: those given, or new ones.

        `kind` is "graph" (all of a small graph, a piece of a large one), "confidence" (how many labels are
        how sure) or "reliability" (whether held-out labels bear that out).
        """
        from querist.labelling.page import plot

        return plot(self, kind, ax)

    def report(
        self, path: str | PathLike[str], *, rank: Hashable = None, progress: Progress | None = None
    ) -> Path:
        """Write a page on what was found: how far to trust it, where it is in doubt, what to label next.

        `rank` names a class that is looked for; the rarest, where there is one, by default.
        """
        from querist.labelling.influence import influences
        from querist.labelling.page import check_report, report
        from querist.report.page import write

        place = check_report(Path(path))
        with shown(progress) as show:
            found = influences(self, part(show, 0.0, 0.6))
            rest = part(show, 0.6, 0.4)
            return write(place, report(self, found, rank=rank, notes=self.graph.notes, progress=rest))

    def write(
        self,
        path: str | PathLike[str],
        *,
        new_only: bool = False,
        probabilities: bool = False,
        rank: Hashable = None,
    ) -> None:
        """One row a node, or one a new node, as CSV or parquet by the path's extension.

        `probabilities` adds a column a class; `rank` names a class whose likeliest nodes come first.
        """
        from querist.labelling.storage import write

        write(self, path, first=self.n_old if new_only else 0, probabilities=probabilities, rank=rank)

    def label_new(
        self,
        edges: Any = None,
        nodes: Any = None,
        *,
        labels: Mapping[Hashable, Any] | None = None,
        limit: float = NEW_WEIGHT,
        progress: Progress | None = None,
    ) -> "Labelling":
        """This labelling with nodes that came later.

        Old nodes stay as they are. A new one is labelled by its neighbours and its attributes, in
        milliseconds, about as well as by `label` on the larger graph (see new_nodes.py and docs/label.md).
        The new nodes are the last rows, `new`. What comes later still may be joined to them.

        Parameters
        ----------
        edges : whatever `as_graph` takes: a list of pairs, a data frame, a file. Ids that the graph does not
            know are new nodes. None for no edges
        nodes : new nodes: ids, a dict from id to a row of attributes, or a table (a data frame, a file) with
            the columns that the attributes of the graph were made of. Nodes of the edges need not be listed;
            those that the graph knows stay as they are
        labels : more labels by node id, of new nodes or old ones: with them all labels are found from scratch
        limit : share of the weight that may be new since labels were last found; above it they are found from
            scratch, since what is new tells of old nodes too
        progress : as in `label`

        >>> from querist.datasets import load_graph
        >>> karate = load_graph("karate")
        >>> known = label(karate, {node: karate.labels[node] for node in (0, 1, 2, 31, 32, 33)})
        >>> grown = known.label_new([(33, "new"), (32, "new"), ("new", "newer")])
        >>> [(grown.graph.nodes[row], grown.labels[row]) for row in grown.new]
        [('new', 'Officer'), ('newer', 'Officer')]
        """
        from querist.labelling.growth import join, label_joined

        return label_joined(self, join(self.graph, edges, nodes), labels, limit, progress)

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file, without pickle; `load` gives it back."""
        from querist.labelling.storage import KIND, as_saved

        codec.write(path, KIND, as_saved(self))

    @staticmethod
    def load(path: str | PathLike[str]) -> "Labelling":
        """The labelling that `save` wrote; `model.weights` may be gone from a large one (see storage.py)."""
        from querist.labelling.storage import KIND, SavedLabelling

        return codec.read(path, KIND, SavedLabelling.labelling)

    def __repr__(self) -> str:
        given, n = int(self.is_labelled.sum()), self.graph.n_nodes
        lost = n - int(self.reached.sum())
        missed = f", {lost:,} not reached" if lost else ""
        return (
            f"<Labelling of {n:,} nodes from {given:,} labels in {len(self.classes)} classes{missed}; "
            f"{self.choice.method}; expected accuracy {self.estimate}>"
        )

    def _repr_html_(self) -> str:
        columns, n = self.table(), self.graph.n_nodes
        found_first = np.argsort(self.is_labelled, kind="stable")[:ROWS_SHOWN]  # what was given is known
        rows = [[column[i] for column in columns.values()] for i in found_first]
        more = f"and {n - ROWS_SHOWN:,} more" if n > ROWS_SHOWN else ""
        return as_html(repr(self)[1:-1], self.choice.why, list(columns), rows, more)

    # -- inside ----------------------------------------------------------------------------

    def _named(self, codes: Codes) -> list[Label]:
        where = np.where(self.reached, codes, -1).tolist()
        return [None if code < 0 else self.classes[code] for code in where]


@lists_options(LabelOptions)
def label(
    graph: Any,
    labels: Any = None,
    options: LabelOptions | None = None,
    *,
    nodes: Any = None,
    attributes: Any = None,
    classes: Sequence[Hashable] | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[LabelKeywords],
) -> Labelling:
    """Label every node of a graph from the labels of some.

    `choice.why` of the result says how the labels were found and on which device. Work that does not fit into
    memory is refused.

    Parameters
    ----------
    graph : a `Graph`, or anything that `as_graph` takes
    labels : a dict by node id, a value per node with None for the unlabelled, a Series, a table of nodes and
        labels, the name of a column of `nodes` (or of a node attribute), sets of classes or a 0/1 matrix
        (several labels per node); those of the graph by default
    options : a `LabelOptions`; or give its fields by name, as in `label(graph, labels, goal="f1")`. Methods
        are the models and classifiers that `querist algorithms` lists; `costs` may also be a dict by
        (true, said), with None in place of an empty field
    nodes : a table of the nodes, as in `as_graph`, if `graph` holds edges alone
    attributes : (n, m) of the nodes; those of the graph by default
    classes : in the order of the columns; those that occur by default
    progress : called with (fraction done, what is being done); in a notebook a bar shows it by default

    >>> from querist.datasets import load_graph
    >>> karate = load_graph("karate")
    >>> result = label(karate, {node: karate.labels[node] for node in (0, 1, 32, 33)})
    >>> print(f"{np.mean([a == b for a, b in zip(result.labels, karate.labels)]):.3f}")
    0.971
    """
    from querist.collective.catalogue import CLASSIFIERS
    from querist.collective.problem import in_range, pose

    asked = LabelOptions.resolve(options, keywords).with_costs_read()
    multilabel, method = asked.multilabel, asked.method
    _refuse_idle(asked, labels, attributes)
    problem = pose(
        graph,
        labels,
        attributes,
        classes,
        asked.missing,
        nodes,
        ignore_unknown=asked.ignore_unknown,
        multilabel=multilabel,
    )
    known = problem.known
    posed = problem if method in CLASSIFIERS else in_range(problem)  # a classifier has ranges of its own
    check_device(asked.device)
    kept: dict[str, Any] = {name: getattr(asked, name) for name in KEPT}
    with one_blas_thread(), shown(progress) as show:  # the methods have threads of their own
        workspace = Workspace(posed.graph, device=asked.device)
        prediction = choose(posed, progress=show, workspace=workspace, **kept)
    choice = prediction.choice
    if known.skipped:
        skipped = f"Skipped the labels of {some(known.skipped, 'node')} not in the graph."
        choice = replace(choice, why=(*choice.why, skipped))
    P = np.where(prediction.reached[:, None], prediction.probabilities, 0.0)
    own = problem.seeds
    P[own] = known.indicator[own]
    reached = prediction.reached | own
    weight = float(problem.graph.degrees.sum())
    return Labelling(
        graph=problem.graph,
        known=known,
        probabilities=P,
        reached=reached,
        choice=choice,
        decision=prediction.decision,
        estimate=prediction.estimate,
        model=prediction.model,
        options=kept,
        new_nodes=NewNodeModel(problem.graph, P, reached, own, multilabel, weight),
        n_old=problem.graph.n_nodes,
    )


def _refuse_idle(asked: LabelOptions, labels: Any, attributes: Any) -> None:
    """Refuse options that would change nothing."""
    method = asked.method
    links_only = attributes is not None and method != "auto" and not member_of(method).uses_attributes
    refuse(
        {
            f'attributes do nothing with method "{method}", which learns from links; leave them out, or take '
            "another method": links_only,
            f'device = {asked.device!r} does nothing with method "{method}", which runs on the processor; '
            "leave it out, or take another method": asked.device is not None and not uses_device(method),
            "ignore_unknown does nothing with the labels of the graph itself; leave it out, or give labels": (
                asked.ignore_unknown and labels is None
            ),
        }
    )
