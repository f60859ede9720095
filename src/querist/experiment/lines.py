"""On which line of a TOML text a key stands: `tomllib` does not tell.

Only headers and keys are read. What goes on over several lines (arrays, long texts) is passed over by
counting brackets and quotes.
"""

import re
from typing import TypeAlias

Where: TypeAlias = tuple[str | int, ...]
"""Keys, and numbers within arrays of tables: `("experiment", 0, "parameters", "gamma")`."""

_PART = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEY = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_KEY})\s*\]")
_PAIR = re.compile(rf"\s*({_KEY})\s*=(.*)")
_LONG = ('"""', "'''")
_TOKEN = re.compile(r'"""|\'\'\'|"(?:\\.|[^"\\])*"|\'[^\']*\'|[#\[\]{}]')


def lines_of(text: str) -> dict[Where, int]:
    r"""The line of every key and header, counted from 1.

    >>> lines_of('task = "online"\n[[experiment]]\nmethod = "msg"\n[experiment.grid]\nh = [1]\n')[
    ...     ("experiment", 0, "grid", "h")]
    5
    """
    found: dict[Where, int] = {}
    counts: dict[Where, int] = {}
    table: Where = ()
    depth, quote = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        rest = line
        if not depth and not quote:
            if header := _HEADER.match(line):
                table = _opened(_parts(header[2]), header[1] == "[[", counts)
                found.setdefault(table, number)
                found.setdefault(table[:-1] if isinstance(table[-1], int) else table, number)
                continue
            pair = _PAIR.match(line)
            if pair is None:
                continue
            found.setdefault((*table, *_parts(pair[1])), number)
            rest = pair[2]
        depth, quote = _left_open(rest, depth, quote)
    return found


def _opened(parts: tuple[str, ...], another: bool, counts: dict[Where, int]) -> Where:
    """The full path of a header: parts that are arrays of tables mean their latest entry."""
    table: Where = ()
    for i, part in enumerate(parts):
        table = (*table, part)
        if another and i == len(parts) - 1:
            counts[table] = counts.get(table, -1) + 1
        if table in counts:
            table = (*table, counts[table])
    return table


def _parts(key: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, key))


def _left_open(text: str, depth: int, quote: str) -> tuple[int, str]:
    """How many brackets, and which long quote, are open after this line."""
    at = 0
    while True:
        if quote:
            end = text.find(quote, at)
            if end < 0:
                return depth, quote
            at, quote = end + len(quote), ""
        token = _TOKEN.search(text, at)
        if token is None or token[0] == "#":
            return depth, ""
        at = token.end()
        if token[0] in _LONG:
            quote = token[0]
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
