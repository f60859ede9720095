"""Files that come over the network, held to limits before anything reads them."""

import gzip
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from querist.serve.writing import RefusedError

CHUNK = 1 << 20
ENDINGS = (".csv", ".tsv", ".txt", ".gz", ".parquet", ".npz", ".graphml", ".jsonl", ".json", ".mtx")


@dataclass(frozen=True)
class Limits:
    """Most bytes of all files of a request, bytes that they unpack to, and lines; and most bytes of a request
    without files."""

    bytes: int = 200_000_000
    unpacked: int = 2_000_000_000
    lines: int = 50_000_000
    body: int = 20_000_000


@contextmanager
def received(files: Mapping[str, Any], limits: Limits) -> Iterator[dict[str, Path]]:
    """Uploaded files in a folder of their own, which is gone afterwards; the path of each by its role."""
    with TemporaryDirectory(prefix="querist-upload-") as folder:
        places, left = {}, limits.bytes
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
                while piece := upload.file.read(CHUNK):
                    left -= len(piece)
                    if left < 0:
                        raise RefusedError(
                            f"more than {limits.bytes:,} bytes; begin the campaign where the files are, with "
                            "querist campaign create",
                            413,
                        )
                    out.write(piece)
            _check_unpacked(place, role, limits)
            places[role] = place
        yield places


def _check_unpacked(place: Path, role: str, limits: Limits) -> None:
    """Refuse what unpacks to more than it may, without unpacking all of it."""
    name = place.name
    if name.endswith(".gz"):
        with place.open("rb") as packed:
            size, lines = _measured(gzip.GzipFile(fileobj=packed), role, limits)
    elif name.endswith(".npz"):
        try:
            with zipfile.ZipFile(place) as archive:
                size, lines = sum(each.file_size for each in archive.infolist()), 0
        except zipfile.BadZipFile as problem:
            raise RefusedError(f"{role}: a damaged npz file ({problem})", 422) from problem
    elif name.endswith(".parquet"):
        import pyarrow.parquet as pq

        try:
            about = pq.ParquetFile(place).metadata
        except Exception as problem:
            raise RefusedError(f"{role}: a damaged parquet file ({problem})", 422) from problem
        groups = [about.row_group(k).total_byte_size for k in range(about.num_row_groups)]
        size, lines = sum(groups), about.num_rows
    else:
        with place.open("rb") as plain:
            size, lines = _measured(plain, role, limits)
    if size > limits.unpacked or lines > limits.lines:
        raise RefusedError(
            f"{role}: it unpacks to {size:,} bytes and {lines:,} lines; there may be {limits.unpacked:,} and "
            f"{limits.lines:,}",
            413,
        )


def _measured(file: IO[bytes] | gzip.GzipFile, role: str, limits: Limits) -> tuple[int, int]:
    """Bytes and lines, read no further than the limits."""
    size = lines = 0
    try:
        while (piece := file.read(CHUNK)) and size <= limits.unpacked and lines <= limits.lines:
            size += len(piece)
            lines += piece.count(b"\n")
    except (OSError, EOFError) as problem:
        raise RefusedError(f"{role}: a damaged file ({problem})", 422) from problem
    return size, lines
