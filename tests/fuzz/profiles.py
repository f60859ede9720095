"""How much the generated tests do.

quick : what `make test` runs: few cases, the same ones every time
long  : where QUERIST_FUZZ_MINUTES is set (`make fuzz MINUTES=30`): new cases in every round. Failures are
        kept in the folder `.hypothesis/fuzz` and tried first in the next round, until they are mended; a
        shrunk case then becomes an `@example` of its test.

QUERIST_FUZZ_FILES says how many damaged files of each kind are tried, whatever the profile.
"""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

LONG = "QUERIST_FUZZ_MINUTES" in os.environ
FILES = int(os.environ.get("QUERIST_FUZZ_FILES", "500" if LONG else "30"))
FAILURES = Path(__file__).parents[2] / ".hypothesis" / "fuzz"

_common = {
    "deadline": None,
    "suppress_health_check": list(HealthCheck),  # what is slow or large here is the library, on purpose
    "print_blob": True,
}
settings.register_profile("fuzz-quick", derandomize=True, database=None, **_common)
settings.register_profile("fuzz-long", database=DirectoryBasedExampleDatabase(FAILURES), **_common)


def fuzzed(quick: int, **options: object) -> settings:
    """The settings of a test, as its decorator: this many cases when quick, ten times as many when long."""
    profile = settings.get_profile("fuzz-long" if LONG else "fuzz-quick")
    return settings(profile, max_examples=10 * quick if LONG else quick, **options)
