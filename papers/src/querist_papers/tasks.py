"""What the papers' own tasks share, and one that counts a graph; its counts beside the published ones."""

from collections.abc import Mapping
from typing import Any

from querist import Graph
from querist.experiment import Outcome, Specification, blame
from querist.extend import graph_of, vectors_of
from querist_papers.item import Entry, Found, Number, Paper


class PaperTask:
    """A task with nothing that a user could set, and nothing to prepare unless it says so."""

    name: str
    measures: tuple[str, ...]

    @property
    def tuned_by(self) -> str:
        """Nothing is tuned, unless by the first number."""
        return self.measures[0]

    def check(self, spec: Specification) -> None:
        """Whether the data are there."""
        with blame("dataset"):
            self.prepare(spec)

    def prepare(self, spec: Specification) -> Any:
        """Nothing: every run draws anew."""


class VectorTask(PaperTask):
    """One about vectors, whose data are not prepared to be checked."""

    def check(self, spec: Specification) -> None:
        """Whether the set is there, if there is one."""
        if spec.dataset:
            with blame("dataset"):
                vectors_of(spec.dataset)


class Counts(PaperTask):
    """A graph in numbers: its largest component, a link counted in both directions, and the whole of it."""

    name = "papers.counts"
    measures = (
        *("nodes", "links", "classes", "class_size"),
        *("whole_nodes", "whole_links", "whole_classes", "whole_features"),
    )

    def prepare(self, spec: Specification) -> Graph:
        """The graph."""
        return graph_of(spec.dataset)

    def run(
        self, spec: Specification, prepared: Graph, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """Count."""
        part, words = prepared.largest_component(), prepared.attributes
        counts = (part.n_nodes, part.adjacency.nnz, part.n_classes, part.n_nodes / part.n_classes)
        whole = (prepared.n_nodes, prepared.n_edges, prepared.n_classes)
        features = 0 if words is None else words.shape[1]
        return Outcome(dict(zip(self.measures, map(float, (*counts, *whole, features)), strict=True)))


ABOUT = 0.1
"""By which part "about 400 authors" may differ."""


def described(
    paper: Paper,
    item: str,
    printed: Mapping[str, Mapping[str, int]],
    found: Found,
    titles: Mapping[str, str],
    prefix: str = "",
    near: float = 0.0,
) -> tuple[list[list[Entry]], list[Number]]:
    """Rows of counts, each beside what is published, and the numbers; a stand-in, by its title, has none.

    prefix : of our measures; near : by which part a count may differ
    """
    rows: list[list[Entry]] = []
    numbers: list[Number] = []
    for name, line in printed.items():
        ours = {measure: round(found[name,].mean(prefix + measure)) for measure in line}
        rows.append([titles[name], *(entry for m, value in line.items() for entry in (ours[m], value))])
        numbers += [
            Number(
                *(paper, item, name, "", measure, value, ours[measure] if titles[name] == name else None),
                tolerance=(ABOUT if measure == "class_size" else near) * value,
                by_definition=True,
            )
            for measure, value in line.items()
        ]
    return rows, numbers
