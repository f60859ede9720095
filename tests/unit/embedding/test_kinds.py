"""A kind of embedding is one registered value: everything finds it there."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest

from querist import as_graph, datasets, embed
from querist.embedding import Embedding
from querist.embedding.kinds import KINDS, Kind, known, register, with_kinds
from querist.errors import InputError, UnknownNameError
from querist.experiment.specification import Specification
from querist.experiment.tasks import task_of
from querist.graph import Graph
from querist.options import Options, option
from querist.parameters import Range


@dataclass(frozen=True, kw_only=True)
class ToyOptions(Options):
    power: Annotated[int, Range(1)] = option(1, "Power of the degrees")


def toy_made(graph: Graph, rank: int, *, power: int, tol: float, seed: int, progress: Any) -> Embedding:
    rows = graph.degrees[:, None] ** power * np.ones(rank)
    return Embedding(rows, graph.components, kind="degrees", rank=rank, degrees=graph.degrees)


@pytest.fixture
def toy() -> Iterator[Kind]:
    """Rows of degrees; a new node has the sum of its neighbours'."""
    yield register(
        Kind(
            name="degrees",
            about="degrees alone",
            declaring=ToyOptions,
            make=toy_made,
            memory=lambda graph, rank, **settings: 8.0 * graph.n_nodes * rank,
            row=lambda embedding, M, degrees, weights: weights @ M,
            tol=1e-3,
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
    with pytest.raises(InputError, match="power = 0; it must be a whole number, 1 or more"):
        embed(karate, 3, kind="degrees", power=0)
    np.testing.assert_array_equal(found.follow(karate, stale=-1.0).rows, found.rows)


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
    assert option.autocompletion("deg") == ["degrees"]


def test_a_wrong_name_says_what_was_meant(karate: Graph) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'spectral'"):
        embed(karate, 3, kind="spectrall")
    with pytest.raises(UnknownNameError, match="did you mean 'damping'"):
        embed(karate, 3, dampin=0.5)


@pytest.mark.parametrize(
    ("kind", "option", "owner"),
    [
        ("spectral", {"damping": 0.2}, "diffusion"),
        ("diffusion", {"constant": 1.0}, "spectral"),
        ("pagerank", {"normalised": True}, "spectral"),
        ("spectral", {"walk": 0.9}, "pagerank"),
    ],
)
def test_an_option_of_another_kind_is_refused(karate: Graph, kind: str, option: Any, owner: str) -> None:
    (name,) = option
    words = f"{name} is an option of kind='{owner}', and the kind is '{kind}'"
    with pytest.raises(InputError, match=words):
        embed(karate, 3, kind=kind, **option)
    spec = Specification("online", "karate", "msg", representation={"kind": kind, **option})
    with pytest.raises(InputError, match=words):
        task_of("online").check(spec)


def test_rows_made_anew_keep_their_options_unless_others_are_given(karate: Graph) -> None:
    rows = embed(karate, 3, constant=2.0, normalised=False)
    np.testing.assert_array_equal(rows.follow(karate, stale=-1.0).rows, rows.rows)
    np.testing.assert_array_equal(
        rows.follow(karate, stale=-1.0, constant=1.0, normalised=True).rows, embed(karate, 3).rows
    )
    with pytest.raises(InputError, match="damping is an option of kind='diffusion'"):
        rows.follow(karate, stale=-1.0, damping=0.5)


def test_every_kind_declares_its_options_once() -> None:
    assert set(known()) == {"spectral", "diffusion", "pagerank"}
    for kind in known().values():
        assert kind.settled() == kind.settled(**{name: each.default for name, each in kind.options.items()})

    def function(*, own: int = 1, rows: Any) -> None: ...

    from querist.parameters import parameters_of

    options = parameters_of(with_kinds(function))
    assert options.keys() == {"kind", "own"}.union(*(each.options for each in known().values()))
    assert options["kind"].need == f"one of {', '.join(known())}"


def test_the_default_rank_is_what_the_graph_can_have_and_it_is_said(karate: Graph) -> None:
    found = embed(karate)
    assert (found.rank, found.n_columns) == (34, 34)
    assert found.notes[0] == "rank 34 by default: the graph has 34 nodes"
    np.testing.assert_array_equal(found.rows, embed(karate, 34).rows)
    large = embed(as_graph([(i, i + 1) for i in range(150)]), cache=False)
    assert large.rank == 100
    assert not any("default" in note for note in large.notes)
