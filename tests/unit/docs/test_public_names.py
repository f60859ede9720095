"""Every public name has a docstring with an example, and every example runs."""

import doctest
import importlib

import pytest
from public_names import public_names

NAMES = public_names()
VALUES = [name for name in NAMES if name.is_value]


def test_every_public_name_has_an_example():
    assert len(NAMES) > 200
    without = [name.path for name in NAMES if not name.examples]
    assert without == []


@pytest.mark.parametrize("name", VALUES, ids=lambda name: name.path)
def test_the_examples_of_values_run(name, tmp_path, monkeypatch):
    """`--doctest-modules` runs those of modules, classes and functions; a value has none of its own."""
    monkeypatch.chdir(tmp_path)
    home = importlib.import_module(name.home.rpartition(".")[0])
    test = doctest.DocTest(name.examples, dict(vars(home)), name.path, home.__file__, 0, name.doc)
    failed, tried = doctest.DocTestRunner().run(test)
    assert tried > 0
    assert failed == 0
