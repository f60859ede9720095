"""The HTTP interface, `/v1`. What it says is described by OpenAPI at `/v1/openapi.json`."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal
from urllib.parse import quote

import pyarrow as pa
from fastapi import APIRouter, Depends, Form, Header, Query, Request, Response, UploadFile
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from querist.serve.access import Visitor
from querist.serve.bodies import (
    ERRORS,
    MOST_ROW,
    Came,
    Change,
    Decided,
    Given,
    Invited,
    Key,
    LeaseRequest,
    NewCampaign,
    Remark,
)
from querist.serve.campaign import check_text
from querist.serve.exports import FORMATS, anonymous, events_text
from querist.serve.opening import create
from querist.serve.server import CampaignServer, arrive
from querist.serve.uploads import received
from querist.serve.views import CampaignViews
from querist.serve.writing import RefusedError
from querist.tables.formats import comma_separated

BEAT = 15.0
"""Seconds after which a stream of events that has nothing to say says so."""
GLANCE = 0.1
"""Seconds between two looks for something new to say."""
PAGE = 500
"""Most nodes of a page."""

api = APIRouter(prefix="/v1", responses=ERRORS)


def server_of(request: Request) -> CampaignServer:
    """The campaigns that the application was made over."""
    found: CampaignServer = request.app.state.server
    return found


async def visitor_of(request: Request) -> Visitor:
    """Whoever sent the request, or a refusal."""
    gate, given = server_of(request).gate, (request.headers, request.cookies, request.method)
    # Most requests are those of somebody who was just here: they need no thread of their own.
    if gate.remembers(*given[:2]):
        return gate.visitor(*given)
    return await run_in_threadpool(gate.visitor, *given)


Who = Annotated[Visitor, Depends(visitor_of)]


def _allowed(role: str) -> Callable[..., Awaitable[CampaignViews]]:
    """The campaign of the path, for those who may do what takes this role."""

    async def find(request: Request, c: str, visitor: Who) -> CampaignViews:
        if not visitor.may(role, c):
            raise RefusedError(f"you are {visitor.role} here, and this takes a {role}", 403)
        own = server_of(request)
        found = own.opened(c)
        return await run_in_threadpool(own.views, c) if found is None else found

    return find


Read = Annotated[CampaignViews, Depends(_allowed("reader"))]
Answer = Annotated[CampaignViews, Depends(_allowed("labeller"))]
Manage = Annotated[CampaignViews, Depends(_allowed("manager"))]


# -- campaigns ---------------------------------------------------------------------------------------------


@api.get("/campaigns")
def campaigns(request: Request, visitor: Who) -> list[dict[str, Any]]:
    """The campaigns that you may see."""
    entries = server_of(request).store.campaigns()
    return [
        {"id": e.id, "name": e.name, "created": e.created, "role": visitor.role}
        for e in entries
        if visitor.may("reader", e.id)
    ]


def check_may_create(visitor: Visitor) -> None:
    """Refuse a new campaign to whoever manages one campaign only, or none."""
    if not visitor.may("manager", None):
        raise RefusedError("a new campaign takes the manager of the server", 403)


@api.post("/campaigns", status_code=201)
def new_campaign(request: Request, visitor: Who, given: NewCampaign) -> dict[str, Any]:
    """Make a campaign on a data set that ships with querist, or lies where its data sets lie."""
    check_may_create(visitor)
    own = server_of(request)
    made = create(own.store, given.data, device=own.device, **given.model_dump(exclude={"data"}))
    return own.add(made).summary()


@api.post("/campaigns/files", status_code=201)
def new_campaign_from_files(
    request: Request,
    visitor: Who,
    edges: UploadFile,
    nodes: UploadFile | None = None,
    labels: UploadFile | None = None,
    name: Annotated[str | None, Form(max_length=200)] = None,
    classes: Annotated[str | None, Form(max_length=10_000)] = None,
    budget: Annotated[int, Form(ge=1, le=10_000_000)] = 100,
    audit: Annotated[int, Form(ge=0, le=10_000_000)] = 0,
    overlap: Annotated[int, Form(ge=1, le=20)] = 1,
    second_opinions: Annotated[bool | None, Form()] = None,
    choose: Annotated[str | None, Form(max_length=100)] = None,
    find: Annotated[str | None, Form(max_length=1000)] = None,
    multilabel: Annotated[bool, Form()] = False,
    stop: Annotated[float | None, Form(ge=0, le=1, allow_inf_nan=False)] = None,
) -> dict[str, Any]:
    """Make a campaign from files, as `querist ask` reads them; `classes` are separated by commas."""
    check_may_create(visitor)
    own = server_of(request)
    files = {"edges": edges, "nodes": nodes, "labels": labels}
    with own.making(visitor.person) as show, received(files, request.app.state.limits) as places:
        made = create(
            own.store,
            places["edges"],
            nodes=places.get("nodes"),
            labels=places.get("labels"),
            name=name or (edges.filename or "edges").rpartition(".")[0] or "edges",
            classes=None if classes is None else comma_separated(classes),
            budget=budget,
            audit=audit,
            overlap=overlap,
            second_opinions=second_opinions,
            choose=choose,
            find=find,
            multilabel=multilabel,
            stop=stop,
            device=own.device,
            progress=show,
        )
    return own.add(made).summary()


@api.get("/campaigns/files")
def campaign_being_made(request: Request, visitor: Who) -> dict[str, Any]:
    """How far the campaign is that this server makes of your files: from 0 to 1, and what is being done; null
    while it makes none."""
    fraction, text = server_of(request).made_so_far.get(visitor.person, (None, None))
    return {"fraction": fraction, "text": text}


@api.get("/campaigns/{c}")
def campaign(views: Read) -> dict[str, Any]:
    """How a campaign stands."""
    views.campaign.catch_up()
    return views.summary()


@api.patch("/campaigns/{c}")
def change(views: Manage, visitor: Who, given: Change) -> dict[str, Any]:
    """Pause it or go on; raise the budget; set the gain below which it stops, 0 for none."""
    views.campaign.change(visitor.person, **given.model_dump())
    return views.summary()


# -- questions and answers ---------------------------------------------------------------------------------


@api.post("/campaigns/{c}/leases")
def take_leases(views: Answer, visitor: Who, wanted: LeaseRequest) -> dict[str, Any]:
    """Questions for you, those you have among them."""
    questions, why = views.campaign.lease(visitor.person, wanted.count)
    return {"leases": [views.lease(each, wanted.detail) for each in questions], "stopped": why}


@api.post("/campaigns/{c}/leases/{row}/beat")
def beat(views: Answer, visitor: Who, row: int) -> dict[str, Any]:
    """You are still at it."""
    return {"until": views.campaign.beat(visitor.person, views.campaign.check_row(row))}


@api.delete("/campaigns/{c}/leases/{row}", status_code=204)
def give_back(views: Answer, visitor: Who, row: int) -> None:
    """Let somebody else have it."""
    views.campaign.give_back(visitor.person, views.campaign.check_row(row))


@api.post("/campaigns/{c}/answers")
async def answer(views: Answer, visitor: Who, given: Given, key: Key = None) -> dict[str, Any]:
    """Answer, skip or be unsure. With an Idempotency-Key it can be sent again without harm."""
    own, row = views.campaign, given.row
    if row >= own.n_nodes:  # it may have come by on another server
        await run_in_threadpool(own.check_row, row)
    kept = await own.close_question_soon(visitor.person, row, given.outcome, given.label, key)
    return kept.body


@api.post("/campaigns/{c}/undo")
def undo(views: Answer, visitor: Who, key: Key = None) -> dict[str, Any]:
    """Take back your last answer; its question is yours again."""
    own = views.campaign
    row = own.undo(visitor.person, key).body["row"]
    held = own.turns.leases.get(row) if row is not None else None
    again = held is not None and held.person == visitor.person
    return {"row": row, "lease": views.lease(own.question(row)) if again else None}


@api.post("/campaigns/{c}/comments")
def comment(views: Answer, visitor: Who, given: Remark, key: Key = None) -> dict[str, Any]:
    """Say something about a node."""
    row, text = views.campaign.check_row(given.row), check_text(given.text)
    return views.campaign.comment(visitor.person, row, text, key).body


@api.post("/campaigns/{c}/verdicts")
def verdict(views: Manage, visitor: Who, given: Decided, key: Key = None) -> dict[str, Any]:
    """Decide on a node."""
    return views.campaign.verdict(visitor.person, views.campaign.check_row(given.row), given.label, key).body


@api.post("/campaigns/{c}/arrivals")
def arrivals(views: Manage, given: Came) -> dict[str, Any]:
    """New nodes and edges: each new node is labelled at once, and perhaps becomes a question."""
    _check_characters(value for row in (*given.edges, *given.nodes) for value in row)
    _check_characters(value for row in given.nodes for value in row.values())
    edges = [_edge(each) for each in given.edges]
    bare = all(len(each) == 1 for each in given.nodes)
    try:
        table: Any = [value for each in given.nodes for value in each.values()]
        if not bare:
            table = pa.Table.from_pylist(given.nodes)
    except pa.ArrowException as problem:
        raise RefusedError(f"nodes: a column has values of one kind ({problem})", 422) from problem
    return {"nodes": arrive(views.campaign, edges or None, table or None)}


def _check_characters(values: Iterable[Any]) -> None:
    """JSON can write half of a character, which nobody could be shown."""
    for value in values:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise RefusedError(f"{value!r} holds half of a character; send whole ones", 422) from None


def _edge(given: list[Any]) -> tuple[Any, ...]:
    if not 2 <= len(given) <= 3 or (len(given) == 3 and isinstance(given[2], str)):
        raise RefusedError(f"edge {given!r}; an edge is two nodes and perhaps a weight", 422)
    return tuple(given)


# -- nodes, people, what came of it ------------------------------------------------------------------------


@api.get("/campaigns/{c}/nodes")
def nodes(
    views: Read,
    after: Annotated[int, Query(ge=-1, le=MOST_ROW)] = -1,
    limit: Annotated[int, Query(ge=1, le=PAGE)] = 50,
) -> dict[str, Any]:
    """A page of nodes."""
    return views.nodes(after, limit)


@api.get("/campaigns/{c}/nodes/{row}")
def node(views: Read, row: int) -> dict[str, Any]:
    """A node with its neighbourhood."""
    return views.node(views.campaign.check_row(row))


@api.get("/campaigns/{c}/map")
def whole_map(views: Read) -> dict[str, Any]:
    """The graph to draw."""
    return views.map()


@api.get("/campaigns/{c}/people")
def people(views: Manage) -> list[dict[str, Any]]:
    """Who answers, how fast, how right."""
    return views.people()


@api.delete("/campaigns/{c}/people/{person}/name", status_code=204)
def erase_name(views: Manage, person: str) -> None:
    """Forget what somebody is called; their answers stay."""
    views.campaign.store.erase_person(views.campaign.id, person)


@api.get("/campaigns/{c}/doubts")
def doubts(views: Read) -> list[dict[str, Any]]:
    """Nodes whose answers disagree with each other or with all around them."""
    return views.doubts()


@api.get(
    "/campaigns/{c}/events",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {}, "text/event-stream": {}}}},
)
def events(
    request: Request,
    views: Manage,
    after: Annotated[int, Query(ge=0, le=MOST_ROW)] = 0,
    hide: Annotated[bool, Query(alias="anonymous")] = False,
    accept: Annotated[str, Header()] = "*/*",
    resumed: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """The log from an event on, as lines of JSON; as server-sent events it goes on as it grows."""
    own, numbers = views.campaign, dict[str, str]()
    if "text/event-stream" in accept:
        if resumed is not None and resumed.isdecimal():
            after = max(after, min(int(resumed), MOST_ROW))
        stream = _stream(request, views, after, numbers if hide else None)
        return StreamingResponse(stream, media_type="text/event-stream")
    if hide and after:  # people are numbered in the order they came
        list(anonymous(own.store.events(own.id, limit=after), numbers))
    found = own.store.events(own.id, after=after)
    return StreamingResponse(
        events_text(anonymous(found, numbers) if hide else found), media_type="application/x-ndjson"
    )


async def _stream(
    request: Request, views: CampaignViews, after: int, numbers: dict[str, str] | None
) -> AsyncIterator[str]:
    own, seen = views.campaign, 0 if numbers is not None else after
    while not await request.is_disconnected():
        found = await run_in_threadpool(partial(own.store.events, own.id, after=seen, limit=1000))
        shown = found if numbers is None else anonymous(found, numbers)
        for event, text in zip(found, events_text(shown), strict=True):
            seen = event.seq
            if seen > after:
                yield f"id: {seen}\nevent: {event.kind}\ndata: {text.strip()}\n\n"
        if not found:
            yield ": nothing new\n\n"
            # Looked for, not waited for in a thread: as many may listen as like to.
            until = time.monotonic() + BEAT
            while own.last <= seen and time.monotonic() < until:
                await asyncio.sleep(GLANCE)


@api.get("/campaigns/{c}/labels")
def labels(
    views: Read,
    after: Annotated[int, Query(ge=-1, le=MOST_ROW)] = -1,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> dict[str, Any]:
    """The label of every node by `auto` from all answers, a page of them."""
    found = views.labelling()
    rows = range(after + 1, min(after + 1 + limit, len(found.labels)))
    return {
        "labels": [
            {"row": row, "node": found.graph.nodes[row], "label": found.labels[row]}
            | ({"probability": float(found.probability[row])} if found.reached[row] else {})
            for row in rows
        ],
        "next": rows[-1] if rows and rows[-1] + 1 < len(found.labels) else None,
    }


FILE: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: {"content": {kind: {} for kind in FORMATS.values()}}},
}
Format = Annotated[Literal["csv", "parquet", "jsonl"], Query(alias="format")]


def _file(name: str, form: str, content: bytes) -> Response:
    place = quote(f"{name}.{form}")
    return Response(
        content,
        media_type=FORMATS[form],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{place}"},
    )


@api.get("/campaigns/{c}/export", **FILE)
def export(views: Read, form: Format = "csv") -> Response:
    """The labels of all nodes as a file: csv, parquet or jsonl."""
    return _file(views.campaign.name, form, views.export(form))


@api.get("/campaigns/{c}/answers", **FILE)
def export_answers(
    views: Manage, form: Format = "csv", hide: Annotated[bool, Query(alias="anonymous")] = False
) -> Response:
    """Who answered what, when and in how many seconds, as a file: csv, parquet or jsonl. Anonymous people
    are person-1, person-2, ... in the order of their first answer."""
    return _file(f"{views.campaign.name} answers", form, views.export_answers(form, hide))


@api.get("/campaigns/{c}/tokens")
def tokens(views: Manage) -> list[dict[str, Any]]:
    """Who was invited."""
    own = views.campaign
    names = own.store.people(own.id)
    return [
        {
            "id": t.id,
            "person": t.person,
            "name": names.get(t.person),
            "role": t.role,
            "created": t.created,
            "expires": t.expires,
            "revoked": t.revoked,
        }
        for t in own.store.tokens(own.id)
    ]


@api.post("/campaigns/{c}/tokens", status_code=201)
def invite(request: Request, views: Manage, given: Invited) -> dict[str, Any]:
    """Invite somebody: a link that is told this once."""
    token, secret = server_of(request).gate.invite(views.campaign.id, given.role, given.name, given.days)
    link = f"{str(request.base_url).rstrip('/')}/enter?token={secret}"
    return {"id": token.id, "person": token.person, "role": token.role, "token": secret, "link": link}


@api.delete("/campaigns/{c}/tokens/{id}", status_code=204)
def revoke(request: Request, views: Manage, id: str) -> None:
    """End an invitation."""
    server_of(request).gate.revoke(views.campaign.id, id)
