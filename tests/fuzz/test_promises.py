"""Every promise holds of every generated case. A case that broke one stays here as an example."""

import pytest
from hypothesis import given
from profiles import fuzzed
from promises import check
from strategies import cases, numbered_case

BROKE_ONCE = {
    "online": [173, 1522, 2110, 41723],
    "collective": [600, 1524, 1814, 2850, 2943, 7051, 11944, 15955, 17427, 19852, 41136, 95355],
    "label": [911, 1353],
    "ask": [107],
}
"""Cases that `python tests/fuzz` counted as broken: `--only online --case 173` shows one."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operation", "number"), [(name, number) for name, numbers in BROKE_ONCE.items() for number in numbers]
)
def test_what_broke_once(operation, number):
    check(numbered_case(operation, 0, number))


@pytest.mark.slow
@fuzzed(60)
@given(cases("embed"))
def test_embed(case):
    check(case)


@pytest.mark.slow
@fuzzed(100)
@given(cases("online"))
def test_online(case):
    check(case)


@fuzzed(100)
@given(cases("collective"))
def test_collective(case):
    check(case)


@fuzzed(12)
@given(cases("label"))
def test_label(case):
    check(case)


@pytest.mark.slow
@fuzzed(12)
@given(cases("ask"))
def test_ask(case):
    check(case)


@fuzzed(60)
@given(cases("stream"))
def test_stream(case):
    check(case)
