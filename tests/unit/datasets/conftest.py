"""A private cache, a small web site to download from, and real sets where there are any."""

import hashlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from querist.datasets.convert import content_sha256, linqs
from querist.datasets.registry import ENTRIES, DownloadSource, Entry, File
from querist.datasets.resolve import read_set
from querist.graph import Graph
from querist.tables.formats import Vectors

REAL_DATA = os.environ.get("QUERIST_DATA")

_CONTENT = b"p10\t1\t0\t1\tTheory\np2\t0\t1\t0\tNeural\nx-3\t0\t0\t0\tTheory\np1\t1\t1\t1\tNeural\n"
_CITES = b"p1\tp2\np2\tp1\np10\tp1\np10\tp10\nghost\tp2\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the user's own cache or data directory, or a proxy."""
    monkeypatch.delenv("QUERIST_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "cache"
    monkeypatch.setenv("QUERIST_CACHE", str(folder))
    return folder


@pytest.fixture
def real_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of real sets."""
    if not REAL_DATA or not Path(REAL_DATA).is_dir():
        pytest.skip("QUERIST_DATA names no directory")
    monkeypatch.setenv("QUERIST_DATA", REAL_DATA)
    return Path(REAL_DATA)


@pytest.fixture
def needs(real_data: Path) -> Callable[[str], Graph | Vectors]:
    """`needs(name)`: that set from QUERIST_DATA, or the test is skipped."""

    def load(name: str) -> Graph | Vectors:
        if not (real_data / f"{name}.npz").is_file():
            pytest.skip(f"{name}.npz is not in QUERIST_DATA")
        return read_set(name)

    return load


class Site:
    """A toy set in LINQS text, and how the server misbehaves.

    `cut` ends the answer for a file early, `fail` counts the answers to refuse first.
    """

    content, cites = _CONTENT, _CITES

    def __init__(self) -> None:
        self.files = {"toy.content": self.content, "toy.cites": self.cites}
        self.cut: dict[str, int] = {}
        self.fail: dict[str, int] = {}
        self.delay = 0.0
        self.asked: list[str] = []
        self.url = ""

    def entry(self, **changes: Any) -> Entry:
        """The toy set as it is now, to be fetched from here, file checksums and all."""
        files = tuple(
            File(name, f"{self.url}/{name}", hashlib.sha256(self.files[name]).hexdigest())
            for name in ("toy.content", "toy.cites")
        )
        return Entry(
            "toy", 4, 2, 2, 3, "a toy", "none", **{"sources": (DownloadSource(files, linqs),), **changes}
        )

    def content_checksum(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / "toy.content", Path(folder) / "toy.cites"]
            paths[0].write_bytes(self.content)
            paths[1].write_bytes(self.cites)
            return content_sha256(linqs(paths))


@pytest.fixture
def site() -> Iterator[Site]:
    held = Site()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            name = self.path.lstrip("/")
            held.asked.append(name)
            time.sleep(held.delay)
            if held.fail.get(name, 0) > 0:
                held.fail[name] -= 1
                self.send_error(503)
                return
            body = held.files.get(name)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: held.cut.get(name, len(body))])
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    held.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield held
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def registered() -> Iterator[Callable[[Entry], None]]:
    """Makes an entry known by its name, undone after the test."""
    before = dict(ENTRIES)
    yield lambda entry: ENTRIES.update({entry.name: entry})
    ENTRIES.clear()
    ENTRIES.update(before)
