"""The application: the HTTP interface and the pages, with what holds for every request and every error."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from querist.asking.store.interface import StoreError
from querist.errors import QueristError
from querist.serve import pages
from querist.serve.metrics import Metrics
from querist.serve.routes import api, check_may_create, visitor_of
from querist.serve.server import CampaignServer
from querist.serve.site import site
from querist.serve.uploads import Limits
from querist.serve.writing import RefusedError
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
FILES = "/v1/campaigns/files"
SLACK = 1_000_000
"""Bytes of a request with files that are not theirs."""


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
                check_may_create(await visitor_of(request))
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
