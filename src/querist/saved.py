"""A learner on disk: one `.npz` of plain arrays, and a description as JSON.

No pickle, so a file from elsewhere cannot run code; a digest of all it holds, so
that a damaged one is refused before compiled code reads its arrays. The file is
written beside its place and moved there, so a killed process leaves the old one
whole.
"""

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from querist.atomic import replacing
from querist.errors import InputError

Arrays = Mapping[str, Any]


def write(path: str | PathLike[str], about: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a description with its `format` and its arrays to `path`, replacing it in one step."""
    text = json.dumps(about)
    digest = np.array(_digest(text, arrays))
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, about=np.array(text), digest=digest, **arrays)


def read(path: str | PathLike[str], form: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description and the arrays that `write` wrote, refused unless whole and of this format."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text, digest = str(arrays.pop("about")), str(arrays.pop("digest"))
        about: dict[str, Any] = json.loads(text)
        version = about["format"]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path that save() wrote") from None
    except Exception as error:  # a damaged archive fails in a dozen ways
        raise InputError(f"{path}: not a saved learner, or damaged ({error}); save it again") from error
    if version != form:
        raise InputError(f"{path}: saved in format {version!r}, this version reads {form}; save it again")
    if digest != _digest(text, arrays):
        raise InputError(f"{path}: damaged, its digest does not match what it holds; save it again")
    return about, arrays


def _digest(text: str, arrays: Arrays) -> str:
    """SHA-256 of the description and of every array: name, type, shape and bytes."""
    total = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()
