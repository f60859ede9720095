"""Tables in text: comma, semicolon or tab between fields, perhaps packed by gzip.

Arrow reads them; it is quick, and says little about what is wrong. So on trouble the file is read a second
time, slowly, to find the line. Lines count from 1 as an editor counts them, header, blank lines and line
breaks inside quotation marks included.

In text, 7 and 007 are different names and 7 is also a number: columns of ids and of labels are read as text,
and become integers only where every one is the plain form of one (`tables/labels.py`).
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from querist.errors import InputError, QueristError, refuse, shortened
from querist.memory import ROW
from querist.tables.arrow import arrow_csv, pa, pc, replaced
from querist.tables.decimals import COMMA, with_points, with_thousands
from querist.tables.formats import (
    BROKEN,
    Columns,
    Format,
    Origin,
    Vectors,
    Wanted,
    count_lines,
    damaged,
    is_number,
    opened,
    some,
)
from querist.tables.labels import as_labels, plain_integers
from querist.tables.names import ENDS, vector_label

DELIMITERS = ",\t;"


SAMPLED_LINES = 50
CELL, PIECE, BLOCK = 16.0, 600.0, 2.0**20
"""Bytes that a field takes as a number and its copy, and that Arrow takes for a column in each block of text;
bytes of such a block."""
OPEN = "a quotation mark is not closed on the line; close or remove it"
UTF_16 = ("\udcff\udcfe", "\udcfe\udcff")
"""How such a file begins, read as UTF-8."""
DECIMAL = re.compile(r"(?<![\d,])\d*,\d+(?![\d,])")


def delimiter_of(first: str, likely: str = ",", more: Sequence[str] = ()) -> str:
    """What stands between the fields: the likely mark if the first line has it, else the most frequent one.

    A mark that parts all sampled lines (`more` and the first) into equally many fields wins over a comma
    that does not, that parts what stands in quotation marks, or that only stands inside numbers below the
    first line. A space counts only between
    numbers, or between the usual names of an edge's ends.

    >>> delimiter_of("source;target"), delimiter_of("0 17"), delimiter_of("a b"), delimiter_of("0 1 1,5")
    (';', ' ', ',', ' ')
    >>> delimiter_of("node;size, in cm", more=["ann;1,5"]), delimiter_of("0,5;1,5")
    (';', ';')
    """
    lines, words = [first, *more], first.split(" ")
    usual = {word.strip().lower() for word in words}
    numbers = all(DECIMAL.fullmatch(word.strip()) or is_number(word) for word in words)
    spaced = len(words) > 1 and (numbers or any(set(ends) <= usual for ends in ENDS))
    if likely in first:
        marks = f"{DELIMITERS} " if spaced else DELIMITERS
        others = [mark for mark in marks if mark != likely and _parts_evenly(lines, mark)]
        if others and (
            not _parts_evenly(lines, likely)
            or any(field.count('"') % 2 for row in csv.reader(lines, delimiter=likely) for field in row)
            or (likely == "," and not any("," in DECIMAL.sub("", line) for line in more or lines))
        ):
            return others[0]
        return likely
    if any(mark in first for mark in DELIMITERS):
        return max(DELIMITERS, key=first.count)
    return " " if spaced else ","


def _parts_evenly(lines: Sequence[str], mark: str) -> bool:
    """Whether a mark parts every line into the same number of fields, two or more."""
    counts = [len(fields) for fields in csv.reader(lines, delimiter=mark) if fields]
    if len(lines) >= SAMPLED_LINES:
        counts.pop()  # the sample may end inside a field
    return len(set(counts)) == 1 and counts[0] > 1


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

    def rows(self, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The line on which each row begins, header included, and its fields; blank lines are passed over."""
        with opened(self.path) as raw:
            reader, line = csv.reader(_lines(raw), delimiter=self.delimiter, strict=strict), 1
            try:
                for fields in reader:
                    if fields:
                        yield line, fields
                    line = reader.line_num + 1
            except csv.Error as error:
                raise InputError(f"{self.name}, line {line}: {OPEN}") from error

    def lines_of(self, wanted: Sequence[int]) -> list[int]:
        """The line on which each of these rows begins; rows count from 0 below the header."""
        lines = [line for line, _ in islice(self.rows(), int(self.headed), max(wanted) + 1 + self.headed)]
        return [lines[row] if row < len(lines) else 0 for row in wanted]

    def refuse_fault(self, names: Sequence[str]) -> None:
        """Refuse the first line with an open quotation mark, with bytes that are no UTF-8, or with too few or
        too many fields. Fields of wide tables may hold line breaks, but not those of the columns `names`.
        """
        closed = [name in names or not self.may_break for name in self.columns]
        for line, fields in self.rows(strict=True):
            where, columns = f"{self.name}, line {line}", len(self.columns)
            if any("\n" in field for field, whole in zip(fields, closed, strict=False) if whole):
                raise InputError(f"{where}: {OPEN}")
            if len(fields) != columns:
                needed = f"{some(len(fields), 'field')} where {columns} are needed"
                shown = shortened(_clean(self.delimiter.join(fields)))
                raise InputError(f"{where}: {needed}: {shown}; correct or remove the line")
            if not all(map(str.isascii, fields)) and _clean(text := "".join(fields)) != text:
                raise InputError(f"{where}: bytes that are not UTF-8; save the file as UTF-8")

    @property
    def may_break(self) -> bool:
        """Whether fields may hold line breaks; columns beside two ids and a number hint at it."""
        return len(self.columns) > 3


def text_file(path: Path, name: str) -> TextFile:
    """Look at the first line of a text table.

    A first line of numbers only is no header but the first row.
    """
    with opened(path) as raw:
        text = _lines(raw)  # Arrow takes no longer header
        first, *more = [text.readline(1 << 20) for _ in range(SAMPLED_LINES)]
    wide, odd, marks = first[:2] in UTF_16, _clean(first) != first, first.count('"')
    refuse(
        {
            f"{name}, line 1: the file is UTF-16; save it as UTF-8": wide,
            f"{name}, line 1: bytes that are not UTF-8; the file is damaged, or save it as UTF-8": odd,
            f"{name}, line 1: {OPEN}": marks % 2,
            f"{name}, line 1: {first.strip()!r} is meant for spreadsheets; remove it": len(first) < 9
            and first.lower().startswith("sep="),
        }
    )
    csv.field_size_limit(2**31 - 1)
    delimiter = delimiter_of(first, "\t" if ".tsv" in name.lower() else ",", [line for line in more if line])
    fields = [field.strip() for field in next(csv.reader([first], delimiter=delimiter), [])]
    if not any(fields):
        raise InputError(f"{name}, line 1: the first line is empty; it must name the columns")
    headed = not all(is_number(field.replace(",", ".")) for field in fields)
    columns = tuple(fields) if headed else _numbered(len(fields))
    if len(set(columns)) != len(columns):
        raise InputError(f"{name}, line 1: columns {', '.join(columns)} are not distinct; name each once")
    return TextFile(path, name, delimiter, columns, headed)


def read_text(path: Path, wanted: Wanted) -> Columns:
    """The table; `wanted` says which columns hold ids or labels, and so are text before they are numbers."""
    file = text_file(path, path.name)
    columns = len(file.columns)
    lines, marks = count_lines(path, 2.0 + columns * PIECE / BLOCK, ROW + columns * CELL)
    ids, labels = _texts(file, wanted)
    try:
        table = _read(file, [*ids, *labels])
        if file.headed and wanted.headless(table, ids):
            file = replace(file, columns=_numbered(columns), headed=False)
            ids, labels = _texts(file, wanted)
            table = _read(file, [*ids, *labels])
    except (MemoryError, QueristError):
        raise
    except (*BROKEN, pa.ArrowException) as error:
        file.refuse_fault([*ids, *labels])
        raise damaged(file.name, error) from error
    if marks and _is_swallowed(table, [*ids, *labels], file, lines, marks):
        file.refuse_fault([*ids, *labels])
    table = replaced(table, dict(zip(ids, plain_integers([table[name] for name in ids]), strict=True)))
    table = replaced(table, {name: as_labels(table[name]) for name in labels})
    return _with_numbers(Columns(table, file.origin, True), file, wanted.numbers, (*ids, *labels))


def _texts(file: TextFile, wanted: Wanted) -> tuple[list[str], list[str]]:
    """The columns of ids, and those of labels."""
    ids = list(wanted.ids(file.columns))
    return ids, [name for name in wanted.labels(file.columns) if name not in ids]


def _with_numbers(
    columns: Columns, file: TextFile, wanted: Callable[[Sequence[str]], Sequence[str]], texts: Sequence[str]
) -> Columns:
    """The table with the numbers of the wanted columns read by their decimal marks."""
    names = [name for name in wanted(file.columns) if name not in texts]
    kinds = {name: columns.table[name].type for name in names}
    columns = with_points(columns, names, file.delimiter)
    doubles = [name for name in names if pa.types.is_floating(kinds[name])]
    if doubles and any(note.endswith(COMMA) for note in columns.notes):
        columns = with_thousands(columns, _read(file, [*texts, *names]).select(doubles))
    return columns


def _vectors(path: Path, label: str | None) -> Vectors:
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
        parse_options=arrow_csv.ParseOptions(delimiter=file.delimiter, newlines_in_values=file.may_break),
        # Only an empty field is null: NA is a country and None a surname.
        convert_options=arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in text_columns},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    )


def _is_swallowed(table: Any, names: Sequence[str], file: TextFile, lines: int, marks: int) -> bool:
    """Whether quotation marks may be open: Arrow passes over the lines after one, and says nothing.

    Where no field may hold a line break every line is a row; elsewhere the marks must come in pairs.
    """
    if file.may_break:
        broken = (pc.any(pc.match_substring(table[name], "\n")).as_py() for name in names)
        return marks % 2 == 1 or any(broken)
    if lines - int(file.headed) == table.num_rows:
        return False
    with opened(file.path) as raw:  # some lines may be blank
        lines = sum(bool(line.strip()) for line in raw)
    return bool(lines - int(file.headed) != table.num_rows)


def _numbered(count: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(f"column {k + 1}" for k in range(count))


# -- lines --------------------------------------------------------------------


def _lines(raw: IO[bytes]) -> io.TextIOWrapper:
    """Lines with their ends, as the csv reader wants them; bytes that are no UTF-8 become lone surrogates."""
    return io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")


def _clean(text: str) -> str:
    """The text with undecodable bytes as question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


FORMAT = Format(endings=(".csv", ".tsv", ".csv.gz", ".tsv.gz"), begins=(), table=read_text, vectors=_vectors)
