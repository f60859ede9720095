"""Tables in text: comma, semicolon or tab between fields, perhaps packed by gzip.

Arrow reads them; it is quick, and says little about what is wrong. So on trouble the file is read a second
time, slowly, to find the line. Lines count from 1 as an editor counts them, header, blank lines and line
breaks inside quotation marks included.

In text, 7 and 007 are different names and 7 is also a number: id columns are read as text, and become
integers only where every id is the plain form of one.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeAlias

from querist.errors import InputError
from querist.graph.tables import Place, TableFile

BROKEN = (OSError, EOFError, ValueError, KeyError, zlib.error)
"""What a damaged file makes its readers raise."""

TextColumns: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
Headless: TypeAlias = Callable[[Any, Sequence[str]], bool]

_DELIMITERS = ",\t;"


@dataclass(frozen=True)
class TextFile:
    """A text table before it is read: where it lies, what it is called, what its first line says."""

    path: Path
    name: str
    packed: bool
    delimiter: str
    columns: tuple[str, ...]
    headed: bool

    @property
    def place(self) -> Place:
        """How to speak of its rows: by line."""
        return Place(self.name, lambda row: f"line {self.lines_of([row])[0]}")

    @contextmanager
    def rows(self) -> Iterator[Any]:
        """The lines as lists of fields, header included; `line_num` of the reader counts."""
        csv.field_size_limit(2**31 - 1)
        with _opened(self.path, self.packed) as raw:
            yield csv.reader(_lines(raw), delimiter=self.delimiter)

    def lines_of(self, wanted: Sequence[int]) -> list[int]:
        """The line on which each of these rows begins; rows count from 0 below the header."""
        left, found = set(wanted), dict[int, int]()
        with self.rows() as reader:
            row, line = -1 if self.headed else 0, 1
            for fields in reader:
                if fields:
                    if row in left:
                        found[row] = line
                        if len(found) == len(left):
                            break
                    row += 1
                line = reader.line_num + 1
        return [found.get(row, 0) for row in wanted]

    def open_line(self) -> int | None:
        """The first line on which a quotation mark opens a field and is not closed where it must be."""
        whole = _quoted(self)
        with _opened(self.path, self.packed) as raw:
            text = _lines(raw)
            if not whole:
                return next((k for k, line in enumerate(text, 1) if self._is_open([line])), None)
            reader = csv.reader(text, delimiter=self.delimiter, strict=True)
            begins = 1
            try:
                for _ in reader:
                    begins = reader.line_num + 1
            except csv.Error:
                return begins
        return None

    def _is_open(self, lines: Sequence[str]) -> bool:
        if '"' not in lines[0]:
            return False
        try:
            list(csv.reader(lines, delimiter=self.delimiter, strict=True))
        except csv.Error:
            return True
        return False

    def fault(self) -> str | None:
        """The first line with bytes that are no UTF-8, or with too few or too many fields."""
        with self.rows() as reader:
            line = 1
            for fields in reader:
                if fields and len(fields) != len(self.columns):
                    shown = self.delimiter.join(fields)
                    shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
                    many = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
                    return f"line {line}: {many} where {len(self.columns)} are needed: {_clean(shown)!r}"
                if not all(map(str.isascii, fields)) and _clean(text := "".join(fields)) != text:
                    return f"line {line}: bytes that are not UTF-8; save the file as UTF-8"
                line = reader.line_num + 1
        return None


def text_file(path: Path, name: str, delimiter: str | None = None) -> TextFile:
    """Look at the first line of a text table.

    A first line of numbers only is no header but the first row.
    """
    packed = path.name.lower().endswith(".gz")
    with _opened(path, packed) as raw:
        start = raw.read(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{name}, line 1: the file is UTF-16; save it as UTF-8")
    with _opened(path, packed) as raw:
        first = next(_lines(raw), "")
    if _clean(first) != first:
        raise InputError(
            f"{name}, line 1: bytes that are not UTF-8; the file is damaged, or save it as UTF-8"
        )
    if first.count('"') % 2:
        raise InputError(f"{name}, line 1: a quotation mark is not closed on the line; close or remove it")
    if delimiter is None or delimiter not in first:
        delimiter = max(_DELIMITERS, key=first.count) if any(d in first for d in _DELIMITERS) else ","
    fields = [field.strip() for field in next(csv.reader([first], delimiter=delimiter), [])]
    if not any(fields):
        raise InputError(f"{name}, line 1: the first line is empty; it must name the columns")
    headed = not all(map(_is_number, fields))
    columns = tuple(fields) if headed else _numbered(len(fields))
    if len(set(columns)) != len(columns):
        raise InputError(f"{name}, line 1: columns {', '.join(columns)} are not distinct; name each once")
    return TextFile(path, name, packed, delimiter, columns, headed)


def read_text(file: TextFile, text_columns: TextColumns, headless: Headless) -> TableFile:
    """The table; the columns that `text_columns` picks by name hold names, not numbers.

    `headless` looks at the table and these names and says whether the header was in truth the first row.
    """
    import pyarrow as pa

    named = list(text_columns(file.columns))
    try:
        table = _read(file, named)
        if file.headed and headless(table, named):
            places = [file.columns.index(name) for name in named]
            file = replace(file, columns=_numbered(len(file.columns)), headed=False)
            named = [file.columns[k] for k in places]
            table = _read(file, named)
    except (*BROKEN, pa.ArrowException) as error:
        raise _explained(file, error) from error
    _refuse_open_quotes(table, named, file)
    _refuse_swallowed(table, file)
    return TableFile(plain_integers(table, named), file.place, True)


def _read(file: TextFile, text_columns: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        file.path,
        read_options=arrow_csv.ReadOptions(column_names=list(file.columns), skip_rows=int(file.headed)),
        parse_options=arrow_csv.ParseOptions(delimiter=file.delimiter, newlines_in_values=_quoted(file)),
        # Only an empty field is null: NA is a country and None a surname.
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in text_columns},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _quoted(file: TextFile) -> bool:
    """Whether line breaks inside fields must be expected; columns beside two ids and a number hint at it."""
    return len(file.columns) > 3


def names_occur(table: Any, columns: Sequence[str]) -> bool:
    """Whether the names of all these columns are values in them: then they are no names."""
    import pyarrow.compute as pc

    return all(any(pc.any(pc.equal(table[c], name)).as_py() for c in columns) for name in columns)


def _refuse_open_quotes(table: Any, text_columns: Sequence[str], file: TextFile) -> None:
    """A quotation mark that is never closed swallows the lines that follow into one name."""
    import pyarrow.compute as pc

    for name in text_columns:
        broken = pc.index(pc.match_substring(table[name].fill_null(""), "\n"), True).as_py()
        if broken >= 0:
            raise InputError(
                f"{file.name}, {file.place.rows(broken)}: a quotation mark opens in column {name!r} and is "
                "not closed on the line; close or remove it"
            )


def _refuse_swallowed(table: Any, file: TextFile) -> None:
    """A quotation mark that is not closed makes Arrow pass over the lines after it, and say nothing.

    Where no field may hold a line break every line is a row; elsewhere the marks must come in pairs.
    """
    marks = 0
    with _opened(file.path, file.packed) as raw:
        while block := raw.read(1 << 24):
            marks += block.count(b'"')
    if not marks or (_quoted(file) and marks % 2 == 0):
        return
    if not _quoted(file):
        with _opened(file.path, file.packed) as raw:
            lines = sum(bool(line.strip()) for line in raw)
        if lines - int(file.headed) == table.num_rows:
            return
    line = file.open_line()
    if line is not None:
        raise InputError(
            f"{file.name}, line {line}: a quotation mark is not closed on the line; close or remove it"
        )


def _explained(file: TextFile, error: Exception) -> InputError:
    """What is wrong with a file that Arrow could not read, by line where one is to blame."""
    try:
        fault = file.fault()
    except (*BROKEN, csv.Error) as problem:
        error, fault = problem, None
    if fault is not None:
        return InputError(f"{file.name}, {fault}; mend or remove the line")
    return damaged(file.name, error)


def damaged(name: str, error: Exception) -> InputError:
    """For a file that nobody can read."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(f"{name}: cannot be read ({reason}); the file is damaged or cut short, get it again")


def plain_integers(table: Any, names: Sequence[str]) -> Any:
    """The table with these columns trimmed, and as integers if all of them can be."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if any(table[name].type == pa.int64() for name in names):
        return table
    trimmed = [pc.utf8_trim_whitespace(table[name]) for name in names]
    try:
        whole = [column.cast(pa.int64()) for column in trimmed]
        if not all(
            number.cast(pa.string()).equals(column) for number, column in zip(whole, trimmed, strict=True)
        ):
            whole = trimmed
    except pa.ArrowInvalid:
        whole = trimmed
    for name, column in zip(names, whole, strict=True):
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def _numbered(count: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(f"column {k + 1}" for k in range(count))


# -- lines --------------------------------------------------------------------


def _opened(path: Path, packed: bool) -> IO[bytes]:
    opened: Any = gzip.open if packed else open
    file: IO[bytes] = opened(path, "rb")
    return file


def _lines(raw: IO[bytes]) -> Iterator[str]:
    """Lines with their ends, as the csv reader wants them; bytes that are no UTF-8 become lone surrogates."""
    yield from io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _clean(text: str) -> str:
    """The text with undecodable bytes as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
