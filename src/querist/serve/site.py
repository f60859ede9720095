"""Where the pages are, and what a server's keeper looks at: its health and its numbers."""

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from querist.serve import pages
from querist.serve.access import COOKIE, CSRF_COOKIE, csrf_of
from querist.serve.routes import Answer, Read, Who, campaigns, check_may_create, server_of
from querist.serve.writing import RefusedError
from querist.tables.formats import some
from querist.version import VERSION

YEAR = 365 * 86_400

site = APIRouter(include_in_schema=False)


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
