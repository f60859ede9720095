"""One vector at a time, mostly unlabelled, in bounded memory (bls19).

>>> import querist
>>> querist.budgeted.STREAMS["pa1"](2, C=0.1).n_classes
2
"""

from typing import TYPE_CHECKING

from querist.lazy import names_of

__getattr__, __dir__, __all__ = names_of(
    __name__,
    {
        "ClosedForm": ".closed_form",
        "PassiveAggressive": ".passive",
        "ReSSL": ".reliable",
        "SPASC": ".clustered",
        "STREAMS": ".catalogue",
        "Stream": ".learner",
        "StreamLearner": ".learner",
        "StreamParameters": ".learner",
        "bls": ".catalogue",
        "pa": ".catalogue",
        "pa1": ".catalogue",
        "pa2": ".catalogue",
        "ressl": ".catalogue",
        "spasc": ".catalogue",
        "transduce": ".closed_form",
    },
)

if TYPE_CHECKING:
    from querist.budgeted.catalogue import (
        STREAMS as STREAMS,
        bls as bls,
        pa as pa,
        pa1 as pa1,
        pa2 as pa2,
        ressl as ressl,
        spasc as spasc,
    )
    from querist.budgeted.closed_form import ClosedForm as ClosedForm, transduce as transduce
    from querist.budgeted.clustered import SPASC as SPASC
    from querist.budgeted.learner import (
        Stream as Stream,
        StreamLearner as StreamLearner,
        StreamParameters as StreamParameters,
    )
    from querist.budgeted.passive import PassiveAggressive as PassiveAggressive
    from querist.budgeted.reliable import ReSSL as ReSSL
