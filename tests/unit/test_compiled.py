"""A kernel's cached code is dropped when any file that it may hold code of changes, not only its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

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


def played(folder: Path) -> str:
    found = subprocess.run(
        [sys.executable, "outer_kernel.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


@pytest.mark.slow
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


NAMED = """
from typing import NamedTuple
from querist.compiled import compiled

class {name}(NamedTuple):
    x: float

@compiled
def outer(state: {name}) -> float:
    return state.x

print(outer({name}(2.0)))
"""


@pytest.mark.slow
def test_cached_code_that_names_a_class_which_is_gone_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "outer_kernel.py").write_text("import outer\n")
    for name in ("State", "CoverState"):
        (tmp_path / "outer.py").write_text(NAMED.format(name=name))
        assert played(tmp_path) == "2.0"


ANOTHER = """
import numba
import numba.core.options

real = numba.njit

class Bare:
    def __init__(self, kernel):
        self.kernel = kernel
    def __call__(self, *arguments):
        return self.kernel(*arguments)

def njit(*given, **options):
    if given or "error_model" not in options:  # its own
        return real(*given, **options)
    assert not any(name.startswith("_") for name in options), options
    return lambda function: Bare(real(**options)(function)) if options["cache"] else real(**options)(function)

numba.njit = njit
del numba.core.options.DefaultOptions{rest}
import outer
print(outer.outer(1.0), type(outer.outer).__name__)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rest", ["", "._nrt"])
def test_a_numba_without_what_we_reach_for_still_works(tmp_path: Path, rest: str) -> None:
    """It has no such option, or no such class of options, and its dispatchers show nothing of their cache."""
    (tmp_path / "inner.py").write_text(textwrap.dedent(INNER.format(step="1.0")))
    (tmp_path / "outer.py").write_text(textwrap.dedent(OUTER))
    (tmp_path / "outer_kernel.py").write_text(ANOTHER.format(rest=rest))
    assert played(tmp_path).splitlines()[-1] == "20.0 CPUDispatcher"
    (tmp_path / "inner.py").write_text(textwrap.dedent(INNER.format(step="2.0")))
    assert played(tmp_path).splitlines()[-1] == "30.0 CPUDispatcher", "stale code was run"


def test_packages_that_call_kernels_of_the_operator_see_its_edits() -> None:
    from querist.collective import sweeps
    from querist.compiled import _stamp
    from querist.operator import kernels

    folder = Path(sweeps.__file__).parent
    names = [name for name, _, _ in _stamp(folder)]
    assert Path(sweeps.__file__).name in names
    assert Path(kernels.__file__).name in names


@pytest.mark.slow
def test_cached_code_that_names_a_class_which_has_gone_is_compiled_anew(tmp_path):
    source = (
        "from typing import NamedTuple\nfrom querist.compiled import compiled\n"
        "class {name}(NamedTuple):\n    a: float\n"
        "@compiled\ndef twice(x):\n    return 2 * x.a\nprint(twice({name}(1.5)))\n"
    )
    found = []
    for name in ("Before", "Afterwards"):
        (tmp_path / "kernel.py").write_text(source.format(name=name))
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        command = [sys.executable, "-c", "import kernel"]
        ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        found.append(ran.stdout.strip())
    assert found == ["3.0", "3.0"]


def test_each_family_of_learners_has_machine_code_of_its_own() -> None:
    """Under one name, each family would throw away what another has kept, and compile its loop every time."""
    from querist.online.cover_learner import CoverLearner
    from querist.online.paced_learner import Paced

    loops: list[Any] = [kind._steps.play_all for kind in (CoverLearner, Paced)]
    assert len({each.py_func.__qualname__ for each in loops}) == 2
