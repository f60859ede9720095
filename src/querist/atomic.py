"""A file that is there whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO

from querist.errors import InputError


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write, which takes the place of `path` when the block ends well.

    It is written beside its place, flushed to the disk and moved there in one step. So a killed process, a
    full disk or an error leaves what was there before, and two processes that write the same file leave one
    of the two. It gets the rights that any new file of the user gets. An error of the disk names the file,
    which a full disk alone does not.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"{path}: there is no folder {target.parent}; make it first")
    beside = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException as problem:
        beside.unlink(missing_ok=True)
        # Without a number it has words of its own, which a file name would take the place of.
        if isinstance(problem, OSError) and problem.errno and problem.filename in (None, str(beside)):
            problem.filename = str(target)
        raise
