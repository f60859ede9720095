"""Campaigns in a store: made from files or a data set, and opened again from what the store keeps of them."""

import json
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from querist.asking.campaign import BUDGET
from querist.asking.files import FileCampaign, from_files
from querist.asking.journal import Journal
from querist.asking.people import NOISE
from querist.asking.specification import check_limits
from querist.asking.store.events import Draft
from querist.asking.store.interface import EventStore
from querist.asking.texts import NodeTexts
from querist.errors import InputError
from querist.labelling.files import FileName, GraphFiles
from querist.progress import Progress
from querist.serve.campaign import ServedCampaign, rule_draft

OPTIONS = "options.json"
COLUMNS = ("source", "target", "weight", "id", "label_column", "missing", "parallel")
CHOICES = ("choose", "audit", "find", "seed", "overlap", "multilabel")


def create(
    store: EventStore,
    edges: FileName,
    *,
    nodes: FileName | None = None,
    labels: FileName | None = None,
    name: str | None = None,
    classes: Sequence[Any] | None = None,
    budget: int = BUDGET,
    noise: float | None = None,
    second_opinions: bool | None = None,
    stop: float | None = None,
    name_column: str | None = None,
    columns: Mapping[str, str] | None = None,
    device: str | None = None,
    progress: Progress | None = None,
    **choices: Any,
) -> ServedCampaign:
    """Make a campaign; its files are kept in the store, so that every server has them.

    Parameters
    ----------
    edges, nodes, labels : files, or the name of a data set as `edges`
    name : what people see it called
    noise : share of wrong answers that is presumed; .1, as several people answer
    second_opinions : ask another person where an answer is in doubt; so it is unless `overlap` is above 1
    stop : ask no more when an answer is expected to gain less accuracy, or with `find` to find one by less
    columns : columns of the files that have no usual name (see `GraphFiles`)
    device : where it is computed, as in `ask`; the store does not keep it
    choices : choose, audit, find, seed, overlap, multilabel, as in `ask`
    """
    odd = next((key for key in (*choices, *(columns or {})) if key not in (*CHOICES, *COLUMNS)), None)
    if odd is not None:
        raise InputError(f"{odd} is no option of a campaign; there are {', '.join((*CHOICES, *COLUMNS))}")
    check_limits(budget, stop, least=1)
    rules = [rule_draft(stop)] if stop else []
    id = secrets.token_hex(6)
    options, contents = _taken_in(
        {"edges": edges, "nodes": nodes, "labels": labels}, dict(columns or {}), name_column
    )
    title = name or (str(edges) if "set" in options["edges"] else PurePath(edges).stem)
    alone = choices.get("overlap") or 1
    begun = {
        **choices,
        "classes": classes,
        "noise": NOISE if noise is None else noise,
        "second_opinions": alone == 1 if second_opinions is None else second_opinions,
    }
    options["budget"] = budget
    # In memory first, and its files before its events: what is found in the store can be opened.
    book = Journal()
    campaign = _read(book, options, contents, budget, progress, device=device, **begun)
    for kept, content in {**contents, OPTIONS: json.dumps(options).encode()}.items():
        store.keep_source(id, kept, content)
    first, *others = (Draft(event.kind, event.body) for event in book.events())
    begins = store.create(id, title, first)
    store.append(id, begins.seq, [*others, Draft("budget", {"budget": budget, "person": None}), *rules])
    return _served(store, id, title, campaign, options)


def open_or_create(
    store: EventStore,
    files: GraphFiles,
    *,
    name: str | None = None,
    device: str | None = None,
    progress: Progress | None = None,
    **begun: Any,
) -> ServedCampaign:
    """The campaign of the store about these files: the only one where `querist ask` began it, else the one
    of this name, else a new one, of which `begun` says more (see `create`)."""
    entries = store.campaigns()
    title = name or (str(files.edges) if files.is_named else PurePath(files.edges).stem)
    if len(entries) == 1 and OPTIONS not in store.sources(entries[0].id):
        return open_campaign(store, entries[0].id, files=files, device=device, progress=progress)
    same = next((entry for entry in entries if entry.name == title), None)
    if same is not None:
        return open_campaign(store, same.id, device=device, progress=progress)
    columns = {own: value for own in COLUMNS if (value := getattr(files, own)) is not None}
    made = {"nodes": files.nodes, "name": title, "columns": columns, **begun}
    return create(store, files.edges, device=device, progress=progress, **made)


def open_campaign(
    store: EventStore,
    id: str,
    *,
    files: GraphFiles | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> ServedCampaign:
    """A campaign of the store, ready to be served; `device` is where it is computed, as in `ask`.

    `files` are those that it was begun with, where the store does not keep them: `querist ask` began it.
    """
    entry = next((each for each in store.campaigns() if each.id == id), None)
    if entry is None:
        known = ", ".join(each.id for each in store.campaigns()) or "none"
        raise InputError(f"there is no campaign {id!r} in this store; there are {known}")
    contents = store.sources(id)
    if OPTIONS not in contents:
        if files is None:
            raise InputError(
                f"campaign {entry.name} was begun by querist ask, and its store does not hold its graph; "
                "give the files it was begun with, as in querist serve edges.csv --store pets.journal"
            )
        contents = _adopt(store, id, files)
    options = json.loads(contents.pop(OPTIONS))
    # A chooser that paces its questions looks at the budget that the campaign was begun with.
    budget = options.get("budget", BUDGET)
    campaign = _read(Journal.of(store, id, entry.name), options, contents, budget, progress, device=device)
    return _served(store, id, entry.name, campaign, options)


def _taken_in(
    files: Mapping[str, Any], columns: Mapping[str, str], name_column: str | None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the store keeps of files: how to read them, and their contents by name."""
    options: dict[str, Any] = {"columns": columns, "name_column": name_column}
    contents: dict[str, bytes] = {}
    for role, file in files.items():
        if file is None:
            continue
        if role == "edges" and GraphFiles(file).is_named:
            options[role] = {"set": str(file)}
            continue
        path = Path(file).expanduser()
        kept = f"{role}{''.join(path.suffixes[-2:])}"
        try:
            contents[kept] = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: it cannot be read ({error}); give another file") from error
        options[role] = {"file": kept}
    return options, contents


def _adopt(store: EventStore, id: str, files: GraphFiles) -> dict[str, bytes]:
    """Keep the files of a campaign that was begun at the terminal."""
    columns = {name: value for name in COLUMNS if (value := getattr(files, name)) is not None}
    options, contents = _taken_in({"edges": files.edges, "nodes": files.nodes}, columns, None)
    contents[OPTIONS] = json.dumps(options).encode()
    # Only files that fit the log are kept: reading them compares the graph with the one it was begun with.
    _read(Journal.of(store, id, ""), options, contents, BUDGET, None)
    for kept, content in contents.items():
        store.keep_source(id, kept, content)
    return contents


def _read(
    book: Journal,
    options: Mapping[str, Any],
    contents: Mapping[str, bytes],
    budget: int,
    progress: Progress | None,
    **begun: Any,
) -> FileCampaign:
    """The campaign of a journal, its graph read from these contents."""
    with tempfile.TemporaryDirectory(prefix="querist-") as folder:
        for kept, content in contents.items():
            (Path(folder) / kept).write_bytes(content)

        def place(role: str) -> str | None:
            own = options.get(role)
            return None if own is None else own.get("set") or str(Path(folder) / own["file"])

        edges = place("edges")
        assert edges is not None
        files = GraphFiles(edges, place("nodes"), **options["columns"])
        return from_files(
            files,
            labels=place("labels"),
            journal=book,
            budget=budget,
            prefetch=False,
            progress=progress,
            **begun,
        )


def _served(
    store: EventStore, id: str, name: str, campaign: FileCampaign, options: Mapping[str, Any]
) -> ServedCampaign:
    texts = NodeTexts.of(campaign.source.table, options["columns"].get("id"), options["name_column"])
    return ServedCampaign(store, id, name, campaign.asking, texts)
