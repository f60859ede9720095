"""A stream learner on disk: one `.npz` of plain arrays, and the rest as JSON.

No pickle, so a file from elsewhere cannot run code. The file is written beside its place
and moved there, so a killed process leaves the old one whole.
"""

import json
import os
import tempfile
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from querist.budgeted import learner as protocol
from querist.budgeted.similarity import Gram
from querist.budgeted.step import Rules, State
from querist.errors import InputError

FORMAT = 1


def save(
    learner: "protocol.StreamLearner", path: str | PathLike[str], extra: dict[str, Any] | None = None
) -> None:
    """Write the learner, and something of the caller's own, to `path`, replacing it in one step."""
    about = {
        "format": FORMAT,
        "n_classes": learner.n_classes,
        "kernel": None if callable(learner.kernel) else learner.kernel,
        "kernel_params": learner.kernel_params,
        "rules": learner.rules._asdict(),
        "warm": learner.warm,
        "floor": learner.floor,
        "extra": extra or {},
    }
    try:
        text = json.dumps(about)
    except TypeError as problem:
        raise InputError(
            f"{problem}; a learner can be saved when its classes, feature names and kernel_params are "
            "strings, numbers or booleans"
        ) from None
    arrays = {} if learner.state is None else learner.state._asdict()
    target = Path(path)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, allow_pickle=False, about=np.array(text), first=learner.first, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def load(
    path: str | PathLike[str], kernel: Gram | None = None
) -> tuple["protocol.StreamLearner", dict[str, Any]]:
    """The learner, bit for bit, and the caller's own; a kernel that was a function is given again."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            arrays = {name: file[name] for name in file.files if name != "about"}
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']}, not {FORMAT}")
        rules = Rules(**about["rules"])
        state = State(**{name: arrays[name] for name in State._fields}) if "H" in arrays else None
        first = arrays["first"]
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path that save() wrote") from None
    except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        raise InputError(f"{path}: not a saved learner, or damaged ({problem}); save it again") from problem
    named: str | Gram | None = about["kernel"] or kernel
    if named is None:
        raise InputError(f"{path}: its kernel was a function, which a file cannot hold; give it as kernel=")
    learner = protocol.StreamLearner(
        about["n_classes"], kernel=named, width=rules.width, kernel_params=about["kernel_params"]
    )
    learner.rules, learner.state, learner.first = rules, state, first
    learner.warm, learner.floor = about["warm"], about["floor"]
    return learner, about["extra"]
