"""What happens next in a campaign: one policy, for `ask` and for the server.

`next_action` is a function of what the events say (state.py), of the options, of who asks, and of the
`Candidates` that the model proposes. Its answer is an open question that this person should get, a new one,
the end (`Stop`), or None while candidates are still being worked out. Its caller writes the event.

A stop rule is a function of the status and of how many answers are spent, those of open questions among them.
It returns why the campaign should stop, in a sentence that people read, or None. `@stop_rule` registers it: a
rule that depends on an option returns None unless the option is set.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, Protocol

import numpy as np

from querist.asking.choosers import Pick
from querist.asking.options import CampaignOptions
from querist.asking.people import DOUBT, VOTES
from querist.asking.state import CampaignStatus
from querist.asking.turns import Turn, Turns
from querist.registry import Registry
from querist.tables.formats import some

AGAIN = "asked again: one answer may be wrong, and this is the least sure"
ASKED_FOR = "asked again: a second answer was wanted"
SECOND = "asked again: another person's answer is wanted"
AUDITED = "drawn at random to measure the accuracy; nothing is learned from it"
CAME_BY = "it came by, and the model is unsure of it"
NOTHING_LEFT = "no node is left to ask about"

MAX_ARRIVALS_OPEN = 10
"""Open questions about nodes that came by, which the strategy did not choose."""


# -- when a campaign ends -----------------------------------------------------------

WINDOW = 10
"""Questions over which the expected gain is averaged before it can end a campaign."""
LEAST_UNANSWERED = 10
"""Questions that may be left unanswered however small the budget is, unless the option says how many."""

Ends = Literal["everything", "questions", "learning"]
"""What a rule ends: everything, also open questions wait; new questions; or new questions but for those that
are left of the audit."""
Why = Callable[[CampaignStatus, int], str | None]


@dataclass(frozen=True)
class StopRule:
    """A rule: `why(status, spent)` a campaign should stop, None if it should not, and what that `ends`."""

    name: str
    why: Why
    ends: Ends = "questions"


@dataclass(frozen=True)
class Stop:
    """No more is asked, and why."""

    why: str


STOP_RULES: Registry[StopRule] = Registry("stop rule")
"""By name; the first that applies is named."""


def stop_rule(name: str, ends: Ends = "questions") -> Callable[[Why], Why]:
    """Register a rule."""

    def register(why: Why) -> Why:
        STOP_RULES[name] = StopRule(name, why, ends)
        return why

    return register


def stop_by(status: CampaignStatus, spent: int, *ends: Ends) -> Stop | None:
    """The first rule that applies of those that end this, if any."""
    reasons = (rule.why(status, spent) for rule in STOP_RULES.values() if rule.ends in ends)
    return next((Stop(why) for why in reasons if why is not None), None)


@stop_rule("paused", ends="everything")
def by_pause(status: CampaignStatus, spent: int) -> str | None:
    """A manager has paused the campaign."""
    return "the campaign is paused; its manager can go on with it" if status.paused else None


@stop_rule("budget")
def by_budget(status: CampaignStatus, spent: int) -> str | None:
    """As many answers as the budget allows are given or awaited."""
    budget = status.options.budget
    return f"the budget of {some(budget, 'answer')} is spent" if spent >= budget else None


@stop_rule("unanswered")
def by_unanswered(status: CampaignStatus, spent: int) -> str | None:
    """Too many questions were skipped, or answered with "unsure"."""
    unanswered = status.turns.unanswered
    if unanswered < most_unanswered(status):
        return None
    return f"{some(unanswered, 'question')} left unanswered, as many as may be"


@stop_rule("gain", ends="learning")
def by_gain(status: CampaignStatus, spent: int) -> str | None:
    """An answer is expected to gain too little, by the mean over the last `WINDOW` closed questions."""
    stop, find = status.options.stop, status.options.find
    if not stop:
        return None
    gains = (turn.about.get("gain") for turn in reversed(status.turns) if turn.closed and not turn.audit)
    last = list(islice((gain for gain in gains if gain is not None), WINDOW))[::-1]
    if len(last) < WINDOW or np.mean(last) >= stop:
        return None
    gain = float(np.mean(last))
    if find is not None:
        return f"a question finds one with a chance of {gain:.1%}, less than {stop:.1%}"
    return f"an answer is expected to gain {gain:.3%} accuracy, less than {stop:.3%}"


def most_unanswered(status: CampaignStatus) -> int:
    """Questions that may be left unanswered; they do not use up the budget."""
    own = status.options
    return max(own.budget, LEAST_UNANSWERED) if own.unanswered is None else own.unanswered


# -- what is asked next -------------------------------------------------------------


class Candidates(Protocol):
    """The questions that a model proposes: worked out when they are asked for, or kept ready by a thread."""

    @property
    def complete(self) -> bool:
        """Whether there is no question about a new node if `pick` finds none now."""

    def pick(self, taken: Collection[int] = ()) -> Pick | None:
        """The best question about a node that nobody was asked about, but for the rows that are taken."""

    def doubts(self) -> Sequence[tuple[int, float]]:
        """(row, belief in its label) of the answered rows, the least sure first."""


def next_action(
    status: CampaignStatus,
    candidates: Candidates,
    person: str | None = None,
    held: Collection[int] = (),
    picked: Sequence[Pick] = (),
) -> Turn | Pick | Stop | None:
    """What to do for a person who asks for a question.

    `held` are rows whose questions somebody has; `picked` are new questions that are not written yet.
    What is left of the audit is asked before a campaign ends, unless the budget is spent.
    """
    turns, spent = status.turns, status.spent + len(picked)
    taken = {*held, *(pick.row for pick in picked)}
    if stop := stop_by(status, spent, "everything"):
        return stop
    waiting = (turn for turn in turns.opens if turn.row not in taken and may_answer(turns, turn, person))
    if turn := min(waiting, key=lambda turn: (turn.row, person) in status.returned, default=None):
        return turn
    if stop := stop_by(status, spent, "questions"):
        return stop
    own, left = status.options, [row for row in status.unaudited if row not in taken]
    audit, enough = _first(left, AUDITED, audit=True), stop_by(status, spent, "learning")
    if audit and (enough or due(spent, own.audit - len(left), own.audit, own.budget)):
        return audit
    found = enough or _asked_again(status, candidates, person, taken, picked) or candidates.pick(taken)
    return found or ((audit or Stop(NOTHING_LEFT)) if candidates.complete else None)


def next_actions(
    status: CampaignStatus,
    candidates: Candidates,
    person: str | None,
    count: int,
    held: Collection[int] = (),
) -> tuple[list[Turn | Pick], str | None]:
    """Up to `count` questions for a person besides those `held`; and why there are no more, if it is so."""
    found = list[Turn | Pick]()
    while len(found) < count:
        picked = [each for each in found if isinstance(each, Pick)]
        action = next_action(status, candidates, person, {*held, *(each.row for each in found)}, picked)
        if action is None or isinstance(action, Stop):
            return found, None if action is None else action.why
        found.append(action)
    return found, None


def ends(status: CampaignStatus, why: str | None) -> bool:
    """Whether an event is to say why the campaign stops: no question is open, and none says it yet."""
    return why is not None and not status.turns.n_open and status.stopped != why


def _asked_again(
    status: CampaignStatus,
    candidates: Candidates,
    person: str | None,
    taken: Collection[int],
    picked: Sequence[Pick],
) -> Pick | None:
    """A question about an answered row: for another person, or one of the repeats that are due."""
    turns, own, doubts = status.turns, status.options, candidates.doubts()

    def free(row: int) -> bool:
        return row not in taken and row not in status.settled and not turns.open_about(row)

    wanted = (row for row, sure in doubts if wants_another(status, row, sure) and free(row))
    again, repeated = list[int](), turns.repeated + sum(pick.again for pick in picked)
    if due(status.spent + len(picked), repeated, own.repeats, own.budget):
        again = [row for row, _ in doubts if may_be_repeated(status, row) and free(row)]
        again.sort(key=lambda row: person in answered(turns, row))
    others = (row for row in wanted if person not in answered(turns, row))
    return _first(others, SECOND, again=True) or _first(again, AGAIN, again=True)


def _first(rows: Iterable[int], reason: str, *, audit: bool = False, again: bool = False) -> Pick | None:
    """A question about the first of some rows, if there is one."""
    row = next(iter(rows), None)
    return None if row is None else Pick(row, reason, audit=audit, again=again)


def due(asked: int, done: int, wanted: int, budget: int) -> bool:
    """Whether the next question belongs to those of which `wanted` are spread evenly over the budget.

    >>> [due(t, sum(due(s, s // 4, 2, 8) for s in range(t)), 2, 8) for t in range(8)]
    [False, False, False, True, False, False, False, True]
    """
    return done < wanted and (done + 1) * budget <= (asked + 1) * wanted


def answered(turns: Turns, row: int) -> set[str | None]:
    """The people who answered, skipped, or were unsure of a row."""
    return {turn.person for turn in turns.about(row) if turn.outcome is not None}


def may_answer(turns: Turns, turn: Turn, person: str | None) -> bool:
    """Whether a person may be given an open question: it may have to be somebody else than before."""
    return turn.about["reason"] in (AGAIN, ASKED_FOR) or person not in answered(turns, turn.row)


def votes(status: CampaignStatus, row: int) -> int:
    """The answers about a row that something is learned from."""
    return sum(turn.outcome == "answer" and not turn.audit for turn in status.turns.about(row))


def wants_another(status: CampaignStatus, row: int, sure: float) -> bool:
    """Whether an answered row wants another person's answer: below the overlap, or in doubt."""
    own = status.options
    wanted = max(own.overlap, VOTES if own.second_opinions and sure < DOUBT else 1)
    return wanted > 1 and 0 < votes(status, row) < wanted


def may_be_repeated(status: CampaignStatus, row: int) -> bool:
    """Whether an answered row may be asked about again, of the same person or another."""
    return status.turns.repeated < status.options.repeats and 0 < votes(status, row) < VOTES


def could_be_asked(status: CampaignStatus, row: int, sure: float) -> bool:
    """Whether somebody could be given a question about a row that checks the model, or others' answers."""
    if by_budget(status, status.turns.asked):  # not what is spent: an open question may be skipped
        return False
    if not status.turns.about(row):
        return row in status.audit_rows
    return wants_another(status, row, sure) or may_be_repeated(status, row)


def arrived(status: CampaignStatus, row: int, sure: float | None) -> Pick | None:
    """The question about a node that came by, if the model is in doubt and the campaign goes on.

    Nobody is asked at once before anything is known, nor if many such questions wait: the strategy chooses
    among the other nodes.
    """
    doubted = (status.turns.asked or status.known) and (sure is None or sure < DOUBT)
    waiting = sum(turn.about["reason"] == CAME_BY for turn in status.turns.opens)
    if not doubted or waiting >= MAX_ARRIVALS_OPEN or status.turns.about(row):
        return None
    ended = stop_by(status, status.spent, "everything", "questions", "learning")
    return None if ended else Pick(row, CAME_BY)


def audit_refusal(options: CampaignOptions, known: bool) -> str | None:
    """Why options do not go together: an audit needs predictions to judge, by other answers or `known`
    labels; what is asked again is asked once before."""
    audit, repeats, budget = options.audit, options.repeats, options.budget
    if audit and (audit > budget or (audit == budget and not known)):
        return (
            f"audit {audit} of a budget of {budget} leaves no question to learn from; ask for fewer in the "
            "audit, or allow more answers"
        )
    if audit + 2 * repeats > budget:
        return (
            f"repeats {repeats} of a budget of {budget}: a question is put once before it is put again; "
            "repeat fewer, or allow more answers"
        )
    return None


def change_refusal(status: CampaignStatus, changed: CampaignOptions) -> str | None:
    """Why a campaign cannot go on with changed options."""
    if changed.budget < status.spent:
        spent = some(status.spent, "question")
        return f"budget {changed.budget}; {spent} answered or open, give that or more"
    return audit_refusal(changed, bool(status.known)) if changed.budget < status.options.budget else None


def undo_refusal(status: CampaignStatus, back: Turn, person: str | None) -> str | None:
    """Why a person cannot take back a turn: to open its question again would exceed the budget."""
    opens = person is not None and back.unanswered and status.turns.open_about(back.row) is None
    why = by_budget(status, status.spent) if opens else None
    return why and f"{why}: nothing can be asked again; raise it first"
