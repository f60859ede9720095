"""What a file format is: one value that says how its files are known and what can be read from them.

A format is one module in `readers/` that holds a `FORMAT`; it is found there, and nothing else knows it.
"""

import gzip
import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import scipy.sparse as sp

from querist.errors import InputError
from querist.labels import class_order, is_missing
from querist.memory import ROW, check
from querist.types import Codes, Floats, Sparse

BROKEN = (
    *(OSError, EOFError, zlib.error, ValueError, LookupError, TypeError, AttributeError),
    *(ArithmeticError, RuntimeError, AssertionError),
)
"""What a damaged file makes its readers raise, ours and those of libraries."""


def some(count: int, noun: str, ending: str = "s") -> str:
    """A count with its noun.

    >>> some(1, "self-loop"), some(1200, "self-loop"), some(2, "class", "es")
    ('1 self-loop', '1,200 self-loops', '2 classes')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{ending}"


def is_number(value: Any) -> bool:
    """Whether a value is a number, or the text of one.

    >>> is_number("-1e3"), is_number("n/a")
    (True, False)
    """
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def comma_separated(text: str) -> list[str]:
    """Names that stand in a text with commas between them.

    >>> comma_separated("cat, small dog,")
    ['cat', 'small dog']
    """
    return [name for part in text.split(",") if (name := part.strip())]


@dataclass(frozen=True)
class Origin:
    """What a table is called in messages, and how one speaks of its rows, which count from 0.

    >>> Origin("edge table").at(3)
    'edge table, row 3'
    """

    name: str
    rows: Callable[[int], str] = "row {}".format

    def __str__(self) -> str:
        return self.name

    def at(self, row: int) -> str:
        """The table and one of its rows."""
        return f"{self.name}, {self.rows(row)}"


@dataclass(frozen=True)
class Columns:
    """An Arrow table, where it came from and how it was read; `text` if its ids were read from text.

    >>> from querist.tables.files import node_file
    >>> _ = Path("nodes.csv").write_text("node,age\\nann,30\\n")
    >>> node_file(Path("nodes.csv")).table.column_names
    ['node', 'age']
    """

    table: Any
    origin: Origin
    text: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """The columns of a text table that are no numbers by their looks: ids, and labels (`labels.py`).

    `ids` and `labels` pick them by the names of all columns, `numbers` those whose numbers may have decimal
    commas. `headless` looks at the table and the names of
    the ids and says whether the header was in truth the first row.
    """

    ids: Callable[[Sequence[str]], Sequence[str]]
    labels: Callable[[Sequence[str]], Sequence[str]] = lambda columns: ()
    headless: Callable[[Any, Sequence[str]], bool] = lambda table, names: False
    numbers: Callable[[Sequence[str]], Sequence[str]] = lambda columns: columns


@dataclass(frozen=True)
class Entries:
    """The edges of a source before they are cleaned, perhaps with all that it knows of the nodes.

    heads, tails : (m,) row numbers of the two ends of every entry
    n : the number of nodes
    weights : (m,), or None where every entry weighs 1
    ids : the id of every row; None where the source only numbers its rows
    fixed : whether `n` is the source's own word, not just the largest row seen
    directed : whether (i, j) and (j, i) differ; None where the source does not say
    matrix : whether the entries are those of a matrix, weights included
    labels : n values, an (n, K) 0/1 matrix, or `Labels`
    text : whether the ids were read from text, where 7 and "7" look alike
    table : the source's own table of its nodes, a row each
    recipes : how columns of a table became the attributes
    """

    heads: Codes
    tails: Codes
    n: int
    weights: Floats | None = None
    ids: tuple[Hashable, ...] | None = None
    fixed: bool = True
    directed: bool | None = None
    matrix: bool = False
    attributes: Any = None
    labels: Any = None
    name: str = "graph"
    notes: tuple[str, ...] = ()
    text: bool = False
    table: Columns | None = None
    recipes: tuple[Any, ...] = ()


def as_rows(ends: Any, where: str) -> Codes:
    """(m, 2) integral row numbers >= 0."""
    if ends.dtype.kind == "f":
        # NaN fails the comparison too.
        bad = np.flatnonzero(~(ends == np.trunc(ends)).all(axis=1) | ~np.isfinite(ends).all(axis=1))
        if bad.size:
            raise InputError(
                f"{where}: edge {bad[0]} is {ends[bad[0]].tolist()}; an edge array holds whole row numbers. "
                "For ids of your own give a list of pairs or a data frame"
            )
    bad = np.flatnonzero((ends < 0).any(axis=1))
    if bad.size:
        raise InputError(f"{where}: edge {bad[0]} is {ends[bad[0]].tolist()}; row numbers start at 0")
    if ends.size and float(ends.max()) >= 2**62:
        raise InputError(
            f"{where}: an edge ends at {ends.max()}, which is no row number; for ids of your own give a list "
            "of pairs or a data frame"
        )
    return np.ascontiguousarray(ends, dtype=np.int64)


def check_range(found: Entries, n: int, where: str) -> None:
    """Refuse an edge that ends outside the `n` rows."""
    outside = np.flatnonzero((found.heads >= n) | (found.tails >= n))
    if outside.size:
        k = outside[0]
        needed = max(found.heads.max(), found.tails.max()) + 1
        raise InputError(
            f"{where}: edge {k} is ({found.heads[k]}, {found.tails[k]}), but there are {n} nodes "
            f"(0..{n - 1}); correct the edge, pass nodes={needed}, or give ids of your own as a list of pairs"
        )


def as_weights(values: Any, m: int, where: str) -> Floats:
    """(m,) finite weights as floats."""
    try:
        weights = np.asarray(values)
        if weights.dtype.kind not in "biuf":
            weights = np.array([float(v) for v in weights.ravel().tolist()]).reshape(weights.shape)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{where}: weights are not numbers; give one number an edge") from None
    if weights.shape != (m,):
        raise InputError(f"{where}: weights of shape {weights.shape} for {m} edges; give one number an edge")
    bad = np.flatnonzero(~np.isfinite(weights))
    if bad.size:
        raise InputError(
            f"{where}: {some(bad.size, 'weight')} of {m} NaN or infinite, the first {weights[bad[0]]} "
            f"at edge {bad[0]}; remove those edges or give them finite weights"
        )
    return weights.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Vectors:
    """Feature vectors with a label each.

    X : (n, d) array, or CSR where the source is sparse
    y : (n,) labels, -1 and +1 in binary sets; a list becomes an array of objects, None where unlabelled

    >>> flowers = Vectors(np.array([[1.0], [2.0]]), ["rose", "tulip"])
    >>> flowers.classes
    ('rose', 'tulip')
    """

    X: Floats | Sparse
    y: Any
    name: str = "vectors"

    def __post_init__(self) -> None:
        if isinstance(self.y, list):
            objects = np.empty(len(self.y), dtype=object)
            objects[:] = self.y
            object.__setattr__(self, "y", objects)
        if self.X.ndim != 2 or self.y.shape != (self.X.shape[0],):
            raise InputError(f"{self.name}: X is {self.X.shape} and y {self.y.shape}; give one label a row")
        if not np.isfinite(self.X.data if sp.issparse(self.X) else self.X).all():
            raise InputError(f"{self.name}: X holds NaN or infinite values; remove or replace them")
        odd = next((v for v in self.y.tolist() if not isinstance(v, Hashable)), None)
        if odd is not None:
            raise InputError(f"{self.name}: label {odd!r} is not hashable; use strings, numbers or tuples")

    @property
    def classes(self) -> tuple[Hashable, ...]:
        """The labels that occur, sorted."""
        return class_order(label for label in self.y.tolist() if not is_missing(label))

    def describe(self) -> str:
        """One line: what it is."""
        n, d = self.X.shape
        storage = ", sparse" if sp.issparse(self.X) else ""
        return f"{self.name}: {n:,} vectors of {d:,} features{storage}, {len(self.classes)} classes"

    def __repr__(self) -> str:
        return f"<Vectors {self.describe()}>"


@dataclass(frozen=True)
class Format:
    """How the files of one kind are known and read; what they cannot hold is None.

    endings : of their names, in small letters
    begins : bytes that they begin with, for a file without a name
    cost : bytes of memory for each byte of text, unless the reader itself counts them
    table : reads one table, by rows; from a path and what is `Wanted`, to `Columns`
    nodes : reads the table of the nodes of a whole graph; from a path, to `Columns`
    elements : reads a whole graph; from a path and the names of weights and labels, `Entries` or a matrix
    vectors : reads numbers and a label for each row; from a path and the name of the labels, to `Vectors`

    >>> Format(endings=(".csv",)).vectors is None
    True
    """

    endings: tuple[str, ...]
    begins: tuple[bytes, ...] = ()
    cost: float = 0.0
    table: Any = None
    nodes: Any = None
    elements: Any = None
    vectors: Any = None


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if its name ends in .gz."""
    return cast(IO[bytes], gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


def count_lines(path: Path, cost: float, row: float = ROW) -> tuple[int, int]:
    """The lines of a text, unpacked, and the quotation marks in it.

    It is refused if it does not fit into memory with `cost` bytes per byte and `row` bytes per line.
    """
    size, lines, marks, last = 0, 0, 0, b"\n"
    with opened(path) as raw:
        while piece := raw.read(1 << 24):
            size, lines, last = size + len(piece), lines + piece.count(b"\n"), piece[-1:]
            marks += piece.count(b'"')
            check(cost * size + row * lines, path.name)
    return lines + int(last != b"\n"), marks


def stem(path: Path) -> str:
    """What a file is called without its endings.

    >>> stem(Path("a/town.of.york.csv.gz"))
    'town.of.york'
    """
    name = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    return name.rpartition(".")[0] or name


def damaged(name: str, error: Exception) -> InputError:
    """For a file that nobody can read."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"{name}: cannot be read ({reason}); the file is damaged or cut short, get it again")
