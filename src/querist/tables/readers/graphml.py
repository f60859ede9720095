"""Graphs in GraphML: nodes, edges and what `data` elements say of them.

The parser is Python's expat, which knows the line it is on: a broken file, an edge to a node that is not
there and a value that is not of its type are refused by line. Ids are text; as in text tables they become
integers where every one is the plain form of one. Of nested graphs and hyperedges only plain edges count.
"""

from itertools import chain, count
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from querist.errors import InputError, shortened
from querist.memory import check
from querist.tables.arrow import pa, pc
from querist.tables.formats import Columns, Entries, Format, Origin, as_weights, opened, some, stem
from querist.tables.labels import plain_integers
from querist.tables.names import WEIGHT, listing, named

_TYPES = {"int": "int64", "long": "int64", "float": "float64", "double": "float64", "boolean": "bool"}
CELL, DEFAULT = 16.0, 5.0
"""Bytes of memory for each value, and for each byte of a default in each row; 4.5 were measured."""


class _Reader:
    """What the parser has seen so far: of nodes and edges the line of each, and by key the values of some."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self.parser.AttlistDeclHandler = self._declared
        self.keys: dict[str, tuple[str, str, str]] = {}
        self.defaults: dict[str, str] = {}
        self.lines: dict[str, list[int]] = {"node": [], "edge": []}
        self.data: dict[str, dict[str, dict[int, str]]] = {"node": {}, "edge": {}}
        self.nodes: dict[str, int] = {}
        self.ends: list[tuple[str, str]] = []
        self.directed = False
        self._path: list[str] = []
        self._key: str | None = None
        self._value: list[str] = []

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element, here = tag.rpartition(" ")[2], f"{self.name}, line {self.parser.CurrentLineNumber}"
        if not self._path and element != "graphml":
            raise InputError(f"{here}: <{element}> where <graphml> is needed; this is no GraphML")
        self._path.append(element)
        needed = {"key": ["id"], "node": ["id"], "edge": ["source", "target"]}.get(element, [])
        for name in needed:
            if name not in attributes:
                raise InputError(f"{here}: <{element}> without {name}; GraphML needs one")
        own = [attributes[name].strip() for name in needed]
        if element == "key":
            kind, name = attributes.get("attr.type", "string"), attributes.get("attr.name", own[0])
            self.keys[own[0]] = attributes.get("for", "all"), name, kind
        elif element == "graph":
            self.directed |= attributes.get("edgedefault") == "directed"
        elif element == "node":
            row = self.nodes.setdefault(own[0], len(self.nodes))
            if row < len(self.lines["node"]):
                first = self.lines["node"][row]
                raise InputError(f"{here}: node {own[0]!r} is on line {first} already; keep one")
        elif element == "edge":
            self.ends.append((own[0], own[1]))
        elif element in ("data", "default"):
            self._key = attributes.get("key") if element == "data" else next(reversed(self.keys), None)
            self._value = []
        if element in self.lines:
            self.lines[element].append(self.parser.CurrentLineNumber)

    def _declared(self, *declared: Any) -> None:
        # A few lines of them can stand for gigabytes, or for another file.
        here = f"{self.name}, line {self.parser.CurrentLineNumber}"
        raise InputError(f"{here}: an <!ENTITY> or <!ATTLIST>; leave it out and write the text itself")

    def _text(self, text: str) -> None:
        if self._key is not None:
            self._value.append(text)

    def _end(self, tag: str) -> None:
        element = self._path.pop()
        if element not in ("data", "default"):
            return
        key, value, owner = self._key, "".join(self._value), self._path[-1] if self._path else ""
        self._key, self._value = None, []
        if element == "default" and key is not None:
            self.defaults[key] = value
        elif key in self.keys and owner in self.lines:
            self.data[owner].setdefault(key, {})[len(self.lines[owner]) - 1] = value

    def keys_of(self, owner: str) -> list[str]:
        """The keys that nodes, or edges, have."""
        return [key for key, (of, *_) in self.keys.items() if of == owner or key in self.data[owner]]

    def column(self, owner: str, key: str, kind: str | None = None) -> Any:
        """What nodes, or edges, have of a key, by the type that the file gives it, or as `kind`."""
        (_, title, stated), lines = self.keys[key], self.lines[owner]
        given, default = self.data[owner].get(key, {}), self.defaults.get(key)
        texts = pa.array([given.get(row, default) for row in range(len(lines))], pa.string())
        kind = kind or stated
        if kind not in _TYPES:
            return texts
        trimmed = pc.utf8_trim_whitespace(texts)
        filled = pc.if_else(pc.equal(trimmed, ""), None, trimmed)
        try:
            return filled.cast(_TYPES[kind])
        except pa.ArrowInvalid:
            row = next(row for row in range(len(filled)) if not _is_of(filled[row], kind))
            raise InputError(
                f"{self.name}, line {lines[row]}: {title} is {shortened(texts[row].as_py())} and must be "
                f"{kind}; correct the value or the key"
            ) from None


def _is_of(value: Any, kind: str) -> bool:
    try:
        value.cast(_TYPES[kind])
    except pa.ArrowInvalid:
        return False
    return True


def _elements(path: Path, weights: str | None, labels: str | None) -> Entries:
    """The graph; `weights` is an attribute of its edges, and `labels` one in its table of nodes."""
    read = _parsed(path)
    unknown = next((k for k, ends in enumerate(read.ends) if not set(ends) <= read.nodes.keys()), None)
    if unknown is not None:
        odd = next(end for end in read.ends[unknown] if end not in read.nodes)
        raise InputError(
            f"{path.name}, line {read.lines['edge'][unknown]}: edge to {odd!r}, which is no node of the "
            "file; add the node or remove the edge"
        )
    nodes = _table(read)
    rows = np.array([[read.nodes[end] for end in ends] for ends in read.ends], dtype=np.int64).reshape(-1, 2)
    return Entries(
        rows[:, 0],
        rows[:, 1],
        len(read.nodes),
        _weights(read, weights),
        tuple(nodes.table["node"].to_pylist()),
        directed=read.directed,
        name=stem(path),
        text=True,
        table=nodes,
    )


def _nodes(path: Path) -> Columns:
    """The nodes as a table: `node`, and a column for every attribute."""
    return _table(_parsed(path))


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
    for owner, lines in reader.lines.items():
        # A default takes room in every row: in the table, as a copy, and as text of Python.
        defaults = [len(reader.defaults.get(key, "").encode()) for key in reader.keys_of(owner)]
        cells = CELL * len(defaults) + DEFAULT * sum(defaults)
        check(cells * len(lines), f"the table of {owner}s in {path.name}")
    return reader


def _weights(read: _Reader, name: str | None) -> Any:
    keys = {read.keys[key][1]: key for key in read.keys_of("edge")}
    title = named(list(keys), WEIGHT) if name is None else name
    if title is None:
        return None
    if title not in keys:
        known = listing(list(keys)) or "none"
        raise InputError(f"{read.name}: no edge attribute {title!r}; there are {known}")
    values = read.column("edge", keys[title], "double").fill_null(1.0)
    return as_weights(values, len(values), read.name)


def _table(read: _Reader) -> Columns:
    if not read.nodes:
        raise InputError(f"{read.name}: {some(0, 'node')}; a GraphML graph has <node> elements")
    (ids,) = plain_integers([pa.array(list(read.nodes), pa.string())])
    columns = {"node": ids}
    for key in read.keys_of("node"):
        title = read.keys[key][1]
        titles = chain((title, key), (f"{title} ({k})" for k in count(2)))
        columns[next(own for own in titles if own not in columns)] = read.column("node", key)
    lines = read.lines["node"]
    return Columns(pa.table(columns), Origin(read.name, lambda row: f"line {lines[row]}"), True)


FORMAT = Format(
    endings=(".graphml", ".graphml.gz"),
    begins=(b"<", b"\xef\xbb\xbf<"),
    cost=15.0,
    nodes=_nodes,
    elements=_elements,
)
