"""Values as JSON has them."""

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Tables as dictionaries, sequences as lists, NaN and infinity as None.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
