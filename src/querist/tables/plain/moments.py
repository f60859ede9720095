"""Dates and times in text, in the few spellings that Arrow's reader knows, as whole numbers and back."""

import datetime as dt
import re
from typing import Any

from querist.tables.plain.kinds import DAY, PER_SECOND, PlainKind, is_date, is_time

_DATE = r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
_CLOCK = r"(?P<hour>[01]\d|2[0-3])(:(?P<minute>[0-5]\d)(:(?P<second>[0-5]\d)(\.(?P<part>\d{1,9}))?)?)?"
_ZONE = r"(?P<zone>Z|[+-]([01]\d|2[0-3])(:?[0-5]\d)?)"
_MOMENT = re.compile(rf"{_DATE}([ T]{_CLOCK}{_ZONE}?)?", re.ASCII)
_DAY = re.compile(_DATE, re.ASCII)
_TIME = re.compile(r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(:(?P<second>[0-5]\d))?", re.ASCII)
_SIZES = {"hour": 3600, "minute": 60, "second": 1}
_FIRST = dt.date(1970, 1, 1).toordinal()


def moment_of(text: str, kind: PlainKind) -> int | None:
    """What a text counts to in a kind of dates or times; None where it is none.

    >>> from querist.tables.plain.kinds import DATE32, TIME32
    >>> moment_of("1970-01-02", DATE32), moment_of("00:01", TIME32), moment_of("1:30", TIME32)
    (1, 60, None)
    """
    found = (_TIME if is_time(kind) else _DAY if is_date(kind) else _MOMENT).fullmatch(text)
    if found is None:
        return None
    part: dict[str, Any] = {
        "year": "1970",
        "month": "1",
        "day": "1",
        "zone": None,
        "part": None,
        **found.groupdict(),
    }
    try:
        day = dt.date(int(part["year"]), int(part["month"]), int(part["day"])).toordinal() - _FIRST
    except ValueError:
        return None
    if is_date(kind):
        return day
    if (part["zone"] is None) is not (kind.tz is None):
        return None
    seconds = sum(int(part[name] or 0) * size for name, size in _SIZES.items())
    scale, fraction = PER_SECOND[kind.unit], (part["part"] or "").ljust(9, "0")
    finer, lost = divmod(int(fraction), 10**9 // scale)
    count = (day * DAY + seconds - _zone(part["zone"])) * scale + finer
    # Arrow takes no digit that the unit cannot hold, be it 0.
    if lost or len(part["part"] or "") > len(str(scale)) - 1 or not -(2**63) <= count < 2**63:
        return None
    return count


def _zone(text: str | None) -> int:
    """Seconds that a zone is before UTC."""
    if text is None or text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    return (-1 if text[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)


def shown_as(count: int, kind: PlainKind) -> dt.date | dt.time:
    """The value of Python's calendar; finer than microseconds there is none."""
    if is_date(kind):
        return dt.date.fromordinal(count + _FIRST)
    micro, lost = divmod(count * 10**6, PER_SECOND[kind.unit])
    if lost:
        raise ValueError(f"{count} nanoseconds are no whole microseconds")
    zone = None if kind.tz is None else dt.UTC
    moment = dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(microseconds=micro)
    return moment.time() if is_time(kind) else moment


def counted_as(value: dt.date | dt.time, kind: PlainKind) -> int:
    """The other way round; what a kind of days cannot hold of a moment is left off."""
    if is_date(kind) and isinstance(value, dt.date):
        return value.toordinal() - _FIRST
    if isinstance(value, dt.time):
        whole = value.hour * 3600 + value.minute * 60 + value.second
        return whole * PER_SECOND[kind.unit] + value.microsecond * PER_SECOND[kind.unit] // 10**6
    if not isinstance(value, dt.datetime):
        raise TypeError(f"{value!r} is no moment")
    start = dt.datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else dt.UTC)
    return (value - start) // dt.timedelta(microseconds=1) * PER_SECOND[kind.unit] // 10**6
