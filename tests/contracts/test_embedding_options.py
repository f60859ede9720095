"""Each option of each kind of embedding changes the rows, or is refused with what makes it idle."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from querist import InputError, as_graph, embed
from querist.embedding import Embedding
from querist.embedding.kinds import known
from querist.graph import Graph


@dataclass(frozen=True)
class Try:
    """A value of an option, and the others beside it."""

    value: Any
    beside: dict[str, Any] = field(default_factory=dict)
    idle: str = ""
    """What the error says, if the value does nothing beside the others."""


TRIES: dict[tuple[str, str], list[Try]] = {
    ("spectral", "normalised"): [Try(False)],
    ("spectral", "constant"): [Try(2.0), Try(0.0), Try(-1.0)],
    ("spectral", "max_constants"): [Try(1), Try(1, {"constant": 0}, "max_constants = 1 does nothing")],
    ("diffusion", "weighting"): [Try("tfidf"), Try("raw")],
    ("diffusion", "steps"): [Try(0), Try(3), Try(3, {"damping": 0.0}, "steps = 3 does nothing")],
    ("diffusion", "damping"): [
        Try(0.0),
        Try(0.5),
        Try(1.0),
        Try(0.5, {"steps": 0}, "damping = 0.5 does nothing"),
    ],
    ("pagerank", "walk"): [Try(0.5)],
    ("pagerank", "neighbours"): [Try(2)],
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Three components of several sizes, weighted, with words."""
    rng = np.random.default_rng(0)
    edges = [(i, j, float(rng.integers(1, 5))) for i in range(14) for j in range(i) if rng.random() < 0.4]
    edges += [(i, i + 1, 1.0) for i in (*range(13), *range(14, 18), *range(19, 21))]
    words = sp.random_array((22, 9), density=0.4, rng=rng, format="csr")
    return as_graph(edges, nodes=22, attributes=words)


def test_every_option_is_tried() -> None:
    assert set(TRIES) == {(kind.name, name) for kind in known().values() for name in kind.options}


def differ(one: Embedding, other: Embedding) -> bool:
    if one.rows.shape != other.rows.shape:
        return True
    parts = [(one.rows, other.rows)]
    if one.local is not None and other.local is not None:
        parts.append((one.local.toarray(), other.local.toarray()))
    return any(not np.allclose(a, b, atol=1e-6) for a, b in parts)


@pytest.mark.parametrize(
    ("kind", "name", "case"), [(*which, case) for which, cases in TRIES.items() for case in cases]
)
def test_an_option_changes_the_result_or_is_refused(graph: Graph, kind: str, name: str, case: Try) -> None:
    def made(**options: Any) -> Embedding:
        return embed(graph, 5, kind=kind, cache=False, **case.beside, **options)

    if case.idle:
        with pytest.raises(InputError, match=case.idle):
            made(**{name: case.value})
    else:
        assert differ(made(**{name: case.value}), made())
