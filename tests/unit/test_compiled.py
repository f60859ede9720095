"""A kernel's cached code is dropped when any file that it may hold code of changes, not only its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

INNER = """
from querist.compiled import compiled

@compiled
def inner(x: float) -> float:
    return x + {step}
"""

OUTER = """
from inner import inner
from querist.compiled import compiled

@compiled
def outer(x: float) -> float:
    return 10.0 * inner(x)

print(outer(1.0), sum(outer.stats.cache_hits.values()))
"""


def played(room: Path) -> str:
    found = subprocess.run(
        [sys.executable, "outer_kernel.py"], cwd=room, capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def test_an_edit_beside_a_kernel_is_seen(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(textwrap.dedent(INNER.format(step="1.0")))
    (tmp_path / "outer.py").write_text(textwrap.dedent(OUTER))
    (tmp_path / "outer_kernel.py").write_text("import outer\n")
    assert played(tmp_path).startswith("20.0")
    again = played(tmp_path)
    assert again.startswith("20.0")
    hits = again.split(" ", 1)[1]
    assert int(hits) == 1, "the second process did not find the cached code"

    (tmp_path / "inner.py").write_text(textwrap.dedent(INNER.format(step="2.0")))
    os.utime(tmp_path / "inner.py")
    assert played(tmp_path).startswith("30.0")


def test_rooms_that_call_kernels_of_the_operator_see_its_edits() -> None:
    from querist.collective import sweeps
    from querist.compiled import _stamp
    from querist.operator import kernels

    room = Path(sweeps.__file__).parent
    names = [name for name, _, _ in _stamp(room)]
    assert Path(sweeps.__file__).name in names
    assert Path(kernels.__file__).name in names
