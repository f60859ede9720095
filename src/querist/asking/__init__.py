"""Which node to ask about next; a campaign of questions, its events, and the journal that keeps them.

>>> import querist
>>> club = querist.load_graph("karate")
>>> result = querist.asking.ask(club, club.labels, budget=4)
>>> len(result.answers)
4
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.asking.campaign import Asking as Asking, ask as ask
    from querist.asking.files import from_files as from_files
    from querist.asking.strategies import (
        STRATEGIES as STRATEGIES,
        ambiguity as ambiguity,
        contrast as contrast,
        coverage as coverage,
        margin as margin,
    )
