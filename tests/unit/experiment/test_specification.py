"""Specifications: frozen, equal after JSON, named by their content, refused before they run."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

from querist.experiment import Specification
from querist.experiment.specification import SpecificationError

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8),
)
TABLES = st.dictionaries(
    NAMES, VALUES | st.lists(VALUES, max_size=3) | st.dictionaries(NAMES, VALUES), max_size=3
)


@given(
    parameters=TABLES,
    representation=TABLES,
    grid=st.lists(VALUES, min_size=1, max_size=3),
    repeats=st.integers(1, 99),
)
def test_plain_values_give_an_equal_specification(parameters, representation, grid, repeats):
    spec = Specification(
        "online",
        "karate",
        "msg",
        parameters={k: v for k, v in parameters.items() if k != "h"},
        grid={"h": grid},
        representation=representation,
        repeats=repeats,
    )
    back = Specification.from_dict(json.loads(json.dumps(spec.as_dict())))
    assert (back, back.key, hash(back)) == (spec, spec.key, hash(spec))
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_the_key_is_of_the_content():
    spec = Specification("online", "karate", "msg", {"gamma": 0.1, "h": 0.2})
    assert spec.key == Specification("online", "karate", "msg", {"h": 0.2, "gamma": np.float64(0.1)}).key
    assert spec.key == Specification("online", "karate", "msg", {"gamma": 0.1, "h": 0.2}, repeats=3).key, (
        "more repeats add to the same file"
    )
    others = [
        Specification("stream", "karate", "msg", {"gamma": 0.1, "h": 0.2}),
        Specification("online", "digits", "msg", {"gamma": 0.1, "h": 0.2}),
        Specification("online", "karate", "bbq", {"gamma": 0.1, "h": 0.2}),
        Specification("online", "karate", "msg", {"gamma": 0.1, "h": 0.3}),
        Specification("online", "karate", "msg", {"gamma": 0.1}, {"h": (0.2,)}),
        Specification("online", "karate", "msg", {"gamma": 0.1, "h": 0.2}, representation={"rank": 3}),
        Specification("online", "karate", "msg", {"gamma": 0.1, "h": 0.2}, protocol={"curve": 3}),
        Specification("online", "karate", "msg", {"gamma": 0.1, "h": 0.2}, seed=1),
        Specification("online", "karate", "msg", {"gamma": 0.1, "h": 0.2}, held_out=7),
    ]
    assert len({spec.key, *(other.key for other in others)}) == 1 + len(others)


def test_preparation_is_data_and_representation_alone():
    spec = Specification("online", "karate", "msg", {"gamma": 0.1}, representation={"rank": 8})
    same = Specification("online", "karate", "bbq", protocol={"curve": 5}, representation={"rank": 8}, seed=3)
    assert spec.preparation == same.preparation
    assert (
        spec.preparation != Specification("online", "karate", "msg", representation={"rank": 9}).preparation
    )


def test_nobody_can_change_it():
    given_by_the_user = {"tie_order": [0, 1]}
    spec = Specification("online", "karate", "msg", given_by_the_user)
    given_by_the_user["tie_order"].append(2)
    assert spec.parameters["tie_order"] == (0, 1)
    with pytest.raises(TypeError):
        spec.parameters["h"] = 1.0
    with pytest.raises(AttributeError):
        spec.seed = 1


@pytest.mark.parametrize(
    ("fields", "where", "said"),
    [
        ({"parameters": {"h": None}}, ("parameters", "h"), "leave it out"),
        ({"parameters": {"h": float("nan")}}, ("parameters", "h"), "finite"),
        ({"protocol": {"a": {"b": object()}}}, ("protocol", "a", "b"), "cannot stand in a specification"),
        ({"grid": {"h": 0.1}}, ("grid", "h"), "a list of at least one value"),
        ({"grid": {"h": ()}}, ("grid", "h"), "a list of at least one value"),
        ({"grid": {"h": (0.1,)}, "parameters": {"h": 1.0}}, ("grid", "h"), "both parameters and grid"),
        ({"repeats": 0}, ("repeats",), "whole number, 1 or more"),
        ({"repeats": True}, ("repeats",), "whole number, 1 or more"),
        ({"seed": -1}, ("seed",), "whole number, 0 or more"),
        ({"parameters": [1]}, ("parameters",), "a table of name = value"),
        ({"protocol": {"tuning": 0}}, ("protocol", "tuning"), "whole number, 1 or more"),
    ],
)
def test_what_cannot_be_is_refused(fields, where, said):
    with pytest.raises(SpecificationError, match=said) as caught:
        Specification("online", "karate", "msg", **fields)
    assert caught.value.where == where


@pytest.mark.parametrize(
    ("seed", "repeats", "held_out", "tuning", "fine"),
    [
        (0, 5, 4, 1, False),
        (0, 5, 5, 1, True),
        (10, 5, 9, 1, True),
        (10, 5, 9, 2, False),
        (10, 5, 0, 10, True),
        (10, 5, 12, 1, False),
    ],
)
def test_tuning_on_a_reported_draw_is_refused(seed, repeats, held_out, tuning, fine):
    fields = {
        "seed": seed, "repeats": repeats, "held_out": held_out, "protocol": {"tuning": tuning},
    }  # fmt: skip
    Specification("online", "karate", "msg", **fields)  # nothing is tuned: nothing to refuse
    if fine:
        Specification("online", "karate", "msg", grid={"h": (0.1,)}, **fields)
    else:
        with pytest.raises(SpecificationError, match="one of the reported draws"):
            Specification("online", "karate", "msg", grid={"h": (0.1,)}, **fields)


def test_unknown_and_missing_keys():
    with pytest.raises(SpecificationError, match="did you mean 'repeats'"):
        Specification.from_dict({"task": "online", "repeets": 3})
    with pytest.raises(SpecificationError, match="no task"):
        Specification.from_dict({"dataset": "karate"})
