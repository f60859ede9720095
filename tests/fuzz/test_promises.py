"""Every promise holds of every generated case. A case that broke one stays here as an example."""

import pytest
from hypothesis import given
from profiles import fuzzed
from promises import check
from strategies import cases

pytestmark = pytest.mark.slow


@fuzzed(60)
@given(cases("embed"))
def test_embed(case):
    check(case)


@fuzzed(100)
@given(cases("online"))
def test_online(case):
    check(case)


@fuzzed(100)
@given(cases("classify"))
def test_classify(case):
    check(case)


@fuzzed(12)
@given(cases("label"))
def test_label(case):
    check(case)


@fuzzed(12)
@given(cases("ask"))
def test_ask(case):
    check(case)


@fuzzed(60)
@given(cases("stream"))
def test_stream(case):
    check(case)
