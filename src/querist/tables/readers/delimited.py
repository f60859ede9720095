"""Tables in text: comma, semicolon or tab between fields, perhaps packed by gzip.

Arrow reads them; it is quick, and says little about what is wrong. So on trouble the file is read a second
time, slowly, to find the line. Lines count from 1 as an editor counts them, header, blank lines and line
breaks inside quotation marks included.

In text, 7 and 007 are different names and 7 is also a number: columns of ids and of labels are read as text,
and become integers only where every one is the plain form of one (`tables/labels.py`).
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

from querist.errors import InputError, refuse
from querist.tables.arrow import arrow_csv, pa, pc
from querist.tables.formats import BROKEN, Columns, Format, Origin, VectorTable, Wanted, damaged, opened, some
from querist.tables.labels import as_labels, plain_integers
from querist.tables.names import ENDS, vector_label

DELIMITERS = ",\t;"


def delimiter_of(first: str, likely: str = ",") -> str:
    """What stands between the fields of a first line: what is likely if it is there, else what is often.

    A space does only between numbers, or between the usual names of an edge's ends.

    >>> delimiter_of("source;target"), delimiter_of("0 17"), delimiter_of("a b")
    (';', ' ', ',')
    """
    if likely in first:
        return likely
    if any(mark in first for mark in DELIMITERS):
        return max(DELIMITERS, key=first.count)
    words = first.split(" ")
    usual = {word.strip().lower() for word in words}
    spaced = len(words) > 1 and (all(map(is_number, words)) or any(set(ends) <= usual for ends in ENDS))
    return " " if spaced else ","


@dataclass(frozen=True)
class TextFile:
    """A text table before it is read: where it lies, what it is called, what its first line says."""

    path: Path
    name: str
    delimiter: str
    columns: tuple[str, ...]
    headed: bool

    @property
    def origin(self) -> Origin:
        """How to speak of its rows: by line."""
        return Origin(self.name, lambda row: f"line {self.lines_of([row])[0]}")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The line on which each row begins, header included, and its fields; blank lines are passed over."""
        csv.field_size_limit(2**31 - 1)
        with opened(self.path) as raw:
            reader, line = csv.reader(_lines(raw), delimiter=self.delimiter), 1
            for fields in reader:
                if fields:
                    yield line, fields
                line = reader.line_num + 1

    def lines_of(self, wanted: Sequence[int]) -> list[int]:
        """The line on which each of these rows begins; rows count from 0 below the header."""
        lines = [line for line, _ in islice(self.rows(), int(self.headed), max(wanted) + 1 + self.headed)]
        return [lines[row] if row < len(lines) else 0 for row in wanted]

    def open_line(self) -> int | None:
        """The first line on which a quotation mark opens a field and is not closed where it must be."""
        with opened(self.path) as raw:
            if _quoted(self):
                return _open_line(_lines(raw), self.delimiter)
            lines = enumerate(_lines(raw), 1)
            return next((k for k, own in lines if '"' in own and _open_line([own], self.delimiter)), None)

    def fault(self) -> str | None:
        """The first line with bytes that are no UTF-8, or with too few or too many fields."""
        for line, fields in self.rows():
            if len(fields) != len(self.columns):
                shown = self.delimiter.join(fields)
                shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
                needed = f"{some(len(fields), 'field')} where {len(self.columns)} are needed"
                return f"line {line}: {needed}: {_clean(shown)!r}"
            if not all(map(str.isascii, fields)) and _clean(text := "".join(fields)) != text:
                return f"line {line}: bytes that are not UTF-8; save the file as UTF-8"
        return None


def text_file(path: Path, name: str) -> TextFile:
    """Look at the first line of a text table.

    A first line of numbers only is no header but the first row.
    """
    try:
        with opened(path) as raw:
            start = raw.read(4)
        with opened(path) as raw:
            first = next(_lines(raw), "")
    except BROKEN as error:
        raise damaged(name, error) from error
    wide, odd, marks = start[:2] in (b"\xff\xfe", b"\xfe\xff"), _clean(first) != first, first.count('"')
    refuse(
        {
            f"{name}, line 1: the file is UTF-16; save it as UTF-8": wide,
            f"{name}, line 1: bytes that are not UTF-8; the file is damaged, or save it as UTF-8": odd,
            f"{name}, line 1: a quotation mark is not closed on the line; close or remove it": marks % 2,
        }
    )
    delimiter = delimiter_of(first, "\t" if ".tsv" in name.lower() else ",")
    fields = [field.strip() for field in next(csv.reader([first], delimiter=delimiter), [])]
    if not any(fields):
        raise InputError(f"{name}, line 1: the first line is empty; it must name the columns")
    headed = not all(map(is_number, fields))
    columns = tuple(fields) if headed else _numbered(len(fields))
    if len(set(columns)) != len(columns):
        raise InputError(f"{name}, line 1: columns {', '.join(columns)} are not distinct; name each once")
    return TextFile(path, name, delimiter, columns, headed)


def read_text(path: Path, wanted: Wanted) -> Columns:
    """The table; `wanted` says which columns hold ids or labels, and so are text before they are numbers."""
    file = text_file(path, path.name)
    ids = list(wanted.ids(file.columns))
    labels = [name for name in wanted.labels(file.columns) if name not in ids]
    try:
        table = _read(file, [*ids, *labels])
        if file.headed and wanted.headless(table, ids):
            places = [[file.columns.index(name) for name in names] for names in (ids, labels)]
            file = replace(file, columns=_numbered(len(file.columns)), headed=False)
            ids, labels = ([file.columns[k] for k in own] for own in places)
            table = _read(file, [*ids, *labels])
    except (*BROKEN, pa.ArrowException) as error:
        raise _explained(file, error) from error
    _refuse_open_quotes(table, [*ids, *labels], file)
    _refuse_swallowed(table, file)
    table = plain_integers(table, ids)
    for name in labels:
        table = table.set_column(table.schema.get_field_index(name), name, as_labels(table[name]))
    return Columns(table, file.origin, True)


def _vectors(path: Path, label: str | None) -> VectorTable:
    from querist.tables.readers.parquet import vectors_in

    if not text_file(path, path.name).headed:
        raise InputError(f"{path.name}, line 1: the columns have no names; give a header line")

    def labels(columns: Sequence[str]) -> Sequence[str]:
        return (vector_label(columns, label, path.name) or columns[-1],)

    return vectors_in(read_text(path, Wanted(lambda columns: (), labels)), label, path)


def _read(file: TextFile, text_columns: Sequence[str]) -> Any:
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


def _refuse_open_quotes(table: Any, text_columns: Sequence[str], file: TextFile) -> None:
    """A quotation mark that is never closed swallows the lines that follow into one name."""
    for name in text_columns:
        broken = pc.index(pc.match_substring(table[name].fill_null(""), "\n"), True).as_py()
        if broken >= 0:
            raise InputError(
                f"{file.name}, {file.origin.rows(broken)}: a quotation mark opens in column {name!r} and is "
                "not closed on the line; close or remove it"
            )


def _refuse_swallowed(table: Any, file: TextFile) -> None:
    """A quotation mark that is not closed makes Arrow pass over the lines after it, and say nothing.

    Where no field may hold a line break every line is a row; elsewhere the marks must come in pairs.
    """
    marks, breaks, last = 0, 0, b""
    with opened(file.path) as raw:
        for block in iter(partial(raw.read, 1 << 24), b""):
            marks, breaks, last = marks + block.count(b'"'), breaks + block.count(b"\n"), block[-1:]
    if not marks or (_quoted(file) and marks % 2 == 0):
        return
    if not _quoted(file):
        if breaks + int(last != b"\n") - int(file.headed) == table.num_rows:
            return
        with opened(file.path) as raw:  # some lines may be blank
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


def _numbered(count: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(f"column {k + 1}" for k in range(count))


# -- lines --------------------------------------------------------------------


def _lines(raw: IO[bytes]) -> Iterator[str]:
    """Lines with their ends, as the csv reader wants them; bytes that are no UTF-8 become lone surrogates."""
    yield from io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _open_line(lines: Iterable[str], delimiter: str) -> int | None:
    """The line on which a row begins whose quotation marks do not come in pairs."""
    reader, begins = csv.reader(lines, delimiter=delimiter, strict=True), 1
    try:
        for _ in reader:
            begins = reader.line_num + 1
    except csv.Error:
        return begins
    return None


def _clean(text: str) -> str:
    """The text with undecodable bytes as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def is_number(field: str) -> bool:
    """Whether a field is the text of a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


FORMAT = Format(endings=(".csv", ".tsv", ".csv.gz", ".tsv.gz"), begins=(), table=read_text, vectors=_vectors)
