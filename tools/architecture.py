"""The picture of docs/architecture.md: which package imports which, read from the code.

    python tools/architecture.py [docs/images/architecture.svg]

Packages are in the order of the import contract in pyproject.toml, the foundations first. A mark means that
the package of the row imports the package of the column. All marks lie below the diagonal, because a package
imports only packages before it. Modules that are a single file are left out: most packages import most of
them. A test compares the picture in docs with the code.
"""

import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
PACKAGE = "querist"
CELL, LEFT, TOP = 30, 104, 92
STYLE = """
  svg { font: 14px system-ui, sans-serif; color-scheme: light dark; }
  text { fill: #17212b; } .line { stroke: #d5dde4; } .mark { fill: #2f6f9f; } .self { fill: #e4eaef; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e8eef4; } .line { stroke: #33404d; } .mark { fill: #3f86bd; } .self { fill: #24303c; }
  }
"""


def listed() -> list[str]:
    """Packages and modules in the import contract, the foundations first."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contract = tomllib.load(file)["tool"]["importlinter"]["contracts"][0]
    layers = [[name.strip() for name in row.split("|")] for row in contract["layers"]]
    return [name.removeprefix(f"{PACKAGE}.") for layer in reversed(layers) for name in layer]


def packages() -> list[str]:
    """The listed names that are folders."""
    return [name for name in listed() if (ROOT / "src" / PACKAGE / name).is_dir()]


def imports(known: list[str]) -> list[tuple[str, str]]:
    """Pairs of packages of which the first imports something from the second."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            package, other = (name.removeprefix(f"{PACKAGE}.").split(".")[0] for name in (module, imported))
            if package != other and {package, other} <= set(known):
                found.add((package, other))
    return sorted(found)


def picture() -> str:
    """The drawing."""
    known, side = packages(), CELL - 4
    x = {name: LEFT + CELL * i for i, name in enumerate(known)}
    y = {name: TOP + CELL * i for i, name in enumerate(known)}
    right, height = LEFT + CELL * len(known), TOP + CELL * len(known) + 8
    parts = []
    for name in known:
        parts += [
            f'<line class="line" x1="8" x2="{right}" y1="{y[name] + CELL}" y2="{y[name] + CELL}"/>',
            f'<line class="line" x1="{x[name]}" x2="{x[name]}" y1="{TOP}" y2="{height - 8}"/>',
            f'<text x="{LEFT - 8}" y="{y[name] + 20}" text-anchor="end">{name}</text>',
            f'<text transform="translate({x[name] + CELL / 2 + 4},{TOP - 6}) rotate(-55)">{name}</text>',
            f'<rect class="self" x="{x[name] + 2}" y="{y[name] + 2}" width="{side}" height="{side}"/>',
        ]
    for name, other in imports(known):
        parts.append(
            f'<g><title>{name} imports {other}</title><rect class="mark" rx="4" x="{x[other] + 5}" '
            f'y="{y[name] + 5}" width="{CELL - 10}" height="{CELL - 10}"/></g>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 56} {height}" '
        f'width="{right + 56}" height="{height}" role="img" '
        f'aria-label="The packages of querist, and which imports which">\n<style>{STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(picture(), encoding="utf-8")
    print(target)
