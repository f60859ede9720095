"""Who answers: a function, known labels, a file of them, or another program."""

import shlex
import subprocess
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from querist.errors import InputError
from querist.graph import Graph
from querist.labels import is_missing, plain, tabulate

Oracle = Callable[[Any], Any]
"""Called with the id of a node; gives a class, or None when it does not know."""

TIMEOUT = 60.0


def as_oracle(
    oracle: Any, graph: Graph, classes: Sequence[Hashable] | None
) -> tuple[Oracle | None, Sequence[Hashable] | None]:
    """A function that answers, and the classes it may answer with where they can be told.

    Known labels come in any form that `querist.labels.tabulate` takes; a node without one is answered with
    None.
    """
    if oracle is None or callable(oracle):
        return oracle, classes
    assert graph.nodes is not None
    known = tabulate(oracle, graph.nodes, classes)
    if known.multilabel:
        raise InputError("the labels are sets or a matrix: several classes a node; ask() needs one a node")
    codes = np.where(known.labelled, known.indicator.argmax(axis=1), -1)
    found: Mapping[Hashable, Any] = {
        node: known.classes[code] for node, code in zip(graph.nodes, codes.tolist(), strict=True) if code >= 0
    }
    return found.get, known.classes


def checked_answer(answer: Any, classes: Sequence[Hashable], node: Hashable) -> int | None:
    """The code of an answer, None for "unsure".

    A text answers for a number that is written so: a program prints "3" for the class 3.
    """
    from querist.online.door import Answer

    value = plain(answer)
    if is_missing(value) or value is Answer.UNSURE:
        return None
    for code, name in enumerate(classes):
        if value == name or (isinstance(value, str) and value == str(name)):
            return code
    raise InputError(
        f"node {node!r} is answered with {value!r}, which is none of the classes "
        f"{', '.join(map(str, classes))}; answer with one of them, or nothing when unsure"
    )


def command_oracle(command: str, timeout: float = TIMEOUT) -> Oracle:
    """A program that gets the id of a node as its last argument and prints a class, or nothing.

    When it fails or takes too long, the question stays open.

    >>> command_oracle("echo")("ann")
    'ann'
    """
    words = shlex.split(command)
    if not words:
        raise InputError("the command that answers is empty; name a program")

    def answer(node: Any) -> str | None:
        what = f"{command} {node}"
        try:
            done = subprocess.run(
                [*words, str(node)],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"{what}: no answer after {timeout:g} s; {STAYS}") from None
        except OSError as error:
            raise InputError(f"{what}: cannot be run ({error.strerror}); {STAYS}") from None
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            why = f": {said[-1]}" if said else ""
            raise InputError(f"{what}: failed with exit status {done.returncode}{why}; {STAYS}")
        return done.stdout.strip() or None

    return answer


STAYS = "the question stays open. Mend the command and run the same again"
