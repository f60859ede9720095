"""One vector at a time, mostly unlabelled, in bounded memory (bls19)."""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "ClosedForm": ".closed_form",
        "PassiveAggressive": ".passive",
        "ReSSL": ".ressl",
        "SPASC": ".spasc",
        "STREAMS": ".catalogue",
        "Stream": ".learner",
        "StreamLearner": ".learner",
        "StreamParameters": ".learner",
        "bls": ".catalogue",
        "pa": ".catalogue",
        "pa1": ".catalogue",
        "pa2": ".catalogue",
        "transduce": ".closed_form",
    },
)

if TYPE_CHECKING:
    from querist.budgeted.catalogue import STREAMS as STREAMS, bls as bls, pa as pa, pa1 as pa1, pa2 as pa2
    from querist.budgeted.closed_form import ClosedForm as ClosedForm, transduce as transduce
    from querist.budgeted.learner import (
        Stream as Stream,
        StreamLearner as StreamLearner,
        StreamParameters as StreamParameters,
    )
    from querist.budgeted.passive import PassiveAggressive as PassiveAggressive
    from querist.budgeted.ressl import ReSSL as ReSSL
    from querist.budgeted.spasc import SPASC as SPASC
