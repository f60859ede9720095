"""How a graph is read, each option declared once: see `querist.options`.

`GraphOptions` are those of `as_graph`, which takes values as well as files; `FileOptions` are those of what
reads a graph from files alone: the command line, the server, a cluster.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict

from querist.options import EVERYWHERE, MISSING, Options, option

ArrayKind: TypeAlias = Literal["adjacency", "edges"]
Parallel: TypeAlias = Literal["max", "sum"]


def _column(help: str, default_words: str) -> Any:
    return option(None, help, default_words=default_words, metavar="COLUMN", on=EVERYWHERE)


class TableKeywords(TypedDict, total=False):
    """The fields of `TableOptions` as keywords; a test compares the two."""

    source: str | None
    target: str | None
    parallel: Parallel
    id: str | None
    missing: Hashable


class GraphKeywords(TableKeywords, total=False):
    """The fields of `GraphOptions` as keywords; a test compares the two."""

    kind: ArrayKind | None
    classes: Sequence[Hashable] | None
    name: str | None


class FileKeywords(TableKeywords, total=False):
    """The fields of `FileOptions` as keywords; a test compares the two."""

    weight: str | None
    label_column: str | None
    ignore_unknown: bool


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """How tables of edges and nodes are read."""

    source: str | None = _column("Column of one end of the edges", "source, src, from, or the first column")
    target: str | None = _column("Column of the other end", "target, dst, to, or the second column")
    parallel: Parallel = option(
        "max",
        "Weight of an edge that is given more than once, in either direction: the largest (max) or the sum "
        "(for payments, messages); the two triangles of a matrix, and the directions of a list that gives "
        "every edge both ways alike, are one edge",
        title="Repeated edges",
    )
    id: str | None = _column("Column of the ids in a table of nodes", "node, id, or the first column")
    missing: Hashable = option(None, **MISSING, metavar="LABEL")


@dataclass(frozen=True, kw_only=True)
class GraphOptions(TableOptions):
    """How `as_graph` reads what it is given.

    >>> GraphOptions(parallel="sum").changed()
    ['parallel']
    """

    kind: ArrayKind | None = option(
        None,
        "What an array or a list holds, if it could be either",
        default_words="a square array is an adjacency, except a (2, 2) array of integers that is not "
        "symmetric with an empty diagonal: that is two edges; a list is a list of edges",
        on=(),
    )
    classes: Sequence[Hashable] | None = option(
        None, "Classes in the order of their codes", default_words="those that occur", on=()
    )
    name: str | None = option(None, "Name for tables and messages", default_words="that of the file", on=())


@dataclass(frozen=True, kw_only=True)
class FileOptions(TableOptions):
    """How the files of a graph are read.

    >>> FileOptions(weight="amount", label_column="kind").of_graph()
    {'weights': 'amount', 'labels': 'kind'}
    """

    weight: str | None = _column("Column of the weights of the edges", "weight or value")
    label_column: str | None = _column(
        "Column of the labels, in a table of labels or of nodes", "label or class"
    )
    ignore_unknown: bool = option(
        False, "Skip and count labels of nodes that are not in the graph; otherwise they are refused"
    )

    def of_graph(self) -> dict[str, Any]:
        """Those that were given, as `as_graph` calls them."""
        called = {"weight": "weights", "label_column": "labels"}
        return {called.get(name, name): getattr(self, name) for name in self.changed()}
