"""A stream without an end: blocks of rows go through a learner, and the accuracy so far comes out.

Classes may be declared, or appear as they come where the learner can take them in. A label that
is there judges the prediction; whether the learner sees it too is drawn, as a share.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.labels import is_missing, plain
from querist.tables.readers.lines import Block
from querist.types import Codes


@dataclass
class Running:
    """What has passed so far."""

    rows: int = 0
    judged: int = 0
    right: int = 0
    updates: int = 0
    features: int = 0

    @property
    def accuracy(self) -> float:
        """Share of the judged rows that were predicted rightly before they were learned."""
        return self.right / self.judged if self.judged else float("nan")


def feed(
    blocks: Iterable[Block],
    make: Callable[[int], Any],
    *,
    classes: Sequence[Hashable] | None = None,
    labelled: float = 1.0,
    seed: int = 0,
) -> Iterator[tuple[Running, Any]]:
    """After every block, what has passed and the learner; `make(n_classes)` makes it at the first row."""
    if not 0 < labelled <= 1:
        raise InputError(f"labelled = {labelled!r}; it must be a share above 0 and at most 1")
    known: list[Hashable] = list(classes or [])
    if classes is not None and len(known) < 2:
        raise InputError(f"classes are {known!r}; at least 2 are needed")
    learner = make(max(2, len(known)))
    if classes is None and not hasattr(learner, "add_class"):
        raise InputError(
            "this method must know its classes before the stream begins; name them with --classes"
        )
    rng, running = np.random.default_rng(seed), Running()
    for block in blocks:
        codes, problem = _codes(block, known, learner, declared=classes is not None)
        visible = rng.random(codes.size) < labelled
        widen = getattr(learner, "widen", None)
        if widen is not None:
            widen(block.X.shape[1])
        done = learner.run(block.X[: codes.size], codes, visible)
        running.rows += codes.size
        running.judged += int(np.count_nonzero(codes >= 0))
        running.right += int(np.count_nonzero((codes >= 0) & (done.predicted == codes)))
        running.updates += done.updates
        running.features = int(block.X.shape[1])
        yield running, learner
        if problem is not None:
            raise problem


def _codes(
    block: Block, known: list[Hashable], learner: Any, declared: bool
) -> tuple[Codes, InputError | None]:
    """Class codes of the rows before the first label that is not declared, and what to say of that one."""
    codes = np.full(len(block.labels), -1, dtype=np.int64)
    for i, given in enumerate(block.labels):
        label = plain(given)
        if is_missing(label):
            continue
        if label not in known:
            if declared:
                return codes[:i], InputError(
                    f"row {i + 1} of the block from line {block.line}: label {label!r} is not among the "
                    f"classes {known!r}; add it to --classes or mend it"
                )
            if len(known) == learner.n_classes:
                learner.add_class()
            known.append(label)
        codes[i] = known.index(label)
    return codes, None
