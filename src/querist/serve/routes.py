"""The HTTP interface, `/v1`. What it says is described by OpenAPI at `/v1/openapi.json`."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any, get_type_hints
from urllib.parse import quote

import pyarrow as pa
from fastapi import APIRouter, Depends, Query, Request, Response, UploadFile
from fastapi.responses import StreamingResponse
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from querist.asking.store.events import check_texts
from querist.datasets import folders
from querist.datasets.resolve import names
from querist.labelling.reading import GraphFiles
from querist.options import with_options
from querist.serve.access import Visitor
from querist.serve.bodies import (
    ERRORS,
    FORM_COLUMNS,
    FORM_OPTIONS,
    MOST_ROW,
    BoundedRequest,
    Came,
    Change,
    Decided,
    Given,
    Invited,
    Key,
    LeaseRequest,
    NewCampaign,
    Remark,
    Strict,
    received,
)
from querist.serve.exports import FORMATS, anonymous, events_text
from querist.serve.opening import create
from querist.serve.options import Format
from querist.serve.server import CampaignServer, arrive
from querist.serve.views import CampaignViews
from querist.serve.writing import RefusedError

PAGE = 500
"""Most nodes of a page."""
FILES, ARRIVALS = "/v1/campaigns/files", "/v1/campaigns/{c}/arrivals"


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


class GuardedRoute(APIRoute):
    """A route that reads a body only from those who have a token, and a large one only from managers."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What answers a request."""
        answer, kinds = super().get_route_handler(), get_type_hints(self.endpoint).values()
        bodies = (kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Strict))
        model = next(bodies, Strict)

        async def guarded(request: Request) -> Response:
            visitor, limits = await visitor_of(request), request.app.state.limits
            most = limits.body
            if self.path == FILES and request.method == "POST":
                check_may_create(visitor)
                most = limits.bytes
            elif self.path == ARRIVALS:
                check_role(visitor, "manager", request.path_params["c"])
                most = limits.arrivals
            return await answer(BoundedRequest(request, most, model))

        return guarded


api = APIRouter(prefix="/v1", responses=ERRORS, route_class=GuardedRoute)


def check_role(visitor: Visitor, role: str, c: str) -> None:
    """Refuse what takes this role in a campaign to those who do not have it."""
    if not visitor.may(role, c):
        raise RefusedError(f"you are {visitor.role} here, and this takes a {role}", 403)


def _allowed(role: str) -> Callable[..., Awaitable[CampaignViews]]:
    """The campaign of the path, for those who may do what takes this role."""

    async def find(request: Request, c: str, visitor: Who) -> CampaignViews:
        check_role(visitor, role, c)
        own = server_of(request)
        found = own.opened(c)
        return await run_in_threadpool(own.views, c) if found is None else found

    return find


Read = Annotated[CampaignViews, Depends(_allowed("reader"))]
Answer = Annotated[CampaignViews, Depends(_allowed("labeller"))]
Manage = Annotated[CampaignViews, Depends(_allowed("manager"))]
After = Annotated[int, Query(ge=-1, le=MOST_ROW)]
Hide = Annotated[bool, Query(alias="anonymous")]


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


def _served_sets() -> list[str]:
    """The data sets that a request may name: never a path, nor a file that is a link out of its folder."""
    places = [folder.resolve() for folder in folders()]
    return sorted(n for n in names() if all((p / f"{n}.npz").resolve().is_relative_to(p) for p in places))


@api.post("/campaigns", status_code=201)
def new_campaign(request: Request, visitor: Who, given: NewCampaign) -> dict[str, Any]:
    """Make a campaign on a data set that ships with querist, or is in the server's folder of data sets."""
    check_may_create(visitor)
    if given.data not in (sets := _served_sets()):
        raise RefusedError(
            f"there is no data set {given.data!r} on this server; there are {', '.join(sets)}. Put its .npz "
            "file in a folder and start the server with QUERIST_DATA=FOLDER, or use querist campaign create",
            400,
        )
    own, said = server_of(request), given.model_dump(exclude={"data"}, exclude_none=True)
    made = create(own.store, given.data, device=own.device, **said)
    return own.add(made).summary()


@api.post("/campaigns/files", status_code=201)
@with_options("options", FORM_OPTIONS)
@with_options("columns", FORM_COLUMNS)
def new_campaign_from_files(
    request: Request,
    visitor: Who,
    edges: UploadFile,
    options: Any,
    columns: Any,
    nodes: UploadFile | None = None,
    labels: UploadFile | None = None,
) -> dict[str, Any]:
    """Make a campaign from files, as `querist ask` reads them; `classes` are separated by commas."""
    own = server_of(request)
    files = {"edges": edges, "nodes": nodes, "labels": labels}
    with own.making(visitor.person) as show, received(files, request.app.state.limits) as places:
        made = create(
            own.store,
            GraphFiles(places["edges"], places.get("nodes"), **columns),
            labels=places.get("labels"),
            device=own.device,
            progress=show,
            **{"name": (edges.filename or "edges").rpartition(".")[0] or "edges", **options},
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
    """Pause it or go on; change its options."""
    views.campaign.change(visitor.person, **given.model_dump(exclude_unset=True))
    return views.summary()


# -- questions and answers ---------------------------------------------------------------------------------


@api.post("/campaigns/{c}/leases")
def take_leases(views: Answer, visitor: Who, wanted: LeaseRequest) -> dict[str, Any]:
    """Questions for you, those you have among them."""
    questions, why = views.campaign.lease(visitor.person, wanted.count)
    return {"leases": [views.lease(each, visitor, wanted.detail) for each in questions], "stopped": why}


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
    """Answer, skip or be unsure; without a new question an answer replaces your earlier one. With an
    Idempotency-Key it can be sent again without harm."""
    own, row = views.campaign, given.row
    if row >= own.n_nodes:  # it may have come by on another server
        await run_in_threadpool(own.check_row, row)
    return await own.close_soon(own.closing(visitor.person, row, given.outcome, given.label, key))


@api.post("/campaigns/{c}/undo")
def undo(views: Answer, visitor: Who, key: Key = None) -> dict[str, Any]:
    """Take back your last answer; its question is yours again."""
    own = views.campaign
    row = own.undo(visitor.person, key)["row"]
    held = own.turns.leases.get(row) if row is not None else None
    again = held is not None and held.person == visitor.person
    return {"row": row, "lease": views.lease(own.question(row), visitor) if again else None}


@api.post("/campaigns/{c}/comments")
def comment(views: Answer, visitor: Who, given: Remark, key: Key = None) -> dict[str, Any]:
    """Say something about a node."""
    return views.campaign.comment(visitor.person, given.row, given.text, key)


@api.post("/campaigns/{c}/verdicts")
def verdict(views: Manage, visitor: Who, given: Decided, key: Key = None) -> dict[str, Any]:
    """Decide on a node."""
    return views.campaign.verdict(visitor.person, given.row, given.label, key)


@api.post("/campaigns/{c}/arrivals")
def arrivals(views: Manage, given: Came) -> dict[str, Any]:
    """New nodes and edges: each new node is labelled at once, and perhaps becomes a question."""
    check_texts(given.edges, given.nodes)
    edges = [_edge(each) for each in given.edges]
    bare = all(len(each) == 1 for each in given.nodes)
    try:
        table: Any = [value for each in given.nodes for value in each.values()]
        if not bare:
            table = pa.Table.from_pylist(given.nodes)
    except pa.ArrowException as problem:
        raise RefusedError(f"nodes: a column has values of one kind ({problem})", 422) from problem
    return {"nodes": arrive(views.campaign, edges or None, table or None)}


def _edge(given: list[Any]) -> tuple[Any, ...]:
    if not 2 <= len(given) <= 3 or (len(given) == 3 and isinstance(given[2], str)):
        raise RefusedError(f"edge {given!r}; an edge is two nodes and perhaps a weight", 422)
    return tuple(given)


# -- nodes, people, what came of it ------------------------------------------------------------------------


@api.get("/campaigns/{c}/nodes")
def nodes(
    views: Read, visitor: Who, after: After = -1, limit: Annotated[int, Query(ge=1, le=PAGE)] = 50
) -> dict[str, Any]:
    """A page of nodes."""
    return views.nodes(after, limit, visitor)


@api.get("/campaigns/{c}/nodes/{row}")
def node(views: Read, visitor: Who, row: int) -> dict[str, Any]:
    """A node with its neighbourhood."""
    return views.node(views.campaign.check_row(row), visitor)


@api.get("/campaigns/{c}/map")
def whole_map(views: Read, visitor: Who) -> dict[str, Any]:
    """The graph to draw."""
    return views.map(visitor)


@api.get("/campaigns/{c}/people")
def people(views: Manage) -> list[dict[str, Any]]:
    """Who answers, how fast, how right."""
    return views.people()


@api.delete("/campaigns/{c}/people/{person}/name", status_code=204)
def erase_name(views: Manage, person: str) -> None:
    """Forget what somebody is called; their answers stay."""
    views.campaign.store.erase_person(views.campaign.id, person)


@api.get("/campaigns/{c}/doubts")
def doubts(views: Read, visitor: Who) -> list[dict[str, Any]]:
    """Nodes whose answers disagree with each other or with all around them."""
    return views.doubts(visitor)


@api.get(
    "/campaigns/{c}/events",
    response_class=Response,
    responses={200: {"content": {"application/x-ndjson": {}}}},
)
def events(
    views: Manage, after: Annotated[int, Query(ge=0, le=MOST_ROW)] = 0, hide: Hide = False
) -> Response:
    """The log after an event, as lines of JSON. Anonymous people are person-1, person-2, ... as they came."""
    own = views.campaign
    found = own.store.events(own.id, after=0 if hide else after)
    if hide:
        found = [event for event in anonymous(found) if event.seq > after]
    return StreamingResponse(events_text(found), media_type="application/x-ndjson")


@api.get("/campaigns/{c}/labels")
def labels(
    views: Read, visitor: Who, after: After = -1, limit: Annotated[int, Query(ge=1, le=10_000)] = 1000
) -> dict[str, Any]:
    """The label of every node by `auto` from all answers, a page of them; null if it is hidden from you."""
    return views.labels(after, limit, visitor)


FILE: dict[str, Any] = {
    "response_class": Response,
    "responses": {200: {"content": {kind: {} for kind in FORMATS.values()}}},
}
AsFormat = Annotated[Format, Query(alias="format")]


def _file(name: str, form: Format, content: bytes) -> Response:
    place = quote(f"{name}.{form}")
    return Response(
        content,
        media_type=FORMATS[form],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{place}"},
    )


@api.get("/campaigns/{c}/export", **FILE)
def export(views: Read, visitor: Who, form: AsFormat = "csv") -> Response:
    """The labels of all nodes but those hidden from you, as a file: csv, parquet or jsonl."""
    return _file(views.campaign.name, form, views.export(form, visitor))


@api.get("/campaigns/{c}/answers", **FILE)
def export_answers(views: Manage, form: AsFormat = "csv", hide: Hide = False) -> Response:
    """Who answered what, when and in how many seconds, as a file: csv, parquet or jsonl. Anonymous people
    are person-1, person-2, ... in the order they came."""
    return _file(f"{views.campaign.name} answers", form, views.export_answers(form, hide))


@api.get("/campaigns/{c}/tokens")
def tokens(views: Manage) -> list[dict[str, Any]]:
    """Who was invited."""
    own = views.campaign
    names = own.store.people(own.id)
    return [
        {"name": names.get(t.person), **{k: v for k, v in vars(t).items() if k not in ("hash", "campaign")}}
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
