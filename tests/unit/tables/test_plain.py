"""Tables without pyarrow are those with it: the same types, values, attributes, and the same bytes out."""

import datetime as dt
import io
import math
import re
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pytest
from hypothesis import assume, example, given, strategies as st

from querist.tables import plain
from querist.tables.plain import functions, text as plain_csv

FIELDS = [
    "", "0", "1", "7", "007", "-0", "-5", "+5", " 5 ", "\t5", "5\u00a0", "0x1F", "0x",
    "-0x1F", "0xFFFFFFFFFFFFFFFF",
    "9223372036854775807", "9223372036854775808", "1.5", "1.", ".5", "-.5", "1e5", "1E+5",
    "1e", "1e999", "1e-999",
    "nan", "NaN", "-inf", "Infinity", "+inf", "nan(1)", "infin", "1_000", "1d", "٣", "\uff11", " ",
    "  ", "-", "--5",
    "true", "True", "TRUE", "tRue", " true", "false", "False", "NA", "None", "a b", "ä",
    "a\x00b", "é,x", 'a"b', '"',
    "2020-01-02", " 2020-01-02", "2020-1-2", "2020-02-30", "0001-01-01", "9999-12-31",
    "10000-01-01", "2020-01-02Z",
    "12:30", "12:30:05", "12:30:60", "24:00", "1:30", "12:30:05.5", "2020-01-02 12", "2020-01-02T12:30",
    "2020-01-02 12:30:05", "2020-01-02 12:30:05.5", "2020-01-02 12:30:05.123456",
    "2020-01-02 12:30:05.1234567891", "2020-01-02 12:30:05Z", "2020-01-02T12:30:05+01:00",
    "2020-01-02T12:30+01",
    "2020-01-02T12:30:05-2359", "2020-01-02T12:30:05-24:00", "2020-01-02 12:30:05.5Z", "2020-01-02 24:00",
]  # fmt: skip
FIELD = st.one_of(
    st.sampled_from(FIELDS),
    st.integers(-(2**65), 2**65).map(str),
    st.floats().map(repr),
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=6),
    st.dates().map(str),
    st.datetimes().map(str),
)
KIN = st.sampled_from([FIELDS[k : k + 6] for k in range(0, len(FIELDS), 3)])
"""Fields that stand beside each other above are alike, so that columns of one kind come about."""


def same(ours, theirs):
    """Whether two values are one; a moment of pandas is one of Python."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (math.isnan(ours) and math.isnan(theirs))
    if isinstance(ours, dt.datetime):
        return ours.replace(tzinfo=None) == theirs.replace(tzinfo=None)
    return type(ours) is type(theirs) and ours == theirs


def through(module, arrow, content, names, **options):
    """Types and values of a text table, or None where it is refused."""
    try:
        table = module.read_csv(
            io.BytesIO(content),
            read_options=module.ReadOptions(column_names=names, skip_rows=1),
            parse_options=module.ParseOptions(**options),
            convert_options=module.ConvertOptions(
                column_types={"id": arrow.string()},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except arrow.ArrowInvalid:
        return None
    return [(str(table[name].type), table[name].to_pylist()) for name in names]


FAR = re.compile(rb"\b(?:[03-9]\d{3}|1[0-6]\d\d|2[3-9]\d\d|22[6-9]\d)-\d\d-\d\d")
"""Days that 64 bits of nanoseconds do not hold, or hardly: older Arrow makes others of them."""


@cache
def arrow_wraps():
    content = b"id,x\na,2263-01-01 00:00:00.000001\n"
    return through(arrow_csv, pa, content, ["id", "x"])[1][0] != "string"


def check(content, names, **options):
    if FAR.search(content) and arrow_wraps():
        return
    ours = through(plain_csv, plain, content, names, **options)
    theirs = through(arrow_csv, pa, content, names, **options)
    assert (ours is None) is (theirs is None), (ours, theirs)
    for (kind, values), (other, expected) in zip(ours or (), theirs or (), strict=True):
        assert kind == other
        assert len(values) == len(expected) and all(map(same, values, expected)), (kind, values, expected)


def line(fields):
    return ",".join('"' + field.replace('"', '""') + '"' for field in fields) + "\n"


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_is_read_alike(field):
    check(("id,x\n" + line(["a", field])).encode(), ["id", "x"])


@given(
    st.one_of(
        st.lists(FIELD, max_size=6), KIN.flatmap(lambda own: st.lists(st.sampled_from(own), max_size=6))
    )
)
@example(["2020-01-02", "2020-01-02 12:30"])
@example(["true", "0", ""])
@example(["2020-01-02 12:30:05Z", "2020-01-02 12:30:05"])
@example(["9007199254740993", "0.5"])
def test_every_column_is_read_alike(fields):
    content = "id,x\n" + "".join(line([str(k), field]) for k, field in enumerate(fields))
    check(content.encode(), ["id", "x"], newlines_in_values=True)


@pytest.mark.parametrize(
    "content",
    [
        b"id,x", b"id,x\n", b"id,x\n\n\n", b"id,x\n1\n", b"id,x\n1,2,3\n",
        b"id,x\r1,2\r3,4\r", b"id,x\r\n1,2\r\n",
        b"id,x\n1,2\n  \n3,4", b'id,x\n"a,1\nb,2\n', b'id,x\na"b,1\n', b'id,x\n"a"b,1\n',
        b'id,x\n"a""b"c"d,1\n',
        b"id,x\na,\xff\n", b"id,x\n\xff,1\n", b"\xef\xbb\xbfid,x\na,1\n", b"id,x\na,1\n\nb,2",
    ],
)  # fmt: skip
def test_every_layout_is_read_alike(content):
    check(content, ["id", "x"])


WRITTEN = {
    "text": ["x", None, "", "=1", "a b"],
    "marks": ["x", "a,b", 'q"q', None, "n\nn"],
    "float": [1.0, None, 0.3, 1e-7, 1.5e10],
    "more": [123456789.0, -0.0, 1e300, float("nan"), float("-inf")],
    "truth": [True, None, False, True, True],
    "whole": [1, None, -3, 2**62, 0],
    "none": [None] * 5,
}


@pytest.mark.parametrize("quoting", ["none", "needed"])
@pytest.mark.parametrize("names", [["text", "float", "truth"], ["more", "whole", "none"], ["marks", "whole"]])
def test_tables_are_written_alike(quoting, names):
    def written(module, arrow):
        file = io.BytesIO()
        options = module.WriteOptions(include_header=False, quoting_style=quoting)
        try:
            module.write_csv(arrow.table({name: WRITTEN[name] for name in names}), file, options)
        except arrow.ArrowInvalid:
            return None
        return file.getvalue()

    assert written(plain_csv, plain) == written(arrow_csv, pa)


@given(st.floats())
def test_numbers_are_written_alike(value):
    assert (
        plain.array([value]).cast(plain.string()).to_pylist()
        == pa.array([value]).cast(pa.string()).to_pylist()
    )


VALUES = [
    None, True, 1, 2.5, "a", b"a", 2**53 + 1, 2**63, float("nan"), np.int64(3),
    np.float64(1.5), np.bool_(True), (1, 2),
    ["a"], [None], [], 1j, frozenset("a"), range(3), dt.date(2020, 1, 1), dt.time(1, 2),
    dt.datetime(2020, 1, 1, 1, 1, 1, 5), dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
]  # fmt: skip
TIMES = (dt.date, dt.time)
"""Arrow takes a whole number beside a date for days, and a moment for its date; here they are a mixture.
So are moments with and without a zone, which older versions of it put together."""


@given(st.lists(st.sampled_from(VALUES), max_size=3))
def test_values_of_python_make_the_same_column(values):
    def made(arrow):
        try:
            found = arrow.array(values)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
            return None
        return str(found.type), found.to_pylist()

    kinds = {type(value) for value in values if value is not None}
    assume(len({value.tzinfo is None for value in values if isinstance(value, dt.datetime)}) < 2)
    assume(not (len(kinds) > 1 and (any(issubclass(kind, TIMES) for kind in kinds) or bytes in kinds)))
    # Truth values among numbers: pyarrow takes some for 0 and 1, by their kind and place; ours are refused.
    assume(not ({bool, np.bool_} & kinds and len(kinds) > 1))
    ours, theirs = made(plain), made(pa)
    assert (ours is None) is (theirs is None), (ours, theirs)
    if ours is not None:
        assert ours[0] == theirs[0] and all(map(same, ours[1], theirs[1])), (ours, theirs)


WORDS = st.lists(
    st.one_of(
        st.none(), st.text(max_size=12), st.sampled_from(["İΣΑΣ ΣẞǅK", "The cat, a CAT", " x\n", "1\n", "+7"])
    ),
    max_size=5,
)


@given(WORDS)
def test_texts_are_treated_alike(texts):
    ours, theirs = plain.array(texts, plain.string()), pa.array(texts, pa.string())
    for make in (
        lambda c, own: c.utf8_trim_whitespace(own),
        lambda c, own: c.utf8_length(own),
        lambda c, own: c.equal(own, "x"),
        lambda c, own: c.match_substring(own, "a"),
        lambda c, own: c.match_substring_regex(own, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"),
        lambda c, own: c.replace_substring_regex(own, r"^\+([1-9][0-9]*)$", r"\1"),
        lambda c, own: c.if_else(c.equal(own, "x"), None, own),
        lambda c, own: own.fill_null("-"),
        lambda c, own: own.drop_null(),
    ):
        assert make(functions, ours).to_pylist() == make(pc, theirs).to_pylist()
    assert functions.count_distinct(ours).as_py() == pc.count_distinct(theirs).as_py()


@given(st.lists(st.one_of(st.none(), st.text(st.characters(max_codepoint=0x24FF), max_size=12)), max_size=5))
@example(["İΣΑΣ ΣẞǅK", "two_words, 3 more", ""])
def test_words_are_found_alike(texts):
    """Below the signs that one or the other library has learned since."""
    ours, theirs = plain.array(texts, plain.string()), pa.array(texts, pa.string())
    assert functions.utf8_lower(ours).to_pylist() == pc.utf8_lower(theirs).to_pylist()
    for pattern, call in (
        (r"[^\p{L}\p{N}]+", "split_pattern_regex"),
        (r"[\p{L}\p{N}]{2,}", "count_substring_regex"),
    ):
        assert (
            getattr(functions, call)(ours, pattern).to_pylist()
            == getattr(pc, call)(theirs, pattern).to_pylist()
        )
