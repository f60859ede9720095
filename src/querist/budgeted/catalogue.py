"""Stream learners by name: `STREAMS[name](n_classes, *, seed=0, **parameters)` runs over a stream.

Each has `run(X, labels, labelled) -> Stream`, which predicts every row and then learns it; labels are class
codes, and are seen only where `labelled`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from querist.budgeted.learner import BLS
from querist.budgeted.passive import PA, PA1, PA2
from querist.registry import Registry

Factory: TypeAlias = Callable[..., Any]

STREAMS: Registry[Factory] = Registry(
    "stream learner", {"bls": BLS, "pa": PA, "pa1": PA1, "pa2": PA2}, "stream"
)
"""Every stream learner by name.

>>> sorted(STREAMS)[:3]
['bls', 'pa', 'pa1']
"""
