"""Ways to choose the next question: by a strategy (strategies.py), to find a class (finding.py), at random.

A chooser is called with the model, the nodes that may be asked about (n,), the turns so far, and how many
questions are wanted for the work of one. It remembers nothing, and returns none if there is none to ask.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeAlias

from querist.asking.finding import FIND_REASON, GREEDY, Chance, target_scores
from querist.asking.model import QuickModel
from querist.asking.specification import CampaignSpec
from querist.asking.strategies import STRATEGIES, Strategy
from querist.asking.turns import Turn
from querist.labelling.suggest import best
from querist.types import Bools


@dataclass(frozen=True)
class Pick:
    """The next question: which node, why in words, whether of the audit.

    `again`: it was answered before. `chance`: of the class that is looked for. `gain`: the accuracy that its
    answer is expected to gain, where somebody worked it out.
    """

    row: int
    reason: str
    value: float = 0.0
    audit: bool = False
    again: bool = False
    chance: float | None = None
    gain: float | None = None


Chooser: TypeAlias = Callable[[QuickModel, Bools, Iterable[Turn], int], list[Pick]]


def chooser_of(specification: CampaignSpec, order: Sequence[int]) -> Chooser:
    """The chooser of a campaign; `order` holds the nodes that it may ask about, at random."""
    if specification.strategy == GREEDY:
        return partial(_likeliest, specification.classes.index(specification.find), specification.find)
    if specification.strategy in STRATEGIES:
        return partial(most_valuable, STRATEGIES[specification.strategy])
    return partial(_at_random, order)


def most_valuable(
    strategy: Strategy, model: QuickModel, free: Bools, turns: Iterable[Turn] = (), count: int = 1
) -> list[Pick]:
    """The free nodes of the largest values by a strategy."""
    values, free, found = strategy(model), free.copy(), list[Pick]()
    while len(found) < count and (row := best(values, free)) is not None:
        found.append(Pick(row, strategy.reason, float(values[row])))
        free[row] = False
    return found


def _likeliest(
    code: int, name: Hashable, model: QuickModel, free: Bools, turns: Iterable[Turn], count: int
) -> list[Pick]:
    """The free node of the largest score of a class; its chance is what the answers so far make of that."""
    scores = target_scores(model, code)
    row = best(scores, free)
    if row is None:
        return []
    z = float(scores[row])
    chance = Chance.learned(*tried(turns, code))
    return [Pick(row, FIND_REASON.format(name), z, chance=float(chance.of(z)))]


def tried(turns: Iterable[Turn], code: int) -> tuple[list[float], list[bool]]:
    """Scores of a class that questions had when they were chosen, and whether the answer was that class."""
    done = [turn for turn in turns if turn.outcome == "answer" and turn.about.get("chance") is not None]
    return [turn.about["value"] for turn in done], [turn.code == code for turn in done]


def _at_random(
    order: Sequence[int], model: QuickModel, free: Bools, turns: Iterable[Turn], count: int
) -> list[Pick]:
    """The first free nodes of the order."""
    return [Pick(row, "drawn at random") for row in islice((row for row in order if free[row]), count)]
