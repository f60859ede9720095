"""A budget spent in turn: how a rule that wishes to ask becomes one that asks a known number of questions.

Any rule gives a round a value, larger where it would rather ask (`kernels.need`: the inequality of the rule,
solved for its threshold). A pace moves that threshold. Of B questions for n rounds, `B (1 - t/n)^h` are
planned to be left after t rounds: h = 1 spends them evenly, more spends them early. With j left after t
rounds, a share

    a = h j/(n - t) exp(j - B (1 - t/n)^h)

of rounds like this one is to ask: what is left spread over what is still to come, and e times as much for
every question that the run is behind the plan. Against the latest `WINDOW` values a new one asks iff

    larger + u (equal + 1) < a (values + 1),

where u is the draw of the round, which decides among equals. If the values in the window and the new one come
in random order, the left side divided by (values + 1) is uniform, whatever values are: the round asks with
probability a, be it the first or the thousandth. So a rule that looks at nothing (all values equal) asks at
random. Where values drift, and with learning they do, the run falls behind the plan or gets ahead of it, but
no further behind than 1 - ln s questions, s being the planned share: there a is 1. So it is where as many
rounds as questions are left: the budget is spent to the last question, and never exceeded.

Every family of learners has these in its rules and state: `pace` h, `budget` B, `rounds` n; `recent`, the
ring of values, NaN where there is none yet, empty where nothing is paced; `counts`, rounds and questions so
far.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from querist.compiled import compiled
from querist.errors import InputError
from querist.types import Bools, Floats

WINDOW = 300
"""Values that a new one is compared with."""


def spending(options: Mapping[str, Any], n_nodes: int) -> dict[str, Any]:
    """How a budget is spent, as numbers; `rounds` is the number of nodes unless given."""
    pace, budget, rounds = (options[name] for name in ("pace", "budget", "rounds"))
    if pace is not None and budget is None:
        raise InputError(
            f"pace = {pace!r} spends a budget, and there is none; give budget, or leave pace out"
        )
    return {
        "pace": 0.0 if pace is None else float(pace),
        "budget": -1 if budget is None else int(budget),
        "rounds": n_nodes if rounds is None else int(rounds),
    }


def ring(rules: Any) -> Floats:
    """An empty memory for a learner of these rules."""
    return np.full(WINDOW if rules.pace > 0 and rules.budget >= 0 else 0, np.nan)


@compiled
def share(rules: Any, state: Any) -> float:
    """`a`, which is 1 or more where every round is to ask."""
    questions_left, rounds_left = rules.budget - state.counts[1], rules.rounds - state.counts[0]
    if questions_left <= 0:
        return 0.0
    if questions_left >= rounds_left:
        return 1.0
    planned = rules.budget * (rounds_left / rules.rounds) ** rules.pace
    return float(rules.pace * questions_left / rounds_left * np.exp(questions_left - planned))


@compiled
def standing(recent: Floats, value: float) -> tuple[int, int, int]:
    """How many of the remembered values are larger, how many are equal, and how many there are."""
    larger = equal = size = 0
    for other in recent:
        larger += other > value
        equal += other == value
        size += not np.isnan(other)
    return larger, equal, size


@compiled
def asks_in_turn(rules: Any, state: Any, value: float, u: float) -> bool:
    """Whether a round of this value and draw asks."""
    larger, equal, size = standing(state.recent, value)
    return bool(larger + u * (equal + 1) < share(rules, state) * (size + 1))


@compiled
def remember(rules: Any, state: Any, value: float) -> None:
    """Keep the value of a round that is being closed, while there are questions to pace."""
    if state.recent.size > 0 and state.counts[1] < rules.budget:
        state.recent[state.counts[0] % state.recent.size] = value


@compiled
def learns(rules: Any, mistaken: bool, certain: bool) -> bool:
    """Whether an answer is learned: always. For families whose rules do not say."""
    return True


@compiled
def close_round(rules: Any, state: Any, asked: bool, asks: Bools, r: Floats, value: float) -> None:
    """The round is over: counters advance. For families whose rules keep no sums of their own."""
    remember(rules, state, value)
    state.counts[0] += 1
    state.counts[1] += asked
