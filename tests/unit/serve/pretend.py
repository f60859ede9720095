"""A small server that speaks the JSON of the API, for the pages; it keeps what it is sent."""

import json
import math
import time
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse, Response

from querist.serve import pages

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TEXT = (
    "We study how few labels suffice to classify the nodes of a citation graph. A tree that spans the graph is "
    "cut where two labels meet, and the cut is all that a learner has to find.\n\n"
    "Experiments on three collections of papers show that the error falls with the number of edges between "
    "classes, not with the number of nodes. The method needs time linear in the number of edges."
)


class Pretend:
    """A campaign of `count` nodes around a ring; `sent` is every answer the server took, in order."""

    def __init__(self, classes: list[str], count: int = 300, budget: int = 60, name: str = "Papers") -> None:
        self.classes, self.count, self.budget, self.name = classes, count, budget, name
        self.answers: dict[int, Any] = {}
        self.order: list[int] = []
        self.open: list[int] = []
        self.replies: dict[str, tuple[Any, Any]] = {}
        self.log: list[tuple[str, Any]] = []
        self.comments: list[Any] = []
        self.paused = False
        self.refuse: int | None = None
        self.values: list[list[str]] | None = None
        self.title = "Learning from few labels on trees and graphs, part {}"
        self.tokens: list[dict[str, Any]] = []
        self.doubts = [7, 23]

    def campaign(self) -> dict[str, Any]:
        asked = len(self.order)
        curve = [[n, 0.93 - 0.55 * math.exp(-n / 25)] for n in range(asked + 1)]
        return {
            "id": "papers", "name": self.name, "classes": self.classes, "paused": self.paused,
            "budget": self.budget, "asked": asked, "unanswered": 2, "open": len(self.open), "nodes": self.count,
            "edges": 2 * self.count, "expected_accuracy": 0.93 - 0.55 * math.exp(-asked / 25),
            "audit": {"accuracy": 0.84, "interval": [0.71, 0.92], "answered": 50}, "stopped": None,
            "last": len(self.log), "curve": curve, "find": None,
        }  # fmt: skip

    def label(self, row: int) -> int | None:
        return row // 9 % len(self.classes) if row % 4 else None

    def node_name(self, row: int) -> str:
        return self.title.format(row)

    def detail(self, row: int) -> dict[str, Any]:
        around = [(row + step) % self.count for step in (-3, -2, -1, 1, 2, 3, 5, 8, 13, 21, 34, 40)]
        near = [
            {"row": r, "name": self.node_name(r), "label": self.label(r), "known": r % 5 == 1 and bool(r % 4)}
            for r in around
        ]
        nodes = [
            {
                "row": row,
                "name": self.node_name(row),
                "x": 0.5,
                "y": 0.5,
                "label": 1,
                "known": False,
                "centre": True,
            }
        ]
        edges = []
        for i in range(60):
            angle, far = 2 * math.pi * i / 12 + i, 0.22 if i < 12 else 0.34 + 0.13 * ((i * 7) % 10) / 10
            r = (row + i + 1) % self.count
            nodes.append({
                "row": r, "name": self.node_name(r), "x": 0.5 + far * math.cos(angle), "y": 0.5 + far * math.sin(angle),
                "label": self.label(r), "known": r % 5 == 1 and bool(r % 4), "centre": False,
            })  # fmt: skip
            edges.append([0, i + 1] if i < 12 else [i % 12 + 1, i + 1])
        values = self.values or [
            ["abstract", TEXT],
            ["year", "2013"],
            ["venue", "Machine Learning"],
            ["authors", "F. Vitale"],
        ]
        return {
            "row": row, "node": f"p{row}", "name": self.node_name(row), "values": values, "guess": 1,
            "probability": 0.61, "second": 0, "second_probability": 0.2, "answer": None, "votes": [],
            "comments": [c for c in self.comments if c["row"] == row], "neighbours": near,
            "drawing": {"nodes": nodes, "edges": edges},
        }  # fmt: skip

    def lease(self, row: int) -> dict[str, Any]:
        about = self.detail(row)
        return {
            "row": row, "node": f"p{row}", "name": about["name"], "number": len(self.order) + 1,
            "until": time.time() + 300, "audit": row % 7 == 0, "again": False,
            "reason": "an answer here settles most of the doubt around it", "guess": 1, "probability": 0.61,
            "second": 0, "second_probability": 0.2, "detail": about,
        }  # fmt: skip


def make_app(world: Pretend) -> FastAPI:
    app = FastAPI()
    base = "/v1/campaigns/papers"

    @app.middleware("http")
    async def guard(request: Request, proceed: Any) -> Response:
        if world.refuse and request.method == "POST":
            return JSONResponse({"error": "the server does not want it now"}, world.refuse)
        reply: Response = await proceed(request)
        reply.headers["Content-Security-Policy"] = POLICY
        return reply

    def once(key: str | None, body: Any, work: Any) -> Any:
        if key is None:
            return JSONResponse({"error": "no Idempotency-Key"}, 400)
        if key in world.replies:
            seen, reply = world.replies[key]
            return reply if seen == body else JSONResponse({"error": "another body under this key"}, 409)
        reply = work()
        world.replies[key] = (body, reply)
        return reply

    @app.get("/")
    def campaigns() -> HTMLResponse:
        return HTMLResponse(pages.campaigns_page([{"id": "papers", "name": world.name}]))

    @app.get("/c/papers/label")
    def labeller() -> HTMLResponse:
        reply = HTMLResponse(pages.labeller_page(world.campaign(), "person-1", "Ada", "manager"))
        reply.set_cookie("querist_csrf", "token")
        return reply

    @app.get("/c/papers/manage")
    def manager() -> HTMLResponse:
        return HTMLResponse(pages.manager_page(world.campaign()))

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        content, kind, _ = pages.static_file(name)  # type: ignore[misc]
        return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

    @app.get(base)
    def campaign() -> Any:
        return world.campaign()

    @app.patch(base)
    async def change(request: Request) -> Any:
        body = await request.json()
        world.paused, world.budget = body.get("paused", world.paused), body.get("budget", world.budget)
        return world.campaign()

    @app.post(f"{base}/leases")
    async def leases(request: Request) -> Any:
        count = (await request.json())["count"]
        if world.paused:
            return {"leases": [], "stopped": "the manager has paused it"}
        free = (row * 11 % world.count for row in range(world.count))
        while len(world.open) < count and len(world.order) < world.budget:
            world.open.append(next(row for row in free if row not in world.answers and row not in world.open))
        return {"leases": [world.lease(row) for row in world.open[:count]], "stopped": None}

    @app.post(f"{base}/leases/{{row}}/beat")
    def beat(row: int) -> Any:
        world.log.append(("beat", row))
        if row not in world.open:
            return JSONResponse({"error": "no such lease"}, 404)
        return {"until": time.time() + 300}

    @app.delete(f"{base}/leases/{{row}}")
    def release(row: int) -> Any:
        world.log.append(("release", row))
        world.open = [each for each in world.open if each != row]
        return {}

    @app.post(f"{base}/answers")
    async def answers(request: Request) -> Any:
        body = await request.json()

        def work() -> Any:
            world.log.append(("answer", body))
            late = body["row"] not in world.open
            world.open = [row for row in world.open if row != body["row"]]
            world.answers[body["row"]] = body.get("label")
            world.order.append(body["row"])
            return {"seq": len(world.log), "row": body["row"], "outcome": body["outcome"], "late": late}

        return once(request.headers.get("Idempotency-Key"), body, work)

    @app.post(f"{base}/undo")
    async def undo(request: Request) -> Any:
        def work() -> Any:
            if not world.order:
                return {"row": None, "lease": None}
            row = world.order.pop()
            world.log.append(("undo", row))
            del world.answers[row]
            world.open.insert(0, row)
            return {"row": row, "lease": world.lease(row)}

        return once(request.headers.get("Idempotency-Key"), "undo", work)

    @app.post(f"{base}/comments")
    async def comments(request: Request) -> Any:
        body = await request.json()

        def work() -> Any:
            world.comments.append({**body, "person": "Ada", "at": time.time()})
            return {}

        return once(request.headers.get("Idempotency-Key"), body, work)

    @app.get(f"{base}/nodes/{{row}}")
    def node(row: int) -> Any:
        return world.detail(row)

    @app.get(f"{base}/people")
    def people() -> Any:
        return [
            {"person": "person-1", "name": world.name if "<" in world.name else "Ada", "votes": 31, "accuracy": 0.93,
             "interval": [0.8, 0.98], "median_seconds": 7.4, "open": 2},
            {"person": "person-2", "name": "Grace", "votes": 12, "accuracy": None, "interval": None,
             "median_seconds": 11.0, "open": 0},
        ]  # fmt: skip

    @app.get(f"{base}/doubts")
    def doubts() -> Any:
        return [
            {"row": row, "node": f"p{row}", "name": world.node_name(row), "belief": 0.55,
             "votes": [{"person": "Ada", "label": 0}, {"person": "Grace", "label": 1}]}
            for row in world.doubts
        ]  # fmt: skip

    @app.post(f"{base}/verdicts")
    async def verdicts(request: Request) -> Any:
        body = await request.json()
        world.log.append(("verdict", body))
        world.doubts.remove(body["row"])
        return {}

    @app.get(f"{base}/map")
    def whole() -> Any:
        n = world.count
        xs = [0.5 + 0.4 * math.cos(2 * math.pi * i / n) * (0.6 + 0.4 * (i % 7) / 7) for i in range(n)]
        ys = [0.5 + 0.4 * math.sin(2 * math.pi * i / n) * (0.6 + 0.4 * (i % 7) / 7) for i in range(n)]
        labels = [-1 if world.label(i) is None else world.label(i) for i in range(n)]
        return {"x": xs, "y": ys, "label": labels, "known": [int(i % 5 == 1) for i in range(n)],
                "edges": [[i, (i + 1) % n] for i in range(n)]}  # fmt: skip

    @app.get(f"{base}/tokens")
    def tokens() -> Any:
        return world.tokens

    @app.post(f"{base}/tokens")
    async def invite(request: Request) -> Any:
        body = await request.json()
        made = {"id": f"t{len(world.tokens)}", "person": f"person-{len(world.tokens)}"}
        world.tokens.append({**made, "name": body["name"], "role": body["role"], "created": time.time(),
                             "expires": None, "revoked": None})  # fmt: skip
        return {**made, "token": "secret", "link": "http://127.0.0.1/enter?token=secret"}

    @app.delete(f"{base}/tokens/{{token}}")
    def revoke(token: str) -> Any:
        for each in world.tokens:
            if each["id"] == token:
                each["revoked"] = time.time()
        return {}

    @app.get(f"{base}/export")
    def export() -> Response:
        return Response(json.dumps(world.answers))

    return app
