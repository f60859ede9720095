"""The methods that `label` chooses among and combines: CANDIDATES by name.

A candidate looks at a `Ground` (the graph: what is computed once, without labels) and at labelled rows, and
gives logits for the nodes it is asked about. Three kinds:

- `Smoothed`: ridge regression on rows of `querist.labelling.rows`, for several ranks and powers of the
  singular values, pooled by how each does on labels that are left out (closed form);
- `Walk`: personalised PageRank from each class's labelled nodes, scaled to the classes' shares;
- `Named`: a classifier of `querist.collective`, as GMNR on counts; for several labels a node MRGM.

Which views, ranks and powers there are was fixed on data sets and draws other than those of
`benchmarks/label_efficiency.py` (docs/assist.md names them).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from querist.labelling.ground import Candidate
from querist.labelling.named import Named, Walk
from querist.labelling.rows import View
from querist.labelling.smoothed import Smoothed

_GMNR: Sequence[Mapping[str, Any]] = [{"lam": lam, "objective": False} for lam in (1.0, 5.0)]

CANDIDATES: Mapping[str, Candidate] = MappingProxyType(
    {
        "smoothed": Smoothed("attributes smoothed over the graph", View("attributes", 10, 0.9)),
        "links": Smoothed("who is linked with whom", View("links", 10, 0.9)),
        "walks": Walk(),
        "own": Smoothed("the node's own attributes", View("attributes", 0, 0.0)),
        "nearby": Smoothed("attributes smoothed over near neighbours", View("attributes", 10, 0.7)),
        "two_steps": Smoothed("attributes averaged over two steps", View("attributes", 2, 1.0)),
        "counts": Named("a generative model of the counts (GMNR)", "gmnr", tuple(_GMNR), counts=True),
        "means": Smoothed(
            "attributes as means of the neighbourhood", View("attributes", 10, 0.9, by_row=True)
        ),
        "near_links": Smoothed("links within two steps", View("links", 2, 1.0)),
    }
)
"""In the order in which they are worth their time."""
