"""The application: the HTTP interface and the pages, with what holds for every request and every error.

It counts and times requests, and says so in the text format that Prometheus reads.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from querist.asking.store.events import StoreError
from querist.errors import QueristError, TooLargeError
from querist.serve import pages
from querist.serve.access import COOKIE, CSRF_COOKIE, csrf_of
from querist.serve.bodies import Limits, complaints
from querist.serve.routes import Answer, Read, Who, api, campaigns, check_may_create, server_of
from querist.serve.server import CampaignServer
from querist.serve.writing import RefusedError
from querist.tables.formats import some
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
THREADS = 200
"""Requests that are at work, or wait for a question, at once."""

METHODS = ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS")
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, float("inf"))
"""Seconds below which requests are counted."""

YEAR = 365 * 86_400

site = APIRouter(include_in_schema=False)


class Metrics:
    """What requests there were, and how long they took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts, self._times = Counter[str](), Counter[str]()

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """One request more."""
        method, name = method if method in METHODS else "other", "querist_request_seconds"
        with self._lock:
            about = f'method="{method}",route="{route}",status="{status}"'
            self._counts[f"querist_requests_total{{{about}}}"] += 1
            for bound in BOUNDS:
                end = f"{bound}".replace("inf", "+Inf")
                self._times[f'{name}_bucket{{route="{route}",le="{end}"}}'] += seconds <= bound
            self._times[f'{name}_sum{{route="{route}"}}'] += seconds  # type: ignore[assignment]
            self._times[f'{name}_count{{route="{route}"}}'] += 1

    def text(self, server: CampaignServer) -> str:
        """All of it."""
        with self._lock:
            counts, times = ([f"{name} {n}" for name, n in c.items()] for c in (self._counts, self._times))
        lines = ["# TYPE querist_requests_total counter", *counts]
        lines += ["# TYPE querist_request_seconds histogram", *times]
        # Sums, without the ids of campaigns: anybody may see how busy the server is.
        own = server.open_campaigns()
        gauges = {
            "events": [each.last for each in own],
            "answers": [each.turns.asked for each in own],
            "open_questions": [each.turns.n_open for each in own],
            "budget": [each.status.options.budget for each in own],
            "events_behind": [max(0, each.last - each.learner.seq) for each in own],
        }
        for name, values in gauges.items():
            lines += [f"# TYPE querist_{name} gauge", f"querist_{name} {sum(values)}"]
        return "\n".join(lines) + "\n"


def make_app(server: CampaignServer, limits: Limits | None = None) -> FastAPI:
    """The application over a store's campaigns."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Whoever waits for a question waits in a thread; an answer must find another.
        to_thread.current_default_thread_limiter().total_tokens = THREADS
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
    app.add_middleware(_Around, metrics=app.state.metrics)
    usual = {QueristError: 400, TooLargeError: 413, StoreError: 503, RequestValidationError: 422}
    for kind, status in {**usual, HTTPException: 500}.items():
        app.add_exception_handler(kind, partial(_error_response, usual=status))
    return app


class _Around:
    """Security headers on every response, a count and a time of every request."""

    def __init__(self, app: Any, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

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

        try:
            await self.app(scope, receive, sent)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.note(scope["method"], route, status, time.perf_counter() - began)


_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


def _error_response(request: Request, problem: Exception, usual: int) -> Response:
    """An error as JSON, or as a page where a person looks at it."""
    status = getattr(problem, "status", None) or getattr(problem, "status_code", None) or usual
    if isinstance(problem, RequestValidationError):
        text = complaints(problem.errors())
    else:
        text = str(getattr(problem, "detail", None) or problem)
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1"):
        return HTMLResponse(pages.message_page("This did not work", text), status)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    headers |= dict(getattr(problem, "headers", None) or {})
    return JSONResponse({"error": text}, status, headers)


# -- the pages, and what a server's keeper looks at: its health and its numbers -----------------------------


@site.get("/enter")
def enter(request: Request, token: str = "") -> Response:
    """From a link to a cookie, and on to where the work is."""
    visitor, kept = server_of(request).gate.taken(token)
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
    return HTMLResponse(pages.campaigns_page(campaigns(request, visitor), visitor.may("manager", None)))


@site.get("/new")
def new_page(visitor: Who) -> HTMLResponse:
    """Where a campaign is made of files."""
    check_may_create(visitor)
    return HTMLResponse(pages.new_page())


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
    own = server_of(request)
    own.store.campaigns()
    failed = sum(each.learner.failed is not None for each in own.open_campaigns())
    if failed:
        raise RefusedError(f"the learner of {some(failed, 'campaign')} failed; restart the server", 503)
    return {"status": "ok", "version": VERSION}


@site.get("/metrics")
def metrics(request: Request) -> Response:
    """Counts and times, as Prometheus reads them."""
    text = request.app.state.metrics.text(server_of(request))
    return Response(text, media_type="text/plain; version=0.0.4")
