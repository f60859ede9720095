"""Files that come over the network, and the limits that they are held to."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from querist import memory
from querist.serve.writing import RefusedError

CHUNK = 1 << 20
ENDINGS = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".npz", ".graphml", ".jsonl", ".json", ".mtx")


@dataclass(frozen=True)
class Limits:
    """Most bytes of a request with files, and of memory while they are read; most bytes of a request with
    nodes and edges that arrive, and of any other request."""

    bytes: int = 200_000_000
    memory: int = 5_000_000_000
    arrivals: int = 20_000_000
    body: int = 200_000


@contextmanager
def received(files: Mapping[str, Any], limits: Limits) -> Iterator[dict[str, Path]]:
    """Uploaded files in a folder of their own, which is gone afterwards; the path of each by its role.

    Inside the block, no more than `limits.memory` counts as free.
    """
    with TemporaryDirectory(prefix="querist-upload-") as folder:
        places = {}
        for role, upload in files.items():
            if upload is None or not upload.filename:
                continue
            suffixes = [each.lower() for each in Path(upload.filename).suffixes[-2:]]
            ending = "".join(each for each in suffixes if each in ENDINGS)
            if not ending:
                raise RefusedError(
                    f"{role}: a file called {upload.filename!r}; its name must end in {', '.join(ENDINGS)}",
                    422,
                )
            place = Path(folder) / f"{role}{ending}"
            with place.open("wb") as out:
                copyfileobj(upload.file, out, CHUNK)
            places[role] = place
        with memory.at_most(limits.memory):
            yield places
