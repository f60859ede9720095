"""A checksummed download: all of it, or nothing.

Files go to a temporary folder inside the cache, are checked and converted there, and
the result is moved into place in one step. So an interrupted download leaves nothing
that a later call would take as good, and two processes at once do no harm.
"""

import hashlib
import pickle
import tempfile
from pathlib import Path

import numpy as np

from querist.atomic import replacing
from querist.datasets.convert import Arrays, content_sha256
from querist.datasets.registry import DownloadSource, Entry, File
from querist.errors import DownloadError, InputError
from querist.lazy import needing
from querist.progress import Progress, silent
from querist.tables.formats import BROKEN

TIMEOUT_SECONDS = 30
_UNREADABLE = (*BROKEN, pickle.UnpicklingError)


def fetch(entry: Entry, cache: Path, *, retries: int = 1, progress: Progress = silent) -> Path:
    """Download a set into the cache as `NAME.npz` and return its path.

    Sources are tried in turn, each file `1 + retries` times. `progress` is told how much of a file has come;
    0 where the server does not say how large it is.

    >>> from querist.datasets.registry import Entry
    >>> try:
    ...     fetch(Entry("nowhere", 1, 0, 1, 0, about="it has no source"), Path("cache"))
    ... except DownloadError as wrong:
    ...     print(str(wrong)[:25])
    could not fetch 'nowhere'
    """
    problems = []
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for source in entry.sources:
            with tempfile.TemporaryDirectory(prefix=f".{entry.name}-", dir=cache) as folder:
                try:
                    paths = [_fetch_file(file, Path(folder), retries, progress) for file in source.files]
                    arrays = _read_source(entry, source, paths)
                    with replacing(cache / f"{entry.name}.npz") as whole:
                        np.savez_compressed(whole, **arrays)
                    return cache / f"{entry.name}.npz"
                except InputError as problem:
                    problems.append(str(problem))
    except OSError as problem:
        raise DownloadError(
            f"cannot write to the cache {cache} ({problem}); free space, or set QUERIST_CACHE elsewhere"
        ) from problem
    raise DownloadError(f"could not fetch {entry.name!r}: {'; '.join(problems)}. {by_hand(entry)}")


def _read_source(entry: Entry, source: DownloadSource, paths: list[Path]) -> Arrays:
    """The arrays that a source's files hold, checked to be those of the entry."""
    names = ", ".join(path.name for path in paths)
    try:
        arrays = source.read(paths)
    except _UNREADABLE as problem:
        raise InputError(f"{names} cannot be read as {entry.name!r} ({problem})") from problem
    if entry.content is not None and (found := content_sha256(arrays)) != entry.content:
        raise InputError(
            f"{names} hold another graph than {entry.name!r} "
            f"(content checksum {found[:12]}..., expected {entry.content[:12]}...)"
        )
    return arrays


def by_hand(entry: Entry) -> str:
    """What to do when no download works."""
    put = f"put {entry.name}.npz in a directory and set QUERIST_DATA to that directory"
    if not entry.sources:
        return put[0].upper() + put[1:]
    return f"Try again later, or {put}; the cache of another computer has the file after a download there"


def _fetch_file(file: File, folder: Path, retries: int, progress: Progress) -> Path:
    with needing("download", f"the download of {file.name}"):
        import requests

    try:
        with requests.get(file.url, stream=True, timeout=TIMEOUT_SECONDS) as answer:
            answer.raise_for_status()
            total, done = int(answer.headers.get("Content-Length", 0)), 0
            with (folder / file.name).open("w+b") as copy:
                for block in answer.iter_content(2**16):
                    done += copy.write(block)
                    progress(min(1.0, done / total) if total else 0.0, f"{file.name}, {done / 1e6:.1f} MB")
                copy.seek(0)
                digest = hashlib.file_digest(copy, "sha256").hexdigest()
        if file.sha256 in (None, digest):
            return folder / file.name
        wrong = f"{file.url} came with the wrong checksum"
    except requests.HTTPError as problem:
        wrong = f"the server answered {problem}"
    except (requests.RequestException, ValueError):  # the latter for headers that say no number
        wrong = f"the transfer of {file.url} failed"
    if retries > 0:
        return _fetch_file(file, folder, retries - 1, progress)
    raise InputError(wrong)
