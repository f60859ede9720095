"""A PostgreSQL server to be thrown away, for tests and measurements: made by `initdb` in a temporary folder.

    with running() as url: ...

It is reached by a unix socket only. PostgreSQL refuses to run as root: then it runs as the user `postgres`.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoPostgresError(Exception):
    """There is no PostgreSQL on this machine, or no way to run it."""


def program(name: str) -> str:
    """The path of one of its programs; Debian keeps them out of PATH."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    found = str(places[0]) if places else shutil.which(name)
    if found is None:
        raise NoPostgresError(f"there is no PostgreSQL here ({name} is missing)")
    return found


@contextmanager
def running(*, durable: bool = True) -> Iterator[str]:
    """The URL of a new, empty server. One that is not `durable` need not wait for the disk."""
    initdb, server = program("initdb"), program("postgres")
    folder = Path(tempfile.mkdtemp(prefix="querist-postgres-"))
    data, log = folder / "data", folder / "log"
    somebody: list[str] = []
    try:
        if os.geteuid() == 0:
            if shutil.which("setpriv") is None:
                raise NoPostgresError("PostgreSQL does not run as root, and setpriv is missing")
            somebody = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            shutil.chown(folder, "postgres", "postgres")
        made = subprocess.run(
            [*somebody, initdb, "-D", data, "-U", "querist", "-A", "trust", "--no-sync", "-E", "UTF8",
             "--locale=C"],
            capture_output=True, text=True, check=False, cwd=folder,
        )  # fmt: skip
        if made.returncode:
            raise NoPostgresError(f"initdb failed: {made.stderr}")
        settings = {"listen_addresses": "", "unix_socket_directories": folder, "max_connections": 100}
        if not durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*somebody, server, "-D", data, *words], stdout=file, stderr=file, cwd=folder
            )
        try:
            _wait(folder / ".s.PGSQL.5432", process, log)
            yield f"postgresql://querist@/postgres?host={folder}"
        finally:
            process.send_signal(3)  # SIGQUIT: at once, whoever is connected
            process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until it takes connections."""
    for _ in range(600):
        if process.poll() is not None:
            raise NoPostgresError(f"PostgreSQL ended: {log.read_text()}")
        if socket.exists() and "ready to accept connections" in log.read_text():
            return
        time.sleep(0.05)
    raise NoPostgresError(f"PostgreSQL does not start: {log.read_text()}")
