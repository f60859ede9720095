"""Who answers: a function, known labels, a file of them, or another program; and what is known unasked."""

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.graph import Graph
from querist.labels import Code, class_codes, is_missing, named, plain, tabulate
from querist.tables.labels import BETWEEN

Oracle = Callable[[Any], Any]
"""Called with the id of a node; gives a class, a set of them where nodes may have several labels, or None
when it does not know."""

TIMEOUT = 60.0
LONGEST = 80
"""Letters shown of an answer that makes no sense."""


def as_oracle(
    oracle: Any,
    graph: Graph,
    classes: Sequence[Hashable] | None,
    missing: Hashable = None,
    *,
    multilabel: bool = False,
) -> tuple[Oracle | None, Sequence[Hashable] | None]:
    """A function that answers, and the classes it may answer with where they can be told.

    Known labels come in any form that `querist.labels.tabulate` takes; a node without one is answered with
    None.
    """
    if oracle is None or callable(oracle):
        return oracle, classes
    found = tabulate(oracle, graph.nodes, classes, missing, multilabel=multilabel)
    return dict(zip(graph.nodes, found.names(), strict=True)).get, found.classes


def fresh_labels(
    labels: Any,
    graph: Graph,
    classes: Sequence[Hashable],
    before: Mapping[int, Code],
    missing: Hashable = None,
    *,
    multilabel: bool = False,
) -> dict[int, Code]:
    """The code by row of the labels that are new; one that contradicts those before is refused.

    Labels by position count from the first node: a graph that grew since has others after them.

    >>> from querist import as_graph
    >>> fresh_labels({"ann": "cat", "bob": "dog"}, as_graph([("ann", "bob")]), ("cat", "dog"), {0: 0})
    {1: 1}
    """
    by_position = isinstance(labels, list | tuple | np.ndarray)
    nodes = graph.nodes[: len(labels)] if by_position else graph.nodes
    given = tabulate(labels, nodes, classes, missing, multilabel=multilabel).by_row()
    for row, code in given.items():
        if before.get(row, code) != code:
            raise InputError(
                f"node {nodes[row]!r} is known to be {named(code, classes)!r}, and the journal has it as "
                f"{named(before[row], classes)!r}; mend the label, or begin another journal"
            )
    return {row: code for row, code in given.items() if row not in before}


def checked_answer(
    answer: Any, classes: Sequence[Hashable], node: Hashable, *, multilabel: bool = False
) -> Code:
    """The code of an answer, -1 for "unsure".

    A text answers for a number that is written so: a program prints "3" for the class 3. With `multilabel`
    the answer is a set, a list or a text with `;` between them, which alone is the empty set; or one
    class.

    >>> checked_answer("dog; cat", ["cat", "dog"], "ann", multilabel=True)
    (0, 1)
    """
    from querist.online.checks import Answer

    value = plain(answer)
    if is_missing(value) or value is Answer.UNSURE:
        return -1
    if not multilabel:
        return _code_of(value, classes, node)
    if isinstance(value, str) and BETWEEN in value:
        value = [part for each in value.split(BETWEEN) if (part := each.strip())]
    own = value if isinstance(value, set | frozenset | list | tuple) else [value]
    return tuple(sorted({_code_of(plain(name), classes, node) for name in own}))


def _code_of(value: Any, classes: Sequence[Hashable], node: Hashable) -> int:
    found = class_codes(classes).get(value) if isinstance(value, Hashable) else None
    if found is not None:
        return found
    shown = repr(value)
    shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}..."
    raise InputError(
        f"node {node!r} is answered with {shown}, which is none of the classes "
        f"{', '.join(map(str, classes))}; answer with one of them, or nothing when unsure. The question "
        "stays open"
    )


def command_oracle(command: str, timeout: float = TIMEOUT) -> Oracle:
    """A program that gets the id of a node as its last argument and prints a class, or nothing.

    When it fails or takes too long, the question stays open; then it is ended with all that it started.

    >>> command_oracle("echo")("ann")
    'ann'
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"the command that answers, {command!r}: {error}; close the quotation") from None
    if not words:
        raise InputError("the command that answers is empty; name a program")

    def answer(node: Any) -> str | None:
        what = f"{command} {node}"
        try:
            status, said, complaint = _run([*words, str(node)], timeout)
        except subprocess.TimeoutExpired:
            raise InputError(f"{what}: no answer after {timeout:g} s; {STAYS}") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise InputError(f"{what}: cannot be run ({why}); {STAYS}") from None
        if status != 0:
            last = (complaint or said).strip().splitlines()
            raise InputError(
                f"{what}: failed with exit status {status}{f': {last[-1]}' if last else ''}; {STAYS}"
            )
        return said.strip() or None

    return answer


def _run(words: Sequence[str], timeout: float) -> tuple[int, str, str]:
    """Exit status and what a program printed, to both outputs."""
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # so that it can be ended with its children, which may hold the pipes open
    ) as process:
        try:
            said, complaint = process.communicate(timeout=timeout)
        except BaseException:
            _end(process)
            raise
        return process.returncode, said, complaint


def _end(process: "subprocess.Popen[str]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, OSError):  # no groups here, or it has just ended
        process.kill()


STAYS = "the question stays open. correct the command and run it again"
