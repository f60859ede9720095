"""A learner or a labelling on disk: one `.npz` of plain arrays, and a description as JSON.

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


def read(
    path: str | PathLike[str], form: int, what: str = "learner"
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description and the arrays that `write` wrote, refused unless whole and of this format.

    `what` the file should hold is named in its description; one that names nothing holds a learner.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text, digest = str(arrays.pop("about")), str(arrays.pop("digest"))
        about: dict[str, Any] = json.loads(text)
        version, held = about["format"], about.get("what", "learner")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path that save() wrote") from None
    except MemoryError:
        raise
    except ValueError as error:  # NumPy takes what is no archive for pickled data, and says how to trust it
        raise InputError(f"{path}: not a saved {what}, or damaged; save it again") from error
    except Exception as error:  # a damaged archive fails in a dozen ways
        raise InputError(f"{path}: not a saved {what}, or damaged ({error}); save it again") from error
    if held != what:
        raise InputError(f"{path}: holds a saved {held}, no {what}; give the file of a {what}")
    if version != form:
        advice = "update querist" if isinstance(version, int) and version > form else "save it again"
        raise InputError(f"{path}: saved in format {version!r}, this version reads {form}; {advice}")
    if digest != _digest(text, arrays):
        raise InputError(f"{path}: damaged, its digest does not match what it holds; save it again")
    return about, arrays


def holds(path: str | PathLike[str], what: str) -> bool:
    """Whether a file was saved as such, by its description alone; a file that cannot be read was not."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return bool(json.loads(str(file["about"])).get("what") == what)
    except Exception:  # no archive, another one, or a damaged one, which fails in a dozen ways
        return False


def _digest(text: str, arrays: Arrays) -> str:
    """SHA-256 of the description and of every array: name, type, shape and bytes."""
    total = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()
