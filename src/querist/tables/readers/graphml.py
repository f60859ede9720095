"""Graphs in GraphML: nodes, edges and what `data` elements say of them.

The parser is Python's expat, which knows the line it is on: a broken file, an edge to a node that is not
there and a weight that is no number are refused by line. Ids are text; as in text tables they become
integers where every one is the plain form of one. Of nested graphs and hyperedges only plain edges count.
"""

from collections.abc import Callable
from itertools import chain, count
from pathlib import Path
from typing import Any, cast
from xml.parsers import expat

import numpy as np

from querist.errors import InputError
from querist.tables.arrow import pa
from querist.tables.formats import Columns, Elements, Format, Origin, opened, some
from querist.tables.labels import plain_integers
from querist.tables.names import WEIGHT

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_TYPES: dict[str, Callable[[str], Any]] = {
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "boolean": lambda text: _TRUTH[text.strip().lower()],
}


_WHOLE = ("int", "long")


class _Reader:
    """What the parser has seen so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._entity
        self.keys: dict[str, tuple[str, str, str]] = {}
        self.defaults: dict[str, str] = {}
        self.nodes: dict[str, int] = {}
        self.node_lines: list[int] = []
        self.node_data: dict[str, dict[int, str]] = {}
        self.edges: list[tuple[str, str]] = []
        self.edge_lines: list[int] = []
        self.edge_data: dict[str, dict[int, str]] = {}
        self.directed = False
        self._path: list[str] = []
        self._key: str | None = None
        self._value = ""

    def here(self) -> str:
        """The file and the line."""
        return f"{self.name}, line {self.parser.CurrentLineNumber}"

    def _needed(self, attributes: dict[str, str], name: str, element: str) -> str:
        if name not in attributes:
            raise InputError(f"{self.here()}: <{element}> without {name}; GraphML needs one")
        return attributes[name]

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(" ")[2]
        if not self._path and element != "graphml":
            raise InputError(f"{self.here()}: <{element}> where <graphml> is needed; this is no GraphML")
        self._path.append(element)
        if element == "key":
            key = self._needed(attributes, "id", element)
            kind, name = attributes.get("attr.type", "string"), attributes.get("attr.name", key)
            self.keys[key] = attributes.get("for", "all"), name, kind
        elif element == "graph":
            self.directed |= attributes.get("edgedefault") == "directed"
        elif element == "node":
            node = self._needed(attributes, "id", element).strip()
            if node in self.nodes:
                first = self.node_lines[self.nodes[node]]
                raise InputError(f"{self.here()}: node {node!r} is on line {first} already; keep one")
            self.nodes[node] = len(self.nodes)
            self.node_lines.append(self.parser.CurrentLineNumber)
        elif element == "edge":
            ends = [self._needed(attributes, end, element).strip() for end in ("source", "target")]
            self.edges.append((ends[0], ends[1]))
            self.edge_lines.append(self.parser.CurrentLineNumber)
        elif element in ("data", "default"):
            self._key = attributes.get("key") if element == "data" else next(reversed(self.keys), None)
            self._value = ""

    def _entity(self, *declared: Any) -> None:
        # A few lines of them can stand for gigabytes, or for another file.
        raise InputError(f"{self.here()}: <!ENTITY>, which GraphML has no need of; write the text itself")

    def _text(self, text: str) -> None:
        if self._key is not None:
            self._value += text

    def _end(self, tag: str) -> None:
        element = self._path.pop()
        if element == "default" and self._key is not None:
            self.defaults[self._key] = self._value
        elif element == "data" and self._key in self.keys and self._path:
            owner = self._path[-1]
            if owner == "node":
                self.node_data.setdefault(self._key, {})[len(self.nodes) - 1] = self._value
            elif owner == "edge":
                self.edge_data.setdefault(self._key, {})[len(self.edges) - 1] = self._value
        if element in ("data", "default"):
            self._key = None


def _elements(path: Path, weights: str | None, labels: str | None) -> Elements:
    """The graph; `weights` and `labels` are attributes of its edges and nodes."""
    read = _parsed(path)
    unknown = next((k for k, ends in enumerate(read.edges) if not set(ends) <= read.nodes.keys()), None)
    if unknown is not None:
        odd = next(end for end in read.edges[unknown] if end not in read.nodes)
        raise InputError(
            f"{path.name}, line {read.edge_lines[unknown]}: edge to {odd!r}, which is no node of the file; "
            "add the node or remove the edge"
        )
    nodes = _table(read, path.name)
    rows = [[read.nodes[end] for end in ends] for ends in read.edges]
    return Elements(
        np.array(rows, dtype=np.int64).reshape(-1, 2),
        len(read.nodes),
        _weights(read, weights),
        tuple(nodes.table["node"].to_pylist()),
        directed=read.directed,
        labels=None if labels is None else _node_values(read, labels),
        nodes=nodes,
    )


def _nodes(path: Path) -> Columns:
    """The nodes as a table: `node`, and a column for every attribute."""
    return _table(_parsed(path), path.name)


def _parsed(path: Path) -> _Reader:
    reader = _Reader(path.name)
    with opened(path) as file:
        try:
            reader.parser.ParseFile(file)
        except (LookupError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{path.name}: its encoding cannot be read ({error}); save it as UTF-8"
            ) from None
        except expat.ExpatError as error:
            raise InputError(
                f"{path.name}, line {error.lineno}: {expat.ErrorString(error.code)}; the file is damaged or "
                "cut short"
            ) from None
    return reader


def _key_named(read: _Reader, name: str, owner: str, stored: dict[str, dict[int, str]]) -> str | None:
    for key, (of, known, _) in read.keys.items():
        if of in (owner, "all") and name in (known, known.lower(), key) and (key in stored or of == owner):
            return key
    return None


def _weights(read: _Reader, name: str | None) -> Any:
    wanted = WEIGHT if name is None else (name,)
    key = next((k for n in wanted if (k := _key_named(read, n, "edge", read.edge_data))), None)
    if key is None:
        if name is not None:
            raise InputError(f"{read.name}: no edge attribute {name!r}; there are {_names(read, 'edge')}")
        return None
    given, default = read.edge_data.get(key, {}), read.defaults.get(key, "1")
    values = np.empty(len(read.edges))
    for edge in range(values.size):
        text = given.get(edge, default)
        try:
            values[edge] = float(text)
        except ValueError:
            values[edge] = np.nan
        if not np.isfinite(values[edge]):
            raise InputError(
                f"{read.name}, line {read.edge_lines[edge]}: weight {text!r} is no finite number; mend it"
            )
    return values


def _node_values(read: _Reader, name: str) -> list[Any]:
    key = _key_named(read, name, "node", read.node_data)
    if key is None:
        raise InputError(f"{read.name}: no node attribute {name!r}; there are {_names(read, 'node')}")
    return cast(list[Any], _column(read, key).to_pylist())


def _names(read: _Reader, owner: str) -> str:
    return ", ".join(name for of, name, _ in read.keys.values() if of in (owner, "all")) or "none"


def _column(read: _Reader, key: str) -> Any:
    """An attribute of the nodes, by the type that the file gives it."""
    _, name, kind = read.keys[key]
    given, default = read.node_data.get(key, {}), read.defaults.get(key)
    values = [given.get(row, default) for row in range(len(read.nodes))]
    if kind not in _TYPES:
        return pa.array(values, pa.string())
    converted = list[Any]()
    for row, value in enumerate(values):
        try:
            converted.append(None if value is None or not value.strip() else _TYPES[kind](value))
            if kind in _WHOLE and converted[-1] is not None and not -(2**63) <= converted[-1] < 2**63:
                raise ValueError("beyond 64 bits")
        except (ValueError, KeyError):
            shown = repr(value if value is None or len(value) <= 60 else f"{value[:60]}...")
            raise InputError(
                f"{read.name}, line {read.node_lines[row]}: {name} is {shown} but is declared {kind}; "
                "mend the value or the key"
            ) from None
    return pa.array(converted)


def _table(read: _Reader, name: str) -> Columns:
    if not read.nodes:
        raise InputError(f"{name}: {some(0, 'node')}; a GraphML graph has <node> elements")
    columns = {"node": pa.array(list(read.nodes), pa.string())}
    for key, (of, title, _) in read.keys.items():
        if key in read.node_data or of == "node":
            numbered = (f"{title} ({k})" for k in count(2))
            columns[next(own for own in chain((title, key), numbered) if own not in columns)] = _column(
                read, key
            )
    table = plain_integers(pa.table(columns), ["node"])
    return Columns(table, Origin(name, lambda row: f"line {read.node_lines[row]}"), True)


FORMAT = Format(
    endings=(".graphml", ".graphml.gz"),
    begins=(b"<", b"\xef\xbb\xbf<"),
    nodes=_nodes,
    elements=_elements,
)
