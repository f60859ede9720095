"""Runs that only mrgm15 makes: on its own data, counting them, bootstrap samples, the objective's course."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from querist.experiment.results import Outcome
from querist.experiment.specification import Specification, blame
from querist.experiment.tasks.collective import Collective
from querist.papers.mrgm15.data import graph_for
from querist.types import Floats


class GraphCounts:
    """A graph in numbers; a link is counted once."""

    name = "mrgm15.counts"
    measures = ("nodes", "features", "links", "classes")
    tuned_by = "nodes"

    def check(self, spec: Specification) -> None:
        """Whether the data are there."""
        with blame("dataset"):
            graph_for(spec)

    def prepare(self, spec: Specification) -> Any:
        """The graph."""
        return graph_for(spec)

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """Count."""
        return Outcome(
            {
                "nodes": prepared.n_nodes,
                "features": prepared.attributes.shape[1],
                "links": prepared.n_edges,
                "classes": prepared.n_classes,
            }
        )


class OwnData(Collective):
    """A classifier on the data of the paper, DBLP-A among them."""

    name = "mrgm15.collective"

    def prepare(self, spec: Specification) -> Any:
        """The graph."""
        return graph_for(spec)


class Bootstrap(OwnData):
    """A classifier on a bootstrap sample of the nodes: n drawn with replacement, each kept once.

    So a sample has about 63 % of the nodes, and the links among them (section 4.4). Sample r of a seed is
    the same whatever the method.
    """

    name = "mrgm15.bootstrap"

    def run(
        self, spec: Specification, prepared: Any, parameters: Mapping[str, Any], seed: int, repeat: int
    ) -> Outcome:
        """One sample, one draw of its labels."""
        generator = np.random.default_rng((seed, repeat, 4))
        drawn = np.unique(generator.integers(prepared.n_nodes, size=prepared.n_nodes))
        return super().run(spec, prepared.subgraph(drawn), parameters, seed, repeat)


class Course(OwnData):
    """A classifier with its objective after every iteration, as the curve `objective`."""

    name = "mrgm15.course"

    def curves(self, objective: Floats) -> dict[str, list[float]]:
        """All of it."""
        return {"objective": objective.tolist()}
