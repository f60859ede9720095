"""What `pip install querist` takes, from an empty environment to the first labels: `make fresh`.

    python tools/fresh_install.py [WHEEL]

The wheel is built from this tree unless one is given. It is installed as a stranger would, without anything
that pip has kept from before, and three lines are run. Prints the seconds of both, and the size of every
distribution that was added: what pip writes from the wheels, and beside it the bytecode that it compiles.
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_SECONDS = 60
BEFORE = ("pip", "setuptools")
"""What an empty environment has."""
FIRST_LABELS = """import querist
found = querist.label([(0, 1), (1, 2), (3, 4)], {0: "x", 3: "y"})
print(*found.labels)"""
"""The three lines."""


@dataclass(frozen=True)
class Size:
    """Bytes of a distribution: what its wheel holds, and what Python compiled of it."""

    name: str
    files: int
    bytecode: int


def sizes(environment: Path) -> list[Size]:
    """Everything that was added to an environment, the largest first."""
    folder = next(environment.glob("lib*/python*/site-packages"), environment / "Lib" / "site-packages")
    found = [size_of(one) for one in distributions(path=[str(folder)]) if one.name not in BEFORE]
    return sorted(found, key=lambda one: -one.files)


def size_of(one: Distribution) -> Size:
    """The sizes of the files that a distribution lists and that are there."""
    there = [Path(str(one.locate_file(file))) for file in one.files or ()]
    kept = [(path.suffix == ".pyc", path.lstat().st_size) for path in there if path.is_file()]
    return Size(
        one.name,
        sum(size for compiled, size in kept if not compiled),
        sum(size for compiled, size in kept if compiled),
    )


def table(found: list[Size], shown: float = 1e6) -> Iterator[str]:
    """A line a distribution of more than `shown` bytes, one for the rest, and the sum."""
    yield f"{'distribution':<16}{'MB':>8}{'bytecode':>10}"
    small = [one for one in found if one.files <= shown]
    rest = Size(f"{len(small)} smaller", sum(s.files for s in small), sum(s.bytecode for s in small))
    whole = Size("together", sum(s.files for s in found), sum(s.bytecode for s in found))
    for one in [*(s for s in found if s.files > shown), rest, whole]:
        yield f"{one.name:<16}{one.files / 1e6:>8.1f}{one.bytecode / 1e6:>10.1f}"
    yield f"together in MB of 2**20 bytes: {whole.files / 2**20:.0f}, bytecode {whole.bytecode / 2**20:.0f}"


def built(folder: Path) -> Path:
    """The wheel of this tree."""
    words = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(words, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def seconds(words: list[str], **options: object) -> tuple[float, str]:
    """How long a command takes, and what it prints."""
    start = time.perf_counter()
    done = subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]
    return time.perf_counter() - start, done.stdout


def main(words: list[str]) -> int:
    """Install, label, tell; 1 where it took longer than is promised."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        wheel = Path(words[0]) if words else built(place)
        venv.create(place / "environment", with_pip=True)
        python = str(place / "environment" / ("Scripts" if os.name == "nt" else "bin") / "python")
        pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
        install, _ = seconds([*pip, "install", str(wheel)])
        own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "QUERIST"))}
        own |= {"NUMBA_CACHE_DIR": str(place / "kernels"), "QUERIST_CACHE": str(place / "cache")}
        first, said = seconds([python, "-c", FIRST_LABELS], cwd=place, env=own)
        print(f"pip install {install:.0f} s, first labels {first:.0f} s: {said.strip()}")
        print(*table(sizes(place / "environment")), sep="\n")
    return int(install + first >= MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
