"""Under which conditions a number came about: versions and machine."""

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


@cache
def versions() -> dict[str, str]:
    """Of Python, of Querist and of what it computes with."""
    from querist.version import VERSION

    found = {"python": platform.python_version(), "querist": VERSION}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # pragma: no cover
            continue
    return found


@cache
def machine() -> dict[str, str | int]:
    """Processor, cores that this process may use, and system; not the machine's name."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"processor": _processor(), "cores": usable, "system": f"{platform.system()} {platform.machine()}"}


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
