"""What is free, limits for one request, and work that is refused before it starts."""

import pytest

from querist import memory
from querist.errors import InputError, TooLargeError


def test_a_limit_holds_inside_its_block() -> None:
    with memory.at_most(1e6):
        memory.check(0.9e6, "a file")
        with pytest.raises(
            TooLargeError, match=r"a file needs about 2\.0 GB of memory, and 0\.0 GB are available"
        ):
            memory.check(2e9, "a file")
        with memory.at_most(1e3), pytest.raises(TooLargeError):
            memory.check(1e4, "a file")
    memory.check(1e7, "a file")


def test_what_needs_more_than_memory_is_refused_as_input_and_as_memory() -> None:
    for kind in (InputError, MemoryError):
        with pytest.raises(kind, match="1,000 nodes with 1,000,000,000 classes needs about 96,000"):
            memory.check_classes(1000, 10**9)
