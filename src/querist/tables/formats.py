"""What a file format is: one value that says how its files are known and what can be read from them.

A format is one module in `readers/` that holds a `FORMAT`; it is found there, and nothing else knows it.
"""

import gzip
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from querist.errors import InputError
from querist.types import Floats

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
    """An Arrow table and where it came from; `text` says whether its ids were read from text.

    >>> from querist.tables import node_file
    >>> _ = Path("nodes.csv").write_text("node,age\\nann,30\\n")
    >>> node_file(Path("nodes.csv")).table.column_names
    ['node', 'age']
    """

    table: Any
    origin: Origin
    text: bool = False


@dataclass(frozen=True)
class Wanted:
    """The columns of a text table that are no numbers by their looks: ids, and labels (`labels.py`).

    `ids` and `labels` pick them by the names of all columns. `headless` looks at the table and the names of
    the ids and says whether the header was in truth the first row.
    """

    ids: Callable[[Sequence[str]], Sequence[str]]
    labels: Callable[[Sequence[str]], Sequence[str]] = lambda columns: ()
    headless: Callable[[Any, Sequence[str]], bool] = lambda table, names: False


@dataclass(frozen=True)
class Elements:
    """A file of edges between numbered nodes, perhaps with all that is known of the nodes.

    edges : (m, 2) row numbers of the ends, or a square matrix
    n : the number of nodes, None where the file does not say
    weights : (m,) or None; labels : n values or an (n, K) matrix, of these classes
    nodes : the file's own table of nodes, whose rows are the nodes
    """

    edges: Any
    n: int | None = None
    weights: Floats | None = None
    ids: tuple[Any, ...] | None = None
    directed: bool | None = None
    attributes: Any = None
    labels: Any = None
    classes: tuple[Any, ...] | None = None
    nodes: Columns | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VectorTable:
    """X : (n, d) dense or CSR; labels : n values, None where unlabelled.

    >>> VectorTable([[1.0]], ["rose"], "flowers").labels
    ['rose']
    """

    X: Any
    labels: list[Any]
    name: str


ReadTable: TypeAlias = Callable[[Path, Wanted], Columns]
ReadNodes: TypeAlias = Callable[[Path], Columns]
ReadElements: TypeAlias = Callable[[Path, str | None, str | None], Elements]
ReadVectors: TypeAlias = Callable[[Path, str | None], VectorTable]


@dataclass(frozen=True)
class Format:
    """How the files of one kind are known and read; what they cannot hold is None.

    endings : of their names, in small letters
    begins : bytes that they begin with, for a file without a name
    table : one table, by rows
    nodes : the table of the nodes of a whole graph
    elements : a whole graph; weights and labels by the names that the user gives
    vectors : a row of numbers and a label each

    >>> Format(endings=(".csv",)).vectors is None
    True
    """

    endings: tuple[str, ...]
    begins: tuple[bytes, ...] = ()
    table: ReadTable | None = None
    nodes: ReadNodes | None = None
    elements: ReadElements | None = None
    vectors: ReadVectors | None = None


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where its name ends in .gz."""
    return cast(IO[bytes], gzip.open(path)) if path.name.lower().endswith(".gz") else path.open("rb")


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
