"""What comes next: a question of the chooser, one of the audit, or the end, and why."""

from dataclasses import dataclass

import numpy as np

from querist.asking.audit import due
from querist.asking.choosers import Pick
from querist.asking.state import State
from querist.tables.formats import some

WINDOW = 10
"""Questions over which the expected gain is averaged before it can end a campaign."""

AUDITED = "drawn at random to measure the accuracy; nothing is learned from it"


@dataclass(frozen=True)
class Upcoming:
    """The next question, and whether it belongs to the audit; or None, and why no more is asked."""

    pick: Pick | None
    audit: bool = False
    ended: str = ""


def upcoming(state: State, budget: int, stop: float | None, found: tuple[Pick | None] | None) -> Upcoming:
    """Look at the budget, the audit and the gain; `found` is the chooser's pick where it was made before.

    What is left of the audit is asked before a campaign ends, unless the budget is spent.
    """
    if state.asked >= budget:
        return Upcoming(None, ended=f"the budget of {some(budget, 'answer')} is spent")
    left, size = state.unaudited, state.specification.audit
    enough = gained_little(state, stop)
    pick = None
    if not enough and not due(state.asked, size - len(left), size, budget):
        pick = state.pick() if found is None else found[0]
    if pick is None and left:
        return Upcoming(Pick(left[0], AUDITED), audit=True)
    return Upcoming(pick, ended="" if pick is not None else enough or "no node is left to ask about")


def gained_little(state: State, stop: float | None) -> str | None:
    """Why the expected gain is too small to go on, or None."""
    if stop is None:
        return None
    gains = [turn.about.get("gain") for turn in state.turns if not turn.audit]
    last = [gain for gain in gains if gain is not None][-WINDOW:]
    if len(last) < WINDOW or np.mean(last) >= stop:
        return None
    return f"an answer is expected to gain {np.mean(last):.3%} accuracy, less than {stop:.3%}"
