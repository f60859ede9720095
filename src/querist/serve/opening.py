"""Campaigns in a store: made from files or a data set, and opened again from what the store keeps of them."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Unpack

from querist.asking.campaign import Asking
from querist.asking.files import from_files
from querist.asking.options import CampaignKeywords, CampaignOptions, of_team
from querist.asking.store.events import check_texts
from querist.asking.store.sql import EventStore
from querist.asking.store.sqlite import StoredCampaign, only_campaign
from querist.errors import InputError, QueristError
from querist.graph_options import FileOptions
from querist.labelling.reading import FileName, GraphFiles
from querist.options import option
from querist.progress import Progress
from querist.serve.campaign import ServedCampaign
from querist.serve.options import NewCampaignKeywords, NewCampaignOptions, SetupOptions
from querist.tables.names import NodeTexts

OPTIONS = "options.json"
"""The file of a store that says how the other files of a campaign are read."""
ROLES = ("edges", "nodes", "labels")
"""How the names of those files begin."""


@dataclass(frozen=True, kw_only=True)
class KeptOptions(FileOptions, SetupOptions):
    """What `OPTIONS` holds, besides options of the log: how the files are read and shown."""

    data: str | None = option(None, "Data set, if the graph is from one", on=())

    @classmethod
    def read(cls, content: bytes) -> "KeptOptions":
        """Those of a store, perhaps a stranger's: every name and value is checked."""
        try:
            given = json.loads(content)
            found = cls.resolve(None, given if isinstance(given, dict) else {"options": given})
            if found.data is not None and not GraphFiles(found.data).is_named:
                raise InputError(f"data = {found.data!r}; it must be the name of a data set")
        except (ValueError, QueristError) as error:
            raise InputError(
                f"{OPTIONS}, which the store keeps, is damaged ({error}); restore a backup of the store"
            ) from error
        return found


def create(
    store: EventStore,
    graph: GraphFiles | FileName,
    *,
    labels: FileName | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[NewCampaignKeywords],
) -> ServedCampaign:
    """Make a campaign; its files are kept in the store, so that every server has them.

    Parameters
    ----------
    graph : its files; a name alone is that of the edges, or of a data set
    labels : a table of labels that are known
    keywords : the fields of `NewCampaignOptions`; `TEAM` says which defaults are others, as several people
        answer. The store does not keep the device
    """
    files = GraphFiles.of(graph, {})
    given = of_team(NewCampaignOptions.given(None, keywords))
    title = given.pop("name", None) or _title(files)
    check_texts(title, given.get("classes"))
    contents = _contents(files, labels, name_column=given.pop("name_column", None))
    # In memory first, then all at once: what is found in the store can be opened.
    stored = only_campaign()._replace(name=title)
    asking, texts = _read(stored, contents, progress, **given)
    (entry,) = stored.store.campaigns()
    store.take(entry, stored.store.stored(entry.id), {}, contents, {})
    return ServedCampaign(store, entry.id, title, asking, texts)


def open_or_create(
    store: EventStore,
    files: GraphFiles,
    *,
    labels: FileName | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[NewCampaignKeywords],
) -> ServedCampaign:
    """The campaign of the store about these files: the only one if `querist ask` began it, else the one of
    this name, else a new one (see `create`).

    An option that a campaign cannot change is refused if it differs from that of the one found.
    """
    given = NewCampaignOptions.given(None, keywords)
    entries, title = store.campaigns(), given.get("name") or _title(files)
    changed: Any = {name: value for name, value in given.items() if name in CampaignOptions.declared()}
    if len(entries) == 1 and OPTIONS not in store.sources(entries[0].id):
        return open_campaign(store, entries[0].id, files=files, progress=progress, **changed)
    same = next((entry for entry in entries if entry.name == title), None)
    if same is not None:
        return open_campaign(store, same.id, progress=progress, **changed)
    return create(store, files, labels=labels, progress=progress, **given)


def open_campaign(
    store: EventStore,
    id: str,
    *,
    files: GraphFiles | None = None,
    progress: Progress | None = None,
    **keywords: Unpack[CampaignKeywords],
) -> ServedCampaign:
    """A campaign of the store, ready to be served, with options as in `ask`; the device is not kept.

    `files` are those that it was begun with, if the store does not keep them: `querist ask` began it.
    """
    entry = store.entry(id)
    given: dict[str, Any] = CampaignOptions.given(None, keywords)
    contents, missing = store.sources(id), dict[str, bytes]()
    if OPTIONS not in contents:
        if files is None:
            raise InputError(
                f"campaign {entry.name} was begun by querist ask, and its store does not hold its graph; "
                "give the files it was begun with, as in querist serve edges.csv --store pets.journal"
            )
        contents = missing = _contents(files)
    changed = {name: given.pop(name) for name in CampaignOptions.changing() if name in given}
    asking, texts = _read(StoredCampaign.of(store, entry), contents, progress, **given)
    # Only files that fit the log are kept: reading them compared the graph with the one it was begun with.
    for kept, content in missing.items():
        store.keep_source(id, kept, content)
    served = ServedCampaign(store, id, entry.name, asking, texts)
    served.change(None, **changed)
    return served


def _title(files: GraphFiles) -> str:
    return str(files.title) if files.is_named else PurePath(files.title).stem


def _contents(files: GraphFiles, labels: FileName | None = None, **options: Any) -> dict[str, bytes]:
    """What the store keeps of a campaign besides its log: the contents of files by name, `OPTIONS` last."""
    options |= {name: getattr(files, name) for name in files.changed()}
    found, edges = dict[str, bytes](), files.edges
    if files.is_named:
        options["data"], edges = str(edges), None
    for role, file in zip(ROLES, (edges, files.nodes, labels), strict=True):
        if file is not None:
            path = Path(file).expanduser()
            try:
                found[f"{role}{''.join(path.suffixes[-2:])}"] = path.read_bytes()
            except OSError as error:
                raise InputError(f"{path}: it cannot be read ({error}); give another file") from error
    return {**found, OPTIONS: json.dumps(options).encode()}


def _read(
    stored: StoredCampaign, contents: Mapping[str, bytes], progress: Progress | None, **given: Any
) -> tuple[Asking, NodeTexts]:
    """A campaign with its graph, and the texts of its nodes, from what the store keeps."""
    kept, places = KeptOptions.read(contents[OPTIONS]), dict[str, Path]()
    with tempfile.TemporaryDirectory(prefix="querist-") as folder:
        for name, content in contents.items():
            role = name.partition(".")[0]
            # The names come from the store, perhaps a stranger's: none may lead out of the folder.
            if PurePath(name).name != name or role not in (*ROLES, "options"):
                raise InputError(
                    f"the store keeps a file {name!r}, which is none of a campaign; do not use it"
                )
            places[role] = Path(folder) / name
            places[role].write_bytes(content)
        if kept.data is None and not places.keys() & {"edges", "nodes"}:
            raise InputError("the store does not keep the graph of this campaign; restore a backup of it")
        files = GraphFiles(
            kept.data or places.get("edges"),
            places.get("nodes"),
            **{name: getattr(kept, name) for name in FileOptions.declared()},
        )
        given |= {"labels": places.get("labels"), "name_column": kept.name_column}
        found = from_files(files, journal=stored, progress=progress, **given)
    return found.asking, found.texts
