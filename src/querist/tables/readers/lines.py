"""Rows as lines of text, parsed as they come: CSV with a header, JSON objects, or LIBSVM (svmlight).

The first line says which. A broken line stops the parsing with an error that names it; what was
yielded before stays. Features of JSON objects are numbered as they appear, so later blocks may
be wider than earlier ones.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.tables.formats import Format, Vectors, is_number, opened, stem
from querist.tables.labels import as_label
from querist.tables.names import vector_label
from querist.tables.readers.delimited import delimiter_of

LIBSVM = re.compile(r"^\S*(\s+\d+:\S+)+\s*(#.*)?$")
BLOCK = 512


@dataclass(frozen=True)
class Block:
    """Some rows: X (n, d), their labels (None: unlabelled), and the number of the first line."""

    X: Any
    labels: list[Any]
    line: int


MOST_FEATURES = 10_000_000
"""An index beyond it is taken for a damaged one."""

Row = tuple[dict[int, float] | list[float], Any]


class Lines:
    """A parser that keeps the names of columns between blocks.

    Parameters
    ----------
    label : column or key that holds the label; by default `label`, `class`, `target` or `y` in any
        case, and in CSV else the last column
    skip_broken : count broken lines in `broken` and go on, instead of stopping
    where : named in errors
    """

    def __init__(
        self, label: str | None = None, skip_broken: bool = False, where: str = "standard input"
    ) -> None:
        self.label, self.skip_broken, self.where = label, skip_broken, where
        self.broken = 0
        self.features: dict[str, int] = {}
        self.width = 1
        self._sparse = False

    def blocks(self, lines: Iterable[str], size: int = BLOCK) -> Iterator[Block]:
        """Blocks of up to `size` rows; those before a broken line are yielded before its error."""
        rows, first = list[Row](), 0
        parse: Callable[[str], Row] | None = None
        for number, line in enumerate(lines, start=1):
            text = line.rstrip("\r\n")  # an empty last column is a label that is not there
            if not text.strip() or text.startswith("#"):
                continue
            if parse is None:
                parse, is_header = self._format(text)
                if is_header:
                    continue
            try:
                rows.append(parse(text))
            except (ValueError, TypeError, KeyError, csv.Error, RecursionError) as problem:
                if self.skip_broken:
                    self.broken += 1
                    continue
                if rows:
                    yield self._block(rows, first)
                said = problem.args[0] if problem.args else type(problem).__name__
                raise InputError(
                    f"{self.where}, line {number}: {said}; mend the line or leave it out"
                ) from None
            first = first or number
            if len(rows) == size:
                yield self._block(rows, first)
                rows, first = [], 0
        if rows:
            yield self._block(rows, first)

    def stacked(self, parts: list[Any]) -> Any:
        """Blocks of rows as one matrix, each as wide as the widest."""
        if not self._sparse:
            return np.concatenate(parts)
        return sp.vstack(
            [sp.csr_array((p.data, p.indices, p.indptr), (p.shape[0], self.width)) for p in parts],
            "csr",
        )

    def _format(self, text: str) -> tuple[Callable[[str], Row], bool]:
        self._sparse = text.startswith("{") or bool(LIBSVM.match(text))
        if not self._sparse:
            return self._csv(text), True
        return self._json if text.startswith("{") else self._libsvm, False

    def _csv(self, header: str) -> Callable[[str], Row]:
        mark = delimiter_of(header)
        columns = next(csv.reader([header], delimiter=mark))
        if len(columns) < 2:
            raise InputError(
                f"{self.where}, line 1: {header[:60]!r} is neither JSON, LIBSVM nor a CSV header of two "
                "columns or more; give one of them"
            )
        at = columns.index(vector_label(columns, self.label, self.where) or columns[-1])
        names = [*columns[:at], *columns[at + 1 :]]
        if all(map(is_number, names)):
            raise InputError(f"{self.where}, line 1: the columns have no names; give a header line")
        self.features = {name: i for i, name in enumerate(names)}

        def parse(text: str) -> Row:
            values = next(csv.reader([text], delimiter=mark, strict=True))
            if len(values) != len(columns):
                raise ValueError(f"{len(values)} values for {len(columns)} columns")
            label = as_label(values.pop(at))
            if mark != ",":
                values = [value.replace(",", ".") for value in values]
            return [_number(value, name) for name, value in zip(names, values, strict=True)], label

        return parse

    def _json(self, text: str) -> Row:
        item = json.loads(text)
        if not isinstance(item, dict):
            raise ValueError(f"{text[:60]!r} is not a JSON object")
        key = vector_label(list(item), self.label, self.where, needed=False)
        label = item.pop(key, None) if key is not None else None
        pairs = [(name, _number(value, name)) for name, value in item.items()]
        row = {self.features.setdefault(n, len(self.features)): v for n, v in pairs if v != 0}
        self.width = max(self.width, len(self.features))
        return row, label

    def _libsvm(self, text: str) -> Row:
        label, *parts = text.partition("#")[0].split()
        if ":" in label:
            label, parts = "", [label, *parts]
        values: dict[int, float] = {}
        for part in parts:
            index, colon, value = part.partition(":")
            if not colon or not index.isdigit() or int(index) < 1:
                raise ValueError(f"{part!r} is not index:value with an index from 1")
            if int(index) > MOST_FEATURES:
                raise ValueError(f"index {_short(index)} is beyond {MOST_FEATURES:,}; number features from 1")
            self.width = max(self.width, int(index))
            values[int(index) - 1] = _number(value, index)
        return values, as_label(label)

    def _block(self, rows: list[Row], line: int) -> Block:
        labels = [label for _, label in rows]
        if not self._sparse:
            return Block(np.array([values for values, _ in rows], dtype=np.float64), labels, line)
        pairs = [sorted(values.items()) for values, _ in rows if isinstance(values, dict)]
        indptr = np.cumsum([0, *map(len, pairs)])
        indices = np.array([i for row in pairs for i, _ in row], dtype=np.int64)
        data = np.array([v for row in pairs for _, v in row], dtype=np.float64)
        return Block(sp.csr_array((data, indices, indptr), shape=(len(rows), self.width)), labels, line)


def _number(value: Any, name: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{_short(name)} is {_short(repr(value))}, not a number") from None
    if not np.isfinite(number):
        raise ValueError(f"{_short(name)} is {_short(repr(value))}, not a finite number")
    return number


def _short(text: str) -> str:
    """Text for an error: not too much of it, and nothing that a terminal cannot print."""
    return text[:60].encode("utf-8", "backslashreplace").decode()


def _vectors(path: Path, label: str | None) -> Vectors:
    lines = Lines(label=label, where=path.name)
    with opened(path) as raw:
        blocks = list(lines.blocks(io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")))
    if not blocks:
        raise InputError(f"{path}: holds no rows; give a file with at least one")
    labels = [value for block in blocks for value in block.labels]
    if not (lines.features or all(own is None or isinstance(own, int) for own in labels)):
        labels = [own if own is None else str(own) for own in labels]  # of LIBSVM: one column of text
    return Vectors(lines.stacked([block.X for block in blocks]), labels, stem(path))


_ENDINGS = (".libsvm", ".svm", ".svmlight", ".jsonl", ".ndjson")
FORMAT = Format(endings=(*_ENDINGS, *(f"{ending}.gz" for ending in _ENDINGS)), cost=8.0, vectors=_vectors)
