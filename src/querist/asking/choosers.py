"""Ways to choose the next question: the pool, finding a class, the stream of the papers, and chance.

- `PoolChooser`: the node anywhere whose answer is worth most by a rule of rules.py.
- `FindChooser`: the node by which most nodes of one class are found, by a rule of finding.py.
- `StreamChooser`: nodes come in a random order, once; a learner of `querist.ALGORITHMS` (selective sampling)
  decides at each whether to ask. Rounds that were not asked are played again, not kept: a decision is a
  function of the seed, the round, the answers and, where the learner paces them, the budget.
- `RandomChooser`: the next free node of a random order; the control.

`pick` is given the state of the model and the `Outlook`. `asked` and `closed` tell a chooser of every turn,
in order; only the stream remembers them.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from querist.asking.finding import FINDERS, Chance, FindRule, target_scores
from querist.asking.model import QuickModel
from querist.asking.rules import RULES, PoolRule
from querist.asking.specification import RANDOM, CampaignSpec
from querist.asking.turns import Turn
from querist.labelling.suggest import best
from querist.types import Bools


@dataclass(frozen=True)
class Pick:
    """The next question: which node, why in words, of the stream in which round, whether of the audit.

    `again`: it was answered before. `chance`: of the class that is looked for. `gain`: the accuracy that its
    answer is expected to gain, where somebody worked it out.
    """

    row: int
    reason: str
    value: float = 0.0
    round: int = 0
    audit: bool = False
    again: bool = False
    chance: float | None = None
    gain: float | None = None


@dataclass(frozen=True)
class Outlook:
    """The nodes that may be asked about (n,), what was asked so far, and how many answers are left."""

    free: Bools
    turns: Sequence[Turn] = ()
    left: int = 1


class Chooser(Protocol):
    """A way to choose; one that remembers nothing need not listen to what became of its questions."""

    foresees: bool = True
    """Whether `pick` changes nothing, so that it can be tried on answers that are not given yet."""

    def pick(self, model: QuickModel, outlook: Outlook) -> Pick | None:
        """The next question, or None when there is none to ask."""

    def several(self, model: QuickModel, outlook: Outlook, count: int) -> list[Pick]:
        """Up to `count` questions for the work of one; one, where a chooser has no others at hand."""
        pick = self.pick(model, outlook)
        return [] if pick is None else [pick]

    def asked(self, turn: Turn) -> None:
        """A question was put."""
        return

    def closed(self, turn: Turn) -> None:
        """Its outcome is there."""
        return


def chooser_of(
    specification: CampaignSpec,
    model: QuickModel,
    order: Sequence[int],
    known: Mapping[int, Any],
    budget: int,
) -> Chooser:
    """A fresh chooser; `order` holds the nodes that it may ask about, at random, `known` codes by row.

    `budget` is the most answers, those of the audit among them.
    """
    if specification.choose in FINDERS:
        code = specification.classes.index(specification.find)
        return FindChooser(FINDERS[specification.choose], code, specification.find)
    if specification.choose in RULES:
        return PoolChooser(RULES[specification.choose])
    if specification.choose == RANDOM:
        return RandomChooser(order)
    return StreamChooser(specification, model, order, known, budget)


class PoolChooser(Chooser):
    """The most valuable node anywhere."""

    def __init__(self, rule: PoolRule) -> None:
        self.rule = rule

    def pick(self, model: QuickModel, outlook: Outlook) -> Pick | None:
        """The free node of the largest value."""
        return next(iter(self.several(model, outlook, 1)), None)

    def several(self, model: QuickModel, outlook: Outlook, count: int) -> list[Pick]:
        """The free nodes of the largest values."""
        values, free, found = self.rule(model), outlook.free.copy(), list[Pick]()
        while len(found) < count and (row := best(values, free)) is not None:
            found.append(Pick(row, self.rule.reason, float(values[row])))
            free[row] = False
        return found


class FindChooser(Chooser):
    """The node by which most nodes of a class are found."""

    def __init__(self, rule: FindRule, code: int, name: Hashable) -> None:
        self.rule, self.code, self.reason = rule, code, rule.reason.format(name)

    def pick(self, model: QuickModel, outlook: Outlook) -> Pick | None:
        """By the rule; its chance is what the answers so far make of its score."""
        row = self.rule(model, self.code, outlook.free, outlook.left)
        if row is None:
            return None
        z = float(target_scores(model, self.code)[row])
        chance = Chance.learned(*tried(outlook.turns, self.code))
        return Pick(row, self.reason, z, chance=float(chance.of(z)))


def tried(turns: Sequence[Turn], code: int) -> tuple[list[float], list[bool]]:
    """Scores of a class that questions had when they were chosen, and whether the answer was that class."""
    done = [turn for turn in turns if turn.outcome == "answer" and turn.about.get("chance") is not None]
    return [turn.about["value"] for turn in done], [turn.code == code for turn in done]


class RandomChooser(Chooser):
    """A random order."""

    def __init__(self, order: Sequence[int]) -> None:
        self.order = order

    def pick(self, model: QuickModel, outlook: Outlook) -> Pick | None:
        """The first free node of the order."""
        row = next((row for row in self.order if outlook.free[row]), None)
        return None if row is None else Pick(row, "drawn at random")


class StreamChooser(Chooser):
    """Selective sampling over a random order; known labels are rounds of their own before it."""

    foresees = False

    def __init__(
        self,
        specification: CampaignSpec,
        model: QuickModel,
        order: Sequence[int],
        known: Mapping[int, Any],
        budget: int,
    ) -> None:
        from querist.embedding import Embedding
        from querist.online.catalogue import ALGORITHMS
        from querist.parameters import parameters_of

        self.order, self.played = order, 0
        factory, spent = ALGORITHMS[specification.choose], dict[str, int]()
        pace = parameters_of(factory).get("pace")
        if pace is not None and pace.default is not None:
            # Known labels are rounds that ask, before all others.
            own = max(0, budget - specification.audit)
            spent = {"budget": len(known) + own, "rounds": max(1, len(known) + len(order))}
        self.learner = factory(
            Embedding(model.rows, model.components),
            len(specification.classes),
            seed=specification.seed,
            **spent,
        )
        for row, code in known.items():
            self._close(row, ask=True)
            self.learner.learn(row, code)

    def pick(self, model: QuickModel, outlook: Outlook) -> Pick | None:
        """Play rounds until one asks."""
        while self.played < len(self.order):
            row = self.order[self.played]
            decision = self.learner.decide(row)
            if decision.ask and outlook.free[row]:
                return Pick(row, decision.reason, decision.variance, self.played + 1)
            self._play(ask=False)
        return None

    def asked(self, turn: Turn) -> None:
        """Play the rounds before the question as they went, and its own."""
        if turn.audit or turn.again:
            return
        while self.played < turn.about["round"] - 1:
            self._play(ask=False)
        self._play(ask=True)

    def closed(self, turn: Turn) -> None:
        """Learn the answer; a question that nobody answered is not spent, and teaches nothing."""
        if turn.audit or turn.again:
            return
        if turn.counted:
            assert isinstance(turn.code, int)  # a stream is refused where answers are sets
            self.learner.learn(turn.row, turn.code)
        else:
            self.learner.withdraw(turn.row)

    def _play(self, ask: bool) -> None:
        self._close(self.order[self.played], ask)
        self.played += 1

    def _close(self, row: int, ask: bool) -> None:
        """End a round as it went, whatever the learner would decide on rows that have changed since."""
        decision: Any = self.learner.decide(row)
        if decision.ask != ask:
            decision = replace(decision, ask=ask, asks=np.full_like(decision.asks, ask))
        self.learner.commit(decision)
