"""The options of a campaign, each declared once: see `querist.options`."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from querist.errors import check_name
from querist.labelling.options import methods
from querist.options import DEVICE, MISSING, Option, Options, Surface, option
from querist.parameters import Range

NOISE = 0.1
"""Share of answers presumed wrong if several people answer, or are asked again, and it is not given."""
TEAM = {"noise": str(NOISE), "second_opinions": "yes, unless several people answer about each node"}
"""Defaults, in words, that differ if a team answers; `of_team` has their values."""
GREEDY = "greedy"
"""What a campaign that finds a class chooses by, unless at random."""
OF_PROCESS = ("missing", "person", "device")
"""Options of the process that asks. No event keeps them: each process says its own."""


def _strategies() -> Sequence[str]:
    from querist.asking.strategies import STRATEGIES

    return ("pool", "random", GREEDY, *STRATEGIES)


class CampaignKeywords(TypedDict, total=False):
    """The fields of `CampaignOptions` as keywords; a test compares the two."""

    budget: int
    strategy: str
    find: Hashable
    multilabel: bool
    audit: int
    stop: float | None
    unanswered: int | None
    overlap: int
    second_opinions: bool
    noise: float
    repeats: int
    seed: int
    method: str
    missing: Hashable
    person: str | None
    device: str | None


@dataclass(frozen=True, kw_only=True)
class CampaignOptions(Options):
    """What can be said of a campaign of questions.

    >>> CampaignOptions(budget=20).audit
    0
    >>> CampaignOptions(budget=-1)
    Traceback (most recent call last):
    ...
    querist.errors.InputError: budget = -1; it must be a whole number, 1 or more...
    """

    budget: Annotated[int, Range(1)] = option(
        100, "Maximum number of answers", on=("command line", "http", "experiment")
    )
    strategy: str = option(
        "pool",
        "Query strategy: pool (the node whose answer is worth most), random, or one by its name",
        title="Query strategy",
        fixed=True,
        choices=_strategies,
        on=("command line", "http", "experiment"),
    )
    find: Hashable = option(
        None,
        "Find as many nodes of this class as the budget allows, instead of labelling all nodes; the strategy "
        "is then pool (the likeliest node is next) or random, and stop is about the chance that a question "
        "finds a node",
        title="Find one class",
        metavar="CLASS",
        fixed=True,
    )
    multilabel: bool = option(
        False,
        "A node may have several labels: an answer is a set of classes, perhaps the empty one",
        title="Several labels per node",
        fixed=True,
    )
    audit: Annotated[int, Range(0)] = option(
        0,
        "Number of random questions that measure the accuracy without bias; nothing is learned from them",
        title="Audit questions",
        fixed=True,
    )
    stop: Annotated[float | None, Range(0, 1)] = option(
        None,
        "End when the expected gain in accuracy per answer (0.001 is 0.1 points), averaged over the last 10 "
        "questions, falls below this",
        title="Stop early",
        default_words="never",
        on=("command line", "http", "experiment"),
    )
    unanswered: Annotated[int | None, Range(0)] = option(
        None,
        "Maximum number of skipped or unsure questions; they do not use up the budget",
        title="Unanswered questions",
        default_words="the budget, at least 10",
        advanced=True,
    )
    overlap: Annotated[int, Range(1)] = option(
        1, "Number of people who answer about each node", title="People per node", fixed=True
    )
    second_opinions: bool = option(
        False,
        "Ask another person if an answer is in doubt, up to three people per node",
        advanced=True,
        fixed=True,
    )
    noise: Annotated[float, Range(0, lt=1)] = option(
        0.0,
        "Share of answers that are presumed wrong; above 0, answers count as votes",
        title="Share of wrong answers",
        advanced=True,
        fixed=True,
    )
    repeats: Annotated[int, Range(0)] = option(
        0,
        "Number of questions that are asked again, about the nodes whose answers are least sure",
        title="Repeated questions",
        advanced=True,
        fixed=True,
    )
    seed: Annotated[int, Range(0)] = option(0, "Random seed", advanced=True, fixed=True)
    method: str = option(
        "auto",
        "Method of querist.label that makes the labels",
        choices=methods,
        on=("command line", "experiment"),
    )
    missing: Hashable = option(None, **MISSING, on=())
    person: str | None = option(
        None, "Name of the person who answers, kept with every answer", metavar="PERSON", on=("command line",)
    )
    device: str | None = option(None, **DEVICE, on=("command line",))

    @classmethod
    def changing(cls, surface: Surface | None = None) -> dict[str, Option]:
        """Those that may change while a campaign runs, or those of a surface among them.

        Events of the kind "options" say when they change.
        """
        among = cls.declared() if surface is None else cls.on(surface, TEAM)
        return {name: own for name, own in among.items() if not own.fixed and name not in OF_PROCESS}

    @classmethod
    def changes(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """New values of options of a running campaign, checked; None is the default."""
        changing, found = cls.changing(), dict[str, Any]()
        for name, value in given.items():
            check_name("option of a running campaign", name, changing)
            found[name] = changing[name].default if value is None else value
            changing[name].check(found[name])
        return found


def of_team(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that somebody gave, and the defaults of a team for those of `TEAM` that are not given.

    >>> of_team({"overlap": 2})
    {'noise': 0.1, 'second_opinions': False, 'overlap': 2}
    """
    return {"noise": NOISE, "second_opinions": given.get("overlap", 1) == 1, **given}
