"""How a value shows itself in a notebook: a line, sentences, a plain table; all text escaped.

A notebook has a style of its own, so there is none here. Pages of their own are made by `report/`.
"""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def as_html(
    line: str,
    sentences: Iterable[str] = (),
    head: Sequence[str] = (),
    rows: Iterable[Sequence[Any]] = (),
    more: str = "",
) -> str:
    """A line, a list of sentences, a table of cells and what it leaves out; what is empty is left out.

    >>> as_html("1 < 2", ["so"], rows=[[None, 0.5]])
    '<p>1 &lt; 2</p><ul><li>so</li></ul><table><tbody><tr><td></td><td>0.500</td></tr></tbody></table>'
    """
    return (
        _inside("p", escape(line))
        + (_inside("ul", _each("li", map(escape, sentences))) if (sentences := list(sentences)) else "")
        + (_table(head, rows) if (rows := list(rows)) else "")
        + (_inside("p", escape(more)) if more else "")
    )


# Below this line every text is HTML already.


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    top = _inside("thead", _inside("tr", _each("th", map(escape, head)))) if head else ""
    body = _each("tr", (_each("td", map(_cell, row)) for row in rows))
    return _inside("table", top + _inside("tbody", body))


def _each(tag: str, insides: Iterable[str]) -> str:
    return "".join(_inside(tag, inside) for inside in insides)


def _inside(tag: str, inside: str) -> str:
    return f"<{tag}>{inside}</{tag}>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else escape(str(value))
