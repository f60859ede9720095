"""`querist serve`: a campaign in the browser; `querist campaign`: what can be done with one at a terminal."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from querist.cli import options
from querist.cli.screen import print_json, print_line, progress
from querist.errors import InputError
from querist.lazy import needing

if TYPE_CHECKING:
    from querist.asking.store.interface import CampaignEntry
    from querist.asking.store.sql import SqlStore

STORE = "querist.db"
DEMO, DEMO_STORE = "messages", "querist-demo.db"

Store = Annotated[
    str,
    typer.Option(metavar="STORE", help="A file (SQLite), or postgresql://user@host/database."),
]
Campaign = Annotated[
    str | None,
    typer.Argument(metavar="CAMPAIGN", help="Its id or name; the only one where there is one."),
]
Optional = Annotated[
    str | None,
    typer.Argument(
        metavar="[DATA]",
        help="A campaign on this graph: a data set, or a file of edges. Without it, those there are.",
    ),
]
BEGUN: Mapping[str, tuple[Any, Any]] = {
    "nodes": (options.Nodes, None),
    "labels": (
        Annotated[
            str | None,
            typer.Option(metavar="LABELS", help="Labels that are known: learned first, never asked."),
        ],
        None,
    ),
    "classes": (Annotated[str | None, typer.Option(metavar="A,B,C", help="What an answer may be.")], None),
    "name": (
        Annotated[str | None, typer.Option(metavar="NAME", help="What people see the campaign called.")],
        None,
    ),
    "name_column": (
        Annotated[
            str | None, typer.Option(metavar="COLUMN", help="The column of NODES by which nodes are shown.")
        ],
        None,
    ),
    "budget": (Annotated[int, typer.Option(min=1, help="The most answers.")], 100),
    "audit": (
        Annotated[int | None, typer.Option(min=0, help="So many questions are random, to measure.")],
        None,
    ),
    "choose": (Annotated[str | None, typer.Option(metavar="WAY", help="As in querist ask.")], None),
    "find": (Annotated[str | None, typer.Option(metavar="CLASS", help="Find nodes of this class.")], None),
    "stop": (
        Annotated[
            float | None,
            typer.Option(
                min=0.0,
                max=1.0,
                help="End when an answer is expected to gain less accuracy, as in querist ask.",
            ),
        ],
        None,
    ),
    "overlap": (Annotated[int, typer.Option(min=1, help="People who answer about every node.")], 1),
    "multilabel": (options.SeveralLabels, None),
}
"""What can be said of a new campaign, as `opening.create` calls it."""
with_begun = options.with_options("begun", BEGUN)


@options.with_columns
@with_begun
def serve(
    data: Optional = None,
    begun: options.Values = MappingProxyType({}),
    store: Store = STORE,
    host: Annotated[str, typer.Option(help="Where it listens; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8377,
    demo: Annotated[
        bool, typer.Option("--demo", help="A campaign on messages that ship with querist, ready to answer.")
    ] = False,
    log: Annotated[
        bool, typer.Option("--log", help="A line of JSON per request, on standard error.")
    ] = False,
    columns: options.Values = MappingProxyType({}),
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Label a graph with a team, in the browser.

    Prints a link that makes whoever opens it first the manager, who invites others. Everything is kept in
    the store before it is acknowledged; stop with Ctrl-C, and the same command goes on.
    """
    with needing("serve", "a server"):
        from querist.serve.running import address_of, bound, run
    from querist.labelling.files import GraphFiles
    from querist.operator.device.choice import check_device
    from querist.serve.opening import open_or_create
    from querist.serve.server import CampaignServer

    check_device(device)
    wanted = _named_classes(begun)
    if demo:
        data, wanted["budget"] = DEMO, min(wanted["budget"], 100)
        store = DEMO_STORE if store == STORE else store
    with bound(host, port) as where:
        opened = _opened(store)
        server = CampaignServer(opened, device=device)
        if data is not None:
            files = GraphFiles(data, wanted.pop("nodes", None), **columns)
            with progress() as show:
                found = open_or_create(
                    opened,
                    files,
                    device=device,
                    progress=lambda done, text: show("embedding", done, text),
                    **wanted,
                )
            server.add(found)
        _, secret = server.gate.invite(None, "manager", once=True)
        address = address_of(where)
        said: dict[str, Any] = {"address": address, "manager": f"{address}/enter?token={secret}"}
        said["places"] = [] if data is None else found.asking.places
        if demo:
            said["labeller"] = f"{address}/enter?token={server.gate.invite(found.id, 'labeller', 'You')[1]}"
        if as_json:
            print_json(said)
        else:
            if demo:
                print_line(f"Answer questions:  {said['labeller']}")
            print_line(f"Manage, and invite others (works once):  {said['manager']}")
            print_line(f"Everything is kept in {opened.place}. Stop with Ctrl-C.")
            for sentence in said["places"]:
                print_line(sentence)
        run(server, where, log=log)


# -- querist campaign --------------------------------------------------------------------------------------

campaign = typer.Typer(
    help="Make, list, export, move, back up and repair campaigns.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@campaign.command("create")
@options.with_columns
@with_begun
def create_campaign(
    data: options.Data,
    begun: options.Values = MappingProxyType({}),
    store: Store = STORE,
    columns: options.Values = MappingProxyType({}),
    device: options.Device = None,
    as_json: options.Json = False,
) -> None:
    """Make a campaign; its files are kept in the store."""
    from querist.operator.device.choice import check_device
    from querist.serve.opening import create

    check_device(device)
    with _opened(store) as opened, progress() as show:
        made = create(
            opened,
            data,
            columns=columns,
            device=device,
            progress=lambda done, text: show("embedding", done, text),
            **_named_classes(begun),
        )
        made.close()
    if as_json:
        print_json({"campaign": made.id, "name": made.name, "places": made.asking.places})
    else:
        for sentence in made.asking.places:
            print_line(sentence)
        print_line(f"{made.name}: campaign {made.id} in {opened.place}.")


@campaign.command("list")
def list_campaigns(store: Store = STORE, as_json: options.Json = False) -> None:
    """The campaigns of a store."""
    with _opened(store, there=True) as opened:
        found = [
            {"campaign": e.id, "name": e.name, "created": e.created, "events": opened.last(e.id)}
            for e in opened.campaigns()
        ]
    if as_json:
        print_json(found)
        return
    for each in found:
        print_line(f"{each['campaign']}  {each['name']}  {each['events']:,} events")


@campaign.command("export")
def export(
    which: Campaign = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help="A table as .csv, .parquet or .jsonl; or the events as .ndjson.",
        ),
    ] = Path("labels.csv"),
    safe_csv: options.SafeCsv = False,
    answers: Annotated[
        bool,
        typer.Option("--answers", help="Who answered what, when, in how many seconds, instead of labels."),
    ] = False,
    hide: Annotated[
        bool, typer.Option("--anonymous", help="People as person-1, person-2, ... in answers and events.")
    ] = False,
    store: Store = STORE,
) -> None:
    """Write a label for every node, or every answer, or every event."""
    from querist.asking.store.moving import export_events
    from querist.atomic import check_writable, replacing
    from querist.serve.exports import FORMATS, anonymous, events_text
    from querist.serve.opening import open_campaign
    from querist.serve.views import CampaignViews

    form = out.suffix.lstrip(".")
    if form not in (*FORMATS, "ndjson"):
        raise InputError(f"{out}: the name must end in .{', .'.join((*FORMATS, 'ndjson'))}")
    if answers and form == "ndjson":
        raise InputError(f"{out}: it would hold the events; for the answers name it .{', .'.join(FORMATS)}")
    check_writable(out)
    with _opened(store, there=True) as opened:
        entry = _entry(opened, which)
        if form == "ndjson":
            stream = StringIO()
            if hide:
                stream.writelines(events_text(anonymous(opened.events(entry.id), {})))
            else:
                export_events(opened, entry.id, stream)
            content = stream.getvalue().encode()
        else:
            with progress() as show:
                found = open_campaign(
                    opened, entry.id, progress=lambda done, text: show("embedding", done, text)
                )
                views = CampaignViews(found)
                content = (
                    views.export_answers(form, hide, safe_csv=safe_csv)
                    if answers
                    else views.export(form, safe_csv=safe_csv)
                )
                found.close()
        with replacing(out) as file:
            file.write(content)
    print_line(f"{out}: written.")


@campaign.command("move")
def move(
    to: Annotated[str, typer.Argument(metavar="TO", help="The other store.")],
    which: Annotated[
        str | None, typer.Option("--campaign", metavar="CAMPAIGN", help="Its id or name.")
    ] = None,
    store: Store = STORE,
) -> None:
    """Copy a campaign into another store, its events byte for byte."""
    from querist.asking.store.moving import move as moved

    with _opened(store, there=True) as opened, _opened(to) as target:
        entry = _entry(opened, which)
        count = moved(opened, target, entry.id)
        print_line(
            f"{entry.name}: {count:,} events are in {target.place} now; {opened.place} has them still."
        )


@campaign.command("token")
def token(
    which: Campaign = None,
    role: Annotated[str, typer.Option(help="manager, labeller or reader.")] = "labeller",
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Whose it is.")] = None,
    days: Annotated[float | None, typer.Option(help="It ends after so many.")] = None,
    address: Annotated[str, typer.Option(help="Of the server, for the link.")] = "http://127.0.0.1:8377",
    revoke: Annotated[str | None, typer.Option(metavar="ID", help="End this token instead.")] = None,
    store: Store = STORE,
    as_json: options.Json = False,
) -> None:
    """Invite somebody: a link that is shown once."""
    from querist.serve.access import Gate

    with _opened(store, there=True) as opened:
        entry, gate = _entry(opened, which), Gate(opened)
        if revoke is not None:
            gate.revoke(entry.id, revoke)
            print_line(f"token {revoke} has ended.")
            return
        made, secret = gate.invite(entry.id, role, name, days)
    link = f"{address.rstrip('/')}/enter?token={secret}"
    if as_json:
        print_json({"id": made.id, "person": made.person, "role": role, "token": secret, "link": link})
    else:
        print_line(f"{link}\n(shown once; end it with --revoke {made.id})")


@campaign.command("backup")
def backup(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new file.")], store: Store = STORE
) -> None:
    """Copy a store as it is at one moment, while it is used."""
    with _opened(store, there=True) as opened:
        opened.backup(out)
    print_line(f"{out}: written.")


@campaign.command("repair")
def repair(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new file.")],
    which: Annotated[
        str | None, typer.Option("--campaign", metavar="CAMPAIGN", help="Its id or name.")
    ] = None,
    store: Store = STORE,
) -> None:
    """Write all that is whole of a damaged campaign into a new store."""
    from querist.asking.store.moving import repair as repaired

    with _opened(store, there=True) as opened:
        damage = repaired(opened, _entry(opened, which).id, out)
    print_line(f"{out}: written. " + ("Nothing is damaged." if damage is None else str(damage)))


def _opened(place: str, *, there: bool = False) -> "SqlStore":
    from querist.serve import open_store

    if there and "://" not in place and not Path(place).expanduser().exists():
        raise InputError(f"{place}: there is no such store; name it with --store")
    return open_store(place)


def _entry(store: "SqlStore", which: str | None) -> "CampaignEntry":
    entries = store.campaigns()
    found = [entry for entry in entries if which in (None, entry.id, entry.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{entry.id} ({entry.name})" for entry in entries) or "none"
    wanted = "name one" if which is None else f"{which!r} is {'none' if not found else 'several'} of them"
    raise InputError(f"{store.place} has the campaigns {names}; {wanted}")


def _named_classes(begun: options.Values) -> dict[str, Any]:
    """What was said of a new campaign, its classes one by one."""
    from querist.tables.formats import comma_separated

    return {name: comma_separated(value) if name == "classes" else value for name, value in begun.items()}
