"""What a bound says about itself."""

import json

import numpy as np
import pytest

from querist import ALGORITHMS, InputError, datasets, embed
from querist.errors import UnknownNameError
from querist_papers.theory import Bound, bounds_of
from querist_papers.theory.runs import BOUNDED
from querist_papers.verbs.bound import NAMES


def make(**changes: object) -> Bound:
    return Bound(**{"source": "a", "what": "mistakes", "value": 3.0, "observed": 3.0} | changes)


def test_a_bound_is_kept_up_to_rounding() -> None:
    assert make().respected
    assert make(observed=3.0 + 1e-10).respected
    assert not make(observed=3.01).respected


def test_an_expectation_is_judged_by_what_a_run_is_sure_of() -> None:
    assert make(observed=5.0, in_expectation=True).respected
    assert make(observed=5.0, in_expectation=True, sure=2.0).respected
    assert not make(observed=1.0, in_expectation=True, sure=4.0).respected


def test_it_applies_when_every_assumption_holds() -> None:
    assert make().applies
    assert make(assumptions={"x": True}).applies
    assert not make(assumptions={"x": True, "y": False}).applies


def test_it_is_ready_for_json() -> None:
    found = json.loads(json.dumps(make(terms={"t": 1.0}, problem=2).as_dict()))
    assert found["terms"] == {"t": 1.0} and found["respected"] is True and found["problem"] == 2


def test_the_command_knows_the_bounded_algorithms() -> None:
    assert sorted(NAMES) == sorted(BOUNDED)


def test_what_has_no_bound_is_refused() -> None:
    karate = datasets.load_graph("karate")
    rows = embed(karate, rank=5, cache=False)
    trace = ALGORITHMS["gpa"](rows, 2, scheme="one-vs-rest").run(range(34), karate.codes)
    with pytest.raises(UnknownNameError, match="algorithm with a bound"):
        bounds_of("gpa", rows, trace, karate.codes, 2, {})
    with pytest.raises(InputError, match="pass the Graph"):
        bounds_of("pounce", rows, trace, karate.codes, 2, {})
    seen = ALGORITHMS["msg"](rows, 2).run(range(34), lambda node: int(karate.codes[node]))
    assert not seen.judged.all()
    with pytest.raises(InputError, match="needs them all"):
        bounds_of("msg", rows, seen, karate.codes, 2, {"gamma": 1.0, "h": 0.01})


def test_binary_problems_carry_their_class() -> None:
    clusters = datasets.three_clusters(5)
    rows = embed(clusters, rank=6, cache=False)
    trace = ALGORITHMS["ollgc"](rows, 3).run(np.arange(15), clusters.codes)
    bounds = bounds_of("ollgc", rows, trace, clusters.codes, 3, {"mu": 1.0})
    assert [(b.problem, b.what) for b in bounds] == [(k, w) for k in range(3) for w in ("mistakes", "regret")]
