"""From your own graph to labels: `label` when some labels are there, `ask` when a person will answer.

The public names are loaded when first used.
"""

import importlib
from typing import Any

_HOME = {
    "Asking": "querist.assist.asking",
    "CANDIDATES": "querist.assist.candidates",
    "Choice": "querist.assist.choice",
    "Estimate": "querist.assist.calibrate",
    "Labelling": "querist.assist.labelling",
    "Score": "querist.assist.choice",
    "ask": "querist.assist.asking",
    "extend": "querist.assist.relabel",
    "influences": "querist.assist.influence",
    "join": "querist.assist.growth",
    "keep_up": "querist.assist.growth",
    "label": "querist.assist.labelling",
    "read_seeds": "querist.assist.seeds",
    "read_source": "querist.assist.reading",
    "write_example": "querist.assist.example",
}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'querist.assist' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
