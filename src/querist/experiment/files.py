"""Data that come from files: when their content changes, so do the numbers.

A specification names a file by its path; its runs are kept with a digest of what the file held, and runs on
another content do not count.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

from querist.experiment.specification import Specification

NAMED = ("nodes",)
"""Settings of a representation that name a file."""


def digest(spec: Specification) -> str:
    """Of all files that a specification names; nothing where its data have a name."""
    return files_digest(spec.dataset, *(str(spec.representation.get(name, "")) for name in NAMED))


def files_digest(*names: str) -> str:
    """Of those names that are paths of files; nothing where none is."""
    paths = [Path(name).expanduser() for name in names if name]
    found = [(path, path.stat()) for path in paths if path.is_file()]
    return "".join(_digest(path, stat.st_mtime_ns, stat.st_size) for path, stat in found)


@lru_cache(maxsize=64)
def _digest(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
