"""One node at a time: predict, maybe ask, maybe learn.

>>> import querist
>>> club = querist.load_graph("karate")
>>> learner = querist.online.MSG(querist.embed(club, 4, cache=False), 2, budget=5)
>>> learner.run(range(34), club.codes).questions
5
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__)

if TYPE_CHECKING:
    from querist.online.catalogue import (
        ALGORITHMS as ALGORITHMS,
        BBQ as BBQ,
        CMOG as CMOG,
        DGS as DGS,
        GPA as GPA,
        MSG as MSG,
        OLLGC as OLLGC,
        SSLGC as SSLGC,
        BBQEps as BBQEps,
        CMOGSelected as CMOGSelected,
        MarginThreshold as MarginThreshold,
        RandomSampling as RandomSampling,
    )
    from querist.online.checks import Answer as Answer
    from querist.online.cover_learner import POUNCE as POUNCE, Nearest as Nearest
    from querist.online.learner import Learner as Learner
    from querist.online.paced_learner import Paced as Paced
    from querist.online.trace import Decision as Decision, Trace as Trace
