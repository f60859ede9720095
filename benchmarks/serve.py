"""How fast is the server, beside the least that could be done? Every ratio is measured in one run.

- answers per second on SQLite (synchronous FULL), against a bare Starlette route that commits one row
- answers per second on PostgreSQL, against bare transactions that append under the same (campaign, seq) key,
  one after another on a connection without any HTTP; and against a bare Starlette route that makes them
- the slowest of 100 leases (p99) at the pace of 100 people, against a FastAPI route that commits one row
- a page of 50 nodes of a large graph
- a restart on many events, against reading and learning them
- 100 people on PubMed, an answer every 5 seconds each: p99, errors, duplicates, memory

The load comes from one process, the servers run in others; the machine should have nothing else to do.

    python benchmarks/serve.py [--minutes 10] [--seconds 5] [--repeats 3] [--nodes 1000000] [--events 100000]
                               [--people 100] [--data pubmed] [--only sqlite postgres lease page restart
                               people] [--short] [--json]
"""

import argparse
import asyncio
import importlib.util
import json
import secrets
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

PARTS = ("sqlite", "postgres", "lease", "page", "restart", "people")
CONNECTIONS = 16
PACE = 5.0
"""Seconds between two answers of a person."""
ROW = json.dumps({"row": 1234, "code": 3, "person": "p0123abcd"})


# -- a client that costs little ----------------------------------------------------------------------------


class Client:
    """One connection that is kept; what comes back is read no further than needed."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"

    async def open(self) -> "Client":
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        return self

    async def send(self, method: str, path: str, body: Any = None, key: str = "") -> tuple[int, bytes]:
        """The status and the body of a response."""
        text = b"" if body is None else json.dumps(body).encode()
        more = f"Idempotency-Key: {key}\r\n" if key else ""
        more += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n" if text else ""
        self.writer.write(f"{method} {path} HTTP/1.1\r\n{self.head}{more}\r\n".encode() + text)
        head = await self.reader.readuntil(b"\r\n\r\n")
        low = head.lower()
        at = low.find(b"content-length:")
        size = int(low[at + 15 : low.index(b"\r", at)]) if at >= 0 else 0
        return int(head[9:12]), await self.reader.readexactly(size) if size else b""

    def close(self) -> None:
        self.writer.close()


@dataclass
class Timings:
    """Seconds that requests took, and what came back."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    async def timed(self, call: Awaitable[tuple[int, bytes]]) -> tuple[int, bytes]:
        began = time.perf_counter()
        status, body = await call
        self.seconds.append(time.perf_counter() - began)
        self.statuses[status] += 1
        return status, body

    def at(self, share: float) -> float:
        return float(np.quantile(self.seconds, share)) if self.seconds else float("nan")

    def in_tenths(self, share: float) -> list[float]:
        """The same of every tenth of the requests, in the order of their ends."""
        return [float(np.quantile(part, share)) for part in np.array_split(self.seconds, 10) if part.size]


# -- the least that could be done --------------------------------------------------------------------------


def floor_app(kind: str, place: str) -> Any:
    """A route that commits one row and does nothing else."""
    from fastapi import FastAPI
    from pydantic import BaseModel
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    lock = threading.Lock()
    if kind.startswith("postgres"):
        append = appender(place)
    else:
        db = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(
            "CREATE TABLE IF NOT EXISTS events (id INTEGER PRIMARY KEY, at REAL, kind TEXT, body TEXT)"
        )

        def append(body: str) -> None:
            db.execute("INSERT INTO events (at, kind, body) VALUES (?, 'answer', ?)", (time.time(), body))

    def save(body: str) -> None:
        with lock:
            append(body)

    async def bare(request: Request) -> JSONResponse:
        given = await request.json()
        await run_in_threadpool(save, json.dumps(given))
        return JSONResponse({"row": given["row"]})

    if not kind.endswith("fastapi"):
        return Starlette(routes=[Route("/", bare, methods=["POST"])])
    app = FastAPI()

    class Given(BaseModel):
        row: int
        code: int
        person: str

    @app.post("/")
    def typed(given: Given) -> dict[str, Any]:
        save(given.model_dump_json())
        return {"row": given.row}

    typed.__annotations__["given"] = Given
    return app


def appender(url: str) -> Callable[[str], None]:
    """One transaction after another that appends under the key (campaign, seq)."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS bare (campaign TEXT, seq BIGINT, at DOUBLE PRECISION, kind TEXT, "
        "body TEXT, PRIMARY KEY (campaign, seq))"
    )
    last, campaign = 0, secrets.token_hex(6)

    def append(body: str) -> None:
        nonlocal last
        with connection.transaction():
            connection.execute(
                "INSERT INTO bare VALUES (%s, %s, %s, 'answer', %s)", (campaign, last + 1, time.time(), body)
            )
        last += 1

    return append


def serve_floor(kind: str, place: str, port: int) -> None:
    import uvicorn

    own = floor_app(kind, place)
    uvicorn.run(own, port=port, access_log=False, log_level="warning", timeout_keep_alive=75)


# -- servers -----------------------------------------------------------------------------------------------


@contextmanager
def process(*words: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, as long as needed."""
    own = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    try:
        for _ in range(6000):
            if own.poll() is not None:
                raise SystemExit(f"{words}: the server ended")
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                break
            time.sleep(0.05)
        yield own
    finally:
        own.send_signal(signal.SIGTERM)
        own.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def bare(kind: str, place: str) -> Iterator[int]:
    port = free_port()
    with process(__file__, "--floor", kind, place, str(port), port=port):
        yield port


@contextmanager
def querist(place: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    port = free_port()
    with process("-m", "querist", "serve", "--store", place, "--port", str(port), port=port) as own:
        yield port, own


@dataclass
class Ready:
    """A campaign in a store, with a token for each of its people."""

    id: str
    tokens: list[str]
    people: list[str]
    manager: str


def prepared(
    place: str, edges: str | Path, people: int, budget: int, open_each: int = 0, **options: Any
) -> Ready:
    """Make a campaign; each of its people may have questions open already."""
    from querist.asking.store.events import Draft
    from querist.serve.access import Gate
    from querist.serve.opening import create
    from querist.serve.stores import open_store

    store = open_store(place)
    made = create(store, edges, budget=budget, **options)
    gate = Gate(store)
    invited = [gate.invite(made.id, "labeller") for _ in range(people)]
    manager = gate.invite(made.id, "manager")[1]
    names = [token.person for token, _ in invited]
    if open_each:
        about = {"guess": 0, "probability": 0.5, "second": 1, "second_probability": 0.5}
        plain = {"audit": False, "reason": "", "round": 0, "value": 0.0, "gain": None, **about}
        drafts = [
            Draft(
                "question", {"row": row, **plain, "person": names[row % people], "until": time.time() + 1e6}
            )
            for row in range(min(people * open_each, made.n_nodes))
        ]
        store.append(made.id, store.last(made.id), drafts)
    made.close()
    store.close()
    return Ready(made.id, [secret for _, secret in invited], names, manager)


def ring(folder: str | Path, n: int) -> Path:
    """A graph in a file: a circle with chords."""
    rng = np.random.default_rng(0)
    heads = np.concatenate([np.arange(n), np.arange(n)])
    tails = np.concatenate([(np.arange(n) + 1) % n, rng.integers(0, n, n)])
    path = Path(folder) / "edges.csv"
    with path.open("w") as file:
        file.write("source,target\n")
        np.savetxt(file, np.column_stack([heads, tails])[heads != tails], fmt="%d", delimiter=",")
    return path


def memory(pid: int) -> float:
    """Megabytes that a process holds."""
    with open(f"/proc/{pid}/status") as file:
        line = next(line for line in file if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


# -- answers a second --------------------------------------------------------------------------------------

Send = Callable[[Client, int], Awaitable[tuple[int, bytes]]]


async def _rate(port: int, seconds: float, send: Send, tokens: Sequence[str]) -> tuple[float, Timings]:
    """Requests per second of clients that never pause."""
    clients = [await Client(port, token).open() for token in tokens]
    found, began = Timings(), time.perf_counter()

    async def work(number: int) -> None:
        while time.perf_counter() < began + seconds:
            await found.timed(send(clients[number], number))

    await asyncio.gather(*(work(number) for number in range(len(clients))))
    took = time.perf_counter() - began
    for client in clients:
        client.close()
    return found.statuses[200] / took, found


def bare_rate(port: int, seconds: float) -> tuple[float, Timings]:
    body = json.loads(ROW)
    send: Send = lambda client, _: client.send("POST", "/", body)  # noqa: E731
    return asyncio.run(_rate(port, seconds, send, [""] * CONNECTIONS))


def answer_rate(port: int, ready: Ready, rows: list[Iterator[int]], seconds: float) -> tuple[float, Timings]:
    """Answers to questions that everybody has open already."""
    path = f"/v1/campaigns/{ready.id}/answers"

    def send(client: Client, number: int) -> Awaitable[tuple[int, bytes]]:
        row = next(rows[number])
        return client.send("POST", path, {"row": row, "label": row % 2}, key=secrets.token_hex(8))

    return asyncio.run(_rate(port, seconds, send, ready.tokens))


def warm(port: int, ready: Ready) -> None:
    """Open the campaign, which reads the graph."""

    async def look() -> None:
        client = await Client(port, ready.manager).open()
        status, _ = await client.send("GET", f"/v1/campaigns/{ready.id}")
        assert status == 200
        client.close()

    asyncio.run(look())


def compare_answers(floor: str, places: tuple[str, str], own: argparse.Namespace) -> dict[str, Any]:
    """Our answers a second and those of the bare route, in turns; on PostgreSQL also bare transactions."""
    each = own.graph // CONNECTIONS
    with tempfile.TemporaryDirectory() as folder:
        ready = prepared(
            places[1], ring(folder, own.graph), CONNECTIONS, 10 * own.graph, each, classes=["a", "b"],
            second_opinions=False,
        )  # fmt: skip
    rows = [iter(range(number, each * CONNECTIONS, CONNECTIONS)) for number in range(CONNECTIONS)]
    rates: dict[str, list[float]] = {"answers": [], "bare route": []}
    statuses = Counter[int]()
    with querist(places[1]) as (port, _), bare(floor, places[0]) as bare_port:
        warm(port, ready)
        for _ in range(own.repeats):
            rates["bare route"].append(bare_rate(bare_port, own.seconds)[0])
            rate, found = answer_rate(port, ready, rows, own.seconds)
            rates["answers"].append(rate)
            statuses += found.statuses
            if floor == "postgres":
                rates.setdefault("bare transactions", []).append(transactions(places[0], own.seconds))
    ratios = {
        name: statistics.median(ours / base for ours, base in zip(rates["answers"], bases, strict=True))
        for name, bases in rates.items()
        if name != "answers"
    }
    return {"per second": rates, "ratio to": ratios, "statuses": dict(statuses), "target": 0.5}


def transactions(url: str, seconds: float) -> float:
    """Bare transactions per second on one connection, without HTTP."""
    append, count, began = appender(url), 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        append(ROW)
        count += 1
    return count / (time.perf_counter() - began)


# -- leases, at the pace of people -------------------------------------------------------------------------


async def _paced(port: int, seconds: float, pace: float, send: Send, tokens: Sequence[str]) -> None:
    """Everybody does `send` once in `pace` seconds, at moments of their own."""
    rng, began = np.random.default_rng(0), time.perf_counter()
    clients = [await Client(port, token).open() for token in tokens]

    async def work(number: int, first: float) -> None:
        turn = 0
        while (at := first + turn * pace) < seconds:
            await asyncio.sleep(max(0.0, began + at - time.perf_counter()))
            await send(clients[number], number)
            turn += 1

    await asyncio.gather(*(work(k, float(rng.uniform(0, pace))) for k in range(len(clients))))
    for client in clients:
        client.close()


@dataclass
class People:
    """What simulated people saw: they lease, and answer what they leased."""

    path: str
    detail: bool = True
    leases: Timings = field(default_factory=Timings)
    answers: Timings = field(default_factory=Timings)
    acknowledged: list[tuple[int, int]] = field(default_factory=list)

    async def work(self, client: Client, number: int) -> tuple[int, bytes]:
        """One question and its answer."""
        wanted = {"count": 1, "detail": self.detail}
        status, body = await self.leases.timed(client.send("POST", f"{self.path}/leases", wanted))
        for lease in json.loads(body).get("leases", ()):
            given = {"row": lease["row"], "label": lease["row"] % 2}
            status, body = await self.answers.timed(
                client.send("POST", f"{self.path}/answers", given, key=secrets.token_hex(8))
            )
            if status == 200:
                told = json.loads(body)
                self.acknowledged.append((told["seq"], told["row"]))
        return status, body


def compare_leases(folder: Path, own: argparse.Namespace) -> dict[str, Any]:
    """Leases and a FastAPI route that commits one row, both at the pace of people, in turns."""
    ready = prepared(str(folder / "own.db"), own.data, own.people, 1_000_000)
    seconds, pace = max(own.seconds, 2.0) * 2, own.pace
    found: dict[str, list[float]] = {"lease": [], "lease with detail": [], "route": []}
    body = json.loads(ROW)
    with (
        querist(str(folder / "own.db")) as (port, _),
        bare("sqlite-fastapi", str(folder / "bare.db")) as other,
    ):
        warm(port, ready)
        for _ in range(own.repeats):
            for name, detail in (("lease", False), ("lease with detail", True)):
                people = People(f"/v1/campaigns/{ready.id}", detail)
                asyncio.run(_paced(port, seconds, pace, people.work, ready.tokens))
                found[name].append(people.leases.at(0.99))
            route = Timings()

            async def send(client: Client, _: int, route: Timings = route) -> tuple[int, bytes]:
                await route.timed(client.send("POST", "/", body))
                return await client.send("POST", "/", body)

            asyncio.run(_paced(other, seconds, pace, send, [""] * own.people))
            found["route"].append(route.at(0.99))
    ratios = {
        name: statistics.median(ours / base for ours, base in zip(values, found["route"], strict=True))
        for name, values in found.items()
        if name != "route"
    }
    return {
        "p99 ms": {k: [1e3 * v for v in each] for k, each in found.items()},
        "ratio": ratios,
        "target": 3.0,
    }


# -- pages, restarts, people -------------------------------------------------------------------------------


def time_pages(folder: Path, own: argparse.Namespace) -> dict[str, Any]:
    """Pages of 50 nodes anywhere in a large graph."""
    place = str(folder / "own.db")
    ready = prepared(place, ring(folder, own.nodes), 1, 100, classes=["a", "b"], strategy="random")
    rng, found = np.random.default_rng(0), Timings()

    async def look(port: int) -> None:
        client = await Client(port, ready.manager).open()
        for after in [-1, *rng.integers(0, own.nodes - 60, 60).tolist()]:
            path = f"/v1/campaigns/{ready.id}/nodes?after={after}&limit=50"
            status, body = await found.timed(client.send("GET", path))
            assert status == 200
            assert len(json.loads(body)["nodes"]) == 50
        client.close()

    with querist(place) as (port, _):
        warm(port, ready)
        asyncio.run(look(port))
    first, others = found.seconds[0], found.seconds[1:]
    ms = {
        "first": 1e3 * first,
        "median": 1e3 * statistics.median(others),
        "worst of the others": 1e3 * max(others),
    }
    return {"nodes": own.nodes, "ms": ms, "target": 50.0}


def time_restart(folder: Path, own: argparse.Namespace) -> dict[str, Any]:
    """Opening a campaign of many events, several about each node, against reading and learning them."""
    from querist.asking.model import RANKS
    from querist.asking.state import CampaignState
    from querist.asking.store.events import Draft
    from querist.asking.store.sqlite import SqliteStore
    from querist.labelling.rows import quick_rows
    from querist.serve.opening import create, open_campaign

    store = SqliteStore(folder / "many.db")
    made = create(store, own.restart_data, budget=10 * own.events)
    made.close()
    about = {"guess": 0, "probability": 0.5, "second": 1, "second_probability": 0.5}
    plain = {"audit": False, "reason": "", "round": 0, "value": 0.0, "gain": None, **about}
    n, classes, drafts = made.n_nodes, len(made.classes), []
    for number in range(own.events // 2):
        row, person = number * 7919 % n, f"p{number // n}"
        more = {"again": True} if number >= n else {}
        drafts.append(Draft("question", {"row": row, **plain, **more, "person": person, "until": 1e10}))
        drafts.append(Draft("answer", {"row": row, "code": row % classes, "person": person}))
        if len(drafts) >= 1000:
            store.append(made.id, store.last(made.id), drafts)
            drafts = []
    if drafts:
        store.append(made.id, store.last(made.id), drafts)
    opened, least = [], []
    for _ in range(own.repeats if own.short else 1):
        began = time.perf_counter()
        events = store.check(made.id)
        graph = made.asking.graph
        state = CampaignState(made.asking.specification, graph, quick_rows(graph, max(RANKS)))
        for event in events[1:]:
            state.apply(event)
        least.append(time.perf_counter() - began)
        began = time.perf_counter()
        again = open_campaign(store, made.id)
        opened.append(time.perf_counter() - began)
        assert np.array_equal(again.asking.state.model.scores, state.model.scores)
        again.close()
    store.close()
    ratio = statistics.median(a / b for a, b in zip(opened, least, strict=True))
    seconds = {"restart": opened, "reading and learning": least}
    return {"events": len(events), "seconds": seconds, "ratio": ratio, "target": 2.0}


@contextmanager
def sleeping(late: list[float]) -> Iterator[None]:
    """A program of its own that sleeps 20 ms at a time: by how many seconds it woke too late is what the
    machine, not the server, does to everybody."""
    words = "import time\nwhile True:\n at = time.perf_counter(); time.sleep(.02)\n"
    words += " print(time.perf_counter() - at - .02, flush=True)"
    with tempfile.TemporaryFile("w+") as said:
        own = subprocess.Popen([sys.executable, "-c", words], stdout=said)
        try:
            yield
        finally:
            own.kill()
            own.wait()
            said.seek(0)
            late.extend(float(line) for line in said.read().splitlines()[:-1])


def simulate_people(folder: Path, own: argparse.Namespace) -> dict[str, Any]:
    """Many people who answer at their pace, for a while."""
    from querist.asking.store.sqlite import SqliteStore

    place = str(folder / "own.db")
    ready = prepared(place, own.data, own.people, 1_000_000)
    people, held, late = People(f"/v1/campaigns/{ready.id}"), list[float](), list[float]()

    async def watch(pid: int, seconds: float) -> None:
        for _ in range(20):
            held.append(memory(pid))
            await asyncio.sleep(seconds / 20)

    async def work(port: int, pid: int) -> None:
        seconds = 60 * own.minutes
        await asyncio.gather(_paced(port, seconds, own.pace, people.work, ready.tokens), watch(pid, seconds))

    with querist(place) as (port, process_), sleeping(late):
        warm(port, ready)
        asyncio.run(work(port, process_.pid))
    store = SqliteStore(place)
    events = store.check(ready.id)
    store.close()
    answers = {event.seq: event.body["row"] for event in events if event.kind == "answer"}
    first = Counter(e.body["row"] for e in events if e.kind == "question" and not e.body.get("again"))
    statuses = people.leases.statuses + people.answers.statuses
    return {
        "people": own.people,
        "minutes": own.minutes,
        "answers": len(answers),
        "p50 ms": {"lease": 1e3 * people.leases.at(0.5), "answer": 1e3 * people.answers.at(0.5)},
        "p99 ms": {"lease": 1e3 * people.leases.at(0.99), "answer": 1e3 * people.answers.at(0.99)},
        "p99 ms of leases by tenths": [round(1e3 * each) for each in people.leases.in_tenths(0.99)],
        "ms that a program which only sleeps wakes late": {
            "p99": 1e3 * float(np.quantile(late, 0.99)),
            "most in each tenth": [round(1e3 * float(max(part))) for part in np.array_split(late, 10)],
        },
        "statuses": dict(statuses),
        "5xx": sum(count for status, count in statuses.items() if status >= 500),
        "duplicates": sum(count - 1 for count in first.values()),
        "lost": len(set(people.acknowledged) - set(answers.items())),
        "megabytes": [round(each) for each in held],
        "target": "p99 below 250 ms, no 5xx, no duplicate, memory flat",
    }


# -- the whole ---------------------------------------------------------------------------------------------


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL of this run's own."""
    place = Path(__file__).parents[1] / "tools" / "postgres.py"
    spec = importlib.util.spec_from_file_location("throwaway_postgres", place)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    with tool.running() as url:
        yield url


def measured(part: str, own: argparse.Namespace) -> dict[str, Any]:
    """What one part says."""
    with tempfile.TemporaryDirectory(prefix="querist-") as name:
        folder = Path(name)
        if part == "sqlite":
            return compare_answers("sqlite", (str(folder / "bare.db"), str(folder / "own.db")), own)
        if part == "postgres":
            with postgres() as url:
                return compare_answers("postgres", (url, url), own)
        parts = {
            "lease": compare_leases,
            "page": time_pages,
            "restart": time_restart,
            "people": simulate_people,
        }
        return parts[part](folder, own)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--graph", type=int, default=50_000, help="questions to answer in the races")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--pace", type=float, default=PACE)
    parser.add_argument("--data", default="pubmed")
    parser.add_argument("--restart-data", default="cora")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--short", action="store_true", help="a glance at everything, in seconds")
    parser.add_argument("--json", action="store_true")
    own = parser.parse_args()
    if own.short:
        own.minutes, own.seconds, own.repeats, own.graph, own.nodes = 0.05, 0.5, 1, 2000, 3000
        own.events, own.people, own.pace, own.data, own.restart_data = 600, 8, 1.0, "karate", "karate"
    found = {}
    for part in own.only:
        found[part] = measured(part, own)
        if not own.json:
            print(f"{part}: {json.dumps(found[part], indent=1)}", flush=True)
    if own.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floor"]:
        serve_floor(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
