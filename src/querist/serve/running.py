"""A server on one address, from its first line to a graceful stop."""

import asyncio
import gc
import json
import logging
import socket
import sys
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from querist.errors import InputError
from querist.serve.app import make_app
from querist.serve.bodies import Limits
from querist.serve.server import CampaignServer

KEEP = 75
"""Seconds that a connection is kept for the next answer of somebody who thinks about it."""
ARRIVAL_SECONDS, BYTES_PER_SECOND = 30.0, 1000
"""Seconds that a request may keep the server waiting, and the least pace of its body."""
READ_BYTES = 16_384
"""Most bytes of one connection that are parsed before the others have their turn."""
LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


class JsonLines(logging.Formatter):
    """A line of JSON per record: when, how grave, from whom, what."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        body: dict[str, Any] = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.name == "uvicorn.access" and isinstance(record.args, tuple) and len(record.args) == 5:
            client, method, path, _, status = record.args
            # A link carries its token in the query: that is not for a log.
            path = str(path).partition("?")[0]
            body |= {"message": "request", "client": client, "method": method, "path": path, "status": status}
        if record.exc_info:
            body["error"] = self.formatException(record.exc_info)
        return json.dumps(body, default=str)


class _TimedProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request does not arrive; uvicorn by itself waits without end.

    A request that is being answered has no limit of time. h11 limits the size of headers; httptools does not.
    """

    _end: float | None = None
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        with suppress(AttributeError):  # uvloop has no such attribute
            transport.max_size = READ_BYTES
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_request(len(data))

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_request()

    def _await_request(self, size: int = 0) -> None:
        """Set when the request must be here: not while one is answered, nor between two of them."""
        if self._timer is not None:
            self._timer.cancel()
        refused = self.cycle is not None and self.cycle.response_complete
        answering = self.cycle is not None and not refused and not self.cycle.more_body
        if answering or self.timeout_keep_alive_task is not None:
            self._end = None
            return
        latest = self.loop.time() + ARRIVAL_SECONDS
        # The rest of a body that was refused earns no time.
        earned = 0 if refused else size / BYTES_PER_SECOND
        self._end = latest if self._end is None else min(self._end + earned, latest)
        self._timer = self.loop.call_at(self._end, self._give_up)

    def _give_up(self) -> None:
        if self.flow.read_paused:  # the server is slow, not the client
            self._timer = self.loop.call_later(ARRIVAL_SECONDS, self._give_up)
        elif not self.transport.is_closing():
            if self.cycle is not None and not self.cycle.response_started:
                self.transport.write(LATE)
            self.transport.close()


def bound(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # By its number asyncio knows TCP, and sends at once; else half of an answer waits 40 ms for the other.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(1024)  # whoever opens a link before the server is up waits for it
    except OSError as error:
        found.close()
        raise InputError(f"{host}:{port} cannot be had ({error.strerror}); give another --port") from error
    return found


def address_of(where: socket.socket) -> str:
    """The address that a browser is given."""
    host, port = where.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(server: CampaignServer, where: socket.socket, *, limits: Limits | None = None, log: bool) -> None:
    """Serve until a signal says stop; what is under way is finished first."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if log else logging.WARNING)
    config = uvicorn.Config(
        make_app(server, limits),
        http=_TimedProtocol,
        log_config=None,
        access_log=log,
        timeout_graceful_shutdown=10,
        timeout_keep_alive=KEEP,
        server_header=False,
        ws="none",
    )
    own = uvicorn.Server(config)
    gc.freeze()  # else a large body has the collector look through all libraries, for a third of a second
    own.run(sockets=[where])
