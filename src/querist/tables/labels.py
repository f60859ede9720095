"""What a label in a file is, everywhere; and files of known labels, where a row names a node and its label.

**The rule.** Labels in text are text, or integers where every one of the column is the plain form of one: 1,
-1 and +1 are numbers, 007, 1e3 and 3.0 stay what they are, and so does 1 beside x. Spaces around a label do
not count; an empty one, or NaN, is no label. A stream is judged label by label, for it cannot look ahead.
Formats that have types (parquet, JSON, data frames) are taken at their word.

**Files of labels.** Columns are `node` (or `id`, else the first) and `label` (or `class`, else the other of
two). Where a node may have several, a field may hold them with `;` between them, and parquet lists of them. A
file without a header is told by its first line, which then names a node. Whatever is wrong is said by line.
"""

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from querist.errors import InputError
from querist.labels import NODE, class_order, implied_missing, is_missing
from querist.tables.arrow import pa, pc
from querist.tables.formats import Columns, Origin, Wanted, some
from querist.tables.names import node_and_label

BETWEEN = ";"
"""What separates several classes of one node in a text."""
EMPTY_SET = "none of these"
"""What a node is called that is known to have none of the classes."""
EMPTY = ("na", "n/a", "none", "null", "unknown", "?", "-")
"""Classes that look like no label: they are taken at their word, which is said."""


def in_words(label: Any) -> str:
    """A class, or the classes of a node that may have several, as text; "none" if there is no label.

    >>> in_words("road"), in_words(("road", "water")), in_words(())
    ('road', 'road; water', 'none of these')
    """
    if isinstance(label, tuple):
        return f"{BETWEEN} ".join(map(str, label)) or EMPTY_SET
    return "none" if label is None else str(label)


_BESIDE = " beside class numbers; write words if it is a class"
_PLAIN = re.compile(r"0|[+-]?[1-9]\d{0,17}")


def as_label(text: str) -> Any:
    """One label in text, judged alone.

    >>> [as_label(text) for text in ("7", " x ", "007", "1e3", "-1", "+1", "", "NaN")]
    [7, 'x', '007', '1e3', -1, 1, None, None]
    """
    text = text.strip()
    if not text or text.lower() == "nan":
        return None
    return int(text) if _PLAIN.fullmatch(text) else text


def as_labels(column: Any) -> Any:
    """A column of text as labels: integers where every one is the plain form of one."""
    texts = pc.utf8_trim_whitespace(column.cast(pa.string()))
    none = pc.or_(pc.equal(texts, ""), pc.equal(pc.utf8_lower(texts), "nan"))
    texts = pc.if_else(none, None, texts)
    unsigned = pc.replace_substring_regex(texts, r"^\+([1-9][0-9]*)$", r"\1")
    (found,) = plain_integers([unsigned])
    return found if pa.types.is_integer(found.type) else texts


def plain_integers(columns: Sequence[Any]) -> Sequence[Any]:
    """Columns trimmed, and as integers if all values of all of them can be."""
    if any(column.type == pa.int64() for column in columns):
        return columns
    trimmed = [pc.utf8_trim_whitespace(column) for column in columns]
    try:
        whole = [column.cast(pa.int64()) for column in trimmed]
    except pa.ArrowInvalid:
        return trimmed
    same = (number.cast(pa.string()).equals(own) for number, own in zip(whole, trimmed, strict=True))
    return whole if all(same) else trimmed


# -- files of labels --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seeds:
    """Labels by node id, each a value or, with several labels a node, a set; and what was found, in words.

    >>> Seeds({"ann": "cat"}, ("cat", "dog"), ()).labels["ann"]
    'cat'
    """

    labels: Mapping[Hashable, Any]
    classes: tuple[Hashable, ...]
    notes: tuple[str, ...]


def read_seeds(
    path: str | Path,
    nodes: Collection[Hashable],
    *,
    multilabel: bool = False,
    label: str | None = None,
    id: str | None = None,
    missing: Hashable = None,
    least: int = 2,
    ignore_unknown: bool = False,
) -> Seeds:
    """The labels in a file for these nodes.

    Parameters
    ----------
    nodes : the ids that may be labelled
    multilabel : whether a node may have several
    label, id : the columns that hold the labels, and the nodes where the table has it
    missing : the label that means "unlabelled"; where it is not given, -1 may (`implied_missing`)
    least : classes that there must be
    ignore_unknown : skip and count labels of other nodes; they are refused by default

    >>> _ = Path("labels.csv").write_text("node,label\\nann,cat\\nbob,dog\\n")
    >>> read_seeds("labels.csv", ["ann", "bob", "cy"]).labels
    {'ann': 'cat', 'bob': 'dog'}
    """
    from querist.tables.files import read_table

    source = Path(path).expanduser()
    known = {str(node) for node in nodes}
    columns = read_table(
        source,
        Wanted(
            lambda names: node_and_label(names, source.name, label, id)[:1],
            lambda names: node_and_label(names, source.name, label, id)[1:],
            lambda table, ids: (
                label is None and id is None and ids[0].lower() not in NODE and ids[0] in known
            ),
            lambda names: (),
        ),
    )
    where = columns.origin
    node, value = node_and_label(columns.table.column_names, where.name, label, id)
    ids = _known_ids(columns.table[node].to_pylist(), nodes, where, ignore_unknown)
    found = _members(columns, value, multilabel)
    unlabelled = implied_missing((own for members in found for own in members), None, missing, None)
    kept = found
    if unlabelled is not None:
        kept = [[own for own in members if not is_missing(own, unlabelled)] for members in found]
    given, repeated = dict[Hashable, dict[Any, int]](), 0  # by node and label the first row
    for row, (name, members) in enumerate(zip(ids, kept, strict=True)):
        for own in members if name is not None else ():
            rows = given.setdefault(name, {})
            repeated += own in rows
            rows.setdefault(own, row)
            if len(rows) > 1 and not multilabel:
                before = next(iter(rows))
                raise InputError(
                    f"{where}: node {name!r} is {before!r} in {where.rows(rows[before])} and {own!r} in "
                    f"{where.rows(row)}; keep one, or allow several labels a node (--multilabel)"
                )
    labels = {name: set(rows) if multilabel else next(iter(rows)) for name, rows in given.items()}
    classes = class_order(own for rows in given.values() for own in rows)
    if len(classes) < least:
        only = f"only the class {classes[0]!r}" if classes else "no label"
        raise InputError(f"{where}: {only}; label nodes of at least {some(least, 'class', 'es')}")
    marked = sum(len(every) > len(own) for every, own in zip(found, kept, strict=True))
    counts = {
        " without a label, not used": (sum(not own for own in kept) - marked, "row"),
        f" labelled {unlabelled}, taken as unlabelled{'' if missing else _BESIDE}": (marked, "row"),
        " given more than once": (repeated, "label"),
        " for nodes not in the graph, skipped": (ids.count(None), "row"),
    }
    notes = (
        f"{some(len(labels), 'labelled node')}, {some(len(classes), 'class', 'es')}",
        *(f"{some(count, noun)}{what}" for what, (count, noun) in counts.items() if count > 0),
        *(f"{own!r} is taken as a class; leave the field empty where there is no label"
          for own in classes if str(own).lower() in EMPTY),
    )  # fmt: skip
    return Seeds(labels, classes, notes)


def _members(columns: Columns, column: str, multilabel: bool) -> list[Sequence[Any]]:
    """The labels in every row: one or none; of several a list, or in text what stands between `;`."""
    values = columns.table[column].to_pylist()
    if multilabel and columns.text and any(isinstance(own, str) and BETWEEN in own for own in values):
        texts = ("" if own is None else str(own) for own in values)
        return [[name for part in own.split(BETWEEN) if (name := part.strip())] for own in texts]
    if not multilabel and any(isinstance(own, list) for own in values):
        raise InputError(
            f"{columns.origin}: column {column!r} holds lists; give one label a node, or allow several "
            "(--multilabel)"
        )
    return [own or () if isinstance(own, list) else () if is_missing(own) else (own,) for own in values]


def _known_ids(
    given: Sequence[Any], nodes: Collection[Hashable], place: Origin, ignore_unknown: bool
) -> Sequence[Hashable | None]:
    """The ids as the graph has them: 7 in one file is "7" in another. None for a stranger."""
    rows = nodes if isinstance(nodes, Mapping | set | frozenset) else dict.fromkeys(nodes)
    if all(name in rows for name in given):
        return given
    by_text = {str(node): node for node in rows}
    found = [name if name in rows else by_text.get(str(name)) for name in given]
    unknown = [row for row, name in enumerate(found) if name is None]
    if unknown and (not ignore_unknown or len(unknown) == len(found)):
        name, like = given[unknown[0]], next(iter(rows))
        what = (
            "no node" if name is None else f"node {name!r} is not in the graph (its nodes are like {like!r})"
        )
        more = f", and {some(len(unknown) - 1, 'more row')} like it" if len(unknown) > 1 else ""
        raise InputError(
            f"{place.at(unknown[0])}: {what}{more}; correct the id, add the node to the edges, or skip "
            "such rows (--ignore-unknown)"
        )
    return found


# -- files of costs ---------------------------------------------------------------------------------

COSTS = ("true", "said", "cost")


def read_costs(path: str | Path) -> dict[tuple[Hashable, Hashable], float]:
    """What it costs to say one class where another is true, by (true, said); an empty field is None.

    A table with the columns true, said and cost, a row a confusion.
    """
    from querist.tables.files import read_table
    from querist.tables.frames import frame_of, numbers_in

    source = Path(path).expanduser()

    columns = read_table(source, Wanted(lambda names: (), lambda names: [n for n in COSTS[:2] if n in names]))
    absent = [name for name in COSTS if name not in columns.table.column_names]
    if absent:
        raise InputError(
            f"{source.name}: no column {' and '.join(absent)}; a table of costs has {', '.join(COSTS)}"
        )
    cost = numbers_in(frame_of(columns.table, source.name), COSTS[2], columns.origin, "cost")
    pairs = zip(*(columns.table[name].to_pylist() for name in COSTS[:2]), strict=True)
    found: dict[tuple[Hashable, Hashable], float] = {}
    for row, (pair, value) in enumerate(zip(pairs, cost.tolist(), strict=True)):
        if found.setdefault(pair, value) != value:
            raise InputError(
                f"{columns.origin.at(row)}: saying {pair[1]!r} for {pair[0]!r} costs {value:g}, and "
                f"{found[pair]:g} before; keep one"
            )
    return found
