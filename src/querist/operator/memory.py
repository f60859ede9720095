"""How much memory this process may still take: what is too large is refused before it starts."""

import os
from pathlib import Path

import numpy as np


def free() -> float:
    """Bytes this process may still take; infinite where the system does not say."""
    return min(_free_of_machine(), _free_of_group())


def _free_of_machine() -> float:
    try:
        text = Path("/proc/meminfo").read_text()
        return float(text.split("MemAvailable:")[1].split()[0]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return np.inf


def _free_of_group() -> float:
    """What a container leaves (control groups, version 2)."""
    place = Path("/sys/fs/cgroup")
    try:
        return float((place / "memory.max").read_text()) - float((place / "memory.current").read_text())
    except (OSError, ValueError):  # no such group, or "max": no limit
        return np.inf
