"""The header of a run names its profile, so that a log of a long run can be repeated."""

from profiles import FAILURES, LONG


def pytest_report_header(config: object) -> str | None:
    return f"fuzz: long; failures are kept in {FAILURES}" if LONG else None
