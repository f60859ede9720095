"""What leaves the server as a file: tables, and the log."""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from querist.asking.store.events import Event
from querist.asking.turns import CLOSING, Turns
from querist.labels import named
from querist.serve.options import Format
from querist.tables.arrow import pa
from querist.tables.frames import arrow_array
from querist.tables.output import joined_sets, label_array, save

FORMATS: dict[Format, str] = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/x-ndjson",
}


def file_of(table: Any, format: str, *, safe_csv: bool = True) -> bytes:
    """A table as a file; in CSV what a spreadsheet would run is made harmless, unless it must read back."""
    if format == "jsonl":
        lines = (json.dumps(row, default=_plain, ensure_ascii=False) for row in table.to_pylist())
        return "".join(f"{line}\n" for line in lines).encode()
    with TemporaryDirectory(prefix="querist-") as folder:
        place = Path(folder) / f"table.{format}"
        save(table, place, safe=safe_csv)
        return place.read_bytes()


def _plain(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def answers_table(
    events: Sequence[Event],
    nodes: Sequence[Hashable],
    classes: Sequence[Hashable],
    names: Mapping[str, str] | None,
    *,
    multilabel: bool,
    text: bool = False,
) -> Any:
    """A row for every answer, "skip" and "unsure" that was not taken back, in the order they came.

    `seconds` are those from when the person was given the question; nothing if somebody else had it by then,
    or the clock ran back. `names` of people; None leaves them out. `text`: sets are one field.
    """
    turns, times = Turns(), dict[int, tuple[float, float | None]]()
    for event in events:
        held = turns.leases.get(event.body["row"]) if event.kind in CLOSING else None
        turn = turns.apply(event)
        if turn is not None and event.kind in CLOSING:
            own = held is not None and held.person == turn.person
            times[turn.opened] = event.at, held.seconds(event.at) if held is not None and own else None
    closed = [turn for turn in turns.by_closing() if turn.outcome is not None]
    given = [named(turn.code, classes) if turn.outcome == "answer" else None for turn in closed]
    labels = label_array(given, multilabel)
    moments = [datetime.fromtimestamp(times[turn.opened][0], UTC) for turn in closed]
    columns = {
        "node": arrow_array([nodes[turn.row] for turn in closed], nested=False),
        "outcome": pa.array([turn.outcome for turn in closed], pa.string()),
        "label": joined_sets(labels) if text and multilabel else labels,
        "person": pa.array([turn.person for turn in closed], pa.string()),
        "name": pa.array([(names or {}).get(turn.person or "") for turn in closed], pa.string()),
        "at": pa.array(moments, pa.timestamp("us", "UTC")),
        "seconds": pa.array([times[turn.opened][1] for turn in closed], pa.float64()),
        "audit": pa.array([turn.audit for turn in closed], pa.bool_()),
        "late": pa.array([bool(turn.about.get("late")) for turn in closed], pa.bool_()),
    }
    if names is None:
        del columns["name"]
    return pa.table(columns)


def events_text(events: Iterable[Event]) -> Iterator[str]:
    """Events as lines of JSON."""
    for event in events:
        yield json.dumps(vars(event)) + "\n"


def anonymous(events: Iterable[Event]) -> list[Event]:
    """The events of a log with people called person-1, person-2, ... in the order they came."""
    found, numbers = list[Event](), dict[str, str]()
    for event in events:
        body, who = dict(event.body), event.body.get("person")
        if who is not None:
            body["person"] = numbers.setdefault(who, f"person-{len(numbers) + 1}")
        found.append(replace(event, body=body))
    return found
