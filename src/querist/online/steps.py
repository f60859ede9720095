"""What a round is made of, for a learner whose maths is its own.

Such a learner is a `Learner` with a module of compiled steps (`decide_step`, `learn_step`, `close_round`,
`scratch`) over three named tuples: rules, places of the nodes, and state. `online/paced_learner.py` is one.
The tuples are annotated with what a file may hold; an entry point `learner.NAME` names the class, so that it
can be saved.

>>> import numpy as np
>>> int(best_of(np.array([0.1, 0.9]), np.array([0, 1]), 1e-12))
1
"""

from querist.codec import Field, Finite
from querist.online.checks import (
    Ids,
    check_neighbours,
    checked_components,
    checked_rows,
    checked_tie_order,
    ids_of,
)
from querist.online.kernels import Verdict, best_of, find_mistakes, margin_of
from querist.online.learner import LearnerOptions
from querist.online.loop import RunRecord, note
from querist.online.pace import asks_in_turn, close_round, ring, spending
from querist.operator.push import PushRoom, Walkable, clear, push, push_room, walkable
from querist.parameters import is_finite, settled
from querist.triangle import dot

__all__ = [
    "Field",
    "Finite",
    "Ids",
    "LearnerOptions",
    "PushRoom",
    "RunRecord",
    "Verdict",
    "Walkable",
    "asks_in_turn",
    "best_of",
    "check_neighbours",
    "checked_components",
    "checked_rows",
    "checked_tie_order",
    "clear",
    "close_round",
    "dot",
    "find_mistakes",
    "ids_of",
    "is_finite",
    "margin_of",
    "note",
    "push",
    "push_room",
    "ring",
    "settled",
    "spending",
    "walkable",
]
