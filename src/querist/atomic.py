"""A file that is there whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO

from querist.errors import InputError, refuse

LONGEST = 255
"""Bytes of a name, without its folders, on the usual file systems."""


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file to write, which takes the place of `path` when the block ends well.

    It is written beside its place, flushed to the disk and moved there in one step. So a killed process, a
    full disk or an error leaves what was there before, and two processes that write the same file leave one
    of the two. It gets the rights that any new file of the user gets. An error of the disk names the file,
    which a full disk alone does not.
    """
    target = check_replaceable(path)
    beside = _beside(target)
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


def checked_path(path: str | PathLike[str]) -> Path:
    """A path that the system can take: without NUL or a character that no file name has, each part short.

    >>> checked_path("edges.csv").name
    'edges.csv'
    """
    try:
        if "\0" not in os.fspath(path) and 0 < max(map(len, os.fsencode(path).split(b"/"))) <= LONGEST:
            return Path(path)
    except UnicodeEncodeError:
        pass
    raise InputError(f"{os.fspath(path)[:LONGEST]!r} is no name of a file; give the path of a file")


def check_replaceable(path: str | PathLike[str]) -> Path:
    """The path of a file to write, refused where it has no folder or would replace no plain file."""
    target = checked_path(path)
    there, plain = target.exists(), target.is_file()
    refuse(
        {
            f"{path}: there is no folder {target.parent}; make it first": not target.parent.is_dir(),
            f"{path} is a folder; name a file": target.is_dir(),
            f"{path} is a device or a pipe, which a file would replace; name a file": there and not plain,
            f"{path} is read-only; make it writable, or name another file": (
                there and not os.access(target, os.W_OK)
            ),
        }
    )
    return target


def check_writable(path: str | PathLike[str]) -> Path:
    """The same, before work whose result will go there: a file beside it is made, and removed."""
    target = check_replaceable(path)
    beside = _beside(target)
    try:
        beside.open("xb").close()
    except OSError as problem:
        raise InputError(f"{path}: cannot be written ({problem.strerror}); name another place") from problem
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
    return target


def _beside(target: Path) -> Path:
    return target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
