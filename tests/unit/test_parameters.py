"""Settings as people type them."""

from typing import Literal

import pytest

from querist import ALGORITHMS
from querist.errors import InputError, UnknownNameError
from querist.parameters import effective, parameters_of, read_settings


def factory(
    rows,
    *,
    gamma: float = 1.0,
    steps: int = 3,
    shy: bool = False,
    name: str = "x",
    kind: Literal["a", "b"] = "a",
    most: "int | None" = None,
    order: list[int] | None = None,
    plain=2.0,
):
    return rows


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("gamma=1e-3", 1e-3), ("gamma= 2 ", 2.0), ("steps=7", 7), ("shy=yes", True), ("shy=False", False),
        ("name=a=b", "a=b"), ("kind=b", "b"), ("most=none", None), ("most=None", None), ("most=4", 4),
        ("order=2,0, 1", (2, 0, 1)), ("plain=3", 3.0),
    ],
)  # fmt: skip
def test_values_are_read_by_their_annotation(setting, value):
    name = setting.partition("=")[0]
    assert read_settings(factory, [setting]) == {name: value}


@pytest.mark.parametrize(
    ("setting", "need"),
    [
        ("gamma=x", "a finite number"), ("steps=1.5", "a whole number"), ("shy=2", "true or false"),
        ("kind=c", "one of a, b"), ("most=x", "a whole number or none"), ("=1", "name=value"),
        ("order=1,x", "numbers separated by commas or none"),
    ],
)  # fmt: skip
def test_bad_values_say_what_is_needed(setting, need):
    with pytest.raises(InputError, match=need):
        read_settings(factory, [setting])


def test_unknown_names_bring_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'steps'"):
        read_settings(factory, ["step=1"])
    with pytest.raises(UnknownNameError):
        read_settings(factory, ["steps=1"], apart=["steps"])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_default_of_the_catalogue_can_be_typed(name):
    make = ALGORITHMS[name]
    for parameter in parameters_of(make).values():
        assert parameter.read(str(parameter.default)) == parameter.default
    assert effective(make, {"budget": 3})["budget"] == 3
