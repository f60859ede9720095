"""What a round is made of, for a learner whose maths is its own.

Such a learner is a `Learner` with a module of compiled functions (`decide_step`, `absorb`) over three named
tuples: rules, places of the nodes, and state; `Steps.of` makes the rest of them. `online/paced_learner.py` is
one.

>>> import numpy as np
>>> int(best_of(np.array([0.1, 0.9]), np.array([0, 1]), 1e-12))
1
"""

from querist.codec import Field, Finite
from querist.online.checks import check_neighbours, checked_components, checked_rows
from querist.online.kernels import Scratch, Verdict, best_of, margin_of, scratch
from querist.online.learner import LearnerOptions
from querist.online.loop import Steps
from querist.online.pace import asks_in_turn, ring, spending
from querist.operator.push import PushRoom, Walkable, clear, push, push_room, walkable
from querist.triangle import dot

__all__ = [
    "Field",
    "Finite",
    "LearnerOptions",
    "PushRoom",
    "Scratch",
    "Steps",
    "Verdict",
    "Walkable",
    "asks_in_turn",
    "best_of",
    "check_neighbours",
    "checked_components",
    "checked_rows",
    "clear",
    "dot",
    "margin_of",
    "push",
    "push_room",
    "ring",
    "scratch",
    "spending",
    "walkable",
]
