"""A data set whose download is killed: a later command takes nothing of it for whole, and fetches it anew."""

import hashlib
import os
import random
import signal
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

KILLS = int(os.environ.get("QUERIST_FAULTS", "3"))
NODES, WORDS, PIECE = 400, 300, 4096
LOAD = "embed toy --rank 3 --out rows.npy --json"


class Site:
    """A set in LINQS text; `hold` stops after so many bytes of it, says `held`, and waits for `go`."""

    def __init__(self):
        draw = random.Random(0)
        words = [[f"{draw.randrange(2)}" for _ in range(WORDS)] for _ in range(NODES)]
        content = "".join("\t".join([f"p{k}", *own, "ab"[k % 2]]) + "\n" for k, own in enumerate(words))
        cites = "".join(f"p{k}\tp{(k + step) % NODES}\n" for k in range(NODES) for step in (1, 7))
        self.files = {"toy.content": content.encode(), "toy.cites": cites.encode()}
        self.hold, self.sent, self.held, self.go = None, 0, threading.Event(), threading.Event()

    @property
    def size(self):
        return sum(map(len, self.files.values()))

    def begin(self, hold=None):
        self.hold, self.sent = hold, 0
        self.held.clear()
        self.go.clear()

    def send(self, name, file):
        body = self.files[name]
        for first in range(0, len(body), PIECE):
            if self.hold is not None and self.sent >= self.hold:
                self.held.set()
                self.go.wait()
                return
            piece = body[first : first + PIECE]
            file.write(piece)
            self.sent += len(piece)


@pytest.fixture
def site():
    """It, on a server of this machine."""
    held = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.lstrip("/")
            self.send_response(200)
            self.send_header("Content-Length", str(len(held.files[name])))
            self.end_headers()
            with suppress(ConnectionError):  # whoever asked was killed
                held.send(name, self.wfile)

        def log_message(self, *given):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        url = f"http://127.0.0.1:{server.server_port}"
        held.known = {
            name: [f"{url}/{name}", hashlib.sha256(body).hexdigest()] for name, body in held.files.items()
        }
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield held
        held.go.set()
        server.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_killed_download_is_never_taken_for_whole(start, ran, tmp_path, site):
    def options(cache):
        return {"site": site.known, "QUERIST_CACHE": cache, "NO_PROXY": "127.0.0.1", "QUERIST_DATA": ""}

    begun = time.monotonic()
    alone = ran(LOAD, **options("alone"))
    longest = time.monotonic() - begun
    assert alone.code == 0, alone.err
    rows, whole = np.load(tmp_path / "rows.npy"), (tmp_path / "alone" / "toy.npz").read_bytes()
    moments, cache = random.Random(KILLS), tmp_path / "killed"
    for case in range(2 * KILLS):
        number = signal.SIGTERM if moments.randrange(3) == 0 else signal.SIGKILL
        if case % 2:  # while a file comes
            site.begin(moments.randrange(1, site.size - PIECE))
            command = start(LOAD, **options("killed"))
            while not site.held.wait(0.01):
                assert not command.ended(), command.err
        else:  # at any moment: while it starts, converts, and writes
            site.begin()
            command = start(LOAD, **options("killed"))
            time.sleep(moments.uniform(0.0, longest))
        command.signal(number)
        code = command.wait()
        site.go.set()
        assert code in (0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM), command.err
        assert not (cache / "toy.npz").exists() or (cache / "toy.npz").read_bytes() == whole
        if case % 2 and number == signal.SIGTERM:
            assert not (cache / "toy.npz").exists()
            assert command.err.endswith("querist: stopped by SIGTERM\n")
        site.begin()
        again = ran(LOAD, **options("killed"))
        assert again.code == 0, again.err
        assert (cache / "toy.npz").read_bytes() == whole
        np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), rows)
        (cache / "toy.npz").unlink()
        (tmp_path / "rows.npy").unlink()
