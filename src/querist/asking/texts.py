"""What the table of nodes says of a node: its name, its row in words, a picture where columns are pixels."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from querist.errors import InputError
from querist.tables.names import NAME, listing, named, node_column
from querist.types import Floats

if TYPE_CHECKING:
    from querist.asking.campaign import Asking, Question

COLUMNS = 12
"""In a table of more columns than these a zero says nothing; and so many of them are shown at first."""


@dataclass(frozen=True)
class NodeTexts:
    """What a table says of the first nodes: their names, their rows, pictures where columns are pixels."""

    table: Any = None
    node: str | None = None
    name: str | None = None

    @staticmethod
    def of(table: Any, node: str | None = None, name: str | None = None) -> "NodeTexts":
        """`node` is the column of the ids, `name` the one that nodes are shown by, unless of a usual name."""
        if table is None:
            if name is not None:
                raise InputError(f"--name-column {name}: there is no table of nodes; give one as --nodes")
            return NodeTexts()
        columns = table.column_names
        if name is not None and name not in columns:
            raise InputError(f"--name-column {name}: no such column; there are {listing(columns)}")
        ids = node_column(columns, name=node if node in columns else None)
        return NodeTexts(table, ids, name or named(columns, NAME, but=(ids,)))

    def heading(self, question: "Question") -> str:
        """The node in question, with its name where it has one."""
        name = self._text(self.name, question.row)
        return f"node {question.node}{f', {name}' if name else ''}"

    def name_of(self, asking: "Asking", node: Any) -> str:
        """What a node is called: by its name, or its id where it has none."""
        return self._text(self.name, asking.graph.row_of[node]) or str(node)

    def values(self, row: int) -> list[tuple[str, str]]:
        """A node's row but for its id, name, pixels and what is empty; of a wide table also but for zeros."""
        if self.table is None:
            return []
        left_out = {self.node, self.name, *self._pixels}
        names = [name for name in self.table.column_names if name not in left_out]
        found = [(name, self._text(name, row)) for name in names]
        wide = len(names) > COLUMNS
        return [(name, text) for name, text in found if text and not (wide and text in ("0", "0.0", "False"))]

    def picture(self, row: int) -> list[str]:
        """The pixels of a node as lines of half blocks; none where its columns are no picture."""
        if not self._pixels or row >= self.table.num_rows:
            return []
        side = round(len(self._pixels) ** 0.5)
        pixels = np.array([self.table[name][row].as_py() or 0.0 for name in self._pixels], dtype=np.float64)
        return [f"    {line}".rstrip() for line in half_blocks(pixels.reshape(side, side))]

    @cached_property
    def _pixels(self) -> list[str]:
        """Columns that are numbered from 0 or 1, as many as a square has fields, and hold numbers."""
        if self.table is None:
            return []
        numbered = [re.fullmatch(r"(\D*)(\d+)", name) for name in self.table.column_names]
        found = [each for each in numbered if each is not None]
        side = round(len(found) ** 0.5)
        numbers = [int(each[2]) for each in found]
        square = side >= 4 and side * side == len(found) and len({each[1] for each in found}) == 1
        in_order = bool(numbers) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        return [each[0] for each in found] if square and in_order and numbers[0] in (0, 1) else []

    def _text(self, column: str | None, row: int) -> str:
        if column is None or row >= self.table.num_rows:
            return ""
        value = self.table[column][row].as_py()
        return "" if value is None or value != value else " ".join(str(value).split())  # noqa: PLR0124


def half_blocks(pixels: Floats, scale: int = 2) -> list[str]:
    """A grey picture (h, w), 0 for paper, in characters whose upper and lower halves are pixels.

    Each pixel becomes `scale` by `scale`, smoothed in between, and is ink where it is dark enough.

    >>> half_blocks(np.array([[0.0, 9.0], [9.0, 9.0]]), scale=1)
    ['▄█']
    """
    fine = [np.linspace(0, size - 1, scale * size) for size in pixels.shape]
    rows = np.array([np.interp(fine[1], np.arange(pixels.shape[1]), row) for row in pixels])
    dark = np.array([np.interp(fine[0], np.arange(pixels.shape[0]), column) for column in rows.T]).T
    ink = dark > INK_FROM * max(float(pixels.max()), 1e-300)
    if len(ink) % 2:
        ink = np.vstack([ink, np.zeros((1, ink.shape[1]), dtype=bool)])
    return [
        "".join(" ▀▄█"[upper + 2 * lower] for upper, lower in zip(top, bottom, strict=True))
        for top, bottom in zip(ink[::2].astype(int), ink[1::2].astype(int), strict=True)
    ]


INK_FROM = 0.45
"""The share of the darkest pixel from which one is drawn."""
