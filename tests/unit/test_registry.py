"""A name that is not registered, in whatever registry, is answered with the nearest one."""

import pytest

from querist.errors import UnknownNameError
from querist.registry import Registry


def test_a_registry_is_a_dict_but_for_a_name_it_does_not_have():
    colours = Registry("colour", {"red": 1})
    colours["Green"] = 2
    assert dict(colours) == {"red": 1, "Green": 2} and list(colours) == ["red", "Green"]
    assert "blue" not in colours and colours.get("blue") is None
    with pytest.raises(KeyError, match="unknown colour 'grene'; did you mean 'Green'"):
        colours["grene"]
    with pytest.raises(UnknownNameError, match="known: Green, red"):
        colours[3]


def test_capitals_do_not_hide_the_nearest_name():
    message = str(UnknownNameError.of("classifier", "GMNR", ["gmnr", "wvrn"]))
    assert message == "unknown classifier 'GMNR'; did you mean 'gmnr'? known: gmnr, wvrn"
    assert "did you mean" not in str(UnknownNameError.of("classifier", "zzz", ["gmnr", "wvrn"]))
