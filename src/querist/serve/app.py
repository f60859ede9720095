"""The HTTP interface, `/v1`, and the pages. What it says is described by OpenAPI at `/v1/openapi.json`."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

import pyarrow as pa
from fastapi import APIRouter, Depends, FastAPI, Form, Header, Query, Request, Response, UploadFile
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from querist.asking.store.interface import StoreError
from querist.errors import QueristError
from querist.serve import pages
from querist.serve.access import COOKIE, CSRF_COOKIE, Visitor, csrf_of
from querist.serve.campaign import RefusedError, check_text
from querist.serve.metrics import Metrics
from querist.serve.opening import create
from querist.serve.server import CampaignServer, arrive
from querist.serve.uploads import Limits, received
from querist.serve.views import FORMATS, CampaignViews, anonymous, events_text
from querist.version import VERSION

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
BEAT = 15.0
"""Seconds after which a stream of events that has nothing to say says so."""
GLANCE = 0.1
"""Seconds between two looks for something new to say."""
PAGE = 500
"""Most nodes of a page."""
MOST_ROW = 2**53
FILES = "/v1/campaigns/files"
SLACK = 1_000_000
"""Bytes of a request with files that are not theirs."""
YEAR = 365 * 86_400

Row = Annotated[int, Field(ge=0, le=MOST_ROW, strict=True)]
Whole = Annotated[int, Field(ge=-MOST_ROW, le=MOST_ROW)]
Number = Annotated[float, Field(allow_inf_nan=False)]
OneClass = Annotated[int, Field(ge=0, le=100_000, strict=True)]
Label = OneClass | Annotated[list[OneClass], Field(max_length=1000)]
"""The number of a class; where nodes may have several labels a list of them."""
Key = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=200)]


class Strict(BaseModel):
    """A body of a request: nothing that it does not know."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewCampaign(Strict):
    """A campaign on a data set."""

    data: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9_]+$")]
    name: Annotated[str | None, Field(max_length=200)] = None
    classes: Annotated[list[str | int] | None, Field(max_length=1000)] = None
    budget: Annotated[int, Field(ge=1, le=10_000_000)] = 100
    audit: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    overlap: Annotated[int, Field(ge=1, le=20)] = 1
    multilabel: bool = False


class Change(Strict):
    """What a manager changes."""

    paused: bool | None = None
    budget: Annotated[int | None, Field(ge=0, le=10_000_000, strict=True)] = None


class LeaseRequest(Strict):
    """How many questions somebody wants; without `detail` what is known of their nodes is left out."""

    count: Annotated[int, Field(ge=1, le=5, strict=True)] = 1
    detail: bool = True


class Given(Strict):
    """What became of a question; where nodes may have several labels, `label` is a list, perhaps empty."""

    row: Row
    outcome: Annotated[str, Field(pattern="^(answer|skip|unsure)$")] = "answer"
    label: Label | None = None
    seconds: Annotated[float | None, Field(ge=0, le=1e9, allow_inf_nan=False)] = None


class Remark(Strict):
    """A comment on a node."""

    row: Row
    text: Annotated[str, Field(min_length=1, max_length=10_000)]


class Decided(Strict):
    """A manager's verdict on a node."""

    row: Row
    label: Label


class Invited(Strict):
    """Whom a manager invites."""

    role: Annotated[str, Field(pattern="^(manager|labeller|reader)$")] = "labeller"
    name: Annotated[str | None, Field(max_length=200)] = None
    days: Annotated[float | None, Field(gt=0, le=3650, allow_inf_nan=False)] = None


class Came(Strict):
    """Nodes with their columns, one of them the id, and edges (from, to, perhaps a weight)."""

    nodes: Annotated[list[dict[str, str | Whole | Number | None]], Field(max_length=10_000)] = []
    edges: Annotated[list[list[str | Whole | Number]], Field(max_length=100_000)] = []


ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": what,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {"error": {"type": "string"}},
                    "required": ["error"],
                }
            }
        },
    }
    for status, what in {
        400: "what was given cannot be used",
        401: "nobody is signed in",
        403: "not allowed",
        404: "not there",
        405: "no such method",
        406: "no such form",
        409: "not as things are",
        413: "too large",
        422: "what was given does not fit",
        503: "not now",
    }.items()
}

api = APIRouter(prefix="/v1", responses=ERRORS)


def _server(request: Request) -> CampaignServer:
    found: CampaignServer = request.app.state.server
    return found


async def _visitor(request: Request) -> Visitor:
    gate, given = _server(request).gate, (request.headers, request.cookies, request.method)
    # Most requests are those of somebody who was just here: they need no thread of their own.
    if gate.remembers(*given[:2]):
        return gate.visitor(*given)
    return await run_in_threadpool(gate.visitor, *given)


Who = Annotated[Visitor, Depends(_visitor)]


def _allowed(role: str) -> Callable[..., Awaitable[CampaignViews]]:
    """The campaign of the path, for those who may do what takes this role."""

    async def find(request: Request, c: str, visitor: Who) -> CampaignViews:
        if not visitor.may(role, c):
            raise RefusedError(f"you are {visitor.role} here, and this takes a {role}", 403)
        own = _server(request)
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
    entries = _server(request).store.campaigns()
    return [
        {"id": e.id, "name": e.name, "created": e.created, "role": visitor.role}
        for e in entries
        if visitor.may("reader", e.id)
    ]


def _everywhere(visitor: Visitor) -> None:
    if not visitor.may("manager", None):
        raise RefusedError("a new campaign takes the manager of the server", 403)


@api.post("/campaigns", status_code=201)
def new_campaign(request: Request, visitor: Who, given: NewCampaign) -> dict[str, Any]:
    """Make a campaign on a data set that ships with querist, or lies where its data sets lie."""
    _everywhere(visitor)
    own = _server(request)
    options = given.model_dump(exclude={"data", "name", "classes", "budget"})
    made = create(
        own.store, given.data, name=given.name, classes=given.classes, budget=given.budget, **options
    )
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
    multilabel: Annotated[bool, Form()] = False,
) -> dict[str, Any]:
    """Make a campaign from files, as `querist ask` reads them; `classes` are separated by commas."""
    _everywhere(visitor)
    own = _server(request)
    with received({"edges": edges, "nodes": nodes, "labels": labels}, request.app.state.limits) as places:
        made = create(
            own.store,
            places["edges"],
            nodes=places.get("nodes"),
            labels=places.get("labels"),
            name=name or (edges.filename or "edges").rpartition(".")[0] or "edges",
            classes=None
            if classes is None
            else [part for each in classes.split(",") if (part := each.strip())],
            budget=budget,
            audit=audit,
            overlap=overlap,
            multilabel=multilabel,
        )
    return own.add(made).summary()


@api.get("/campaigns/{c}")
def campaign(views: Read) -> dict[str, Any]:
    """How a campaign stands."""
    views.campaign.catch_up()
    return views.summary()


@api.patch("/campaigns/{c}")
def change(views: Manage, visitor: Who, given: Change) -> dict[str, Any]:
    """Pause it or go on; raise the budget."""
    views.campaign.change(visitor.person, paused=given.paused, budget=given.budget)
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
def answer(views: Answer, visitor: Who, given: Given, key: Key = None) -> dict[str, Any]:
    """Answer, skip or be unsure. With an Idempotency-Key it can be sent again without harm."""
    own = views.campaign
    row = views.campaign.check_row(given.row)
    return own.close_question(visitor.person, row, given.outcome, given.label, key).body


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


@api.get(
    "/campaigns/{c}/export",
    response_class=Response,
    responses={200: {"content": {kind: {} for kind in FORMATS.values()}}},
)
def export(views: Read, form: Annotated[str, Query(alias="format")] = "csv") -> Response:
    """The labels of all nodes as a file: csv, parquet or jsonl."""
    if form not in FORMATS:
        raise RefusedError(f"format {form!r}; it is one of {', '.join(FORMATS)}", 422)
    name = quote(f"{views.campaign.name}.{form}")
    return Response(
        views.export(form),
        media_type=FORMATS[form],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


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
    token, secret = _server(request).gate.invite(views.campaign.id, given.role, given.name, given.days)
    link = f"{str(request.base_url).rstrip('/')}/enter?token={secret}"
    return {"id": token.id, "person": token.person, "role": token.role, "token": secret, "link": link}


@api.delete("/campaigns/{c}/tokens/{id}", status_code=204)
def revoke(request: Request, views: Manage, id: str) -> None:
    """End an invitation."""
    _server(request).gate.revoke(views.campaign.id, id)


# -- the pages ---------------------------------------------------------------------------------------------

site = APIRouter(include_in_schema=False)


@site.get("/enter")
def enter(request: Request, token: str = "") -> Response:
    """From a link to a cookie, and on to where the work is."""
    visitor, kept = _server(request).gate.taken(token)
    place = "/" if visitor.campaign is None else f"/c/{quote(visitor.campaign, safe='')}"
    if visitor.campaign is not None:
        place += "/manage" if visitor.role != "labeller" else "/label"
    # Not a redirect: on one that another site's link began, a strict cookie would not be sent.
    page = pages.message_page("Welcome", "One moment: the page opens by itself.", place)
    response = HTMLResponse(page, headers={"Refresh": f"0; url={place}"})
    secure = request.url.scheme == "https"
    response.set_cookie(COOKIE, kept, max_age=YEAR, httponly=True, samesite="strict", secure=secure)
    response.set_cookie(CSRF_COOKIE, csrf_of(kept), max_age=YEAR, samesite="strict", secure=secure)
    return response


@site.get("/")
def home(request: Request, visitor: Who) -> HTMLResponse:
    """The campaigns that you may see."""
    found = campaigns(request, visitor)
    return HTMLResponse(pages.campaigns_page(found, {each["id"]: each["role"] for each in found}))


@site.get("/c/{c}/label")
def label_page(views: Answer, visitor: Who) -> HTMLResponse:
    """Where questions are answered."""
    name = views.campaign.store.people(views.campaign.id).get(visitor.person, "")
    return HTMLResponse(pages.labeller_page(views.summary(), visitor.person, name, visitor.role))


@site.get("/c/{c}/manage")
def manage_page(views: Read, visitor: Who) -> HTMLResponse:
    """How the campaign goes."""
    return HTMLResponse(pages.manager_page(views.summary(), visitor.role))


@site.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """Scripts and style."""
    found = pages.static_file(name)
    if found is None:
        raise RefusedError(f"there is no {name!r} here", 404)
    content, kind, digest = found
    headers = {"ETag": f'"{digest}"', "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=kind, headers=headers)


@site.get("/healthz")
def health(request: Request) -> dict[str, Any]:
    """Whether the store answers and the learners work."""
    own = _server(request)
    own.store.campaigns()
    failed = [each.id for each in own.open_campaigns() if each.learner.failed is not None]
    if failed:
        raise RefusedError(f"the learner of {', '.join(failed)} failed; restart the server", 503)
    return {"status": "ok", "version": VERSION}


@site.get("/metrics")
def metrics(request: Request) -> Response:
    """Counts and times, as Prometheus reads them."""
    found: Metrics = request.app.state.metrics
    return Response(found.text(_server(request)), media_type="text/plain; version=0.0.4")


# -- the whole ---------------------------------------------------------------------------------------------


def make_app(server: CampaignServer, limits: Limits | None = None) -> FastAPI:
    """The application over a store's campaigns."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(server.close)

    app = FastAPI(
        title="Querist",
        version=VERSION,
        summary="Label the nodes of a graph, by asking for as few labels as possible.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.server, app.state.limits, app.state.metrics = server, limits or Limits(), Metrics()
    app.include_router(api)
    app.include_router(site)
    app.add_middleware(_Around, metrics=app.state.metrics, limits=app.state.limits)
    usual = {QueristError: 400, StoreError: 503, HTTPException: 500, RequestValidationError: 422}
    for kind, status in usual.items():
        app.add_exception_handler(kind, partial(_error_response, usual=status))
    return app


class _Around:
    """Security headers on every response, a limit on every body, a count and a time of every request."""

    def __init__(self, app: Any, metrics: Metrics, limits: Limits) -> None:
        self.app, self.metrics, self.limits = app, metrics, limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sent(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                there = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [pair for pair in _HEADERS if pair[0].lower() not in there]
            await send(message)

        limits = self.limits
        most, left = (limits.bytes + SLACK if scope["path"] == FILES else limits.body), 0
        length = dict(scope["headers"]).get(b"content-length", b"0")

        async def received() -> Any:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, _too_large(most))
            return message

        try:
            if scope["path"] == FILES and scope["method"] == "POST":
                # Before any of the files is read.
                request = Request(scope)
                _everywhere(await _visitor(request))
            if length.isdigit() and int(length) > most:
                raise RefusedError(_too_large(most), 413)
            left = most
            await self.app(scope, received, sent)
        except RefusedError as problem:
            await _error_response(Request(scope), problem, 400)(scope, receive, sent)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.note(scope["method"], route, status, time.perf_counter() - began)


def _too_large(most: int) -> str:
    return f"a request of more than {most:,} bytes; send less, or begin the campaign where the files are"


_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def _error_response(request: Request, problem: Exception, usual: int) -> Response:
    """An error as JSON, or as a page where a person looks at it."""
    status = getattr(problem, "status", None) or getattr(problem, "status_code", None) or usual
    if isinstance(problem, RequestValidationError):
        text = "; ".join(_complaints(problem))
    else:
        text = str(getattr(problem, "detail", None) or problem)
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1"):
        return HTMLResponse(pages.message_page("This did not work", text), status)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    headers |= dict(getattr(problem, "headers", None) or {})
    return JSONResponse({"error": text}, status, headers)


def _complaints(problem: RequestValidationError) -> Iterator[str]:
    for each in problem.errors():
        place = ".".join(str(part) for part in each["loc"] if part != "body")
        given = json.dumps(each.get("input"), default=str)[:100]
        yield f"{place or 'the body'}: {each['msg']} (given: {given})"
