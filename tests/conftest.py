"""What every test may use: real data sets, a cache of this session's own, hypothesis profiles.

Real data sets come from the directory QUERIST_DATA; a test that wants one that is not there is
skipped and says so. Nothing is ever downloaded, and the user's own cache is neither read nor written.

Hypothesis runs the profile named in HYPOTHESIS_PROFILE: `dev` (the default: few examples, new ones
each time) or `ci` (more, the same every time).
"""

import importlib.util
import os
import secrets
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import querist
from querist.embedding import Embedding
from querist.graph import Graph

REAL_DATA = os.environ.get("QUERIST_DATA")
CHROMIUM = Path("/usr/bin/chromium")
POSIX_ONLY = (
    "tests/faults/",
    "tests/contracts/test_ask.py::",
    "tests/contracts/test_experiment.py::test_killed",
    "tests/contracts/test_experiment.py::test_workers_go",
    "tests/fuzz/test_guard_pages.py::",
    "tests/unit/asking/test_ask_terminal.py::",
    "tests/unit/asking/test_journal.py::",
    "tests/unit/asking/test_store_files.py::",
    "tests/unit/asking/test_wal.py::",
    "tests/unit/cli/test_completion.py::test_bash",
    "tests/unit/cluster/test_embed.py::test_a_killed",
    "tests/unit/cluster/test_run.py::test_work_goes_on",
    "tests/unit/labelling/test_output.py::test_a_full_disk",
    "tests/unit/serve/test_client.py::",
    "tests/unit/test_core.py::test_a_terminal",
)
"""Tests that fork, kill, copy files that are open, or sit at a terminal."""
LINUX_ONLY = (
    "tests/unit/cli/test_streams.py::",
    "tests/unit/tables/test_hostile_files.py::test_what_is_only_claimed",
    "tests/unit/test_atomic.py::test_what_is_no_plain_file",
)
"""Tests that read /proc or write to /dev/full."""


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """A test module that cannot be imported is an error: the option for examples in `src` would skip it."""
    report = yield
    if report.skipped and "unable to import module" in str(report.longrepr):
        report.outcome = "failed"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that need another system than this one are skipped."""
    left_out = (*(POSIX_ONLY if os.name != "posix" else ()), *(LINUX_ONLY if sys.platform != "linux" else ()))
    for item in items:
        if item.nodeid.startswith(left_out):
            item.add_marker(pytest.mark.skip(reason="needs what only other systems have"))


_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("dev", max_examples=40, **_common)
settings.register_profile("ci", max_examples=100, derandomize=True, **_common)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(scope="session")
def data() -> Callable[[str], Graph]:
    """`data(name)`: that graph from QUERIST_DATA, read once a session, or the test is skipped."""
    read: dict[str, Graph] = {}

    def load(name: str) -> Graph:
        if not REAL_DATA or not (Path(REAL_DATA) / f"{name}.npz").is_file():
            pytest.skip(f"{name}.npz is not in QUERIST_DATA ({REAL_DATA or 'which is not set'})")
        if name not in read:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("QUERIST_DATA", REAL_DATA)
                read[name] = querist.datasets.load_graph(name)
        return read[name]

    return load


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """QUERIST_CACHE of this session: embeddings are kept here, never in the user's own cache."""
    folder = tmp_path_factory.mktemp("querist-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("QUERIST_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a PostgreSQL server of this session's own; where there is none, the test is skipped."""
    place = Path(__file__).parents[1] / "tools" / "postgres.py"
    spec = importlib.util.spec_from_file_location("throwaway_postgres", place)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    with ExitStack() as stack:
        try:
            url = stack.enter_context(tool.running(durable=False))
        except tool.NoPostgresError as problem:
            pytest.skip(str(problem))
        yield url


@pytest.fixture
def new_database(postgres_server: str) -> Iterator[Callable[[], str]]:
    """`new_database()`: the URL of an empty database, which is gone after the test."""
    psycopg = pytest.importorskip("psycopg")
    names: list[str] = []
    with psycopg.connect(postgres_server, autocommit=True) as connection:

        def make() -> str:
            names.append(f"test_{secrets.token_hex(6)}")
            connection.execute(f"CREATE DATABASE {names[-1]}")
            return postgres_server.replace("/postgres?", f"/{names[-1]}?")

        yield make
        for name in names:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def lines_run() -> Callable[[Callable[[], object]], int]:
    """`lines_run(call)`: how many lines of Python a call runs; few where compiled code does the work."""

    def count(call: Callable[[], object]) -> int:
        lines = 0

        def trace(frame: object, event: str, argument: object) -> object:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            call()
        finally:
            sys.settrace(before)
        return lines

    return count


@pytest.fixture(scope="session")
def embedding(session_cache: Path) -> Callable[..., Embedding]:
    """`embedding(graph, **options)`: `querist.embed`, computed once a session."""

    def embed(graph: Graph, **options: object) -> Embedding:
        return querist.embed(graph, cache=True, **options)

    return embed


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, one for all tests of a process: Playwright runs only once in a thread."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="the pages are tested with Playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}, in which the pages are tested")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield found
        found.close()
