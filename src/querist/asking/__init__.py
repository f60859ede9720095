"""Which node to ask about next; a campaign of questions, its events, and the journal that keeps them.

>>> import querist
>>> club = querist.load_graph("karate")
>>> result = querist.asking.ask(club, club.labels, budget=4)
>>> len(result.answers)
4
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "Asking": ".asking",
        "FINDERS": ".finding",
        "FileCampaign": ".files",
        "Journal": ".journal",
        "Person": ".people",
        "PoolRule": ".rules",
        "Question": ".campaign",
        "RULES": ".rules",
        "ask": ".asking",
        "command_oracle": ".oracles",
        "from_files": ".files",
    },
)

if TYPE_CHECKING:
    from querist.asking.asking import Asking as Asking, ask as ask
    from querist.asking.campaign import Question as Question
    from querist.asking.files import FileCampaign as FileCampaign, from_files as from_files
    from querist.asking.finding import FINDERS as FINDERS
    from querist.asking.journal import Journal as Journal
    from querist.asking.oracles import command_oracle as command_oracle
    from querist.asking.people import Person as Person
    from querist.asking.rules import RULES as RULES, PoolRule as PoolRule
