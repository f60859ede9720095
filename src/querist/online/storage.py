"""A learner on disk: one `.npz` of plain arrays, and what to rebuild as JSON.

No pickle, so a file from elsewhere cannot run code; a digest of all it holds, so
that a damaged one is refused before compiled code reads its arrays. The file is
written beside its place and moved there, so a killed process leaves the old one
whole.
"""

import hashlib
import json
import os
import tempfile
from collections import deque
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.online import learner as protocol
from querist.online.pounce import CoverLearner
from querist.online.rules import Scheme

FORMAT = 2

KINDS: dict[str, type[protocol.Learner]] = {"state": protocol.Learner, "cover": CoverLearner}
"""What a file may hold."""


def save(learner: "protocol.Learner", path: str | PathLike[str]) -> None:
    """Write the learner to `path`, replacing it in one step."""
    rules = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in learner._rules._asdict().items()
    }
    about = {
        "format": FORMAT,
        "kind": next(name for name, kind in KINDS.items() if kind is type(learner)),
        "n_classes": learner.n_classes,
        "budget": learner.budget,
        "seed": learner.seed,
        "scheme": int(learner.scheme),
        "notes": list(learner.notes),
        "safe": learner._safe,
        "rules": rules,
        "pending": {
            node: [[q.round, q.certain, list(q.asks)] for q in queue]
            for node, queue in learner._pending.items()
        },
    }
    arrays = {**learner._place._asdict(), **learner._state._asdict()}
    target = Path(path)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            text = json.dumps(about)
            np.savez(file, about=np.array(text), digest=np.array(_digest(text, arrays)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def load(path: str | PathLike[str]) -> "protocol.Learner":
    """Read a learner back; decisions, draws and state go on bit for bit."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        text, digest = str(arrays.pop("about")), str(arrays.pop("digest"))
        about = json.loads(text)
        version = about["format"]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path that learner.save() wrote") from None
    except Exception as error:  # a damaged archive fails in a dozen ways
        raise InputError(f"{path}: not a saved learner, or damaged ({error}); save it again") from error
    if version != FORMAT:
        raise InputError(f"{path}: saved in format {version!r}, this version reads {FORMAT}; save it again")
    if digest != _digest(text, arrays):
        raise InputError(f"{path}: damaged, its digest does not match what it holds; save it again")
    return _rebuild(about, arrays)


def _digest(text: str, arrays: dict[str, Any]) -> str:
    """SHA-256 of the description and of every array: name, type, shape and bytes."""
    total = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.data)
    return total.hexdigest()


def _rebuild(about: dict[str, Any], arrays: dict[str, Any]) -> "protocol.Learner":
    kind = KINDS[about["kind"]]
    maths = kind._maths
    learner = kind.__new__(kind)
    learner.n_classes = about["n_classes"]
    learner.budget = about["budget"]
    learner.seed = about["seed"]
    learner.scheme = Scheme(about["scheme"])
    learner.notes = tuple(about["notes"])
    rules = {
        name: np.array(value, dtype=np.float64) if isinstance(value, list) else value
        for name, value in about["rules"].items()
    }
    learner._rules = maths.Rules(**rules)
    learner._place = maths.Place(**{name: arrays[name] for name in maths.Place._fields})
    learner._state = maths.State(**{name: arrays[name] for name in maths.State._fields})
    learner._pending = {
        int(node): deque(protocol.Question(t, certain, tuple(asks)) for t, certain, asks in queue)
        for node, queue in about["pending"].items()
    }
    learner._work = maths.scratch(learner._rules, learner._state)
    learner._safe = about["safe"]
    return learner
