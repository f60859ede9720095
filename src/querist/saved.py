"""A learner or a labelling on disk: one `.npz` of plain arrays, and a description as JSON.

No pickle, so a file from elsewhere cannot run code; a digest of all it holds, so
that a damaged one is refused. A right digest says nothing of what somebody else has
put there: whoever rebuilds from a file compares every array with a table of what it
must be (`querist.fields`), before compiled code reads it. The file is written beside
its place and moved there, so a killed process leaves the old one whole.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any

import numpy as np

from querist import npz
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
        arrays = npz.read(path)
        text, digest = str(arrays.pop("about")), str(arrays.pop("digest"))
        about: dict[str, Any] = json.loads(text)
        version, held = about["format"], about.get("what", "learner")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path that save() wrote") from None
    except MemoryError:
        raise
    except Exception as error:  # no archive of ours, or a damaged one
        raise InputError(f"{path}: not a saved {what}, or damaged ({error}); save it again") from error
    if held != what:
        raise InputError(f"{path}: holds a saved {held}, no {what}; give the file of a {what}")
    if version != form:
        advice = "update querist" if isinstance(version, int) and version > form else "save it again"
        raise InputError(f"{path}: saved in format {version!r}, this version reads {form}; {advice}")
    if digest != _digest(text, arrays):
        raise InputError(f"{path}: damaged, its digest does not match what it holds; save it again")
    return about, arrays


@contextmanager
def rebuilding(path: str | PathLike[str], what: str = "learner") -> Iterator[None]:
    """While what was read is made into what was saved: whatever does not fit is refused, with the path."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InputError(f"{path}: not what save() writes ({error}); save the {what} again") from error


def holds(path: str | PathLike[str], what: str) -> bool:
    """Whether a file was saved as such, by its description alone; a file that cannot be read was not."""
    try:
        return bool(json.loads(str(npz.read(path, ["about"])["about"])).get("what") == what)
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
