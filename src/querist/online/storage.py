"""A learner on disk: one `.npz` of plain arrays, and what to rebuild as JSON.

No pickle, so a file from elsewhere cannot run code. The file is written beside
its place and moved there, so a killed process leaves the old one whole.
"""

import json
import os
import tempfile
import zipfile
from collections import deque
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.online import kernels
from querist.online import learner as protocol
from querist.online.rules import Scheme

FORMAT = 1


def save(learner: "protocol.Learner", path: str | PathLike[str]) -> None:
    """Write the learner to `path`, replacing it in one step."""
    rules = learner._rules._asdict()
    rules["numbers"] = rules["numbers"].tolist()
    about = {
        "format": FORMAT,
        "n_classes": learner.n_classes,
        "budget": learner.budget,
        "seed": learner.seed,
        "scheme": int(learner.scheme),
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
            np.savez(file, about=np.array(json.dumps(about)), **arrays)
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
            about = json.loads(str(file["about"]))
            arrays = {name: file[name] for name in file.files if name != "about"}
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path that learner.save() wrote") from None
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a saved learner, or damaged ({error}); save it again") from error
    if about.get("format") != FORMAT:
        raise InputError(f"{path}: saved in format {about.get('format')!r}, this version reads {FORMAT}")
    return _rebuild(about, arrays)


def _rebuild(about: dict[str, Any], arrays: dict[str, Any]) -> "protocol.Learner":
    learner = protocol.Learner.__new__(protocol.Learner)
    learner.n_classes = about["n_classes"]
    learner.budget = about["budget"]
    learner.seed = about["seed"]
    learner.scheme = Scheme(about["scheme"])
    rules = about["rules"]
    rules["numbers"] = np.array(rules["numbers"], dtype=np.float64)
    learner._rules = kernels.Rules(**rules)
    learner._place = kernels.Place(**{name: arrays[name] for name in kernels.Place._fields})
    learner._state = kernels.State(**{name: arrays[name] for name in kernels.State._fields})
    learner._pending = {
        int(node): deque(protocol.Question(t, certain, tuple(asks)) for t, certain, asks in queue)
        for node, queue in about["pending"].items()
    }
    learner._work = kernels.scratch(learner._rules, learner._state)
    learner._safe = about["safe"]
    return learner
