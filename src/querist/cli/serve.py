"""`querist serve`: a campaign in the browser; `querist campaign`: what can be done with one at a terminal."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args
from urllib.parse import urlsplit

import typer

from querist.asking.options import TEAM
from querist.cli import options
from querist.cli.appearance import Verb, group
from querist.cli.screen import print_found, print_line, progress
from querist.errors import InputError
from querist.lazy import needing
from querist.options import with_options
from querist.serve.options import Format, NewCampaignOptions, Role

if TYPE_CHECKING:
    from querist.asking.store.events import CampaignEntry
    from querist.asking.store.sql import EventStore

STORE = "querist.db"
DEMO, DEMO_STORE = "messages", "querist-demo.db"


Store = Annotated[str, typer.Option(metavar="STORE", help="SQLite file, or postgresql://user@host/database.")]
_WHICH: Any = {"metavar": "CAMPAIGN", "help": "Its id or name; the only one by default."}
Campaign = Annotated[str | None, typer.Argument(**_WHICH)]
CampaignOption = Annotated[str | None, typer.Option("--campaign", **_WHICH)]
Optional = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="Graph of a new campaign: a data set, or a file of edges. Without it, the campaigns of "
        "the store are served.",
        autocompletion=options.GRAPHS,
    ),
]
BEGUN: Mapping[str, tuple[Any, Any]] = {
    "nodes": (options.Nodes, None),
    "labels": (options.Known, None),
    **options.declared(NewCampaignOptions, "http", TEAM),
}
"""What can be said of a new campaign, as `opening.create` calls it."""
with_begun = with_options("begun", BEGUN)


@options.with_columns
@with_begun
def serve(
    data: Optional = None,
    begun: options.Values = MappingProxyType({}),
    store: Store = STORE,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where it listens; 0.0.0.0 is everywhere.")
    ] = "127.0.0.1",
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

    Examples:

    querist serve --demo
    querist serve edges.csv --nodes nodes.csv --classes spam,fine --host 0.0.0.0
    """
    with needing("serve", "a server"):
        from querist.serve.running import address_of, bound, run
    from querist.operator.device.choice import check_device
    from querist.serve.opening import open_or_create
    from querist.serve.server import CampaignServer

    check_device(device)
    if data is None and not demo and (idle := [*begun, *columns]):
        raise InputError(
            f"--{idle[0].replace('_', '-')} is about a new campaign, and no graph is given; name its DATA, "
            "or leave the option out"
        )
    options.refuse_beside("--demo", {f"DATA ({data})": demo and data is not None})
    if demo:
        data = DEMO
        store = DEMO_STORE if store == STORE else store
    with bound(host, port) as where:
        opened = _opened(store)
        server = CampaignServer(opened, device=device)
        if data is not None:
            found = _made(open_or_create, opened, data, begun, columns, device)
            server.add(found)
        _, secret = server.gate.invite(None, "manager", once=True)
        address = address_of(where)
        said: dict[str, Any] = {"address": address, "manager": f"{address}/enter?token={secret}"}
        said["places"] = [] if data is None else found.asking.places
        if demo:
            said["labeller"] = f"{address}/enter?token={server.gate.invite(found.id, 'labeller', 'You')[1]}"
        listening = "" if host in ("0.0.0.0", "::") else "pass --host 0.0.0.0 and "
        _warn_of(where.getsockname()[0], f"{listening}write the name or IP address of this machine there")
        lines = [
            *([f"Answer questions:  {said['labeller']}"] if demo else []),
            f"Manage, and invite others (works once):  {said['manager']}",
            f"Everything is kept in {opened.place}. Stop with Ctrl-C.",
            *said["places"],
        ]
        print_found(said, as_json, "\n".join(lines))
        run(server, where, log=log)


# -- querist campaign --------------------------------------------------------------------------------------

campaign = group(
    "campaign",
    """Make, list, export, move, back up and repair campaigns.

Examples:

querist campaign create edges.csv --classes spam,fine
querist campaign export --out labels.csv --store querist.db
""",
)


@campaign.command("create", cls=Verb)
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
    """Make a campaign; its files are kept in the store.

    Examples:

    querist campaign create edges.csv --classes spam,fine
    querist campaign create karate --name Club --store postgresql://me@host/db
    """
    from querist.operator.device.choice import check_device
    from querist.serve.opening import create

    check_device(device)
    with _opened(store) as opened:
        made = _made(create, opened, data, begun, columns, device)
        made.close()
    found = {"campaign": made.id, "name": made.name, "places": made.asking.places}
    lines = [*made.asking.places, f"{made.name}: campaign {made.id} in {opened.place}."]
    print_found(found, as_json, "\n".join(lines))


@campaign.command("list", cls=Verb)
def list_campaigns(store: Store = STORE, as_json: options.Json = False) -> None:
    """List the campaigns of a store.

    Examples:

    querist campaign list
    querist campaign list --store labels.db --json
    """
    with _opened(store, there=True) as opened:
        found = [
            {"campaign": e.id, "name": e.name, "created": e.created, "events": opened.last(e.id)}
            for e in opened.campaigns()
        ]
    lines = [f"{each['campaign']}  {each['name']}  {each['events']:,} events" for each in found]
    print_found(found, as_json, "\n".join(lines))


@campaign.command("export", cls=Verb)
def export(
    which: Campaign = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="OUT",
            help=f"A table as .{', .'.join(get_args(Format))}; or the events as .ndjson.",
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
    """Write a label for every node, or every answer, or every event.

    Examples:

    querist campaign export --out labels.csv
    querist campaign export Club --answers --anonymous --out answers.csv
    """
    from querist.atomic import check_writable, replacing
    from querist.serve.exports import FORMATS, anonymous, events_text
    from querist.serve.opening import open_campaign
    from querist.serve.views import CampaignViews

    form = out.suffix.lstrip(".")
    if form not in (*FORMATS, "ndjson"):
        raise InputError(f"{out}: the name must end in .{', .'.join((*FORMATS, 'ndjson'))}")
    if answers and form == "ndjson":
        raise InputError(f"{out}: it would hold the events; for the answers name it .{', .'.join(FORMATS)}")
    idle = {
        "--safe-csv": safe_csv and form != "csv",
        "--anonymous": hide and not (answers or form == "ndjson"),
    }
    options.refuse_beside(f"--out {out}", idle)
    check_writable(out)
    with _opened(store, there=True) as opened:
        entry = _entry(opened, which)
        if form == "ndjson":
            events = opened.events(entry.id)
            content = "".join(events_text(anonymous(events) if hide else events)).encode()
        else:
            with progress() as show:
                found = open_campaign(opened, entry.id, progress=partial(show, "embedding"))
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


@campaign.command("move", cls=Verb)
def move(
    to: Annotated[str, typer.Argument(metavar="TO", help="The other store.")],
    which: CampaignOption = None,
    store: Store = STORE,
) -> None:
    """Copy a campaign into another store, its events byte for byte.

    Examples:

    querist campaign move postgresql://me@host/labels
    querist campaign move copy.db --campaign Club --store labels.db
    """
    from querist.asking.store.sqlite import move as moved

    with _opened(store, there=True) as opened, _opened(to) as target:
        entry = _entry(opened, which)
        count = moved(opened, target, entry.id)
        print_line(
            f"{entry.name}: {count:,} events are in {target.place} now; {opened.place} has them still."
        )


@campaign.command("token", cls=Verb)
def token(
    which: Campaign = None,
    role: Annotated[Role, typer.Option(help="What the person may do.")] = "labeller",
    name: Annotated[str | None, typer.Option(metavar="PERSON", help="Name of the person.")] = None,
    days: Annotated[
        float | None, typer.Option(help="Days after which the token ends; never by default.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the server, as querist serve prints it, to begin the link with.",
        ),
    ] = None,
    revoke: Annotated[
        str | None,
        typer.Option(metavar="ID", help="End the token of this id instead."),
    ] = None,
    store: Store = STORE,
    as_json: options.Json = False,
) -> None:
    """Invite somebody: a link that is shown once.

    Examples:

    querist campaign token --name Ada --address http://host:8377
    querist campaign token Club --revoke 5f0c8d21a3be
    """
    from querist.serve.access import Gate

    if revoke is not None:
        idle = {"--role": role != "labeller", "--name": name, "--days": days, "--address": address}
        options.refuse_beside("--revoke", idle)
        with _opened(store, there=True) as opened:
            Gate(opened).revoke(_entry(opened, which).id, revoke)
        print_found({"id": revoke, "revoked": True}, as_json, f"token {revoke} has ended.")
        return
    try:
        where = urlsplit(address or "http://NAME")
        if where.scheme not in ("http", "https") or not where.hostname or where.port == 0:
            raise ValueError
    except ValueError:
        raise InputError(f"--address {address} is no address of a server; write http://NAME:PORT") from None
    with _opened(store, there=True) as opened:
        made, secret = Gate(opened).invite(_entry(opened, which).id, role, name, days)
    _warn_of(where.hostname, "pass --address http://NAME:PORT with the name or IP address of the server")
    link = f"{(address or '').rstrip('/')}/enter?token={secret}"
    before = "" if address else "open it at the address that querist serve prints; "
    found = {"id": made.id, "person": made.person, "role": role, "token": secret, "link": link}
    print_found(found, as_json, f"{link}\n({before}shown once; end it with --revoke {made.id})")


@campaign.command("backup", cls=Verb)
def backup(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new file.")], store: Store = STORE
) -> None:
    """Copy a store as it is at one moment, while it is used.

    Examples:

    querist campaign backup copy.db
    querist campaign backup copy.db --store labels.db
    """
    with _opened(store, there=True) as opened:
        opened.backup(out)
    print_line(f"{out}: written.")


@campaign.command("repair", cls=Verb)
def repair(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new file.")],
    which: CampaignOption = None,
    store: Store = STORE,
) -> None:
    """Write all that is whole of a damaged campaign into a new store.

    Examples:

    querist campaign repair whole.db
    querist campaign repair whole.db --campaign Club --store labels.db
    """
    from querist.asking.store.sqlite import repair as repaired
    from querist.asking.store.wal import salvaged

    with TemporaryDirectory(prefix="querist-") as folder:
        path = Path(store).expanduser()
        readable = path if "://" in store else salvaged(path, folder)
        with _opened(store if readable is path else str(readable), there=True) as opened:
            damage = repaired(opened, _entry(opened, which).id, out)
    if readable is not path:
        print_line(f"{store}-wal is damaged: the newest answers may be missing.")
    print_line(f"{out}: written. " + ("No event is damaged." if damage is None else str(damage)))


def _warn_of(host: str | None, instead: str) -> None:
    """Warn of links that only this machine can open."""
    if host and (host.startswith("127.") or host in ("localhost", "0.0.0.0", "::", "::1")):
        warnings.warn(f"only this machine can open links to {host}; for others, {instead}", stacklevel=3)


def _opened(place: str, *, there: bool = False) -> "EventStore":
    from querist.serve.stores import open_store

    if there and "://" not in place and not Path(place).expanduser().exists():
        raise InputError(f"{place}: there is no such store; name it with --store")
    return open_store(place)


def _entry(store: "EventStore", which: str | None) -> "CampaignEntry":
    entries = store.campaigns()
    found = [entry for entry in entries if which in (None, entry.id, entry.name)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"{entry.id} ({entry.name})" for entry in entries) or "none"
    wanted = "name one" if which is None else f"{which!r} is {'none' if not found else 'several'} of them"
    raise InputError(f"{store.place} has the campaigns {names}; {wanted}")


def _made(
    make: Callable[..., Any],
    store: "EventStore",
    data: str,
    begun: options.Values,
    columns: options.Values,
    device: str | None,
) -> Any:
    """A campaign that is made of files, as a function of `serve.opening` does."""
    from querist.labelling.reading import GraphFiles

    named = {name: value for name, value in begun.items() if name != "nodes"}
    files = GraphFiles(data, begun.get("nodes"), **columns)
    with progress() as show:
        return make(store, files, device=device, progress=partial(show, "embedding"), **named)
