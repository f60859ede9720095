"""A kind of embedding is one registered value: everything finds it there."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from querist import as_graph, datasets, embed
from querist.embedding import Embedding
from querist.embedding.kinds import KINDS, Kind, known, register, with_options
from querist.errors import InputError, UnknownNameError
from querist.experiment.specification import Specification
from querist.experiment.tasks import task_of
from querist.graph import Graph


def toy_settled(rank: int, *, power: int = 1, tol: float | None = None, seed: int = 0) -> dict[str, Any]:
    if power < 1:
        raise InputError(f"power {power} must be 1 or more")
    return {"power": int(power)}


def toy_made(graph: Graph, rank: int, *, power: int, progress: Any) -> Embedding:
    rows = graph.degrees[:, None] ** power * np.ones(rank)
    return Embedding(rows, graph.components, kind="degrees", rank=rank, degrees=graph.degrees)


@pytest.fixture
def toy() -> Iterator[Kind]:
    """Rows of degrees; a new node has the sum of its neighbours'."""
    yield register(
        Kind(
            name="degrees",
            about="degrees alone",
            settled=toy_settled,
            make=toy_made,
            memory=lambda graph, rank, power: 8.0 * graph.n_nodes * rank,
            row=lambda embedding, M, degrees, weights: weights @ M,
        )
    )
    del KINDS["degrees"]


@pytest.fixture
def karate() -> Graph:
    return datasets.load_graph("karate")


def test_a_registered_kind_is_made_and_extended(toy: Kind, karate: Graph) -> None:
    found = embed(karate, 3, kind="degrees", power=2)
    np.testing.assert_array_equal(found.rows, (karate.degrees**2)[:, None] * np.ones(3))
    grown = found.extend([{0: 2.0, 1: 1.0}])
    np.testing.assert_array_equal(grown.rows[-1], 2 * found.rows[0] + found.rows[1])
    with pytest.raises(InputError, match="power 0 must be 1 or more"):
        embed(karate, 3, kind="degrees", power=0)
    with pytest.raises(InputError, match=r"only a spectral embedding.*this is a degrees one"):
        found.refresh(karate)


def test_a_registered_kind_is_run_from_a_specification(toy: Kind) -> None:
    task = task_of("online")
    how = {"kind": "degrees", "power": 2, "rank": 2}
    spec = Specification(
        task="online",
        dataset="karate",
        method="msg",
        representation=how,
    )
    task.check(spec)
    np.testing.assert_array_equal(task.prepare(spec).rows.rows[0], [256.0, 256.0])


def test_a_registered_kind_is_in_the_help(toy: Kind) -> None:
    from querist.cli import options

    (option,) = options.Rows.__metadata__
    assert f"{option.metavar}" == "[both|degrees|diffusion|pagerank|spectral]"
    assert option.parser("degrees") == "degrees"


def test_a_wrong_name_says_what_was_meant(karate: Graph) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'spectral'"):
        embed(karate, 3, kind="spectrall")
    with pytest.raises(UnknownNameError, match="did you mean 'damping'"):
        embed(karate, 3, dampin=0.5)


def test_every_kind_declares_its_options_once() -> None:
    assert set(known()) == {"spectral", "diffusion", "both", "pagerank"}
    for kind in known().values():
        settings = kind.settled(5, **{name: each.default for name, each in kind.options.items()})
        assert settings == kind.settled(5)

    def function(*, kind: str = "spectral", own: int = 1, **options: Any) -> None: ...

    from querist.parameters import parameters_of

    options = parameters_of(with_options(function))
    assert options.keys() == {"kind", "own"}.union(*(known()[name].options for name in ("both", "pagerank")))
    assert options["kind"].need == f"one of {', '.join(known())}"


def test_the_default_rank_is_what_the_graph_can_have_and_it_is_said(karate: Graph) -> None:
    found = embed(karate)
    assert (found.rank, found.n_columns) == (34, 34)
    assert found.notes[0] == "rank 34 by default: the graph has 34 nodes"
    np.testing.assert_array_equal(found.rows, embed(karate, 34).rows)
    large = embed(as_graph([(i, i + 1) for i in range(150)]), cache=False)
    assert large.rank == 100
    assert not any("default" in note for note in large.notes)
