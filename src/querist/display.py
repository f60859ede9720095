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
    listed, body = list(sentences), "".join(_row("td", row) for row in rows)
    parts = [f"<p>{escape(line)}</p>"]
    if listed:
        parts.append("<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in listed) + "</ul>")
    if body:
        top = f"<thead>{_row('th', head)}</thead>" if head else ""
        parts.append(f"<table>{top}<tbody>{body}</tbody></table>")
    if more:
        parts.append(f"<p>{escape(more)}</p>")
    return "".join(parts)


def _row(tag: str, values: Iterable[Any]) -> str:
    return "<tr>" + "".join(f"<{tag}>{_cell(value)}</{tag}>" for value in values) + "</tr>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else escape(str(value))
