"""Old names that still work for a while, and say so: the one way in which something public goes.

A name lives through one minor version at least after it began to warn (docs/stability.md).
"""

import warnings


def renamed(old: str, new: str, ends: str, level: int = 2) -> None:
    """Warn that `old` is `new` now and ends with the version `ends`; `level` frames up is who is to blame.

    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     renamed("Event.id", "Event.seq", "0.3.0")
    >>> str(said[0].message), said[0].category.__name__
    ('Event.id is Event.seq now; the old name ends with version 0.3.0', 'DeprecationWarning')
    """
    message = f"{old} is {new} now; the old name ends with version {ends}"
    warnings.warn(message, DeprecationWarning, stacklevel=level + 1)
