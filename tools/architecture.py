"""The picture of docs/architecture.md: which room imports which, read off the code.

    python tools/architecture.py [docs/images/architecture.svg]

Rooms stand in the order of the import contract in pyproject.toml, the foundations first. A mark in a row says
that this room imports the one of the column; all marks lie below the diagonal, since a room knows only those
before it. The test suite holds the picture in docs against the code.
"""

import ast
import sys
import tomllib
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
PACKAGE = "querist"
CELL, LEFT, TOP, WORDS = 26, 112, 96, 700
STYLE = """
  svg { font: 13px system-ui, sans-serif; color-scheme: light dark; }
  text { fill: #17212b; } .what { fill: #52616e; font-size: 12px; } .line { stroke: #d5dde4; }
  .mark { fill: #2f6f9f; } .self { fill: #e4eaef; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e8eef4; } .what { fill: #9fb0be; } .line { stroke: #33404d; }
    .mark { fill: #3f86bd; } .self { fill: #24303c; }
  }
"""


def rooms() -> list[str]:
    """All rooms, those that know none of the others first."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        (contract,) = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = [[name.strip() for name in row.split("|")] for row in contract["layers"]]
    return [name.removeprefix(f"{PACKAGE}.") for layer in reversed(layers) for name in layer]


def imports(known: list[str]) -> list[tuple[str, str]]:
    """Pairs of rooms of which the first imports something of the second."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            room, other = (name.removeprefix(f"{PACKAGE}.").split(".")[0] for name in (module, imported))
            if room != other and {room, other} <= set(known):
                found.add((room, other))
    return sorted(found)


def about(room: str) -> str:
    """The first sentence of a room's docstring."""
    home = ROOT / "src" / PACKAGE / room
    file = home / "__init__.py" if home.is_dir() else home.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(said.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")


def picture() -> str:
    """The drawing."""
    known = rooms()
    x = {room: LEFT + CELL * i for i, room in enumerate(known)}
    y = {room: TOP + CELL * i for i, room in enumerate(known)}
    width, height = LEFT + CELL * len(known) + WORDS, TOP + CELL * len(known) + 12
    parts = []
    for room in known:
        middle = x[room] + CELL / 2
        parts += [
            f'<line class="line" x1="8" x2="{width - 8}" y1="{y[room] + CELL}" y2="{y[room] + CELL}"/>',
            f'<text x="{LEFT - 10}" y="{y[room] + 18}" text-anchor="end">{room}</text>',
            f'<text transform="translate({middle + 4},{y[room] - 6}) rotate(-60)">{room}</text>',
            f'<rect class="self" x="{x[room] + 2}" y="{y[room] + 2}" width="22" height="22"/>',
            f'<text class="what" x="{LEFT + CELL * len(known) + 14}" y="{y[room] + 18}">'
            f"{escape(about(room))}</text>",
        ]
    for room, other in imports(known):
        parts.append(
            f'<g><title>{room} imports {other}</title><rect class="mark" rx="4" x="{x[other] + 4}" '
            f'y="{y[room] + 4}" width="{CELL - 8}" height="{CELL - 8}"/></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="The rooms of the package, and which imports which">\n<style>{STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(picture(), encoding="utf-8")
    print(target)
