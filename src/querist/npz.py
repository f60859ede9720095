"""NumPy archives (`.npz`) from anywhere: no room is made for what is not there, and nothing is unpickled.

`numpy.load` makes room for whatever a header claims. Here an array is read only if the bytes that its shape
and type need are the bytes that the archive says it has, and if they fit into memory; the checksum of every
array that is read is compared too.
"""

import math
import os
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import IO, Any, cast

import numpy as np
from numpy.lib.format import read_array, read_array_header_1_0, read_array_header_2_0, read_magic

from querist.memory import check

MANY = 2**16 - 1
"""What stands for a number of files that is too large to be stated."""

LAST = 22
"""Bytes of the end of an archive, before its comment."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_HEADERS: dict[tuple[int, int], Any] = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}

Shape = tuple[int, ...]


def read(
    path: str | PathLike[str], names: Collection[str] | None = None, *, beside: float = 0.0
) -> dict[str, Any]:
    """The arrays in an archive by name, or those of them that are named.

    An archive that cannot be read is a ValueError that says why; one that cannot be opened is an OSError; one
    that does not fit into memory, with `beside` bytes for each of its values, is a `TooLargeError`.
    """
    with _opened(path) as archive:
        wanted = {name: own for name, own in _members(archive) if names is None or name in names}
        headers = [_header(archive, member) for member in wanted.values()]
        need = sum(math.prod(shape) * (dtype.itemsize + beside) for shape, dtype in headers)
        check(need, os.path.basename(path))
        return {name: _array(archive, member) for name, member in wanted.items()}


def shapes(path: str | PathLike[str]) -> dict[str, Shape]:
    """The shape of every array in an archive, by its header alone; refused as by `read`."""
    with _opened(path) as archive:
        return {name: _header(archive, member)[0] for name, member in _members(archive)}


@contextmanager
def _opened(path: str | PathLike[str]) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (OSError, MemoryError):
        raise
    except Exception as error:  # a damaged archive fails in a dozen ways
        raise ValueError(str(error).splitlines()[0] if str(error) else type(error).__name__) from error


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, zipfile.ZipInfo]]:
    listed = archive.infolist()
    stated = _stated(archive)
    if stated not in (len(listed), MANY):
        raise ValueError(f"{stated} files are stated and {len(listed)} listed")
    seen = set[str]()
    for member in listed:
        name = member.filename.removesuffix(".npy")
        if name in seen:
            raise ValueError(f"{name} is there twice")
        seen.add(name)
        if name != member.filename:
            yield name, member
        else:
            archive.open(member).close()  # the name of an array, damaged, is not the one it has in its place


def _stated(archive: zipfile.ZipFile) -> int:
    """How many files the end of an archive says there are: a damaged list may be read as a shorter one."""
    file = cast(IO[bytes], archive.fp)
    size = file.seek(0, 2)
    file.seek(max(0, size - LAST - 2**16))
    end = file.read()
    at = end.rfind(b"PK\x05\x06")
    return int.from_bytes(end[at + 10 : at + 12], "little")


def _header(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[Shape, np.dtype[Any]]:
    """Shape and type of an array, true to the size that the archive gives."""
    if member.compress_type not in _METHODS:
        raise ValueError(f"{member.filename} is packed in a way that NumPy does not write")
    with archive.open(member) as file:
        version = read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"{member.filename} is of version {version}")
        shape, _, dtype = _HEADERS[version](file)
        claimed = file.tell() + math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise ValueError(f"{member.filename} holds pickled objects")
    if min(shape, default=0) < 0 or claimed != member.file_size or (dtype.itemsize == 0 and math.prod(shape)):
        raise ValueError(
            f"{member.filename} claims {dtype} of shape {shape}, {claimed:,} bytes, and has "
            f"{member.file_size:,}"
        )
    return shape, dtype


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """An array whose header was looked at."""
    with archive.open(member) as file:
        array = read_array(file, allow_pickle=False)
        if file.read(1):  # reading to the end compares the checksum
            raise ValueError(f"{member.filename} goes on where it should end")
    return array
