"""A server on one address, from its first line to a graceful stop."""

import json
import logging
import socket
import sys
import time
from typing import Any

import uvicorn

from querist.errors import InputError
from querist.serve.app import make_app
from querist.serve.server import CampaignServer
from querist.serve.uploads import Limits

KEEP = 75
"""Seconds that a connection is kept for the next answer of somebody who thinks about it."""
HOST, PORT = "127.0.0.1", 8377


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
        log_config=None,
        access_log=log,
        timeout_graceful_shutdown=10,
        timeout_keep_alive=KEEP,
        server_header=False,
        ws="none",
    )
    own = uvicorn.Server(config)
    began = time.time()
    own.run(sockets=[where])
    if log:
        logging.getLogger("uvicorn.error").info("stopped after %.0f s", time.time() - began)
