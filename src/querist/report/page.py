"""One HTML file that needs nothing else: no script, no font, no address to load from.

Small functions, each giving a piece of the page. Text is escaped where it
enters; only what is already `Html` passes as it is.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

_SHELL = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="querist {version}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<p class="lede">{lede}</p>
</header>
{body}
</main>
<footer>Made by querist {version}.</footer>
</body>
</html>
"""


class Html(str):
    """A piece of a page: already escaped."""

    __slots__ = ()


@dataclass(frozen=True)
class Figure:
    """A drawing with a heading over it and a sentence under it."""

    svg: Html
    heading: str
    caption: str


@dataclass(frozen=True)
class Tile:
    """A small picture with a line under it; a marked one stands out, in grey too."""

    image: str
    """A data URI."""
    alt: str
    caption: str
    marked: bool = False


def safe(text: str) -> Html:
    """Escape, unless it is a piece of a page already.

    >>> safe("a < b"), safe(Html("<b>bold</b>"))
    ('a &lt; b', '<b>bold</b>')
    """
    return text if isinstance(text, Html) else Html(escape(text))


def style() -> str:
    """The style sheet of every page."""
    return files("querist.report").joinpath("style.css").read_text(encoding="utf-8")


def page(title: str, lede: str, sections: Iterable[Html]) -> str:
    """The whole file."""
    from querist.version import VERSION

    body = "\n".join(sections)
    return _SHELL.format(title=safe(title), lede=safe(lede), style=style(), body=body, version=VERSION)


def section(heading: str, *parts: Html) -> Html:
    """A heading and what belongs to it."""
    return Html("\n".join(["<section>", f"<h2>{safe(heading)}</h2>", *parts, "</section>"]))


def prose(*paragraphs: str) -> Html:
    """Plain paragraphs."""
    return Html("\n".join(f"<p>{safe(text)}</p>" for text in paragraphs))


def code(text: str) -> Html:
    """Commands, each on a line of its own."""
    return Html(f"<pre><code>{safe(text)}</code></pre>")


def headline(numbers: Iterable[tuple[str, str, str]]) -> Html:
    """Large numbers side by side: (number, what it is, a word more)."""
    cards = (
        f"<div><dt>{safe(what)}</dt><dd><strong>{safe(number)}</strong><span>{safe(more)}</span></dd></div>"
        for number, what, more in numbers
    )
    return Html("\n".join(['<dl class="headline">', *cards, "</dl>"]))


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, words: Collection[int] = ()
) -> Html:
    """A table whose first column names the row; the others hold numbers, or words where `words` has them."""

    def cell(kind: str, column: int, text: str) -> str:
        mark = ' class="words"' if column in words else ""
        return f"<{kind}{mark}>{safe(text)}</{kind[:2]}>"

    columns = "".join(cell('th scope="col"', i, name) for i, name in enumerate(head))
    lines = [
        f'<tr><th scope="row">{safe(first)}</th>'
        f"{''.join(cell('td', i, text) for i, text in enumerate(cells, 1))}</tr>"
        for first, *cells in rows
    ]
    top = f"<caption>{safe(caption)}</caption>\n<thead><tr>{columns}</tr></thead>"
    inside = "\n".join([top, "<tbody>", *lines, "</tbody>"])
    return Html(f'<div class="scroll" tabindex="0"><table>\n{inside}\n</table></div>')


def columns(*figures: Figure) -> Html:
    """Figures side by side, or below each other on a narrow screen."""
    drawn = (
        f"<figure><h3>{safe(f.heading)}</h3>{f.svg}<figcaption>{safe(f.caption)}</figcaption></figure>"
        for f in figures
    )
    return Html("\n".join(['<div class="columns">', *drawn, "</div>"]))


def gallery(tiles: Iterable[Tile]) -> Html:
    """Small pictures in rows, in order."""
    items = (
        f"<li{' class=marked' if t.marked else ''}>"
        f'<img src="{safe(t.image)}" alt="{safe(t.alt)}"><span>{safe(t.caption)}</span></li>'
        for t in tiles
    )
    return Html("\n".join(['<ol class="gallery">', *items, "</ol>"]))
