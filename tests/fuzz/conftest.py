"""The fuzz room says which profile it runs, so that a log of a long run can be repeated."""

from profiles import FAILURES, LONG

# The quick profile of these has not been seen to pass yet; until it has, only `make fuzz` runs them.
collect_ignore = [] if LONG else ["test_machines.py", "test_promises.py"]


def pytest_report_header(config: object) -> str | None:
    return f"fuzz: long; failures are kept in {FAILURES}" if LONG else None
