"""What is renamed works under its old name for a while, and warns whoever uses it."""

import warnings

import pytest

from querist.asking.store.events import Event
from querist.deprecated import renamed


def test_an_old_name_works_and_warns_where_it_is_used():
    event = Event(3, 0.0, "answer", {})
    with pytest.warns(DeprecationWarning, match=r"^Event\.id is Event\.seq now; .* 0\.4\.0$") as said:
        assert event.id == 3
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert event.seq == 3


def test_the_caller_of_the_old_function_is_named():
    def old():
        renamed("old", "new", "9.0.0")

    with pytest.warns(DeprecationWarning, match="^old is new now") as said:
        old()
    assert said[0].filename == __file__
